package wire

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"math/bits"

	"papir.example/go/internal/blake3"
)

// Seed is a public seed.
type Seed [32]byte

// Stream is the stream of a seed for one label and index. It is public: its time may depend on it.
type Stream struct {
	mode cipher.Stream
	// Bytes for residues that were read ahead, and how many are used.
	ahead [1024]byte
	used  int
}

// Expand returns the stream of a label and an index from the byte start on.
func (s *Seed) Expand(label string, index, start uint64) *Stream {
	var length, number [8]byte
	binary.LittleEndian.PutUint64(length[:], uint64(len(label)))
	binary.LittleEndian.PutUint64(number[:], index)
	key := blake3.DeriveKey("papir 2026 public expansion v1", s[:], length[:], []byte(label), number[:])

	// The first block is a number of 128 bits, big-endian.
	high, low := binary.BigEndian.Uint64(key[16:24]), binary.BigEndian.Uint64(key[24:])
	low, carry := bits.Add64(low, start/aes.BlockSize, 0)
	high += carry
	var counter [aes.BlockSize]byte
	binary.BigEndian.PutUint64(counter[:8], high)
	binary.BigEndian.PutUint64(counter[8:], low)

	block, err := aes.NewCipher(key[:16])
	if err != nil {
		// A key of 16 bytes is never refused.
		panic(err)
	}
	stream := &Stream{mode: cipher.NewCTR(block, counter[:])}
	stream.used = len(stream.ahead)
	var skipped [aes.BlockSize]byte
	stream.XOR(skipped[:start%aes.BlockSize])
	return stream
}

// XOR adds the next bytes of the stream to data.
func (s *Stream) XOR(data []byte) { s.mode.XORKeyStream(data, data) }

// Residues fills out with the next uniform residues modulo a number from 2 to 2^31. The next call
// goes on with the word behind the last one. A stream is read by this function or by the others,
// since this one reads ahead.
func (s *Stream) Residues(out []uint32, modulus uint32) {
	mask := uint32(1)<<bits.Len32(modulus-1) - 1
	for len(out) > 0 {
		if s.used == len(s.ahead) {
			clear(s.ahead[:])
			s.XOR(s.ahead[:])
			s.used = 0
		}
		word := binary.LittleEndian.Uint32(s.ahead[s.used:]) & mask
		s.used += 4
		if word < modulus {
			out[0] = word
			out = out[1:]
		}
	}
}

// Words fills out with the next words of 4 bytes.
func (s *Stream) Words(out []uint32) {
	bytes := make([]byte, 4*len(out))
	s.XOR(bytes)
	for i := range out {
		out[i] = binary.LittleEndian.Uint32(bytes[4*i:])
	}
}
