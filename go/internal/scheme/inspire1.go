package scheme

import (
	"math"

	"papir.example/go/internal/ring"
	"papir.example/go/internal/sample"
	"papir.example/go/internal/wire"
)

const (
	inspire1Number = 19
	// The ring is the same for all databases: 139.8 bits of security with ternary secrets.
	inspire1Q1 = 134176769
	inspire1Q2 = 67104769
	// Words of 4 bits.
	nibbleBits = 4
	packBytes  = ring.Degree * nibbleBits / 8
	maxPacks   = 1 << 12
	// Rows whose words share bytes.
	nibbleRows = 128
	maxWords   = 8
)

var inspire1Ring = func() *ring.Ring {
	r, err := ring.New(inspire1Q1, inspire1Q2)
	if err != nil {
		panic(err)
	}
	return r
}()

// inspire1 is InsPIRe without its second step: clients download the masks of answers.
type inspire1 struct {
	shape      Shape
	units      units
	packs      int
	columns    int
	entry      entry
	packing    gadget
	queryBits  uint
	keyBits    [2]uint
	answer     response
	queryBytes int
	seed       wire.Seed
	// The packed masks of all packs, and the bytes of each.
	masks     []byte
	maskBytes int
}

// entry is the words of an entry of the matrix, 2^step apart. A column has a unit for each word.
type entry struct {
	words uint64
	step  uint
}

// readEntry reads the words of an entry, which parameters state if there are several. Only a bound
// on failures follows them, of one byte.
func readEntry(r *wire.Reader) (entry, error) {
	if r.Left() < 2 {
		return entry{words: 1}, nil
	}
	e := entry{words: uint64(r.U8()), step: uint(r.U8())}
	if e.words < 2 || e.words > maxWords {
		return e, wire.Refuse(wire.OutOfBounds, "%d words in an entry: expected 2 to %d", e.words, maxWords)
	}
	if e.step <= nibbleBits || e.reach()+nibbleBits > 31 {
		return e, wire.Refuse(wire.OutOfBounds, "%d words in an entry, %d bits apart: expected more than %d bits, and 31 together",
			e.words, e.step, nibbleBits)
	}
	return e, nil
}

// reach returns the bits from the first word of an entry to the last one.
func (e entry) reach() uint { return uint(e.words-1) * e.step }

// scale returns the message that selects a word of an entry. It computes that of every word, so
// that the time does not tell which one is wanted.
func (e entry) scale(modulus, word uint64) (scale uint64) {
	for i := uint64(0); i < e.words; i++ {
		bits := nibbleBits + uint(i)*e.step
		scale |= -isEqual(i, word) & ((modulus + 1<<(bits-1)) >> bits)
	}
	return scale
}

func openInspire1(parameters, public []byte) (Scheme, error) {
	r := wire.NewReader("parameters of `inspire1`", parameters)
	shape, err := readShape(r)
	if err != nil {
		return nil, err
	}
	s := &inspire1{shape: shape}
	packs := r.U64()
	s.packing = readGadget(r)
	s.queryBits = uint(r.U8())
	s.keyBits = [2]uint{uint(r.U8()), uint(r.U8())}
	s.answer = response{mask: uint(r.U8()), body: uint(r.U8())}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if s.entry, err = readEntry(r); err != nil {
		return nil, err
	}
	if _, err := readFailure(r); err != nil {
		return nil, err
	}
	if err := r.End(); err != nil {
		return nil, err
	}
	if err := s.arrange(packs); err != nil {
		return nil, err
	}

	r = wire.NewReader("the public part of `inspire1`", public)
	s.seed = r.Array()
	s.masks = r.Take(s.packs * s.maskBytes)
	return s, r.End()
}

// arrange checks the geometry, and computes the lengths of messages.
func (s *inspire1) arrange(packs uint64) error {
	least := divideUp(uint64(s.shape.RecordBytes()), packBytes)
	if packs < least || packs > maxPacks {
		return wire.Refuse(wire.OutOfBounds, "%d packs in a column: expected %d to %d", packs, least, maxPacks)
	}
	s.packs = int(packs)
	var err error
	if s.units, err = newUnits(s.shape, s.packs*packBytes); err != nil {
		return err
	}
	columns := divideUp(s.units.count(), s.entry.words)
	if columns > maxColumns {
		return wire.Refuse(wire.OutOfBounds, "%d columns: expected at most %d", columns, maxColumns)
	}
	s.columns = int(columns)

	modulus := inspire1Ring.Modulus()
	if err := checkWidths(modulus, s.queryBits, s.keyBits[0], s.keyBits[1]); err != nil {
		return err
	}
	if s.queryBits <= s.entry.reach() {
		return wire.Refuse(wire.OutOfBounds, "a selector of %d bits: expected more than the %d of an entry", s.queryBits, s.entry.reach())
	}
	if err := s.answer.check(1, modulus, math.Sqrt(2.0/3)); err != nil {
		return err
	}
	if s.answer.mask <= nibbleBits {
		return wire.Refuse(wire.OutOfBounds, "masks of %d bits: expected more than the %d of a word", s.answer.mask, nibbleBits)
	}
	if err := s.packing.check("the packing gadget", modulus); err != nil {
		return err
	}

	element := func(width uint) uint64 { return uint64(wire.PackedLen(ring.Degree, width)) }
	query := uint64(wire.PackedLen(s.columns, s.queryBits))
	query += uint64(s.packing.levels) * (element(s.keyBits[0]) + element(s.keyBits[1]))
	s.queryBytes = int(query)
	s.maskBytes = wire.PackedLen(ring.Degree, s.answer.mask)
	return checkMessages(query, uint64(s.AnswerBytes()))
}

