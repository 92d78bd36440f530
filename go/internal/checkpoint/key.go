// Package checkpoint verifies signed checkpoints of databases: keys, notes, certificates, leaves,
// proofs, and the policy of a client. It does no I/O.
//
// The text formats are C2SP's signed-note, tlog-checkpoint, tlog-cosignature and tlog-proof; the
// log is that of RFC 6962.
package checkpoint

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"papir.example/go/internal/wire"
)

// Codes of refused checkpoints, the same words as in papir's other clients.
const (
	Untrusted    = "checkpoint_untrusted"
	BadSignature = "checkpoint_signature"
	NotIncluded  = "checkpoint_proof"
	Rollback     = "checkpoint_rollback"
	Equivocation = "checkpoint_equivocation"
	Sequence     = "checkpoint_sequence"
	TooOld       = "checkpoint_too_old"
	FromFuture   = "checkpoint_future"
	Cosignatures = "checkpoint_cosignatures"
	WrongName    = "checkpoint_database"
	WrongOrigin  = "checkpoint_origin"
	PublicPart   = "checkpoint_public_part"
	WrongDelta   = "checkpoint_delta"
)

// Types of keys.
const (
	signatureKey   = 1
	cosignatureKey = 4
)

const (
	maxKeyText = 512
	maxName    = 255
)

// Key is a public key with its name.
type Key struct {
	Name   string
	kind   byte
	public [ed25519.PublicKeySize]byte
}

// ReadKey reads the public key of an owner or of a publisher.
func ReadKey(text string) (Key, error) { return readKey(text, signatureKey) }

// ReadWitness reads the public key of a witness.
func ReadWitness(text string) (Key, error) { return readKey(text, cosignatureKey) }

func readKey(text string, kind byte) (key Key, err error) {
	const what = "a public key"
	if len(text) > maxKeyText {
		return key, wire.Refuse(wire.Malformed, "%s of %d bytes: expected NAME+ID+KEY in base64", what, len(text))
	}
	// Base64 may have a +, a name has none.
	parts := strings.SplitN(strings.TrimSpace(text), "+", 3)
	if len(parts) != 3 || checkName(parts[0]) != nil {
		return key, wire.Refuse(wire.Malformed, "%s `%s`: expected NAME+ID+KEY in base64", what, wire.Shown(text))
	}
	data, err := unbase64(what, parts[2])
	if err != nil {
		return key, err
	}
	if len(data) != 1+len(key.public) || data[0] != kind {
		return key, wire.Refuse(wire.Malformed, "%s of %d bytes of another type: expected %d bytes of type %d", what,
			len(data), 1+len(key.public), kind)
	}
	key.Name, key.kind = parts[0], kind
	copy(key.public[:], data[1:])
	if found, id := parts[1], key.id(key.Name); found != hex.EncodeToString(id[:]) {
		return key, wire.Refuse(wire.Malformed, "%s with the id `%s`: expected %x, that of its name and key", what,
			wire.Shown(found), id)
	}
	return key, nil
}

func checkName(name string) error {
	bad := func(r rune) bool { return r == '+' || unicode.IsSpace(r) || unicode.IsControl(r) }
	if name == "" || len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, bad) {
		return wire.Refuse(wire.Malformed,
			"the name of a key `%s`: expected 1 to %d bytes without white space, `+` and control characters",
			wire.Shown(name), maxName)
	}
	return nil
}

// id returns the id of the key under a name.
func (k Key) id(name string) (id [4]byte) {
	hash := sha256.New()
	hash.Write([]byte(name))
	hash.Write([]byte{'\n', k.kind})
	hash.Write(k.public[:])
	copy(id[:], hash.Sum(nil))
	return id
}

// Same returns whether both are one key, whatever their names.
func (k Key) Same(other Key) bool { return k.public == other.public }

func (k Key) String() string {
	id := k.id(k.Name)
	data := append([]byte{k.kind}, k.public[:]...)
	return k.Name + "+" + hex.EncodeToString(id[:]) + "+" + base64.StdEncoding.EncodeToString(data)
}

// verifies returns whether a signature is valid, by the strict rules: a key or a first half that is
// a point of small order is refused. Under such a key, one signature would hold for many messages.
func (k Key) verifies(message, signature []byte) bool {
	if len(signature) != ed25519.SignatureSize || isSmall(k.public[:]) || isSmall(signature[:32]) {
		return false
	}
	return ed25519.Verify(k.public[:], message, signature)
}

// smallOrder are the y coordinates of the points of small order, in all encodings: those of order
// 1, 2, 4 and 8, and the two that are not reduced.
var smallOrder = [][32]byte{
	{1},
	{},
	ofHex("ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
	ofHex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"),
	ofHex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"),
	ofHex("edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
	ofHex("eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"),
}

func ofHex(text string) (out [32]byte) {
	decoded, err := hex.DecodeString(text)
	if err != nil || len(decoded) != len(out) {
		panic("a constant that is not 32 bytes")
	}
	copy(out[:], decoded)
	return out
}

// isSmall compares all bits but the sign of x.
func isSmall(point []byte) bool {
	var y [32]byte
	copy(y[:], point)
	y[31] &= 0x7f
	for _, small := range smallOrder {
		if y == small {
			return true
		}
	}
	return false
}

// unbase64 reads base64 with padding, in its one form.
func unbase64(what, text string) ([]byte, error) {
	// Go's decoder skips line breaks.
	if strings.ContainsAny(text, "\r\n") {
		return nil, wire.Refuse(wire.Malformed, "%s: line breaks in base64", what)
	}
	data, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, wire.Refuse(wire.Malformed, "%s: %d characters that are not base64", what, len(text))
	}
	return data, nil
}

// decimal reads a number below 2^64 without a sign or leading zeros.
func decimal(text string) (uint64, bool) {
	if text == "" || len(text) > 20 || (len(text) > 1 && text[0] == '0') {
		return 0, false
	}
	var number uint64
	for i := 0; i < len(text); i++ {
		digit := uint64(text[i]) - '0'
		if digit > 9 || number > (1<<64-1-digit)/10 {
			return 0, false
		}
		number = 10*number + digit
	}
	return number, true
}

// Escape percent-encodes a database's name.
func Escape(name string) string {
	var out strings.Builder
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_' {
			out.WriteByte(c)
		} else {
			out.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		}
	}
	return out.String()
}
