package keyword

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"papir.example/go/internal/vectors"
)

func TestVectors(t *testing.T) {
	var v struct {
		Layout string `json:"layout"`
		Keys   []struct {
			Key     string   `json:"key"`
			Records []uint64 `json:"records"`
		} `json:"keys"`
	}
	vectors.Read(t, "keywords.json", &v)
	encoded, err := hex.DecodeString(v.Layout)
	if err != nil {
		t.Fatal(err)
	}
	layout, err := Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range v.Keys {
		found := layout.Indices(layout.ID([]byte(one.Key)))
		if len(found) != len(one.Records) {
			t.Fatalf("%d records, expected %d", len(found), len(one.Records))
		}
		for i := range found {
			if found[i] != one.Records[i] {
				t.Errorf("%s: record %d, expected %d", one.Key, found[i], one.Records[i])
			}
		}
	}
	for length := range encoded {
		if _, err := Decode(encoded[:length]); err == nil {
			t.Errorf("%d bytes of a layout are accepted", length)
		}
	}
}

// encode returns the bytes of a layout with zero seeds.
func encode(numbers [6]uint32, lengthBytes byte, payload uint32, tagBytes byte, pilots []uint16) []byte {
	out := binary.LittleEndian.AppendUint16(nil, formatVersion)
	out = append(out, make([]byte, 64)...)
	for _, number := range numbers {
		out = binary.LittleEndian.AppendUint32(out, number)
	}
	out = append(out, lengthBytes)
	out = binary.LittleEndian.AppendUint32(out, payload)
	out = append(out, tagBytes)
	for _, pilot := range pilots {
		out = binary.LittleEndian.AppendUint16(out, pilot)
	}
	return out
}

// Numbers: regions, buckets, pilots, bytes of a bucket, lookups, longest value.
var small = [6]uint32{1, 2, 2, 64, 2, 20}

