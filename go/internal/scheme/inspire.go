package scheme

import (
	"fmt"
	"math"

	"papir.example/go/internal/ring"
	"papir.example/go/internal/sample"
	"papir.example/go/internal/wire"
)

const (
	inspireNumber = 2
	// p: words of records are below 2^16.
	plaintext = 65537
	// The security table: log2 q below this has 131.5 bits with d = 2048 and σ = 6.4.
	mostLog2Q = 55.895
	// A word of 17 bits decodes from 17 bits or more.
	leastInspireBody = 17
	elementBytes     = 2 * ring.Degree
)

// inspire is InsPIRe.
type inspire struct {
	shape       Shape
	ring        *ring.Ring
	units       units
	chunks      int
	points      uint64
	variables   []uint64
	columns     int
	packing     gadget
	rgsw        gadget
	queryBits   uint
	keyBits     [2]uint
	rgswBits    uint
	answer      response
	seed        wire.Seed
	queryBytes  int
	answerBytes int
}

func openInspire(parameters, public []byte) (Scheme, error) {
	s, err := readInspire(parameters)
	if err != nil {
		return nil, err
	}
	r := wire.NewReader("the public part of `inspire`", public)
	s.seed = r.Array()
	return s, r.End()
}

func readInspire(parameters []byte) (*inspire, error) {
	r := wire.NewReader("parameters of `inspire`", parameters)
	shape, err := readShape(r)
	if err != nil {
		return nil, err
	}
	s := &inspire{shape: shape}
	degree, q1, q2, sigma := r.U32(), r.U32(), r.U32(), r.F64()
	s.points = uint64(r.U32())
	s.packing, s.rgsw = readGadget(r), readGadget(r)
	s.queryBits = uint(r.U8())
	s.keyBits = [2]uint{uint(r.U8()), uint(r.U8())}
	s.rgswBits = uint(r.U8())
	maskBits, bodyBits := uint(r.U8()), uint(r.U8())
	if err := r.Err(); err != nil {
		return nil, err
	}

	// One byte more states a bound on failures; two to four variables have 4 bytes each.
	variables := r.Left() / 4
	if variables == 1 || variables > 4 || r.Left()%4 > 1 {
		return nil, wire.Refuse(wire.WrongLength, "parameters of `inspire`: %d bytes: expected 52, 60, 64 or 68, or one more",
			len(parameters))
	}
	for i := 0; i < variables; i++ {
		s.variables = append(s.variables, uint64(r.U32()))
	}
	if _, err := readFailure(r); err != nil {
		return nil, err
	}
	if err := r.End(); err != nil {
		return nil, err
	}

	// The client's own table: a server could choose a small ring or no errors.
	if degree != ring.Degree || sigma != ringSigma || math.Log2(float64(q1)*float64(q2)) >= mostLog2Q {
		return nil, wire.Refuse(wire.Insecure,
			"a ring of degree %d, q = %d·%d and σ = %v: expected degree %d, q below 2^%v and σ = %v, which have 131.5 bits of security",
			degree, q1, q2, sigma, ring.Degree, mostLog2Q, ringSigma)
	}
	if maskBits < 128 {
		return nil, wire.Refuse(wire.OutOfBounds, "parameters of `inspire` without a reserve between messages: expected one")
	}
	s.answer = response{mask: maskBits - 128, body: bodyBits}
	if s.ring, err = ring.New(q1, q2); err != nil {
		return nil, err
	}
	return s, s.arrange()
}

// arrange checks the geometry, and computes the lengths of messages.
func (s *inspire) arrange() error {
	if err := s.checkPoints(); err != nil {
		return err
	}
	modulus := s.ring.Modulus()
	if err := checkWidths(modulus, s.queryBits, s.keyBits[0], s.keyBits[1], s.rgswBits); err != nil {
		return err
	}
	if err := s.answer.check(leastInspireBody, modulus, ringSigma); err != nil {
		return err
	}
	if err := s.packing.check("the packing gadget", modulus); err != nil {
		return err
	}

	s.chunks = int(divideUp(uint64(s.shape.RecordBytes()), elementBytes))
	var err error
	if s.units, err = newUnits(s.shape, s.chunks*elementBytes); err != nil {
		return err
	}
	columns := divideUp(s.units.count(), s.points)
	rows := uint64(s.chunks) * ring.Degree * s.points
	if columns > maxColumns || rows > math.MaxUint32 {
		return wire.Refuse(wire.OutOfBounds, "%d columns of %d rows: expected at most %d columns of fewer than 2^32 rows",
			columns, rows, maxColumns)
	}
	s.columns = int(columns)

	element := func(width uint) uint64 { return uint64(wire.PackedLen(ring.Degree, width)) }
	query := uint64(wire.PackedLen(s.columns, s.queryBits))
	query += uint64(s.packing.levels) * (element(s.keyBits[0]) + element(s.keyBits[1]))
	if s.points > 1 {
		if err := s.rgsw.check("the RGSW gadget", modulus); err != nil {
			return err
		}
		query += uint64(len(s.variables)) * 2 * uint64(s.rgsw.levels) * element(s.rgswBits)
	}
	answer := uint64(s.chunks) * (element(s.answer.mask) + element(s.answer.body))
	s.queryBytes, s.answerBytes = int(query), int(answer)
	return checkMessages(query, answer)
}

