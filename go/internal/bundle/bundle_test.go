package bundle

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"papir.example/go/internal/scheme"
	"papir.example/go/internal/wire"
)

func codeOf(err error) string {
	var refused *wire.Error
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

// public is the envelope of a `simple` database of `records` records of `bytes` bytes in one
// column.
func public(version byte, records, bytes uint64) []byte {
	var payload []byte
	for _, number := range []uint64{24, records, 8 * bytes, records} {
		payload = binary.LittleEndian.AppendUint64(payload, number)
	}
	payload = append(payload, make([]byte, 32+4096*records*bytes)...)
	return wire.Seal(wire.Public, 1, wire.Version{version}, payload)
}

// layout has one bucket of `bytes` bytes in a record.
func layout(records uint32, bytes uint32) []byte {
	out := append([]byte{3, 0}, make([]byte, 64)...)
	for _, number := range []uint32{1, records, 1, bytes, 1, 2} {
		out = binary.LittleEndian.AppendUint32(out, number)
	}
	out = append(out, 1)
	out = binary.LittleEndian.AppendUint32(out, 2)
	return append(out, 8, 0, 0)
}

func encode(keyed, verifiable byte, public, layout []byte) []byte {
	out := append([]byte("PIRB"), 1, 0, keyed, verifiable)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(public)))
	out = append(out, public...)
	out = binary.LittleEndian.AppendUint64(out, uint64(len(layout)))
	out = append(out, layout...)
	if verifiable == 1 {
		out = append(out, make([]byte, 32)...)
	}
	return wire.AppendChecksum(out)
}

func encodeDelta(base byte, records uint64, content byte, inner []byte) []byte {
	out := append([]byte("PIRD"), 1, 0, base, 0, 0, 0, 0, 0, 0, 0)
	out = binary.LittleEndian.AppendUint64(out, records)
	out = append(out, content)
	if content == 1 {
		out = append(out, make([]byte, 32)...)
	}
	out = binary.LittleEndian.AppendUint64(out, uint64(len(inner)))
	return wire.AppendChecksum(append(out, inner...))
}

// filtered is the bundle of four records that states a prefilter of these bits.
func filtered(keyed, bits byte) []byte {
	var keys []byte
	if keyed == 1 {
		keys = layout(4, 20)
	}
	out := encode(keyed, 0, public(1, 4, 20), keys)
	out = append(out[:len(out)-8], bits)
	out[4] = withPrefilter
	return wire.AppendChecksum(append(out, make([]byte, 40)...))
}

// filteredDelta is a delta beside keys, with a prefilter, which is not read.
func filteredDelta(inner []byte) []byte {
	out := encodeDelta(1, 0, 0, inner)
	out = binary.LittleEndian.AppendUint64(out[:len(out)-8], 3)
	out[4] = withPrefilter
	return wire.AppendChecksum(append(out, 1, 2, 3))
}

func TestBundlesAreRead(t *testing.T) {
	for name, one := range map[string]struct {
		bundle []byte
		code   string
	}{
		"without keys":           {encode(0, 0, public(1, 4, 20), nil), ""},
		"with keys":              {encode(1, 0, public(1, 4, 20), layout(4, 20)), ""},
		"with proofs":            {encode(1, 1, public(1, 4, 84), layout(4, 20)), ""},
		"with a prefilter":       {filtered(1, 24), ""},
		"too few bits":           {filtered(1, 3), wire.OutOfBounds},
		"too many bits":          {filtered(1, 25), wire.OutOfBounds},
		"a prefilter of no keys": {filtered(0, 8), wire.Malformed},
		"too short for proofs":   {encode(0, 1, public(1, 4, 64), nil), wire.Malformed},
		"another shape":          {encode(1, 0, public(1, 4, 21), layout(4, 20)), wire.Malformed},
		"other records":          {encode(1, 0, public(1, 5, 20), layout(4, 20)), wire.Malformed},
		"a flag":                 {encode(2, 0, public(1, 4, 20), layout(4, 20)), wire.Malformed},
		"another flag":           {encode(0, 2, public(1, 4, 20), nil), wire.Malformed},
		"a layout without keys":  {encode(0, 0, public(1, 4, 20), layout(4, 20)), wire.Malformed},
		"keys without a layout":  {encode(1, 0, public(1, 4, 20), nil), wire.WrongLength},
		"a magic":                {append([]byte("PIRX"), encode(0, 0, public(1, 4, 20), nil)[4:]...), wire.Malformed},
		"a newer format":         {append([]byte("PIRB\x03"), encode(0, 0, public(1, 4, 20), nil)[5:]...), wire.Format},
		"a query in its place":   {encode(0, 0, wire.Seal(wire.Query, 1, wire.Version{}, nil), nil), wire.Malformed},
		"a scheme of others":     {encode(0, 0, wire.Seal(wire.Public, 0, wire.Version{}, make([]byte, 99)), nil), wire.WrongScheme},
		"a part beyond its end":  {append(append([]byte("PIRB\x01\x00\x00\x00"), bytes.Repeat([]byte{0xff}, 8)...), make([]byte, 30)...), wire.WrongLength},
		"nothing":                {nil, wire.WrongLength},
		"parameters beyond ends": {encode(0, 0, wire.Seal(wire.Public, 1, wire.Version{}, bytes.Repeat([]byte{0xff}, 40)), nil), wire.WrongLength},
	} {
		_, err := Decode(one.bundle, scheme.Names())
		if code := codeOf(err); code != one.code || (err == nil) != (one.code == "") {
			t.Errorf("%s: %v, expected %s", name, err, one.code)
		}
	}
	if _, err := Decode(encode(0, 0, public(1, 4, 20), nil), []string{"inspire"}); codeOf(err) != wire.WrongScheme {
		t.Errorf("a scheme that is not allowed: %v", err)
	}
}

