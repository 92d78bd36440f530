package checkpoint

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"papir.example/go/internal/vectors"
	"papir.example/go/internal/wire"
)

type clientVector struct {
	Name    string `json:"name"`
	Owner   string `json:"owner"`
	Highest *struct {
		Sequence uint64 `json:"sequence"`
		Leaf     string `json:"leaf"`
	} `json:"highest"`
	MaxAge       *uint64  `json:"max_age"`
	Witnesses    []string `json:"witnesses"`
	Cosignatures int      `json:"cosignatures"`
	Now          uint64   `json:"now"`
	Proof        string   `json:"proof"`
	Bundle       string   `json:"bundle"`
	Refused      *string  `json:"refused"`
}

type checkpointVectors struct {
	Database string         `json:"database"`
	Clients  []clientVector `json:"clients"`
}

func (v *clientVector) policy(t testing.TB, database string) *Policy {
	t.Helper()
	owner, err := ReadKey(v.Owner)
	if err != nil {
		t.Fatal(err)
	}
	p := &Policy{Given: &owner, Database: database, Now: v.Now, MaxAge: v.MaxAge, Cosignatures: v.Cosignatures}
	if v.Highest != nil {
		leaf, err := hex.DecodeString(v.Highest.Leaf)
		if err != nil {
			t.Fatal(err)
		}
		p.Pin = &Pin{Newest: owner, First: owner, Sequence: v.Highest.Sequence, Leaf: Hash(leaf)}
	}
	for _, text := range v.Witnesses {
		witness, err := ReadWitness(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Witnesses = append(p.Witnesses, witness)
	}
	return p
}

// accept runs all checks of a client.
func accept(p *Policy, proof, bundle []byte) error {
	read, err := ReadProof(proof)
	if err != nil {
		return err
	}
	if _, err := p.Accept(read); err != nil {
		return err
	}
	return read.Leaf.CheckBundle(bundle)
}

func TestVectors(t *testing.T) {
	var all checkpointVectors
	vectors.Read(t, "checkpoints.json", &all)
	for _, v := range all.Clients {
		bundle, err := hex.DecodeString(v.Bundle)
		if err != nil {
			t.Fatal(err)
		}
		err = accept(v.policy(t, all.Database), []byte(v.Proof), bundle)
		code := "accepted"
		var refused *wire.Error
		if errors.As(err, &refused) {
			code = refused.Code
		}
		expected := "accepted"
		if v.Refused != nil {
			expected = *v.Refused
		}
		if code != expected {
			t.Errorf("%s: %s (%v), expected %s", v.Name, code, err, expected)
		}
	}
	if len(all.Clients) < 30 {
		t.Errorf("only %d clients", len(all.Clients))
	}
}

func TestEveryChangedByteOfAProofIsRefused(t *testing.T) {
	var all checkpointVectors
	vectors.Read(t, "checkpoints.json", &all)
	v := all.Clients[0]
	bundle, _ := hex.DecodeString(v.Bundle)
	p := v.policy(t, all.Database)
	// The name of the owner's key in the extra data is read by nobody who knows a key.
	for at := range v.Proof {
		changed := []byte(v.Proof)
		changed[at] ^= 1
		if err := accept(p, changed, bundle); err == nil && !ignored(v.Proof, at) {
			t.Errorf("byte %d may be changed to %q", at, changed[at])
		}
	}
	for length := range v.Proof {
		if accept(p, []byte(v.Proof[:length]), bundle) == nil {
			t.Errorf("%d bytes are accepted", length)
		}
	}
}

// ignored returns whether a byte of a proof is part of lines that a client does not read.
func ignored(proof string, at int) bool {
	line := proof[strings.LastIndex(proof[:at], "\n")+1:]
	return strings.HasPrefix(line, "— ") && !strings.HasPrefix(line, "— o/")
}

func TestPinsAreReadAgain(t *testing.T) {
	var all checkpointVectors
	vectors.Read(t, "checkpoints.json", &all)
	for _, v := range all.Clients {
		pin := v.policy(t, all.Database).Pin
		if pin == nil {
			continue
		}
		again, err := ReadPin(pin.String())
		if err != nil || *again != *pin {
			t.Errorf("%v: %+v, expected %+v", err, again, pin)
		}
		text := pin.String()
		for length := 0; length < len(text)-1; length++ {
			if _, err := ReadPin(text[:length]); err == nil {
				t.Errorf("%d bytes of a pin are accepted", length)
			}
		}
	}
	for _, bad := range []string{"", "\n", "papir-owner-pin-2\na\nb\n1\nc\n", "papir-owner-pin-01\n"} {
		if _, err := ReadPin(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