// checkPoints checks the points of the variables. Without variables in the parameters there is one,
// or none if a column is a single point.
func (s *inspire) checkPoints() error {
	switch {
	case s.points == 0:
		return wire.Refuse(wire.OutOfBounds, "columns of 0 points: expected 1 or more")
	case s.variables == nil && s.points > 1:
		s.variables = []uint64{s.points}
	}
	product := uint64(1)
	for _, points := range s.variables {
		if points < 2 || points > 2*ring.Degree {
			return wire.Refuse(wire.OutOfBounds, "a variable of %d points: expected 2 to %d", points, 2*ring.Degree)
		}
		product *= points
	}
	if product != s.points {
		return wire.Refuse(wire.OutOfBounds, "columns of %d points: their variables have %d", s.points, product)
	}
	return nil
}

func (s *inspire) Number() uint16 { return inspireNumber }

func (s *inspire) Shape() Shape { return s.shape }

func (s *inspire) QueryBytes() int { return s.queryBytes }

func (s *inspire) AnswerBytes() int { return s.answerBytes }

func (s *inspire) query(index uint64, source *sample.Source) ([]byte, Secret) {
	unit, slot := s.units.locate(index)
	column, point := unit/s.points, unit%s.points

	key := make([]int32, ring.Degree)
	ringNoise.Fill(source, key)
	e := newEncryptor(s.ring, &s.seed, source, key)
	clear(key)

	payload := make([]byte, 0, s.queryBytes)
	scale := (s.ring.Modulus() + plaintext/2) / plaintext
	payload = e.selector(payload, "inspire/selector", s.columns, column, scale, s.queryBits)
	payload = e.packingKey(payload, s.packing, s.keyBits)
	for number, points := range s.variables {
		payload = s.appendPoint(payload, e, number, exponent(point%points, points))
		point /= points
	}

	e.key.Clear()
	clear(e.errors)
	return payload, &inspireSecret{scheme: s, key: e.values, unit: unit, slot: slot}
}

// exponent returns the power of X that stands for an element of a variable with this many points.
func exponent(element, points uint64) uint64 {
	twos := points & -points
	return element/twos + element%twos*(2*ring.Degree/twos)
}

// appendPoint appends the RGSW bodies of a variable: encryptions of s·X^E, then of X^E.
func (s *inspire) appendPoint(out []byte, e *encryptor, number int, power uint64) []byte {
	label := "inspire/rgsw"
	if number > 0 {
		label = fmt.Sprintf("inspire/rgsw/%d", number)
	}
	monomial := s.ring.Monomial(power)
	shifted := s.ring.Monomial(power)
	s.ring.ToValues(shifted)
	product := s.ring.Product(shifted, e.values)
	s.ring.ToCoefficients(product)
	shifted.Clear()

	row := uint64(0)
	for _, message := range []ring.Element{product, monomial} {
		for digit := uint(0); digit < s.rgsw.levels; digit++ {
			out = e.rounded(out, e.body(label, row, message, s.rgsw.factor(digit)), s.rgswBits)
			row++
		}
		message.Clear()
	}
	return out
}

type inspireSecret struct {
	scheme *inspire
	// The key in values.
	key        ring.Element
	unit, slot uint64
}

func (s *inspireSecret) Clear() {
	s.key.Clear()
	s.unit, s.slot = 0, 0
}

func (s *inspireSecret) Extract(payload []byte) ([]byte, error) {
	defer s.Clear()
	scheme := s.scheme
	r := wire.NewReader("an answer of `inspire`", payload)
	maskBytes := wire.PackedLen(scheme.chunks*ring.Degree, scheme.answer.mask)
	bodyBytes := wire.PackedLen(scheme.chunks*ring.Degree, scheme.answer.body)
	packedMasks, packedBodies := r.Take(maskBytes), r.Take(bodyBytes)
	if err := r.End(); err != nil {
		return nil, err
	}
	masks, err := wire.Unpack("masks of an answer", packedMasks, scheme.chunks*ring.Degree, scheme.answer.mask)
	if err != nil {
		return nil, err
	}
	bodies, err := wire.Unpack("bodies of an answer", packedBodies, scheme.chunks*ring.Degree, scheme.answer.body)
	if err != nil {
		return nil, err
	}

	unit := make([]byte, scheme.units.bytes)
	defer clear(unit)
	refused := uint64(0)
	for chunk := 0; chunk < scheme.chunks; chunk++ {
		first := chunk * ring.Degree
		bytes := unit[chunk*elementBytes:][:elementBytes]
		refused |= s.openChunk(bytes, masks[first:][:ring.Degree], bodies[first:][:ring.Degree])
		scheme.seed.Expand("inspire/whitening", uint64(chunk), elementBytes*s.unit).XOR(bytes)
	}

	// Selected in any case, so that the time does not tell whether the answer decodes.
	record := scheme.units.selectRecord(unit, s.slot)
	if refused != 0 {
		clear(record)
		return nil, notDecodable()
	}
	return record, nil
}

// openChunk writes the words of a chunk, and returns 0 if all of them decode.
func (s *inspireSecret) openChunk(out []byte, mask, body []uint64) (refused uint64) {
	answer := s.scheme.answer
	half := uint64(1) << (answer.mask - 1)
	// 31/32 of the range between messages.
	most := half - half/32
	phases := answer.phases(s.scheme.ring, s.key, mask, body)
	for k, phase := range phases {
		shifted := phase*plaintext + half
		// A difference below 0 has the top bit set: the distance is too large.
		refused |= (most - distance(shifted&(2*half-1), half)) >> 63
		word := shifted >> answer.mask
		// p stands for 0. The residue 2^16 is no word.
		word &= isEqual(word, plaintext) - 1
		refused |= word >> 16
		out[2*k], out[2*k+1] = byte(word), byte(word>>8)
	}
	clear(phases)
	return refused
}
