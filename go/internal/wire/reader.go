package wire

import (
	"encoding/binary"
	"math"
)

// Reader reads little-endian numbers and bytes in sequence. After the first error, all reads
// return zeros, and Err and End return that error.
type Reader struct {
	what string
	data []byte
	at   int
	err  error
}

// NewReader returns a reader of data. What names the data in errors.
func NewReader(what string, data []byte) *Reader {
	return &Reader{what: what, data: data}
}

// Err returns the first error.
func (r *Reader) Err() error { return r.err }

// Left returns the number of bytes that are left.
func (r *Reader) Left() int { return len(r.data) - r.at }

// Take returns the next bytes, which share the memory of the data.
func (r *Reader) Take(length int) []byte {
	if r.err == nil && (length < 0 || length > r.Left()) {
		r.err = Refuse(WrongLength, "%s: it ends after %d bytes: expected %d more at byte %d",
			r.what, len(r.data), length, r.at)
	}
	if r.err != nil {
		return nil
	}
	r.at += length
	return r.data[r.at-length : r.at : r.at]
}

// Array returns the next 32 bytes.
func (r *Reader) Array() (out [32]byte) {
	copy(out[:], r.Take(len(out)))
	return out
}

// U8 returns the next byte.
func (r *Reader) U8() uint8 {
	if bytes := r.Take(1); bytes != nil {
		return bytes[0]
	}
	return 0
}

// U16 returns the next number of 2 bytes.
func (r *Reader) U16() uint16 {
	if bytes := r.Take(2); bytes != nil {
		return binary.LittleEndian.Uint16(bytes)
	}
	return 0
}

// U32 returns the next number of 4 bytes.
func (r *Reader) U32() uint32 {
	if bytes := r.Take(4); bytes != nil {
		return binary.LittleEndian.Uint32(bytes)
	}
	return 0
}

// U64 returns the next number of 8 bytes.
func (r *Reader) U64() uint64 {
	if bytes := r.Take(8); bytes != nil {
		return binary.LittleEndian.Uint64(bytes)
	}
	return 0
}

// F64 returns the next IEEE 754 double.
func (r *Reader) F64() float64 { return math.Float64frombits(r.U64()) }

// Bytes returns bytes that follow their length of 8 bytes.
func (r *Reader) Bytes() []byte {
	length := r.U64()
	if r.err == nil && length > uint64(r.Left()) {
		r.err = Refuse(WrongLength, "%s: a part of %d bytes: expected at most the %d that are left",
			r.what, length, r.Left())
		return nil
	}
	return r.Take(int(length))
}

// End refuses bytes that are left, and returns the first error.
func (r *Reader) End() error {
	if r.err == nil && r.Left() > 0 {
		r.err = Refuse(WrongLength, "%s: %d bytes: expected %d", r.what, len(r.data), r.at)
	}
	return r.err
}
