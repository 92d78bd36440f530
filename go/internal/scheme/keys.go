package scheme

import (
	"math"
	"math/bits"

	"papir.example/go/internal/ring"
	"papir.example/go/internal/sample"
	"papir.example/go/internal/wire"
)

// ringNoise is the distribution of errors in rings, and of secrets like errors: σ = 6.4, whatever a
// server says.
var ringNoise = sample.NewGaussian(64, 10)

const ringSigma = 6.4

// gadget are the numbers 2^(dropped + j·log2 base), j below levels.
type gadget struct {
	levels, logBase, dropped uint
}

func readGadget(r *wire.Reader) gadget {
	return gadget{uint(r.U8()), uint(r.U8()), uint(r.U8())}
}

// check refuses digits of other lengths than 1 to 30 bits, and numbers that are not below q.
func (g gadget) check(what string, modulus uint64) error {
	width := uint(bits.Len64(modulus))
	if g.levels == 0 || g.logBase == 0 || g.logBase > 30 || g.dropped+(g.levels-1)*g.logBase >= width {
		return wire.Refuse(wire.OutOfBounds,
			"%s: %d digits of %d bits above %d dropped ones: expected 1 or more digits of 1 to 30 bits that begin within %d bits",
			what, g.levels, g.logBase, g.dropped, width)
	}
	return nil
}

func (g gadget) factor(digit uint) uint64 { return 1 << (g.dropped + digit*g.logBase) }

// encryptor makes the bodies of encryptions under one secret key and the masks of a seed.
type encryptor struct {
	ring   *ring.Ring
	seed   *wire.Seed
	source *sample.Source
	// The key in coefficients and in values.
	key, values ring.Element
	errors      []int32
}

func newEncryptor(r *ring.Ring, seed *wire.Seed, source *sample.Source, key []int32) *encryptor {
	e := &encryptor{ring: r, seed: seed, source: source, errors: make([]int32, ring.Degree)}
	e.key, e.values = r.OfSigned(key), r.OfSigned(key)
	r.ToValues(e.values)
	return e
}

func (e *encryptor) clear() {
	e.key.Clear()
	e.values.Clear()
	clear(e.errors)
}

// body returns −a·s + e + factor·message modulo q, for the mask a of a label and an index. The
// message is in coefficients, the factor is public.
func (e *encryptor) body(label string, index uint64, message ring.Element, factor uint64) []uint64 {
	product := e.ring.Product(e.ring.Mask(e.seed, label, index), e.values)
	e.ring.ToCoefficients(product)
	e.ring.Negate(product)
	ringNoise.Fill(e.source, e.errors)
	noise := e.ring.OfSigned(e.errors)
	e.ring.Add(product, noise)
	noise.Clear()
	e.ring.AddMultiple(product, message, factor)
	words := e.ring.Words(product)
	product.Clear()
	return words
}

// rounded appends a body in few bits.
func (e *encryptor) rounded(out []byte, words []uint64, width uint) []byte {
	e.ring.Rounding(width).Round(words)
	return wire.Pack(out, words, width)
}

// selector appends an entry for each column: encryptions of scale in the wanted one, and of 0 in
// the others. Every column is compared with the wanted one.
func (e *encryptor) selector(out []byte, label string, columns int, wanted, scale uint64, width uint) []byte {
	entries := make([]uint64, 0, columns)
	unit := make([]int32, ring.Degree)
	for first := 0; first < columns; first += ring.Degree {
		for c := range unit {
			unit[c] = int32(isEqual(uint64(first+c), wanted))
		}
		message := e.ring.OfSigned(unit)
		body := e.body(label, uint64(first/ring.Degree), message, scale)
		message.Clear()
		entries = append(entries, body[:min(ring.Degree, columns-first)]...)
	}
	clear(unit)
	return e.rounded(out, entries, width)
}

// packingKey appends y_g and y_h.
func (e *encryptor) packingKey(out []byte, g gadget, widths [2]uint) []byte {
	for i, one := range []struct {
		label    string
		exponent int
	}{{"inspiring/w_g", 5}, {"inspiring/w_h", 2*ring.Degree - 1}} {
		message := e.ring.Tau(e.key, one.exponent)
		for digit := uint(0); digit < g.levels; digit++ {
			body := e.body(one.label, uint64(digit), message, g.factor(digit))
			out = e.rounded(out, body, widths[i])
		}
		message.Clear()
	}
	return out
}

// response are the bits of a coefficient of an answer's mask and body.
type response struct {
	mask, body uint
}

// check refuses widths for which decryption is not exact. Sigma is the deviation of the secret.
func (w response) check(least uint, modulus uint64, sigma float64) error {
	const deviations = 16
	product := math.Exp2(float64(w.mask)) * sigma * math.Sqrt(ring.Degree) * deviations
	if w.mask > 32 || w.body > w.mask || w.body < least || product >= float64(modulus)/2 {
		return wire.Refuse(wire.OutOfBounds,
			"answers of %d and %d bits: expected masks of at most 32 bits that fit q, and bodies of %d or more but no more than masks",
			w.mask, w.body, least)
	}
	return nil
}

// phases returns b·2^(A − B) + a·s modulo 2^A for each coefficient.
func (w response) phases(r *ring.Ring, key ring.Element, mask, body []uint64) []uint64 {
	a := r.OfWords(mask)
	r.ToValues(a)
	product := r.Product(a, key)
	r.ToCoefficients(product)
	// The product over the integers is below q/2 in size, so the centred one is the same.
	centred := r.Centred(product)
	product.Clear()

	phases := make([]uint64, len(body))
	for k, b := range body {
		phases[k] = (b<<(w.mask-w.body) + uint64(centred[k])) & (1<<w.mask - 1)
	}
	clear(centred)
	return phases
}

// checkWidths refuses widths of rounded elements that are 0 or reach q.
func checkWidths(modulus uint64, widths ...uint) error {
	for _, width := range widths {
		if width == 0 || width > 55 || 1<<width >= modulus {
			return wire.Refuse(wire.OutOfBounds, "elements of %d bits: expected 1 or more, and fewer than q = %d has",
				width, modulus)
		}
	}
	return nil
}

// distance returns the distance of x from half, without a branch, for x below 2·half < 2^62.
func distance(x, half uint64) uint64 {
	rest := int64(x) - int64(half)
	sign := rest >> 63
	return uint64((rest ^ sign) - sign)
}

// larger64 returns the larger of two numbers below 2^63, without a branch.
func larger64(a, b uint64) uint64 {
	below := -((a - b) >> 63)
	return a ^ (a^b)&below
}
