package checkpoint

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"papir.example/go/internal/wire"
)

const (
	maxCertificate  = 4096
	maxCertificates = 16
	// Seconds by which clocks may differ.
	skew = 300
)

// certificate is a delegation or a rotation.
type certificate struct {
	rotation        bool
	issuer, subject Key
	// database is percent-encoded; empty for all databases.
	database    string
	from, until uint64
}

func badCertificate(found string) error {
	return wire.Refuse(wire.Malformed, "a certificate: %s: expected a signed delegation, rotation or keys of gateways", found)
}

// readCertificate reads a certificate and verifies its signatures; nil for keys of gateways, which
// this client does not use.
func readCertificate(data string) (*certificate, error) {
	n, err := readNote(data, maxCertificate)
	if err != nil {
		return nil, err
	}
	lines := n.lines()
	if len(lines) > 6 && lines[0] == "papir-certificate-2" && lines[1] == "gateways" {
		issuer, err := ReadKey(lines[2])
		if err != nil {
			return nil, err
		}
		return nil, requireSignature(n, issuer)
	}
	if len(lines) != 7 || lines[0] != "papir-certificate-1" {
		return nil, badCertificate(fmt.Sprintf("%d lines that begin with `%s`", len(lines), wire.Shown(lines[0])))
	}

	c := &certificate{rotation: lines[1] == "rotate"}
	if !c.rotation && lines[1] != "delegate" {
		return nil, badCertificate("another grant")
	}
	if c.issuer, err = ReadKey(lines[2]); err != nil {
		return nil, err
	}
	if c.subject, err = ReadKey(lines[3]); err != nil {
		return nil, err
	}
	name, one := strings.CutPrefix(lines[4], "database ")
	if plain := unescape(name); one && (name == "" || !utf8.ValidString(plain) || Escape(plain) != name) {
		return nil, badCertificate("another name of a database")
	}
	if one {
		c.database = name
	} else if lines[4] != "databases *" {
		return nil, badCertificate("another scope")
	}
	if c.from, err = timeIn(lines[5], "from "); err != nil {
		return nil, err
	}
	if c.until, err = timeIn(lines[6], "until "); err != nil {
		return nil, err
	}

	if err := requireSignature(n, c.issuer); err != nil {
		return nil, err
	}
	if !c.rotation {
		return c, nil
	}
	if c.database != "" || c.issuer.Name != c.subject.Name {
		return nil, badCertificate("a rotation for one database, or to another name")
	}
	return c, requireSignature(n, c.subject)
}

func requireSignature(n *note, key Key) error {
	signed, err := n.signedBy(key, key.Name)
	if err == nil && !signed {
		err = badCertificate("no signature of " + key.String())
	}
	return err
}

func timeIn(line, word string) (uint64, error) {
	text, found := strings.CutPrefix(line, word)
	number, ok := decimal(text)
	if !found || !ok {
		return 0, badCertificate("another time")
	}
	return number, nil
}

// unescape undoes the percent-encoding. Text that is not percent-encoded gives another text, which
// the caller finds by encoding it again.
func unescape(text string) string {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		if text[i] == '%' && i+2 < len(text) {
			b, err := hex.DecodeString(text[i+1 : i+3])
			if err != nil {
				return ""
			}
			out = append(out, b...)
			i += 2
			continue
		}
		out = append(out, text[i])
	}
	return string(out)
}

func (c *certificate) begun(now uint64) bool { return c.from <= now || c.from-now <= skew }

// delegates returns whether a delegation holds for a database now, and when it was signed.
func (c *certificate) delegates(database string, now, signed uint64) bool {
	return !c.rotation && (c.database == "" || c.database == database) &&
		c.begun(now) && now <= c.until && c.from <= signed && signed <= c.until
}

// successor returns the newest key to which rotations lead.
func successor(key Key, certificates []*certificate, now uint64) Key {
	used := make([]bool, len(certificates))
	for {
		next := -1
		for i, c := range certificates {
			if !used[i] && c.rotation && c.begun(now) && c.issuer.Same(key) {
				next = i
				break
			}
		}
		// A circle ends when each certificate was used once.
		if next < 0 {
			return key
		}
		used[next] = true
		key = certificates[next].subject
	}
}

// owners returns the owner's newest key, and the other ones that are valid now.
func owners(known Key, certificates []*certificate, now uint64) []Key {
	valid := []Key{successor(known, certificates, now)}
	// The keys that are added are examined in turn.
	for i := 0; i < len(valid); i++ {
		for _, c := range certificates {
			if c.rotation && c.begun(now) && now <= c.until && c.subject.Same(valid[i]) && !anySame(valid, c.issuer) {
				valid = append(valid, c.issuer)
			}
		}
	}
	return valid
}

func anySame(keys []Key, key Key) bool {
	for _, one := range keys {
		if one.Same(key) {
			return true
		}
	}
	return false
}

// signers returns the keys that may sign a version of a database.
func signers(known Key, certificates []*certificate, database string, now, signed uint64) []Key {
	keys := owners(known, certificates, now)
	valid := len(keys)
	for _, c := range certificates {
		if !c.delegates(database, now, signed) {
			continue
		}
		for _, owner := range keys[:valid] {
			if owner == c.issuer {
				keys = append(keys, c.subject)
				break
			}
		}
	}
	return keys
}