func TestHostileLayoutsAreRefused(t *testing.T) {
	pilots := []uint16{0, 0}
	if _, err := Decode(encode(small, 2, 10, 8, pilots)); err != nil {
		t.Fatal(err)
	}
	change := func(at int, to uint32) [6]uint32 {
		changed := small
		changed[at] = to
		return changed
	}
	for name, bytes := range map[string][]byte{
		"no regions":          encode(change(0, 0), 2, 10, 8, nil),
		"no buckets":          encode(change(1, 0), 2, 10, 8, pilots),
		"too many buckets":    encode([6]uint32{1 << 20, 1<<21 + 1, 2, 64, 2, 20}, 2, 10, 8, pilots),
		"no pilots":           encode(change(2, 0), 2, 10, 8, nil),
		"many pilots":         encode([6]uint32{1 << 31, 1, 1 << 31, 64, 2, 20}, 2, 10, 8, pilots),
		"a pilot too many":    encode(small, 2, 10, 8, []uint16{0, 0, 0}),
		"a short bucket":      encode(change(3, 19), 2, 10, 8, pilots),
		"a long bucket":       encode(change(3, 1<<18+1), 2, 10, 8, pilots),
		"no lookups":          encode(change(4, 0), 2, 10, 8, pilots),
		"too few lookups":     encode(change(4, 1), 2, 10, 8, pilots),
		"too many lookups":    encode(change(4, 3), 2, 10, 8, pilots),
		"a long value":        encode([6]uint32{1, 2, 2, 64, 2, 1<<16 + 1}, 3, 1<<16+1, 8, pilots),
		"a long length field": encode(small, 4, 10, 8, pilots),
		"long chunks":         encode(small, 2, 21, 8, pilots),
		"chunks of no bytes":  encode(small, 2, 0, 8, pilots),
		"a short tag":         encode(small, 2, 10, 3, pilots),
		"a long tag":          encode(small, 2, 10, 9, pilots),
		"an older format":     append([]byte{2, 0}, encode(small, 2, 10, 8, pilots)[2:]...),
	} {
		if _, err := Decode(bytes); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func testLayout(t testing.TB) *Layout {
	t.Helper()
	layout, err := Decode(encode(small, 2, 10, 8, []uint16{0, 0}))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

// bucket returns a bucket with an entry for a chunk, behind an entry of another key.
func bucket(l *Layout, id ID, chunk uint32, remaining int, payload string) []byte {
	out := append(bytes.Repeat([]byte{0xee}, 8), 1, 0, 'x')
	out = binary.LittleEndian.AppendUint64(out, l.storedTag(l.place(id, chunk).tag))
	out = binary.LittleEndian.AppendUint16(out, uint16(remaining))
	out = append(out, payload...)
	return append(out, make([]byte, l.RecordBytes()-len(out))...)
}

func TestValuesAreFound(t *testing.T) {
	l := testLayout(t)
	id := l.ID([]byte("key"))
	empty := make([]byte, l.RecordBytes())
	// Two full entries, an empty one, and one of 10 bytes where 4 are left.
	beyond := bytes.Repeat([]byte{1}, l.RecordBytes())
	copy(beyond[48:], []byte{0, 0})
	copy(beyond[58:], []byte{10, 0})
	for _, one := range []struct {
		name    string
		records [][]byte
		value   string
		found   bool
		refused bool
	}{
		{"absent", [][]byte{empty, empty}, "", false, false},
		{"absent, with a foreign second chunk", [][]byte{empty, bucket(l, id, 1, 3, "abc")}, "", false, false},
		{"empty", [][]byte{bucket(l, id, 0, 0, ""), empty}, "", true, false},
		{"short", [][]byte{bucket(l, id, 0, 5, "hello"), empty}, "hello", true, false},
		{"two chunks", [][]byte{bucket(l, id, 0, 13, "0123456789"), bucket(l, id, 1, 3, "abc")}, "0123456789abc", true, false},
		{"no second chunk", [][]byte{bucket(l, id, 0, 13, "0123456789"), empty}, "", false, true},
		{"a foreign second chunk", [][]byte{bucket(l, id, 0, 13, "0123456789"), bucket(l, id, 1, 4, "abcd")}, "", false, true},
		{"too long", [][]byte{bucket(l, id, 0, 23, "0123456789"), bucket(l, id, 1, 13, "0123456789")}, "", false, true},
		{"an entry beyond its bucket", [][]byte{beyond, empty}, "", false, true},
		{"another number of records", [][]byte{empty}, "", false, true},
		{"a short record", [][]byte{empty[1:], empty}, "", false, true},
	} {
		value, found, err := l.Find(id, one.records)
		if string(value) != one.value || found != one.found || (err != nil) != one.refused {
			t.Errorf("%s: %q, %v, %v", one.name, value, found, err)
		}
	}
}

func TestTagsAreNeverZero(t *testing.T) {
	for _, tagBytes := range []byte{4, 5, 8} {
		l := &Layout{tagBytes: tagBytes}
		if l.storedTag(0) != 1 || l.storedTag(1) != 1 || l.storedTag(0xff00000000) == 0 {
			t.Errorf("tags of %d bytes", tagBytes)
		}
	}
}

func TestIDsOfIndices(t *testing.T) {
	id := IDOfIndex(0x0102)
	if hex.EncodeToString(id[:]) != "00000000000000000000000000000102" {
		t.Errorf("%x", id)
	}
}

func FuzzLayout(f *testing.F) {
	f.Add(encode(small, 2, 10, 8, []uint16{0, 0}), []byte("key"), make([]byte, 64))
	f.Add(encode([6]uint32{2, 3, 1, 12, 1, 4}, 0, 4, 8, []uint16{1, 7}), []byte(""), make([]byte, 12))
	f.Fuzz(func(t *testing.T, encoded, key, record []byte) {
		l, err := Decode(encoded)
		if err != nil {
			return
		}
		id := l.ID(key)
		for _, index := range l.Indices(id) {
			if index >= l.Records() {
				t.Fatalf("record %d of %d", index, l.Records())
			}
		}
		records := make([][]byte, l.Lookups())
		for i := range records {
			records[i] = record
		}
		_, _, _ = l.Find(id, records)
	})
}
