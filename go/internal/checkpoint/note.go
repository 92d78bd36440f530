package checkpoint

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"papir.example/go/internal/wire"
)

const (
	maxNote       = 1 << 18
	maxSignatures = 64
	dash          = "— "
)

// note is a signed note.
type note struct {
	// text ends with a line feed.
	text       string
	signatures []signature
}

type signature struct {
	name string
	id   [4]byte
	data string
}

func readNote(data string, most int) (*note, error) {
	if len(data) > most {
		return nil, badNote(fmt.Sprintf("%d bytes", len(data)))
	}
	if !utf8.ValidString(data) {
		return nil, badNote("bytes that are not UTF-8")
	}
	if strings.ContainsFunc(data, func(r rune) bool { return r < ' ' && r != '\n' }) {
		return nil, badNote("control characters")
	}
	// The text may have empty lines: the last one is before the signatures.
	end := strings.LastIndex(data, "\n\n")
	if end < 1 || !strings.HasSuffix(data[end+2:], "\n") {
		return nil, badNote("no signatures after an empty line")
	}
	n := &note{text: data[:end+1]}
	for _, line := range strings.Split(strings.TrimSuffix(data[end+2:], "\n"), "\n") {
		if err := n.add(line); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func badNote(found string) error {
	return wire.Refuse(wire.Malformed, "a signed note: %s: expected text, an empty line and signatures", found)
}

// add reads a line of a signature. Repeated lines count once.
func (n *note) add(line string) error {
	const what = "a signature line"
	rest, dashed := strings.CutPrefix(line, dash)
	name, encoded, two := strings.Cut(rest, " ")
	if !dashed || !two {
		return wire.Refuse(wire.Malformed, "%s `%s`: expected an em dash, a name and base64", what, wire.Shown(line))
	}
	if err := checkName(name); err != nil {
		return err
	}
	data, err := unbase64(what, encoded)
	if err != nil {
		return err
	}
	if len(data) < 5 {
		return wire.Refuse(wire.Malformed, "%s of %d bytes: expected 5 or more", what, len(data))
	}
	one := signature{name: name, id: [4]byte(data[:4]), data: string(data[4:])}
	for _, known := range n.signatures {
		if known == one {
			return nil
		}
	}
	if len(n.signatures) == maxSignatures {
		return wire.Refuse(wire.OutOfBounds, "a note of more than %d signatures", maxSignatures)
	}
	n.signatures = append(n.signatures, one)
	return nil
}

// lines returns the lines of the text.
func (n *note) lines() []string {
	return strings.Split(strings.TrimSuffix(n.text, "\n"), "\n")
}

// signedBy returns whether a key signed under a name. Every line with that name and id must verify.
func (n *note) signedBy(key Key, name string) (bool, error) {
	id, found := key.id(name), false
	for _, one := range n.signatures {
		if one.name != name || one.id != id {
			continue
		}
		if !key.verifies(n.message(key, one)) {
			return false, wire.Refuse(BadSignature, "a signature of %s that does not verify: expected a valid one", key)
		}
		found = true
	}
	return found, nil
}

// message returns what a line signs, and its signature; an empty one if its form is wrong.
func (n *note) message(key Key, line signature) (message, signed []byte) {
	if key.kind != cosignatureKey {
		return []byte(n.text), []byte(line.data)
	}
	if len(line.data) < 8 {
		return nil, nil
	}
	time := binary.BigEndian.Uint64([]byte(line.data[:8]))
	// The specification limits times to 2^63 − 1.
	if time >= 1<<63 {
		return nil, nil
	}
	return []byte(fmt.Sprintf("cosignature/v1\ntime %d\n%s", time, n.text)), []byte(line.data[8:])
}

// signers names the keys of the first lines, for messages.
func (n *note) signers() string {
	var names []string
	for _, one := range n.signatures[:min(len(n.signatures), 8)] {
		names = append(names, wire.Shown(one.name)+"+"+hex.EncodeToString(one.id[:]))
	}
	return strings.Join(names, ", ")
}