func (s *inspire1) Number() uint16 { return inspire1Number }

func (s *inspire1) Shape() Shape { return s.shape }

func (s *inspire1) QueryBytes() int { return s.queryBytes }

func (s *inspire1) AnswerBytes() int {
	return wire.PackedLen(s.packs*ring.Degree, s.answer.body)
}

func (s *inspire1) query(index uint64, source *sample.Source) ([]byte, Secret) {
	unit, slot := s.units.locate(index)
	column, word := unit/s.entry.words, unit%s.entry.words
	key := make([]int32, ring.Degree)
	sample.Ternary(source, key)
	e := newEncryptor(inspire1Ring, &s.seed, source, key)
	clear(key)

	payload := make([]byte, 0, s.queryBytes)
	scale := s.entry.scale(inspire1Ring.Modulus(), word)
	payload = e.selector(payload, "selection/selector", s.columns, column, scale, s.queryBits)
	payload = e.packingKey(payload, s.packing, s.keyBits)

	e.key.Clear()
	clear(e.errors)
	return payload, &inspire1Secret{scheme: s, key: e.values, unit: unit, slot: slot}
}

type inspire1Secret struct {
	scheme *inspire1
	// The key in values.
	key        ring.Element
	unit, slot uint64
}

func (s *inspire1Secret) Clear() {
	s.key.Clear()
	s.unit, s.slot = 0, 0
}

func (s *inspire1Secret) Extract(payload []byte) ([]byte, error) {
	defer s.Clear()
	scheme := s.scheme
	bodies, err := wire.Unpack("an answer of `inspire1`", payload, scheme.packs*ring.Degree, scheme.answer.body)
	if err != nil {
		return nil, err
	}

	bytes := make([]byte, scheme.units.bytes)
	defer clear(bytes)
	worst := uint64(0)
	for pack := 0; pack < scheme.packs; pack++ {
		masks, err := wire.Unpack("masks of a public part", scheme.masks[pack*scheme.maskBytes:][:scheme.maskBytes],
			ring.Degree, scheme.answer.mask)
		if err != nil {
			return nil, err
		}
		words, distance := s.openPack(masks, bodies[pack*ring.Degree:][:ring.Degree])
		worst = larger64(worst, distance)
		joinNibbles(bytes[pack*packBytes:][:packBytes], words)
		clear(words)
	}
	scheme.seed.Expand("inspire1/whitening", 0, s.unit*uint64(len(bytes))).XOR(bytes)

	// Selected in any case, so that the time does not tell whether the answer decodes.
	record := scheme.units.selectRecord(bytes, s.slot)
	half := uint64(1) << (scheme.answer.mask - nibbleBits - 1)
	if worst > half-half/32 {
		clear(record)
		return nil, notDecodable()
	}
	return record, nil
}

// openPack returns the words of a pack modulo 16, and the largest distance of a phase from its
// word.
func (s *inspire1Secret) openPack(mask, body []uint64) (words []byte, worst uint64) {
	answer := s.scheme.answer
	logScale := answer.mask - nibbleBits
	half := uint64(1) << (logScale - 1)
	words = make([]byte, ring.Degree)
	phases := answer.phases(inspire1Ring, s.key, mask, body)
	for k, phase := range phases {
		shifted := phase + half
		words[k] = byte(shifted>>logScale) & 15
		worst = larger64(worst, distance(shifted&(2*half-1), half))
	}
	clear(phases)
	return words, worst
}

// joinNibbles writes the bytes of words: byte 64g + l has the words of rows 128g + l, in its low
// half, and 128g + 64 + l, each 8 more.
func joinNibbles(out, words []byte) {
	for first := 0; first < len(words); first += nibbleRows {
		for l := 0; l < nibbleRows/2; l++ {
			low, high := words[first+l]^8, words[first+nibbleRows/2+l]^8
			out[first/2+l] = low | high<<4
		}
	}
}
