package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"testing"

	"papir.example/go/internal/vectors"
)

func TestVectorsOfStreams(t *testing.T) {
	var v struct {
		Seed       string `json:"seed"`
		Modulus    uint32 `json:"modulus"`
		Expansions []struct {
			Label    string   `json:"label"`
			Index    uint64   `json:"index"`
			Stream   string   `json:"stream"`
			Residues []uint32 `json:"residues"`
		} `json:"expansions"`
	}
	vectors.Read(t, "streams.json", &v)
	decoded, err := hex.DecodeString(v.Seed)
	if err != nil {
		t.Fatal(err)
	}
	seed := Seed(decoded)
	for _, one := range v.Expansions {
		expected, err := hex.DecodeString(one.Stream)
		if err != nil {
			t.Fatal(err)
		}
		for start := range expected {
			found := make([]byte, len(expected)-start)
			seed.Expand(one.Label, one.Index, uint64(start)).XOR(found)
			if !bytes.Equal(found, expected[start:]) {
				t.Errorf("%s/%d from %d: %x", one.Label, one.Index, start, found)
			}
		}
		residues := make([]uint32, len(one.Residues))
		seed.Expand(one.Label, one.Index, 0).Residues(residues, v.Modulus)
		for i := range residues {
			if residues[i] != one.Residues[i] {
				t.Errorf("%s/%d: residue %d is %d, expected %d", one.Label, one.Index, i, residues[i], one.Residues[i])
			}
		}
	}
	if len(v.Expansions) == 0 {
		t.Error("no expansions")
	}
}

// A ring element has residues modulo one prime and then modulo another, from one stream. Words that
// are skipped move those behind them.
func TestResiduesGoOnWhereTheLastOnesEnded(t *testing.T) {
	var seed Seed
	stream := make([]byte, 4*3000)
	seed.Expand("label", 0, 0).XOR(stream)
	residues := seed.Expand("label", 0, 0)
	at, skipped := 0, 0
	for _, modulus := range []uint32{3, 1<<28 - 57, 1<<27 + 29, 3} {
		found := make([]uint32, 300)
		residues.Residues(found, modulus)
		mask := uint32(1)<<bits.Len32(modulus-1) - 1
		for i := range found {
			word := binary.LittleEndian.Uint32(stream[at:]) & mask
			for at += 4; word >= modulus; at += 4 {
				word = binary.LittleEndian.Uint32(stream[at:]) & mask
				skipped++
			}
			if found[i] != word {
				t.Fatalf("modulo %d: residue %d is %d, expected %d", modulus, i, found[i], word)
			}
		}
	}
	if skipped < 100 {
		t.Errorf("only %d words are skipped", skipped)
	}
}

func TestPackedValuesAreReadAgain(t *testing.T) {
	for width := uint(1); width <= 56; width++ {
		for _, count := range []int{0, 1, 7, 8, 33} {
			values := make([]uint64, count)
			for i := range values {
				values[i] = bits.Reverse64(uint64(i)*0x9e3779b97f4a7c15) & (1<<width - 1)
			}
			packed := Pack(nil, values, width)
			if len(packed) != PackedLen(count, width) {
				t.Fatalf("%d values of %d bits: %d bytes", count, width, len(packed))
			}
			again, err := Unpack("values", packed, count, width)
			if err != nil {
				t.Fatal(err)
			}
			for i := range values {
				if again[i] != values[i] {
					t.Fatalf("%d bits: value %d is %x, expected %x", width, i, again[i], values[i])
				}
			}
			if _, err := Unpack("values", append(packed, 0), count, width); err == nil {
				t.Error("a byte too many is accepted")
			}
		}
	}
	if _, err := Unpack("values", []byte{0x80}, 1, 7); err == nil {
		t.Error("padding bits that are set are accepted")
	}
}

func TestBitsAreExtracted(t *testing.T) {
	data := []byte{0b10110100, 0b01101110, 0xff}
	for _, one := range []struct {
		start, bits uint64
		expected    []byte
	}{
		{0, 8, []byte{0b10110100}},
		{2, 3, []byte{0b101}},
		{4, 9, []byte{0b11101011, 0}},
		{16, 8, []byte{0xff}},
		{23, 1, []byte{1}},
	} {
		out := make([]byte, (one.bits+7)/8)
		ExtractBits(out, data, one.start, one.bits)
		if !bytes.Equal(out, one.expected) {
			t.Errorf("%d bits from %d: %b, expected %b", one.bits, one.start, out, one.expected)
		}
	}
}

func TestEnvelopesAreReadAgain(t *testing.T) {
	version := Version{1, 2, 3, 4, 5, 6, 7, 8}
	sealed := Seal(Query, 0x0102, version, []byte("payload"))
	if len(sealed) != EnvelopeBytes+7 {
		t.Fatalf("%d bytes", len(sealed))
	}
	opened, err := Open("a message", sealed)
	if err != nil {
		t.Fatal(err)
	}
	if string(opened.Payload) != "payload" || opened.Expect("a message", Query, 0x0102, version) != nil {
		t.Errorf("%+v", opened)
	}
	for _, err := range []error{
		opened.Expect("a message", Answer, 0x0102, version),
		opened.Expect("a message", Query, 0x0103, version),
		opened.Expect("a message", Query, 0x0102, Version{}),
	} {
		if err == nil {
			t.Error("another envelope is accepted")
		}
	}
	for at := range sealed {
		changed := bytes.Clone(sealed)
		changed[at] ^= 1
		if _, err := Open("a message", changed); err == nil {
			t.Errorf("a changed byte %d is accepted", at)
		}
		if _, err := Open("a message", sealed[:at]); err == nil {
			t.Errorf("%d bytes are accepted", at)
		}
	}
}

func TestReadersStopAtTheFirstError(t *testing.T) {
	r := NewReader("data", []byte{1, 2, 3})
	if r.U16() != 0x0201 || r.U32() != 0 || r.Err() == nil || r.U8() != 0 || r.End() == nil {
		t.Error("a short reader goes on")
	}
	r = NewReader("data", append([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 1))
	if r.Bytes() != nil || r.Err() == nil {
		t.Error("a length beyond the data is accepted")
	}
	if NewReader("data", []byte{1}).End() == nil {
		t.Error("bytes that are left are accepted")
	}
}

func TestVersionsHaveOneText(t *testing.T) {
	version, err := ParseVersion("0123456789abcdef")
	if err != nil || version.String() != "0123456789abcdef" {
		t.Errorf("%v, %v", version, err)
	}
	for _, text := range []string{"", "0123456789ABCDEF", "0123456789abcde", "0123456789abcdef0", "0123456789abcdeg"} {
		if _, err := ParseVersion(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func FuzzEnvelope(f *testing.F) {
	f.Add(Seal(Public, 1, Version{1}, []byte("payload")))
	f.Add([]byte("PIR1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		opened, err := Open("a message", data)
		if err == nil && !bytes.Equal(Seal(opened.Kind, opened.Scheme, opened.Version, opened.Payload), data) {
			t.Error("two encodings of one envelope")
		}
	})
}
