package checkpoint

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"unicode/utf8"

	"papir.example/go/internal/blake3"
	"papir.example/go/internal/wire"
)

// MaxProof is the most bytes of a proof.
const MaxProof = maxNote + 1<<18

const maxPath = 64

// Hash is a hash of SHA-256 or BLAKE3.
type Hash = [32]byte

// Leaf is one version of a database in its log.
type Leaf struct {
	// HasRoot is whether BaseRoot is the root of a verifiable database, and not a hash of the
	// content.
	HasRoot  bool
	Database string
	Sequence uint64
	// Time of signing, in seconds since 1970.
	Time      uint64
	BaseRoot  Hash
	DeltaRoot *Hash
	// Bundle is the hash of the public part.
	Bundle Hash
	// Hash is the leaf's hash in the log.
	Hash Hash
}

func readLeaf(encoded []byte) (*Leaf, error) {
	const what = "a leaf of a log"
	r := wire.NewReader(what, encoded)
	format, kind := r.U8(), r.U8()
	if r.Err() == nil && format != 1 && format != 2 {
		return nil, wire.Refuse(wire.Format, "%s of format %d: this client reads formats 1 and 2", what, format)
	}
	l := &Leaf{HasRoot: kind == 1, Database: string(r.Take(int(r.U8())))}
	l.Sequence, l.Time, l.BaseRoot = r.U64(), r.U64(), r.Array()
	delta := r.U8()
	if delta == 1 {
		root := r.Array()
		l.DeltaRoot = &root
	}
	l.Bundle = r.Array()
	if format == 2 {
		// The commitment to keys of gateways, which this client does not use.
		r.Array()
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	if kind != 1 && kind != 2 || delta > 1 || l.Database == "" || !utf8.ValidString(l.Database) {
		return nil, wire.Refuse(wire.Malformed, "%s of kind %d with the flag %d and the name `%s`: expected kind 1 or 2, the flag 0 or 1, and a name",
			what, kind, delta, wire.Shown(l.Database))
	}
	l.Hash = sha256.Sum256(append([]byte{0}, encoded...))
	return l, nil
}

// CheckBundle compares a bundle with the leaf.
func (l *Leaf) CheckBundle(bundle []byte) error {
	if found := blake3.Sum(bundle); found != l.Bundle {
		return wire.Refuse(PublicPart, "a public part with the hash %x: the owner signed %x", found, l.Bundle)
	}
	return nil
}

// CheckDelta compares the public part of a delta with the leaf; nil for a version without a delta.
func (l *Leaf) CheckDelta(delta []byte) error {
	switch {
	case delta == nil && l.DeltaRoot == nil:
		return nil
	case delta == nil:
		return wire.Refuse(WrongDelta, "no delta: the owner signed one with the hash %x", *l.DeltaRoot)
	case l.DeltaRoot == nil:
		return wire.Refuse(WrongDelta, "a delta: the owner signed none")
	}
	if found := blake3.Sum(delta); found != *l.DeltaRoot {
		return wire.Refuse(WrongDelta, "a delta with the hash %x: the owner signed %x", found, *l.DeltaRoot)
	}
	return nil
}

// Proof is a proof of the newest version.
type Proof struct {
	// Owner is the owner's newest key, by the service's word.
	Owner Key
	Leaf  *Leaf

	path         []Hash
	note         *note
	certificates []*certificate
}

func badProof(found string) error {
	return wire.Refuse(wire.Malformed, "a proof of a checkpoint: %s: expected a tlog-proof of papir", found)
}

// ReadProof reads a proof, and verifies the signatures of its certificates.
func ReadProof(data []byte) (*Proof, error) {
	if len(data) > MaxProof || !utf8.Valid(data) {
		return nil, badProof(fmt.Sprintf("%d bytes, or not UTF-8", len(data)))
	}
	head, text, found := strings.Cut(string(data), "\n\n")
	lines := strings.Split(head, "\n")
	if !found || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return nil, badProof("another beginning")
	}
	extra, hasExtra := strings.CutPrefix(lines[1], "extra ")
	index, hasIndex := strings.CutPrefix(lines[2], "index ")
	number, ok := decimal(index)
	if !hasExtra || !hasIndex || !ok {
		return nil, badProof("no extra data, or no index")
	}

	p := &Proof{}
	if len(lines)-3 > maxPath {
		return nil, badProof(fmt.Sprintf("a path of %d hashes", len(lines)-3))
	}
	for _, line := range lines[3:] {
		hash, err := unbase64("a hash of a proof", line)
		if err != nil {
			return nil, err
		}
		if len(hash) != len(Hash{}) {
			return nil, badProof(fmt.Sprintf("a hash of %d bytes", len(hash)))
		}
		p.path = append(p.path, Hash(hash))
	}
	decoded, err := unbase64("a proof's extra data", extra)
	if err != nil {
		return nil, err
	}
	if err := p.readExtra(decoded); err != nil {
		return nil, err
	}
	if number != p.Leaf.Sequence {
		return nil, badProof(fmt.Sprintf("the index %d of a leaf with the sequence %d", number, p.Leaf.Sequence))
	}
	p.note, err = readNote(text, maxNote)
	return p, err
}

func (p *Proof) readExtra(data []byte) (err error) {
	const what = "a proof's extra data"
	r := wire.NewReader(what, data)
	if format := r.U8(); r.Err() == nil && format != 1 {
		return wire.Refuse(wire.Format, "%s of format %d: this client reads format 1", what, format)
	}
	owner, leaf := r.Bytes(), r.Bytes()
	count := int(r.U8())
	if r.Err() == nil && count > maxCertificates {
		return wire.Refuse(wire.OutOfBounds, "%s: %d certificates: expected at most %d", what, count, maxCertificates)
	}
	texts := make([]string, count)
	for i := range texts {
		texts[i] = string(r.Bytes())
	}
	if err := r.End(); err != nil {
		return err
	}
	if p.Owner, err = ReadKey(string(owner)); err != nil {
		return err
	}
	if p.Leaf, err = readLeaf(leaf); err != nil {
		return err
	}
	for _, text := range texts {
		c, err := readCertificate(text)
		if err != nil {
			return err
		}
		if c != nil {
			p.certificates = append(p.certificates, c)
		}
	}
	return nil
}

// included returns whether a path leads from a leaf to a root (RFC 9162, section 2.1.3.2).
func included(leaf Hash, index, size uint64, path []Hash, root Hash) bool {
	if index >= size {
		return false
	}
	node, last := leaf, size-1
	for _, sibling := range path {
		if last == 0 {
			return false
		}
		if index&1 == 1 || index == last {
			node = join(sibling, node)
			for index&1 == 0 && index != 0 {
				index >>= 1
				last >>= 1
			}
		} else {
			node = join(node, sibling)
		}
		index >>= 1
		last >>= 1
	}
	return last == 0 && node == root
}

func join(left, right Hash) Hash {
	data := append([]byte{1}, left[:]...)
	return sha256.Sum256(append(data, right[:]...))
}
