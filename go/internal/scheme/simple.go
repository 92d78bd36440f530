package scheme

import (
	"encoding/binary"
	"math"
	"math/bits"

	"papir.example/go/internal/sample"
	"papir.example/go/internal/wire"
)

const (
	simpleNumber = 1
	// Words of a secret.
	lweWords = 1024
	// Secrets and errors have this deviation, whatever a server says.
	simpleSigma = 11
	log2Delta   = 24

	maxSimpleRows    = 1 << 21
	maxSimpleColumns = 1 << 16
)

var simpleNoise = sample.NewGaussian(simpleSigma, 1)

// simple is SimplePIR with a hint that clients download.
type simple struct {
	shape Shape
	// Records of a unit and its bytes, and the units of a column.
	unitRecords, unitBytes, columnUnits uint64
	rows, columns                       int
	// Bits of an answer's word, and the largest distance from a multiple of 2^24 that decodes.
	answerBits uint
	bound      uint32
	seed       wire.Seed
	// Rows of lweWords words of 4 bytes.
	hint []byte
}

func openSimple(parameters, public []byte) (Scheme, error) {
	r := wire.NewReader("parameters of `simple`", parameters)
	shape, err := readShape(r)
	if err != nil {
		return nil, err
	}
	s := &simple{shape: shape, columnUnits: r.U64()}
	if err := r.Err(); err != nil {
		return nil, err
	}
	failure, err := readFailure(r)
	if err != nil {
		return nil, err
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	if err := s.arrange(failure); err != nil {
		return nil, err
	}

	// Of 64 bits, since an int of 32 could overflow.
	if expected := 32 + 4*lweWords*uint64(s.rows); uint64(len(public)) != expected {
		return nil, wire.Refuse(wire.WrongLength, "the public part of `simple`: %d bytes: expected %d", len(public), expected)
	}
	r = wire.NewReader("the public part of `simple`", public)
	s.seed = r.Array()
	s.hint = r.Take(r.Left())
	return s, r.End()
}

// arrange computes rows, columns and the bits of answers.
func (s *simple) arrange(failure int) error {
	recordBits := s.shape.RecordBits
	// The fewest records that fill whole bytes.
	s.unitRecords = 8 >> min(bits.TrailingZeros64(recordBits), 3)
	s.unitBytes = s.unitRecords * recordBits / 8
	all := divideUp(s.shape.Records, s.unitRecords)
	if s.columnUnits == 0 || s.columnUnits > all {
		return wire.Refuse(wire.OutOfBounds, "%d units in a column: expected 1 to %d", s.columnUnits, all)
	}
	// Compared before the product, which could overflow.
	if s.columnUnits > maxSimpleRows/s.unitBytes {
		return wire.Refuse(wire.OutOfBounds, "columns of %d units of %d bytes: expected at most %d rows",
			s.columnUnits, s.unitBytes, maxSimpleRows)
	}
	columns := divideUp(all, s.columnUnits)
	if columns > maxSimpleColumns {
		return wire.Refuse(wire.OutOfBounds, "%d columns: expected at most %d", columns, maxSimpleColumns)
	}
	s.rows, s.columns = int(s.columnUnits*s.unitBytes), int(columns)

	// Samples of the table are bounded like a Gaussian of a variance larger by 2^-25.
	const excess = 1.0 / (1 << 25)
	nats := (9 + float64(failure) + math.Log2(float64(s.rows))) * math.Ln2
	errors := simpleSigma * 128 * math.Sqrt(float64(columns)) * math.Sqrt(2*nats) * math.Sqrt(1+excess)
	const limit = 0.9 * (1 << (log2Delta - 1))
	for dropped := log2Delta - 1; dropped >= 0; dropped-- {
		rounding := float64(uint32(1) << dropped / 2)
		if errors+rounding <= limit {
			s.answerBits = uint(32 - dropped)
			s.bound = uint32(math.Ceil(errors + rounding))
			return checkMessages(uint64(s.QueryBytes()), uint64(s.AnswerBytes()))
		}
	}
	return wire.Refuse(wire.OutOfBounds, "%d columns of %d rows: their noise exceeds the decoding limit", columns, s.rows)
}

func (s *simple) Number() uint16 { return simpleNumber }

func (s *simple) Shape() Shape { return s.shape }

func (s *simple) QueryBytes() int { return 4 * s.columns }

func (s *simple) AnswerBytes() int { return wire.PackedLen(s.rows, s.answerBits) }

func (s *simple) query(index uint64, source *sample.Source) ([]byte, Secret) {
	unit, slot := index/s.unitRecords, index%s.unitRecords
	secret := &simpleSecret{scheme: s, unit: unit % s.columnUnits, slot: slot}
	column := unit / s.columnUnits

	drawn := make([]int32, lweWords)
	simpleNoise.Fill(source, drawn)
	secret.key = make([]uint32, lweWords)
	for i, x := range drawn {
		secret.key[i] = uint32(x)
	}
	clear(drawn)

	payload := make([]byte, 0, 4*s.columns)
	errors := make([]int32, lweWords)
	mask, product := make([]uint32, lweWords), make([]uint32, lweWords)
	for first := 0; first < s.columns; first += lweWords {
		s.seed.Expand("simple/lwe-matrix", uint64(first/lweWords), 0).Words(mask)
		multiplyNegacyclic(product, mask, secret.key)
		count := min(lweWords, s.columns-first)
		simpleNoise.Fill(source, errors[:count])
		for c := 0; c < count; c++ {
			// Every column is compared with the wanted one.
			selected := uint32(isEqual(uint64(first+c), column)) << log2Delta
			payload = binary.LittleEndian.AppendUint32(payload, product[c]+uint32(errors[c])+selected)
		}
	}
	clear(product)
	clear(errors)
	return payload, secret
}

// multiplyNegacyclic stores a·s in Z[X]/(X^n + 1), modulo 2^32.
func multiplyNegacyclic(out, a, s []uint32) {
	clear(out)
	n := len(a)
	for i, x := range a {
		for k := 0; k < n-i; k++ {
			out[i+k] += x * s[k]
		}
		for k := n - i; k < n; k++ {
			out[i+k-n] -= x * s[k]
		}
	}
}

type simpleSecret struct {
	scheme     *simple
	key        []uint32
	unit, slot uint64
}

func (s *simpleSecret) Clear() {
	clear(s.key)
	s.unit, s.slot = 0, 0
}

func (s *simpleSecret) Extract(payload []byte) ([]byte, error) {
	defer s.Clear()
	scheme := s.scheme
	words, err := wire.Unpack("an answer of `simple`", payload, scheme.rows, scheme.answerBits)
	if err != nil {
		return nil, err
	}

	column := make([]byte, scheme.rows)
	defer clear(column)
	var worst uint32
	const half = 1 << (log2Delta - 1)
	for row, word := range words {
		hint := scheme.hint[4*lweWords*row:][:4*lweWords]
		phase := uint32(word) << (32 - scheme.answerBits)
		for i, x := range s.key {
			phase -= binary.LittleEndian.Uint32(hint[4*i:]) * x
		}
		phase += half
		column[row] = byte(phase>>log2Delta) + 128
		// The distance of the rest from the half, without a branch.
		rest := int32(phase&(1<<log2Delta-1)) - half
		distance := uint32((rest ^ rest>>31) - rest>>31)
		worst = larger(worst, distance)
	}

	// Selected in any case, so that the time does not tell whether the answer decodes.
	units := selectBits(column, scheme.columnUnits, 8*scheme.unitBytes, 8*scheme.unitBytes, s.unit)
	defer clear(units)
	record := selectBits(units, scheme.unitRecords, scheme.shape.RecordBits, scheme.shape.RecordBits, s.slot)
	if worst > scheme.bound {
		clear(record)
		return nil, notDecodable()
	}
	return record, nil
}

// larger returns the larger of two numbers below 2^31, without a branch.
func larger(a, b uint32) uint32 {
	below := -((a - b) >> 31)
	return a ^ (a^b)&below
}
