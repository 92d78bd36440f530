package scheme

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"papir.example/go/internal/ring"
	"papir.example/go/internal/vectors"
	"papir.example/go/internal/wire"
)

type lookupVectors struct {
	Scheme     string  `json:"scheme"`
	Parameters string  `json:"parameters"`
	Public     string  `json:"public"`
	Index      uint64  `json:"index"`
	Secret     []int32 `json:"secret"`
	Query      string  `json:"query"`
	Answer     string  `json:"answer"`
	Record     string  `json:"record"`
}

func (v *lookupVectors) bytes(t testing.TB) (parameters, public, query, answer []byte) {
	t.Helper()
	parameters, err := hex.DecodeString(v.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	decoded := make([][]byte, 3)
	for i, text := range []string{v.Public, v.Query, v.Answer} {
		if decoded[i], err = base64.StdEncoding.DecodeString(text); err != nil {
			t.Fatal(err)
		}
	}
	return parameters, decoded[0], decoded[1], decoded[2]
}

// twelve standard deviations: errors beyond do not occur.
const deviations = 12

func TestVectorsOfSimple(t *testing.T) {
	var v lookupVectors
	vectors.Read(t, "simple.json", &v)
	parameters, public, query, answer := v.bytes(t)
	opened, err := openSimple(parameters, public)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*simple)
	if len(query) != s.QueryBytes() || len(answer) != s.AnswerBytes() {
		t.Fatalf("messages of %d and %d bytes, expected %d and %d", len(query), len(answer), s.QueryBytes(), s.AnswerBytes())
	}

	unit, slot := v.Index/s.unitRecords, v.Index%s.unitRecords
	key := make([]uint32, lweWords)
	for i, x := range v.Secret {
		key[i] = uint32(x)
	}
	mask, product := make([]uint32, lweWords), make([]uint32, lweWords)
	s.seed.Expand("simple/lwe-matrix", 0, 0).Words(mask)
	multiplyNegacyclic(product, mask, key)
	for column := 0; column < s.columns; column++ {
		expected := product[column]
		if uint64(column) == unit/s.columnUnits {
			expected += 1 << log2Delta
		}
		found := int32(binary.LittleEndian.Uint32(query[4*column:]) - expected)
		if found > deviations*simpleSigma || found < -deviations*simpleSigma {
			t.Errorf("column %d of the query has an error of %d", column, found)
		}
	}

	secret := &simpleSecret{scheme: s, key: key, unit: unit % s.columnUnits, slot: slot}
	checkRecord(t, secret, answer, v.Record)
}

func TestVectorsOfInspire(t *testing.T) {
	var v lookupVectors
	vectors.Read(t, "inspire.json", &v)
	parameters, public, query, answer := v.bytes(t)
	opened, err := openInspire(parameters, public)
	if err != nil {
		t.Fatal(err)
	}
	s := opened.(*inspire)
	if len(query) != s.QueryBytes() || len(answer) != s.AnswerBytes() {
		t.Fatalf("messages of %d and %d bytes, expected %d and %d", len(query), len(answer), s.QueryBytes(), s.AnswerBytes())
	}
	key := s.ring.OfSigned(v.Secret)
	s.ring.ToValues(key)
	unit, slot := s.units.locate(v.Index)
	checkInspireQuery(t, s, query, key, s.ring.OfSigned(v.Secret), unit)
	checkRecord(t, &inspireSecret{scheme: s, key: key, unit: unit, slot: slot}, answer, v.Record)
}

// checkInspireQuery decrypts every part of a query, and compares it with what it has to encrypt.
func checkInspireQuery(t *testing.T, s *inspire, query []byte, values, coefficients ring.Element, unit uint64) {
	t.Helper()
	r := wire.NewReader("a query", query)
	column, point := unit/s.points, unit%s.points
	entries := r.Take(wire.PackedLen(s.columns, s.queryBits))
	unpacked, err := wire.Unpack("a selector", entries, s.columns, s.queryBits)
	if err != nil {
		t.Fatal(err)
	}
	selected := make([]int32, ring.Degree)
	if column < ring.Degree {
		selected[column] = 1
	}
	scale := (s.ring.Modulus() + plaintext/2) / plaintext
	checkBody(t, s, "inspire/selector", 0, unpacked[:min(s.columns, ring.Degree)], s.queryBits, values, s.ring.OfSigned(selected), scale)

	element := func(width uint) []uint64 {
		words, err := wire.Unpack("an element", r.Take(wire.PackedLen(ring.Degree, width)), ring.Degree, width)
		if err != nil {
			t.Fatal(err)
		}
		return words
	}
	for i, one := range []struct {
		label    string
		exponent int
	}{{"inspiring/w_g", 5}, {"inspiring/w_h", 2*ring.Degree - 1}} {
		for digit := uint(0); digit < s.packing.levels; digit++ {
			checkBody(t, s, one.label, uint64(digit), element(s.keyBits[i]), s.keyBits[i], values,
				s.ring.Tau(coefficients, one.exponent), s.packing.factor(digit))
		}
	}
	for number, points := range s.variables {
		label := []string{"inspire/rgsw", "inspire/rgsw/1", "inspire/rgsw/2", "inspire/rgsw/3"}[number]
		power := s.ring.Monomial(exponent(point%points, points))
		point /= points
		shifted := s.ring.OfWords(s.ring.Words(power))
		s.ring.ToValues(shifted)
		product := s.ring.Product(shifted, values)
		s.ring.ToCoefficients(product)
		for half, message := range []ring.Element{product, power} {
			for digit := uint(0); digit < s.rgsw.levels; digit++ {
				row := uint64(half)*uint64(s.rgsw.levels) + uint64(digit)
				checkBody(t, s, label, row, element(s.rgswBits), s.rgswBits, values, message, s.rgsw.factor(digit))
			}
		}
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
}

// checkBody checks that rounded body words encrypt factor·message with small errors.
func checkBody(t *testing.T, s *inspire, label string, index uint64, words []uint64, width uint, key, message ring.Element, factor uint64) {
	t.Helper()
	q := s.ring.Modulus()
	phase := s.ring.Product(s.ring.Mask(&s.seed, label, index), key)
	s.ring.ToCoefficients(phase)
	s.ring.Negate(phase)
	s.ring.AddMultiple(phase, message, factor)
	expected := s.ring.Words(phase)
	most := int64(q>>width) + 80
	for k, word := range words {
		lifted := mulShift(word, q, width)
		difference := int64((lifted + q - expected[k]) % q)
		if difference > int64(q/2) {
			difference -= int64(q)
		}
		if difference > most || difference < -most {
			t.Fatalf("%s/%d: coefficient %d has an error of %d, expected at most %d", label, index, k, difference, most)
		}
	}
}

func checkRecord(t *testing.T, secret Secret, answer []byte, expected string) {
	t.Helper()
	record, err := secret.Extract(answer)
	if err != nil {
		t.Fatal(err)
	}
	if found := hex.EncodeToString(record); found != expected {
		t.Errorf("the record is %s, expected %s", found, expected)
	}
}
