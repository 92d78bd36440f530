package scheme

import (
	"encoding/json"
	"os"
	"testing"

	"papir.example/go/internal/ring"
	"papir.example/go/internal/sample"
	"papir.example/go/internal/wire"
)

// testdata/inspire1.json is an exchange with the program papir: docs/vectors has none of this scheme.
func readInspire1(t testing.TB) (v lookupVectors, s *inspire1, query, answer []byte) {
	t.Helper()
	data, err := os.ReadFile("testdata/inspire1.json")
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	parameters, public, query, answer := v.bytes(t)
	opened, err := openInspire1(parameters, public)
	if err != nil {
		t.Fatal(err)
	}
	return v, opened.(*inspire1), query, answer
}

func TestARecordedExchangeOfInspire1(t *testing.T) {
	v, s, query, answer := readInspire1(t)
	if len(query) != s.QueryBytes() || len(answer) != s.AnswerBytes() {
		t.Fatalf("messages of %d and %d bytes, expected %d and %d", len(query), len(answer), s.QueryBytes(), s.AnswerBytes())
	}
	key := inspire1Ring.OfSigned(v.Secret)
	inspire1Ring.ToValues(key)
	unit, slot := s.units.locate(v.Index)
	checkInspire1Query(t, s, query, key, inspire1Ring.OfSigned(v.Secret), unit)
	checkRecord(t, &inspire1Secret{scheme: s, key: key, unit: unit, slot: slot}, answer, v.Record)

	// Under another key it does not decode.
	other := make([]int32, ring.Degree)
	copy(other, v.Secret)
	for i := range other[:100] {
		other[i] = 1 - other[i]*other[i]
	}
	wrong := inspire1Ring.OfSigned(other)
	inspire1Ring.ToValues(wrong)
	if _, err := (&inspire1Secret{scheme: s, key: wrong, unit: unit, slot: slot}).Extract(answer); codeOf(err) != wire.NotDecodable {
		t.Errorf("under another key: %v", err)
	}
}

func TestQueriesOfInspire1EncryptTheRecordsPlace(t *testing.T) {
	_, s, _, _ := readInspire1(t)
	for _, index := range []uint64{0, 200, 399} {
		source, err := sample.ForQuery(inspire1Number, wire.Version{}, index, nil)
		if err != nil {
			t.Fatal(err)
		}
		query, secret := s.query(index, source)
		key := secret.(*inspire1Secret).key
		coefficients := copyOf(key)
		inspire1Ring.ToCoefficients(coefficients)
		for k, x := range inspire1Ring.Centred(coefficients) {
			if x < -1 || x > 1 {
				t.Fatalf("coefficient %d of the key is %d", k, x)
			}
		}
		unit, _ := s.units.locate(index)
		checkInspire1Query(t, s, query, key, coefficients, unit)
	}
}

// checkInspire1Query decrypts every part of a query, and compares it with what it has to encrypt.
func checkInspire1Query(t *testing.T, s *inspire1, query []byte, values, coefficients ring.Element, unit uint64) {
	t.Helper()
	// The bodies of both schemes are alike.
	alike := &inspire{ring: inspire1Ring, seed: s.seed}
	r := wire.NewReader("a query", query)
	entries, err := wire.Unpack("a selector", r.Take(wire.PackedLen(s.columns, s.queryBits)), s.columns, s.queryBits)
	if err != nil {
		t.Fatal(err)
	}
	selected := make([]int32, ring.Degree)
	selected[unit/s.entry.words] = 1
	// The message is q/16 for the first word of an entry, and 2^step less for each further word.
	divisor := uint64(16) << (uint(unit%s.entry.words) * s.entry.step)
	scale := (inspire1Ring.Modulus() + divisor/2) / divisor
	checkBody(t, alike, "selection/selector", 0, entries, s.queryBits, values, inspire1Ring.OfSigned(selected), scale)
	for i, one := range []struct {
		label    string
		exponent int
	}{{"inspiring/w_g", 5}, {"inspiring/w_h", 2*ring.Degree - 1}} {
		for digit := uint(0); digit < s.packing.levels; digit++ {
			packed := r.Take(wire.PackedLen(ring.Degree, s.keyBits[i]))
			words, err := wire.Unpack("an element", packed, ring.Degree, s.keyBits[i])
			if err != nil {
				t.Fatal(err)
			}
			checkBody(t, alike, one.label, uint64(digit), words, s.keyBits[i], values,
				inspire1Ring.Tau(coefficients, one.exponent), s.packing.factor(digit))
		}
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
}

func TestQueriesSelectAWordOfAnEntry(t *testing.T) {
	parameters := append(parameters1(4000, 800, 1, goodBits), 3, 6)
	opened, err := openInspire1(parameters, make([]byte, 32+20*2048/8))
	if err != nil {
		t.Fatal(err)
	}

	// Units of 1 KiB have ten records, so that there are 400 in 134 columns.
	s := opened.(*inspire1)
	if s.columns != 134 {
		t.Fatalf("%d columns", s.columns)
	}
	for _, index := range []uint64{0, 10, 29, 30, 3999} {
		source, err := sample.ForQuery(inspire1Number, wire.Version{}, index, nil)
		if err != nil {
			t.Fatal(err)
		}
		query, secret := s.query(index, source)
		key := secret.(*inspire1Secret).key
		coefficients := copyOf(key)
		inspire1Ring.ToCoefficients(coefficients)
		checkInspire1Query(t, s, query, key, coefficients, index/10)
	}
}

func TestNibblesAreJoined(t *testing.T) {
	words := make([]byte, nibbleRows)
	words[0], words[64], words[5], words[69] = 0, 15, 7, 8
	out := make([]byte, nibbleRows/2)
	joinNibbles(out, words)
	// Each half is 8 more, modulo 16.
	if out[0] != 0x78 || out[5] != 0x0f || out[1] != 0x88 {
		t.Errorf("%x", out[:6])
	}
}
