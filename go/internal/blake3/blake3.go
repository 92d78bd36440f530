// Package blake3 is the hash function BLAKE3 in plain Go: hash, keyed hash, key derivation and
// extended output.
//
// It follows the specification (https://github.com/BLAKE3-team/BLAKE3-specs). No branch and no
// address depends on the bytes of the input or of a key, only on lengths.
package blake3

import (
	"encoding/binary"
	"math/bits"
)

// Size is the number of bytes of a hash.
const Size = 32

const (
	blockBytes = 64
	chunkBytes = 1024

	chunkStart        = 1 << 0
	chunkEnd          = 1 << 1
	parent            = 1 << 2
	root              = 1 << 3
	keyedHash         = 1 << 4
	deriveKeyContext  = 1 << 5
	deriveKeyMaterial = 1 << 6
)

var iv = [8]uint32{
	0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
}

// mix is the quarter round. It is short enough for the compiler to place it where it is called.
func mix(a, b, c, d, x, y uint32) (uint32, uint32, uint32, uint32) {
	a += b + x
	d = bits.RotateLeft32(d^a, -16)
	c += d
	b = bits.RotateLeft32(b^c, -12)
	a += b + y
	d = bits.RotateLeft32(d^a, -8)
	c += d
	b = bits.RotateLeft32(b^c, -7)
	return a, b, c, d
}

// node is the input of one compression.
type node struct {
	chaining [8]uint32
	block    [16]uint32
	counter  uint64
	length   uint32
	flags    uint32
}

// compress returns the whole state of 16 words, as the extended output needs it.
func (n *node) compress() [16]uint32 {
	h, m := &n.chaining, n.block
	v0, v1, v2, v3, v4, v5, v6, v7 := h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
	v8, v9, v10, v11 := iv[0], iv[1], iv[2], iv[3]
	v12, v13, v14, v15 := uint32(n.counter), uint32(n.counter>>32), n.length, n.flags

	for round := 0; round < 7; round++ {
		v0, v4, v8, v12 = mix(v0, v4, v8, v12, m[0], m[1])
		v1, v5, v9, v13 = mix(v1, v5, v9, v13, m[2], m[3])
		v2, v6, v10, v14 = mix(v2, v6, v10, v14, m[4], m[5])
		v3, v7, v11, v15 = mix(v3, v7, v11, v15, m[6], m[7])
		v0, v5, v10, v15 = mix(v0, v5, v10, v15, m[8], m[9])
		v1, v6, v11, v12 = mix(v1, v6, v11, v12, m[10], m[11])
		v2, v7, v8, v13 = mix(v2, v7, v8, v13, m[12], m[13])
		v3, v4, v9, v14 = mix(v3, v4, v9, v14, m[14], m[15])
		m = [16]uint32{
			m[2], m[6], m[3], m[10], m[7], m[0], m[4], m[13], m[1], m[11], m[12], m[5], m[9], m[14], m[15], m[8],
		}
	}

	return [16]uint32{
		v0 ^ v8, v1 ^ v9, v2 ^ v10, v3 ^ v11, v4 ^ v12, v5 ^ v13, v6 ^ v14, v7 ^ v15,
		v8 ^ h[0], v9 ^ h[1], v10 ^ h[2], v11 ^ h[3], v12 ^ h[4], v13 ^ h[5], v14 ^ h[6], v15 ^ h[7],
	}
}

func (n *node) chain() (out [8]uint32) {
	state := n.compress()
	copy(out[:], state[:8])
	return out
}

// Hasher collects the input of a hash.
type Hasher struct {
	key   [8]uint32
	flags uint32

	// The chunk that is being filled. Its last block is kept, since it may be the root.
	chaining [8]uint32
	block    [blockBytes]byte
	filled   int
	blocks   int
	chunk    uint64

	// Chaining values of finished subtrees, the largest first.
	stack [][8]uint32
}

func newHasher(key [8]uint32, flags uint32) *Hasher {
	return &Hasher{key: key, flags: flags, chaining: key}
}

// New returns a hasher of the plain hash.
func New() *Hasher { return newHasher(iv, 0) }

// NewKeyed returns a hasher under a key of 32 bytes.
func NewKeyed(key *[32]byte) *Hasher { return newHasher(wordsOf(key), keyedHash) }

// NewDeriveKey returns a hasher in the mode of key derivation under this context.
func NewDeriveKey(context string) *Hasher {
	h := newHasher(iv, deriveKeyContext)
	h.Write([]byte(context))
	var key [32]byte
	h.Read(key[:])
	return newHasher(wordsOf(&key), deriveKeyMaterial)
}

