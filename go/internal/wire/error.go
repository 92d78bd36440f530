// Package wire has what every format of papir needs: errors, a bounded reader, packed
// coefficients, envelopes, and the expansion of public seeds.
package wire

import (
	"fmt"
	"strings"
)

// Codes of errors, the same words as in papir's other clients.
const (
	Malformed    = "malformed"
	Checksum     = "checksum"
	WrongVersion = "wrong_version"
	WrongScheme  = "wrong_scheme"
	WrongLength  = "wrong_length"
	OutOfBounds  = "out_of_bounds"
	Insecure     = "insecure"
	NotDecodable = "not_decodable"
	NotVerified  = "not_verified"
	OutOfRange   = "index_out_of_range"
	TooLarge     = "too_large"
	Format       = "format"
)

// Error is a refusal of bytes or parameters.
type Error struct {
	// Code is for programs.
	Code string
	// Text says what was found and what was expected.
	Text string
}

func (e *Error) Error() string { return e.Text }

// Refuse returns an error with a formatted text.
func Refuse(code, format string, arguments ...any) error {
	return &Error{Code: code, Text: fmt.Sprintf(format, arguments...)}
}

// Shown is text from the network for a message: short, and without control characters.
func Shown(text string) string { return ShownTo(text, 80) }

// ShownTo is text of at most this many characters, without control characters.
func ShownTo(text string, most int) string {
	out := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || (r >= 0x80 && r < 0xa0) || r == '\u2028' || r == '\u2029' ||
			(r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069) {
			return '?'
		}
		return r
	}, text)
	if runes := []rune(out); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return out
}
