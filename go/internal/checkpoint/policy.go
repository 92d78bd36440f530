package checkpoint

import (
	"encoding/hex"
	"fmt"
	"strings"

	"papir.example/go/internal/wire"
)

// Pin is what a client remembers of a signed database.
type Pin struct {
	// Newest is the owner's newest key, First the one that was trusted first.
	Newest, First Key
	// Sequence is the highest one seen, Leaf the hash of its leaf.
	Sequence uint64
	Leaf     Hash
}

const pinHeader = "papir-owner-pin-"

// String returns the text of a pin's file.
func (p *Pin) String() string {
	return fmt.Sprintf("%s1\n%s\n%s\n%d\n%x\n", pinHeader, p.Newest, p.First, p.Sequence, p.Leaf)
}

// ReadPin reads the text of a pin's file.
func ReadPin(text string) (*Pin, error) {
	const what = "a pinned owner's key"
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	version, found := strings.CutPrefix(lines[0], pinHeader)
	number, ok := decimal(version)
	if !found || !ok {
		return nil, wire.Refuse(wire.Malformed, "%s: another text: expected `%s1` and four lines", what, pinHeader)
	}
	if number != 1 {
		return nil, wire.Refuse(wire.Format, "%s of format %d: this client reads format 1", what, number)
	}
	if len(lines) != 5 {
		return nil, wire.Refuse(wire.Malformed, "%s: %d lines: expected 5", what, len(lines))
	}

	p := &Pin{}
	var err error
	if p.Newest, err = ReadKey(lines[1]); err != nil {
		return nil, err
	}
	if p.First, err = ReadKey(lines[2]); err != nil {
		return nil, err
	}
	if p.Sequence, ok = decimal(lines[3]); !ok {
		return nil, wire.Refuse(wire.Malformed, "%s: another sequence: expected a number", what)
	}
	leaf, err := hex.DecodeString(lines[4])
	if err != nil || len(leaf) != len(p.Leaf) {
		return nil, wire.Refuse(wire.Malformed, "%s: another hash: expected 64 hexadecimal digits", what)
	}
	p.Leaf = Hash(leaf)
	return p, nil
}

// Policy is what a client knows and requires of a database's checkpoints.
type Policy struct {
	// Given is the owner's key that the caller gave, or nil.
	Given *Key
	// Pin is what was remembered, or nil.
	Pin *Pin
	// Database is the name of the database that was asked for.
	Database string
	// Now is the client's time, in seconds since 1970.
	Now uint64
	// MaxAge is the most seconds since the time of signing, or nil.
	MaxAge *uint64
	// Sequence is the lowest accepted one.
	Sequence uint64
	// Witnesses are known, and Cosignatures of them must have signed.
	Witnesses    []Key
	Cosignatures int
}

// Required returns whether an unsigned database is refused.
func (p *Policy) Required() bool {
	return p.Given != nil || p.Pin != nil || p.MaxAge != nil || p.Sequence > 0 || p.Cosignatures > 0
}

// known returns the key that signatures are verified against: the pinned, the given or the shown
// one.
func (p *Policy) known(proof *Proof) Key {
	switch {
	case p.Pin != nil:
		return p.Pin.Newest
	case p.Given != nil:
		return *p.Given
	default:
		return proof.Owner
	}
}

// Accept verifies a proof, and returns the new pin. The caller still compares the public part with
// the leaf before it stores the pin.
func (p *Policy) Accept(proof *Proof) (*Pin, error) {
	if err := p.checkGiven(proof); err != nil {
		return nil, err
	}
	leaf, known := proof.Leaf, p.known(proof)
	size, root, err := p.checkNames(proof, known)
	if err != nil {
		return nil, err
	}
	if err := p.checkSignature(proof, known); err != nil {
		return nil, err
	}
	if size == 0 || leaf.Sequence != size-1 || !included(leaf.Hash, leaf.Sequence, size, proof.path, root) {
		return nil, wire.Refuse(NotIncluded, "a version that is not the last one of its log of %d: expected its proof", size)
	}
	if err := p.checkSequence(leaf); err != nil {
		return nil, err
	}
	if err := p.checkAge(leaf.Time); err != nil {
		return nil, err
	}
	if err := p.checkWitnesses(proof.note); err != nil {
		return nil, err
	}
	if leaf.Sequence < p.Sequence {
		return nil, wire.Refuse(Sequence, "a version with the sequence %d: expected %d or later", leaf.Sequence, p.Sequence)
	}

	first := known
	if p.Pin != nil {
		first = p.Pin.First
	}
	newest := successor(known, proof.certificates, p.Now)
	return &Pin{Newest: newest, First: first, Sequence: leaf.Sequence, Leaf: leaf.Hash}, nil
}

