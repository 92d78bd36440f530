package checkpoint

import (
	"crypto/ed25519"
	"testing"

	"papir.example/go/internal/vectors"
)

func testKey(name string, seed byte) Key {
	private := ed25519.NewKeyFromSeed(append(make([]byte, 31), seed))
	key := Key{Name: name, kind: signatureKey}
	copy(key.public[:], private.Public().(ed25519.PublicKey))
	return key
}

func rotation(from, until uint64, issuer, subject Key) *certificate {
	return &certificate{rotation: true, issuer: issuer, subject: subject, from: from, until: until}
}

func delegation(from, until uint64, issuer, subject Key) *certificate {
	return &certificate{issuer: issuer, subject: subject, from: from, until: until}
}

func names(keys, all []Key) (out string) {
	for _, key := range keys {
		for i, one := range all {
			if one == key {
				out += string(rune('a' + i))
			}
		}
	}
	return out
}

func TestKeysOverlapAfterRotationsAndDelegationsEnd(t *testing.T) {
	all := []Key{testKey("o", 1), testKey("o", 2), testKey("o", 3), testKey("p", 4), testKey("q", 5)}
	certificates := []*certificate{
		delegation(1000, 5000, all[0], all[3]),
		rotation(4000, 4500, all[1], all[2]),
		rotation(2000, 3000, all[0], all[1]),
		delegation(2000, 9000, all[1], all[4]),
	}
	certificates[0].database = "words"
	for _, one := range []struct {
		owner    int
		database string
		now      uint64
		expected string
	}{
		{0, "words", 1000, "ad"},
		{0, "words", 999, "a"},
		{0, "words", 2000 - skew - 1, "ad"},
		{0, "numbers", 1000, "a"},
		{0, "words", 2000, "bade"},
		{0, "words", 3000, "bade"},
		{0, "words", 3001, "be"},
		{0, "words", 4200, "cbe"},
		{0, "words", 4501, "c"},
		{1, "words", 2500, "bade"},
		{2, "words", 4200, "cbe"},
		{2, "words", 9999, "c"},
	} {
		found := names(signers(all[one.owner], certificates, one.database, one.now, one.now), all)
		if found != one.expected {
			t.Errorf("%+v: %s", one, found)
		}
	}
}

func TestCirclesOfRotationsEnd(t *testing.T) {
	a, b := testKey("o", 1), testKey("o", 2)
	circle := []*certificate{rotation(1, 2, a, b), rotation(1, 2, b, a)}
	if successor(a, circle, 5) != a {
		t.Error("a circle leads elsewhere")
	}
}

func TestAThiefOfAReplacedKeyAddsNoOtherKey(t *testing.T) {
	stolen, newest, thief := testKey("o", 1), testKey("o", 2), testKey("o", 3)
	certificates := []*certificate{
		rotation(2000, 3000, stolen, newest),
		rotation(0, 1<<63, thief, stolen),
		delegation(0, 1<<63, thief, testKey("p", 4)),
	}
	for _, trusted := range []Key{newest, stolen} {
		if found := names(signers(trusted, certificates, "words", 3001, 3001), []Key{stolen, newest, thief}); found != "b" {
			t.Errorf("%s", found)
		}
	}
}

// A signature of zeros by a point of small order verifies by the loose rules of RFC 8032.
func TestPointsOfSmallOrderAreRefused(t *testing.T) {
	key := Key{Name: "o", kind: signatureKey, public: [32]byte{1}}
	forged := append([]byte{1}, make([]byte, 63)...)
	if !ed25519.Verify(key.public[:], []byte("any message"), forged) {
		t.Fatal("the library refuses it already")
	}
	if key.verifies([]byte("any message"), forged) {
		t.Error("a key of small order is accepted")
	}
	for _, point := range smallOrder {
		point[31] |= 0x80
		if !isSmall(point[:]) {
			t.Errorf("%x with a sign is accepted", point)
		}
	}
	private := ed25519.NewKeyFromSeed(make([]byte, 32))
	honest := Key{Name: "o", kind: signatureKey}
	copy(honest.public[:], private.Public().(ed25519.PublicKey))
	if !honest.verifies([]byte("message"), ed25519.Sign(private, []byte("message"))) {
		t.Error("an honest signature is refused")
	}
}

func TestBadKeysAreRefused(t *testing.T) {
	good := testKey("example.org/owner", 1).String()
	if _, err := ReadKey(good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{
		"", "+", "++", "a+b", good[1:], "x" + good, good + "=", good[:len(good)-1], "a b+00000000+AAAA",
		"o+38ebff65+AU1LGAYvhQJZjeBFyntp8Gf1n5Oxbjr4czqYitwjQfXJ",
	} {
		if _, err := ReadKey(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
	if _, err := ReadWitness(good); err == nil {
		t.Error("an owner's key is accepted as a witness")
	}
}

func TestDecimals(t *testing.T) {
	for text, expected := range map[string]uint64{"0": 0, "7": 7, "18446744073709551615": 1<<64 - 1} {
		if found, ok := decimal(text); !ok || found != expected {
			t.Errorf("%q: %d", text, found)
		}
	}
	for _, text := range []string{"", "-1", "+1", "01", "1 ", "18446744073709551616", "99999999999999999999", "1a"} {
		if _, ok := decimal(text); ok {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzProof(f *testing.F) {
	var all checkpointVectors
	vectors.Read(f, "checkpoints.json", &all)
	for i, v := range all.Clients {
		if i%6 == 0 {
			f.Add([]byte(v.Proof))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		proof, err := ReadProof(data)
		if err != nil {
			return
		}
		policy := &Policy{Database: proof.Leaf.Database, Now: proof.Leaf.Time}
		if pin, err := policy.Accept(proof); err == nil {
			if again, err := ReadPin(pin.String()); err != nil || *again != *pin {
				t.Errorf("a pin that is not read again: %v", err)
			}
		}
	})
}
