// Package scheme has the client's side of the schemes `simple`, `inspire` and `inspire1`.
//
// A scheme is made from the public part of a database's version, checks its parameters, makes one
// query for one record under fresh secrets, and reads the record from the answer.
package scheme

import (
	"io"
	"strings"

	"papir.example/go/internal/sample"
	"papir.example/go/internal/wire"
)

// Limits of every database, and of its messages.
const (
	maxRecords      = 1 << 40
	maxRecordBits   = 256 * 1024 * 8
	maxColumns      = 1 << 24
	maxMessageBytes = 1 << 30
)

// Scheme is the client of one version of a database. It may be used by several goroutines at once.
type Scheme interface {
	// Number is the scheme's number in messages.
	Number() uint16
	// Shape is the number and the length of the records.
	Shape() Shape
	// QueryBytes and AnswerBytes are the lengths of the payloads of messages.
	QueryBytes() int
	AnswerBytes() int

	// query returns the payload of a query for a record below the number of records.
	query(index uint64, source *sample.Source) ([]byte, Secret)
}

// Secret belongs to one query. Extract consumes it.
type Secret interface {
	// Extract returns the record from the payload of the answer, and clears the secret. It takes
	// the same time whether the answer decodes or not.
	Extract(payload []byte) ([]byte, error)
	// Clear overwrites the secret, for a query that is not answered.
	Clear()
}

// Shape is the number of records and their length in bits.
type Shape struct {
	Records, RecordBits uint64
}

// RecordBytes returns the bytes of a record.
func (s Shape) RecordBytes() int { return int((s.RecordBits + 7) / 8) }

func (s Shape) check() error {
	if s.Records == 0 || s.Records > maxRecords {
		return wire.Refuse(wire.OutOfBounds, "a database of %d records: expected 1 to %d", s.Records, uint64(maxRecords))
	}
	if s.RecordBits == 0 || s.RecordBits > maxRecordBits {
		return wire.Refuse(wire.OutOfBounds, "records of %d bits: expected 1 to %d", s.RecordBits, maxRecordBits)
	}
	return nil
}

// family opens the public parts of one scheme.
type family struct {
	name   string
	number uint16
	open   func(parameters []byte, public []byte) (Scheme, error)
}

var families = []family{
	{"simple", simpleNumber, openSimple},
	{"inspire", inspireNumber, openInspire},
	{"inspire1", inspire1Number, openInspire1},
}

// Names returns the names of the supported schemes.
func Names() []string {
	names := make([]string, len(families))
	for i, one := range families {
		names[i] = one.name
	}
	return names
}

// NameOf returns the name of a scheme that this package supports.
func NameOf(scheme Scheme) string {
	for _, one := range families {
		if one.number == scheme.Number() {
			return one.name
		}
	}
	return ""
}

// Open makes a scheme's client from the envelope of a public part. Schemes whose name is not among
// the allowed ones are refused.
func Open(envelope *wire.Envelope, allowed []string) (Scheme, error) {
	const what = "a public part"
	if envelope.Kind != wire.Public {
		return nil, wire.Refuse(wire.Malformed, "%s: a message of kind %d: expected %d", what, envelope.Kind, wire.Public)
	}
	for _, one := range families {
		if one.number != envelope.Scheme || !contains(allowed, one.name) {
			continue
		}
		r := wire.NewReader(what, envelope.Payload)
		parameters := r.Bytes()
		if err := r.Err(); err != nil {
			return nil, err
		}
		return one.open(parameters, r.Take(r.Left()))
	}
	return nil, wire.Refuse(wire.WrongScheme, "a database of scheme number %d: expected %s",
		envelope.Scheme, strings.Join(allowed, ", "))
}

func contains(names []string, name string) bool {
	for _, one := range names {
		if one == name {
			return true
		}
	}
	return false
}