// checkGiven checks that a given key belongs to the pinned owner.
func (p *Policy) checkGiven(proof *Proof) error {
	if p.Given == nil || p.Pin == nil || p.Given.Same(p.Pin.First) || p.Given.Same(p.Pin.Newest) {
		return nil
	}
	newest := successor(p.Pin.Newest, proof.certificates, p.Now)
	if successor(*p.Given, proof.certificates, p.Now).Same(newest) {
		return nil
	}
	return wire.Refuse(Untrusted, "the owner's key %s: the pinned one is %s, and no certificate connects them. "+
		"If the new one is right, remove the pin", p.Given, p.Pin.Newest)
}

// checkNames checks the names in leaf and note, and returns the size and the root of the log.
func (p *Policy) checkNames(proof *Proof, known Key) (size uint64, root Hash, err error) {
	const what = "a checkpoint"
	if proof.Leaf.Database != p.Database {
		return 0, root, wire.Refuse(WrongName, "%s of the database `%s`: expected `%s`", what,
			wire.Shown(proof.Leaf.Database), p.Database)
	}
	lines := proof.note.lines()
	if len(lines) < 3 {
		return 0, root, wire.Refuse(wire.Malformed, "%s of %d lines: expected origin, size and root", what, len(lines))
	}
	for _, line := range lines {
		if line == "" {
			return 0, root, wire.Refuse(wire.Malformed, "%s with an empty line: expected none", what)
		}
	}
	if expected := p.origin(known); lines[0] != expected {
		return 0, root, wire.Refuse(WrongOrigin, "%s of the origin `%s`: expected `%s`", what, wire.Shown(lines[0]), expected)
	}
	size, ok := decimal(lines[1])
	hash, err := unbase64("the root of a checkpoint", lines[2])
	if err != nil {
		return 0, root, err
	}
	if !ok || len(hash) != len(root) {
		return 0, root, wire.Refuse(wire.Malformed, "%s of another size, or with a root of %d bytes: expected %d", what, len(hash), len(root))
	}
	return size, Hash(hash), nil
}

func (p *Policy) origin(known Key) string { return known.Name + "/" + Escape(p.Database) }

// checkSignature tries all keys: a bad signature of any of them is an error.
func (p *Policy) checkSignature(proof *Proof, known Key) error {
	origin, signed := p.origin(known), false
	for _, key := range signers(known, proof.certificates, Escape(p.Database), p.Now, proof.Leaf.Time) {
		one, err := proof.note.signedBy(key, origin)
		if err != nil {
			return err
		}
		signed = signed || one
	}
	if !signed {
		return wire.Refuse(Untrusted, "a checkpoint signed by %s: expected the owner %s, or a key that it certified",
			proof.note.signers(), known)
	}
	return nil
}

func (p *Policy) checkSequence(leaf *Leaf) error {
	switch {
	case p.Pin == nil || leaf.Sequence > p.Pin.Sequence:
		return nil
	case leaf.Sequence < p.Pin.Sequence:
		return wire.Refuse(Rollback, "the version with the sequence %d: this client has seen %d, and goes back to no older one",
			leaf.Sequence, p.Pin.Sequence)
	case leaf.Hash != p.Pin.Leaf:
		return wire.Refuse(Equivocation, "another version with the sequence %d than the one that this client has seen", leaf.Sequence)
	}
	return nil
}

func (p *Policy) checkAge(time uint64) error {
	if p.MaxAge == nil {
		return nil
	}
	// A time far ahead would never be too old.
	if time > p.Now && time-p.Now > skew {
		return wire.Refuse(FromFuture, "a checkpoint of %d seconds ahead: expected at most %d. Check this machine's clock", time-p.Now, skew)
	}
	if p.Now > time && p.Now-time > *p.MaxAge {
		return wire.Refuse(TooOld, "a checkpoint of %d seconds ago: expected at most %d", p.Now-time, *p.MaxAge)
	}
	return nil
}

// checkWitnesses counts the known witnesses that have cosigned. Keys that differ in their names
// only are one witness; a bad line of any of them is an error.
func (p *Policy) checkWitnesses(n *note) error {
	var counted []Key
	for _, witness := range p.Witnesses {
		signed, err := n.signedBy(witness, witness.Name)
		if err != nil {
			return err
		}
		if signed && !anySame(counted, witness) {
			counted = append(counted, witness)
		}
	}
	if len(counted) < p.Cosignatures {
		return wire.Refuse(Cosignatures, "a checkpoint that %d known witnesses cosigned: expected %d", len(counted), p.Cosignatures)
	}
	return nil
}