func TestDeltasBelongToTheirBase(t *testing.T) {
	read := func(bundle []byte) *Database {
		db, err := Decode(bundle, scheme.Names())
		if err != nil {
			t.Fatal(err)
		}
		return db
	}
	keyed := read(encode(1, 0, public(1, 4, 20), layout(4, 20)))
	numbered := read(encode(0, 0, public(1, 4, 20), nil))
	inner := encode(1, 0, public(2, 4, 20), layout(4, 20))
	for name, one := range map[string]struct {
		base *Database
		data []byte
		code string
	}{
		"with keys":            {keyed, encodeDelta(1, 0, 0, inner), ""},
		"with a hash":          {keyed, encodeDelta(1, 0, 1, inner), ""},
		"by number":            {numbered, encodeDelta(1, 5, 0, inner), ""},
		"with a prefilter":     {keyed, filteredDelta(inner), ""},
		"a stated prefilter":   {keyed, encodeDelta(1, 0, 0, filtered(1, 8)), wire.Malformed},
		"another base":         {keyed, encodeDelta(2, 0, 0, inner), wire.WrongVersion},
		"records beside keys":  {keyed, encodeDelta(1, 4, 0, inner), wire.Malformed},
		"fewer records":        {numbered, encodeDelta(1, 3, 0, inner), wire.Malformed},
		"no layout":            {keyed, encodeDelta(1, 0, 0, encode(0, 0, public(2, 4, 20), nil)), wire.Malformed},
		"proofs, unlike bases": {keyed, encodeDelta(1, 0, 0, encode(1, 1, public(2, 4, 84), layout(4, 20))), wire.Malformed},
		"a flag":               {keyed, encodeDelta(1, 0, 2, inner), wire.Malformed},
		"a bundle":             {keyed, inner, wire.Malformed},
	} {
		_, err := DecodeDelta(one.data, one.base, scheme.Names())
		if code := codeOf(err); code != one.code || (err == nil) != (one.code == "") {
			t.Errorf("%s: %v, expected %s", name, err, one.code)
		}
	}
}

func TestRecordsAreProved(t *testing.T) {
	records := [][]byte{{1, 2}, {3, 4}, {5, 6}}
	leaves := make([]Hash, len(records))
	for i, record := range records {
		leaves[i] = hashOf("leaf", record)
	}
	var none Hash
	left, right := hashOf("node", leaves[0][:], leaves[1][:]), hashOf("node", leaves[2][:], none[:])
	top := hashOf("node", left[:], right[:])
	c, err := newCommitment(scheme.Shape{Records: 3, RecordBits: 8 * 66}, top)
	if err != nil {
		t.Fatal(err)
	}
	proofs := [][]Hash{{leaves[1], right}, {leaves[0], right}, {none, left}}
	for i, record := range records {
		proven := bytes.Clone(record)
		for _, hash := range proofs[i] {
			proven = append(proven, hash[:]...)
		}
		content, err := c.Verify(uint64(i), proven)
		if err != nil || !bytes.Equal(content, record) {
			t.Errorf("record %d: %x, %v", i, content, err)
		}
		for at := range proven {
			changed := bytes.Clone(proven)
			changed[at] ^= 1
			if _, err := c.Verify(uint64(i), changed); codeOf(err) != wire.NotVerified {
				t.Errorf("record %d: a changed byte %d: %v", i, at, err)
			}
		}
		if _, err := c.Verify(uint64(i+1)%3, proven); err == nil {
			t.Errorf("record %d is accepted as another one", i)
		}
		if _, err := c.Verify(uint64(i), proven[1:]); codeOf(err) != wire.WrongLength {
			t.Errorf("record %d: a short one: %v", i, err)
		}
	}
	if c.Root(nil) == c.Root([]byte{0}) {
		t.Error("the root does not depend on the layout")
	}
}

func FuzzBundle(f *testing.F) {
	f.Add(encode(0, 0, public(1, 1, 2), nil))
	f.Add(encode(1, 0, public(1, 1, 20), layout(1, 20)))
	f.Add(encodeDelta(1, 0, 0, encode(1, 0, public(2, 1, 20), layout(1, 20))))
	base, err := Decode(encode(1, 0, public(1, 1, 20), layout(1, 20)), scheme.Names())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Most changed bytes are found by the checksum, so the rest is tried with a right one.
		for _, one := range [][]byte{data, wire.AppendChecksum(bytes.Clone(data))} {
			if db, err := Decode(one, scheme.Names()); err == nil {
				db.Root()
			}
			_, _ = DecodeDelta(one, base, scheme.Names())
		}
	})
}
