package bundle

import (
	"encoding/binary"
	"encoding/hex"
	"math/bits"

	"papir.example/go/internal/blake3"
	"papir.example/go/internal/scheme"
	"papir.example/go/internal/wire"
)

const hashBytes = 32

// Hash is a hash of a tree, or a root.
type Hash [hashBytes]byte

func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// Commitment is the hash tree over the records of a verifiable database.
type Commitment struct {
	top Hash
	// Records, and bytes of one without its proof.
	records     uint64
	recordBytes int
}

func levels(records uint64) int { return bits.Len64(records - 1) }

// newCommitment returns the commitment over records of this shape, whose records have proofs.
func newCommitment(shape scheme.Shape, top Hash) (*Commitment, error) {
	proof := hashBytes * levels(shape.Records)
	if shape.RecordBits%8 != 0 || shape.RecordBytes() <= proof {
		return nil, wire.Refuse(wire.Malformed,
			"a verifiable database of records of %d bits: expected whole bytes, and more than a proof of %d bytes",
			shape.RecordBits, proof)
	}
	return &Commitment{top: top, records: shape.Records, recordBytes: shape.RecordBytes() - proof}, nil
}

// Verify returns a record without its proof, if the tree contains it at this index.
func (c *Commitment) Verify(index uint64, record []byte) ([]byte, error) {
	if expected := c.recordBytes + hashBytes*levels(c.records); len(record) != expected {
		return nil, wire.Refuse(wire.WrongLength, "a record of %d bytes: expected %d", len(record), expected)
	}
	content := record[:c.recordBytes:c.recordBytes]
	node := hashOf("leaf", content)
	for level := 0; level < levels(c.records); level++ {
		sibling := record[c.recordBytes+hashBytes*level:][:hashBytes]
		if index>>level&1 == 1 {
			node = hashOf("node", sibling, node[:])
		} else {
			node = hashOf("node", node[:], sibling)
		}
	}
	if node != c.top {
		return nil, wire.Refuse(wire.NotVerified,
			"a record that the database's root does not commit to: expected one with its proof. The service lies, or is damaged")
	}
	return content, nil
}

// Root returns the root of the database, with its layout or without one.
func (c *Commitment) Root(layout []byte) Hash {
	var numbers [16]byte
	binary.LittleEndian.PutUint64(numbers[:], c.records)
	binary.LittleEndian.PutUint64(numbers[8:], uint64(c.recordBytes))
	layoutHash := hashOf("layout", layout)
	return hashOf("root", numbers[:], c.top[:], layoutHash[:])
}

func hashOf(kind string, parts ...[]byte) Hash {
	return blake3.DeriveKey("papir 2026 commitment "+kind+" v1", parts...)
}