// Query makes the query for a record, in its envelope. Random is the system's generator; nil stands
// for crypto/rand.
func Query(s Scheme, version wire.Version, index uint64, random io.Reader) ([]byte, Secret, error) {
	if records := s.Shape().Records; index >= records {
		return nil, nil, wire.Refuse(wire.OutOfRange, "record %d: expected a number below %d", index, records)
	}
	source, err := sample.ForQuery(s.Number(), version, index, random)
	if err != nil {
		return nil, nil, err
	}
	defer source.Clear()
	payload, secret := s.query(index, source)
	return wire.Seal(wire.Query, s.Number(), version, payload), secret, nil
}

// readFailure returns −log2 of the bound on failures that the last byte of parameters may state.
func readFailure(r *wire.Reader) (int, error) {
	if r.Left() == 0 {
		return 40, nil
	}
	bound := int(r.U8())
	if bound < 41 || bound > 128 {
		return 0, wire.Refuse(wire.OutOfBounds, "a bound on failures of 2^-%d: expected 41 to 128", bound)
	}
	return bound, nil
}

// readShape reads the number of records and their length.
func readShape(r *wire.Reader) (Shape, error) {
	shape := Shape{Records: r.U64(), RecordBits: r.U64()}
	if err := r.Err(); err != nil {
		return shape, err
	}
	return shape, shape.check()
}

// checkMessages refuses messages that no service has.
func checkMessages(query, answer uint64) error {
	if query > maxMessageBytes || answer > maxMessageBytes {
		return wire.Refuse(wire.OutOfBounds, "queries of %d bytes and answers of %d: expected at most %d",
			query, answer, maxMessageBytes)
	}
	return nil
}

func divideUp(a, b uint64) uint64 { return (a + b - 1) / b }

// units are the parts of a database that are stored and returned together.
type units struct {
	shape Shape
	// Bytes of a unit, the records in it, and the bits that a record takes.
	bytes      int
	records    uint64
	storedBits uint64
}

// newUnits divides records into units of a fixed length: a multiple of 8 of them without gaps, or
// records that are each padded to whole bytes, whichever is more records.
func newUnits(shape Shape, bytes int) (units, error) {
	padded := 8 * divideUp(shape.RecordBits, 8)
	tight := uint64(bytes) / shape.RecordBits * 8
	loose := 8 * uint64(bytes) / padded
	switch {
	case loose == 0:
		return units{}, wire.Refuse(wire.OutOfBounds, "records of %d bits: expected at most %d, a unit of %d bytes",
			shape.RecordBits, 8*bytes, bytes)
	case tight > loose:
		return units{shape, bytes, tight, shape.RecordBits}, nil
	default:
		return units{shape, bytes, loose, padded}, nil
	}
}

// count returns the number of units.
func (u *units) count() uint64 { return divideUp(u.shape.Records, u.records) }

// locate returns the unit of a record and its slot.
func (u *units) locate(index uint64) (unit, slot uint64) {
	return index / u.records, index % u.records
}

// selectRecord returns the record in a secret slot. It reads every slot.
func (u *units) selectRecord(unit []byte, slot uint64) []byte {
	return selectBits(unit, u.records, u.storedBits, u.shape.RecordBits, slot)
}

// selectBits returns one of count parts of data, of `bits` bits at multiples of `stride` bits. It
// reads all of them, so that neither time nor addresses tell which one is wanted.
func selectBits(data []byte, count, stride, bits, wanted uint64) []byte {
	selected := make([]byte, (bits+7)/8)
	part := make([]byte, len(selected))
	for i := uint64(0); i < count; i++ {
		wire.ExtractBits(part, data, i*stride, bits)
		mask := byte(-isEqual(i, wanted))
		for k := range selected {
			selected[k] |= part[k] & mask
		}
	}
	clear(part)
	return selected
}

// isEqual returns 1 if both are equal, else 0, without a branch.
func isEqual(a, b uint64) uint64 {
	x := a ^ b
	return 1 - (x|-x)>>63
}

// notDecodable is the error of an answer whose noise is too large.
func notDecodable() error {
	return wire.Refuse(wire.NotDecodable, "an answer that does not decode: expected one to this query. "+
		"It is not asked again, since that could tell the service why")
}
