// Package bundle reads the public data of a database's version: bundles, deltas and commitments.
package bundle

import (
	"papir.example/go/internal/keyword"
	"papir.example/go/internal/scheme"
	"papir.example/go/internal/wire"
)

const (
	formatVersion = 1
	// Bundles and deltas with a prefilter have another format. This client checks what they say of
	// it, and does not use it: it looks every key up.
	withPrefilter = 2

	leastPrefilterBits = 4
	mostPrefilterBits  = 24
)

// Database is a client of one version: of a base, or of its delta.
type Database struct {
	Version wire.Version
	Scheme  scheme.Scheme
	// Layout is nil for a database that is looked up by number.
	Layout *keyword.Layout
	// Commitment is nil unless the database is verifiable.
	Commitment *Commitment
	// statesPrefilter is set if the bundle states a filter of the keys.
	statesPrefilter bool
}

// Decode reads a bundle, and makes its client. Only the allowed schemes are accepted.
func Decode(data []byte, allowed []string) (*Database, error) {
	const what = "a bundle"
	r := wire.NewReader(what, data)
	format, err := checkBeginning(what, r, "PIRB")
	if err != nil {
		return nil, err
	}
	keyed, verifiable := r.U8(), r.U8()
	public, layout := r.Bytes(), r.Bytes()
	var top Hash
	if verifiable == 1 {
		top = r.Array()
	}
	bits := uint8(leastPrefilterBits)
	if format == withPrefilter {
		bits = r.U8()
		r.U64()
		r.Array()
	}
	r.Take(8)
	if err := r.End(); err != nil {
		return nil, err
	}
	// Before the parts are decoded: damage must not show as an error of a part.
	if err := wire.CheckChecksum(what, data); err != nil {
		return nil, err
	}
	if keyed > 1 || verifiable > 1 || (keyed == 0 && len(layout) > 0) {
		return nil, wire.Refuse(wire.Malformed, "%s with the flags %d and %d, and a layout of %d bytes: expected 0 or 1 each",
			what, keyed, verifiable, len(layout))
	}
	if bits < leastPrefilterBits || bits > mostPrefilterBits {
		return nil, wire.Refuse(wire.OutOfBounds, "%s with a prefilter of %d bits: expected %d to %d",
			what, bits, leastPrefilterBits, mostPrefilterBits)
	}
	if format == withPrefilter && keyed == 0 {
		return nil, wire.Refuse(wire.Malformed, "%s with a prefilter and no keyword layout: expected both", what)
	}

	envelope, err := wire.Open("a public part", public)
	if err != nil {
		return nil, err
	}
	opened, err := scheme.Open(envelope, allowed)
	if err != nil {
		return nil, err
	}
	db := &Database{Version: envelope.Version, Scheme: opened, statesPrefilter: format == withPrefilter}
	if verifiable == 1 {
		if db.Commitment, err = newCommitment(opened.Shape(), top); err != nil {
			return nil, err
		}
	}
	if keyed == 1 {
		if db.Layout, err = keyword.Decode(layout); err != nil {
			return nil, err
		}
		return db, db.checkLayout()
	}
	return db, nil
}

// checkBeginning reads magic and format version, and returns the latter.
func checkBeginning(what string, r *wire.Reader, magic string) (uint16, error) {
	found := r.Take(len(magic))
	version := r.U16()
	if err := r.Err(); err != nil {
		return 0, err
	}
	if string(found) != magic {
		return 0, wire.Refuse(wire.Malformed, "%s: it begins with %x: expected `%s`", what, found, magic)
	}
	if version != formatVersion && version != withPrefilter {
		return 0, wire.Refuse(wire.Format, "%s of format %d: this client reads the formats %d and %d",
			what, version, formatVersion, withPrefilter)
	}
	return version, nil
}

// checkLayout compares the buckets of the layout with the records of the scheme.
func (d *Database) checkLayout() error {
	records, bytes := d.Scheme.Shape().Records, d.RecordBytes()
	if d.Layout.Records() != records || d.Layout.RecordBytes() != bytes {
		return wire.Refuse(wire.Malformed, "a layout of %d buckets of %d bytes: the database has %d records of %d bytes",
			d.Layout.Records(), d.Layout.RecordBytes(), records, bytes)
	}
	return nil
}

// RecordBytes returns the bytes of a record without its proof.
func (d *Database) RecordBytes() int {
	if d.Commitment != nil {
		return d.Commitment.recordBytes
	}
	return d.Scheme.Shape().RecordBytes()
}

// Root returns the root of a verifiable database; false if it is not verifiable.
func (d *Database) Root() (Hash, bool) {
	if d.Commitment == nil {
		return Hash{}, false
	}
	if d.Layout == nil {
		return d.Commitment.Root(nil), true
	}
	return d.Commitment.Root(d.Layout.Encoded), true
}

// RecordsPerLookup returns the number of records that a lookup fetches.
func (d *Database) RecordsPerLookup() int {
	if d.Layout == nil {
		return 1
	}
	return d.Layout.Lookups()
}

// Delta is the public part of a delta.
type Delta struct {
	// Records of base and delta together; 0 for a database with keys.
	Records  uint64
	Database *Database
}

// DecodeDelta reads a delta that belongs to a base.
func DecodeDelta(data []byte, base *Database, allowed []string) (*Delta, error) {
	const what = "a delta"
	r := wire.NewReader(what, data)
	format, err := checkBeginning(what, r, "PIRD")
	if err != nil {
		return nil, err
	}
	var version wire.Version
	copy(version[:], r.Take(len(version)))
	records, content := r.U64(), r.U8()
	if content == 1 {
		r.Take(hashBytes)
	}
	inner := r.Bytes()
	if format == withPrefilter {
		r.Bytes()
	}
	r.Take(8)
	if err := r.End(); err != nil {
		return nil, err
	}
	if err := wire.CheckChecksum(what, data); err != nil {
		return nil, err
	}
	if content > 1 {
		return nil, wire.Refuse(wire.Malformed, "%s with the flag %d: expected 0 or 1", what, content)
	}
	if version != base.Version {
		return nil, wire.Refuse(wire.WrongVersion, "%s of the base %s: expected %s", what, version, base.Version)
	}

	db, err := Decode(inner, allowed)
	if err != nil {
		return nil, err
	}
	switch {
	case db.Layout == nil:
		return nil, wire.Refuse(wire.Malformed, "%s without a keyword layout: expected one", what)
	case db.statesPrefilter:
		return nil, wire.Refuse(wire.Malformed, "%s whose bundle states a prefilter: expected none, a delta has its own", what)
	case (db.Commitment == nil) != (base.Commitment == nil):
		return nil, wire.Refuse(wire.Malformed, "%s whose records have proofs, or its base's do: expected both or neither", what)
	case base.Layout != nil && records != 0:
		return nil, wire.Refuse(wire.Malformed, "%s of %d records, beside a base with keys: expected 0", what, records)
	case base.Layout == nil && records < base.Scheme.Shape().Records:
		return nil, wire.Refuse(wire.Malformed, "%s of %d records: expected at least the %d of the base", what, records,
			base.Scheme.Shape().Records)
	}
	return &Delta{Records: records, Database: db}, nil
}
