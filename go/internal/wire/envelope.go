package wire

import (
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"

	"papir.example/go/internal/blake3"
)

// Kind is the kind of a message.
type Kind byte

// Kinds of messages that a client without keys sends or receives.
const (
	Public Kind = 1
	Query  Kind = 2
	Answer Kind = 3
)

// EnvelopeBytes is what an envelope adds to its payload.
const EnvelopeBytes = 32

const (
	headerBytes   = 24
	checksumBytes = 8
)

// Version is the random number of a database's version.
type Version [8]byte

func (v Version) String() string { return hex.EncodeToString(v[:]) }

// ParseVersion reads the 16 hexadecimal digits of a version, in lower case.
func ParseVersion(text string) (v Version, err error) {
	decoded, err := hex.DecodeString(text)
	if err != nil || len(decoded) != len(v) || hex.EncodeToString(decoded) != text {
		return v, Refuse(Malformed, "the version `%s`: expected 16 hexadecimal digits", Shown(text))
	}
	copy(v[:], decoded)
	return v, nil
}

// Seal returns the envelope of a payload.
func Seal(kind Kind, scheme uint16, version Version, payload []byte) []byte {
	out := make([]byte, 0, len(payload)+EnvelopeBytes)
	out = append(out, "PIR1"...)
	out = append(out, byte(kind), 0)
	out = binary.LittleEndian.AppendUint16(out, scheme)
	out = append(out, version[:]...)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(payload)))
	out = append(out, payload...)
	return AppendChecksum(out)
}

// Envelope is an opened message.
type Envelope struct {
	Kind    Kind
	Scheme  uint16
	Version Version
	// Payload shares the memory of the message.
	Payload []byte
}

// Open reads an envelope. What names the message in errors.
func Open(what string, message []byte) (*Envelope, error) {
	if len(message) < EnvelopeBytes {
		return nil, Refuse(WrongLength, "%s: %d bytes: expected an envelope of at least %d",
			what, len(message), EnvelopeBytes)
	}
	if string(message[:4]) != "PIR1" {
		return nil, Refuse(Malformed, "%s: it begins with %x: expected `PIR1`", what, message[:4])
	}
	r := NewReader(what, message[4:headerBytes])
	kind, reserved, scheme := Kind(r.U8()), r.U8(), r.U16()
	var version Version
	copy(version[:], r.Take(len(version)))
	length := r.U64()

	payload := message[headerBytes : len(message)-checksumBytes]
	if length != uint64(len(payload)) {
		return nil, Refuse(WrongLength, "%s: a payload of %d bytes: its envelope states %d",
			what, len(payload), length)
	}
	if err := CheckChecksum(what, message); err != nil {
		return nil, err
	}
	if reserved != 0 {
		return nil, Refuse(Malformed, "%s: the reserved byte is %d: expected 0", what, reserved)
	}
	return &Envelope{Kind: kind, Scheme: scheme, Version: version, Payload: payload}, nil
}

// Expect refuses an envelope of another kind, scheme or version.
func (e *Envelope) Expect(what string, kind Kind, scheme uint16, version Version) error {
	switch {
	case e.Kind != kind:
		return Refuse(Malformed, "%s: a message of kind %d: expected %d", what, e.Kind, kind)
	case e.Scheme != scheme:
		return Refuse(WrongScheme, "%s: it is of scheme %d: expected %d", what, e.Scheme, scheme)
	case e.Version != version:
		return Refuse(WrongVersion, "%s: it is of version %s: expected %s", what, e.Version, version)
	}
	return nil
}

// AppendChecksum appends the first 8 bytes of the hash of everything before.
func AppendChecksum(data []byte) []byte {
	sum := blake3.Sum(data)
	return append(data, sum[:checksumBytes]...)
}

// CheckChecksum compares the last 8 bytes with the hash of everything before.
func CheckChecksum(what string, data []byte) error {
	if len(data) < checksumBytes {
		return Refuse(WrongLength, "%s: %d bytes: expected a checksum", what, len(data))
	}
	end := len(data) - checksumBytes
	sum := blake3.Sum(data[:end])
	if subtle.ConstantTimeCompare(sum[:checksumBytes], data[end:]) != 1 {
		return Refuse(Checksum, "%s: its checksum is wrong: it was damaged on its way; try again", what)
	}
	return nil
}