func wordsOf(key *[32]byte) (words [8]uint32) {
	for i := range words {
		words[i] = binary.LittleEndian.Uint32(key[4*i:])
	}
	return words
}

// Write adds bytes to the input. The error is always nil.
func (h *Hasher) Write(data []byte) (int, error) {
	written := len(data)
	for len(data) > 0 {
		if h.filled == blockBytes {
			h.finishBlock()
		}
		n := copy(h.block[h.filled:], data)
		h.filled += n
		data = data[n:]
	}
	return written, nil
}

// finishBlock compresses a full block that is not the last one of the input.
func (h *Hasher) finishBlock() {
	last := h.blocks == chunkBytes/blockBytes-1
	n := h.chunkNode()
	if !last {
		n.flags &^= chunkEnd
		h.chaining = n.chain()
		h.blocks++
	} else {
		h.push(n.chain())
		h.chaining = h.key
		h.blocks = 0
		h.chunk++
	}
	h.filled = 0
	h.block = [blockBytes]byte{}
}

// chunkNode is the node of the current block, as the last one of its chunk.
func (h *Hasher) chunkNode() *node {
	flags := h.flags | chunkEnd
	if h.blocks == 0 {
		flags |= chunkStart
	}
	n := &node{chaining: h.chaining, counter: h.chunk, length: uint32(h.filled), flags: flags}
	for i := range n.block {
		n.block[i] = binary.LittleEndian.Uint32(h.block[4*i:])
	}
	return n
}

// push adds the chaining value of a finished chunk, and joins subtrees of equal size.
func (h *Hasher) push(value [8]uint32) {
	for total := h.chunk + 1; total&1 == 0; total >>= 1 {
		top := len(h.stack) - 1
		value = h.parentNode(h.stack[top], value).chain()
		h.stack = h.stack[:top]
	}
	h.stack = append(h.stack, value)
}

func (h *Hasher) parentNode(left, right [8]uint32) *node {
	n := &node{chaining: h.key, length: blockBytes, flags: h.flags | parent}
	copy(n.block[:8], left[:])
	copy(n.block[8:], right[:])
	return n
}

// rootNode is the node that the output is made of.
func (h *Hasher) rootNode() *node {
	n := h.chunkNode()
	for i := len(h.stack) - 1; i >= 0; i-- {
		n = h.parentNode(h.stack[i], n.chain())
	}
	n.counter = 0
	n.flags |= root
	return n
}

// Sum returns the hash of the input so far.
func (h *Hasher) Sum() (sum [Size]byte) {
	h.Read(sum[:])
	return sum
}

// Read fills out with the beginning of the extended output for the input so far.
func (h *Hasher) Read(out []byte) {
	h.Output().Read(out)
}

// Output returns a reader of the extended output for the input so far.
func (h *Hasher) Output() *Output { return &Output{node: *h.rootNode()} }

// Clear overwrites the state, which may have secrets in it.
func (h *Hasher) Clear() {
	clear(h.stack)
	*h = Hasher{}
}

// Output is an endless stream of bytes.
type Output struct {
	node node
	left []byte
	held [blockBytes]byte
}

// Read fills out with the next bytes.
func (o *Output) Read(out []byte) {
	for len(out) > 0 {
		if len(o.left) == 0 {
			words := o.node.compress()
			o.node.counter++
			for i, word := range words {
				binary.LittleEndian.PutUint32(o.held[4*i:], word)
			}
			o.left = o.held[:]
		}
		n := copy(out, o.left)
		clear(o.left[:n])
		o.left = o.left[n:]
		out = out[n:]
	}
}

// Clear overwrites the state.
func (o *Output) Clear() { *o = Output{} }

// Sum returns the hash of data.
func Sum(data []byte) [Size]byte {
	h := New()
	h.Write(data)
	return h.Sum()
}

// SumKeyed fills out with the extended output of the hash of data under a key.
func SumKeyed(key *[32]byte, data, out []byte) {
	h := NewKeyed(key)
	h.Write(data)
	h.Read(out)
}

// DeriveKey returns the hash of the parts, one after another, under this context.
func DeriveKey(context string, parts ...[]byte) [Size]byte {
	h := NewDeriveKey(context)
	for _, part := range parts {
		h.Write(part)
	}
	return h.Sum()
}
