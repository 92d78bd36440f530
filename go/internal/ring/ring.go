// Package ring is R_q = Z_q[X]/(X^d + 1) with q = q1·q2 and d = 2048.
//
// Elements are residues modulo both primes, as coefficients or as values. Sums, products and
// transforms have no branch and no address that depends on a residue, and no division.
package ring

import (
	"math/bits"

	"papir.example/go/internal/wire"
)

// Degree is d.
const Degree = 2048

const log2Degree = 11

// Prime is a prime factor of q with the tables of its transform.
type Prime struct {
	value uint64
	// ⌊(2^64 − 1) / value⌋, for reductions.
	reciprocal uint64
	// Powers of the root in the order of the transform's butterflies, and their inverses.
	forward, inverse []root
	// 1/d.
	scale root
}

// root is a factor with its quotient ⌊factor·2^32 / prime⌋, for products without division.
type root struct {
	factor, quotient uint64
}

// NewPrime returns a prime below 2^28 that is 1 modulo 2d, and refuses any other number.
func NewPrime(value uint32) (*Prime, error) {
	p := uint64(value)
	if p >= 1<<28 || p <= 2*Degree || p%(2*Degree) != 1 || !isPrime(p) {
		return nil, wire.Refuse(wire.OutOfBounds,
			"the modulus %d: expected a prime below 2^28 that is 1 modulo %d", value, 2*Degree)
	}

	base := uint64(2)
	psi := power(base, (p-1)/(2*Degree), p)
	for power(psi, Degree, p) != p-1 {
		base++
		psi = power(base, (p-1)/(2*Degree), p)
	}

	prime := &Prime{value: p, reciprocal: ^uint64(0) / p}
	prime.forward = make([]root, Degree)
	prime.inverse = make([]root, Degree)
	inverse := power(psi, p-2, p)
	for k := range prime.forward {
		exponent := reverse(k)
		prime.forward[k] = prime.root(power(psi, exponent, p))
		prime.inverse[k] = prime.root(power(inverse, exponent, p))
	}
	prime.scale = prime.root(power(Degree, p-2, p))
	return prime, nil
}

func (p *Prime) root(factor uint64) root {
	return root{factor: factor, quotient: factor << 32 / p.value}
}

// Value returns the prime.
func (p *Prime) Value() uint64 { return p.value }

// reverse returns the reversal of log2 d bits.
func reverse(k int) uint64 { return bits.Reverse64(uint64(k)) >> (64 - log2Degree) }

func power(base, exponent, modulus uint64) uint64 {
	result := uint64(1)
	base %= modulus
	for ; exponent > 0; exponent >>= 1 {
		if exponent&1 == 1 {
			result = result * base % modulus
		}
		base = base * base % modulus
	}
	return result
}

// isPrime tests a number below 2^32 by Miller and Rabin; these bases suffice there.
func isPrime(n uint64) bool {
	if n%2 == 0 {
		return n == 2
	}
	for _, base := range []uint64{2, 7, 61} {
		if n == base {
			return true
		}
		if !passes(n, base) {
			return false
		}
	}
	return n > 1
}

func passes(n, base uint64) bool {
	odd := (n - 1) >> bits.TrailingZeros64(n-1)
	x := power(base, odd, n)
	if x == 1 || x == n-1 {
		return true
	}
	for ; odd < n-1; odd *= 2 {
		if x == n-1 {
			return true
		}
		x = x * x % n
	}
	return false
}

// reduceOnce returns x mod p for x < 2p.
func (p *Prime) reduceOnce(x uint64) uint64 {
	x -= p.value
	// The top bit is set exactly if x was below p.
	return x + p.value&-(x>>63)
}

// reduce returns x mod p for x < 2^63.
func (p *Prime) reduce(x uint64) uint64 {
	quotient, _ := bits.Mul64(x, p.reciprocal)
	// The quotient is at most one too small, so the rest is below 2p.
	return p.reduceOnce(x - quotient*p.value)
}

// times returns x·factor mod p for x < 2^32.
func (p *Prime) times(x uint64, r root) uint64 {
	return p.reduceOnce(x*r.factor - (x*r.quotient>>32)*p.value)
}

// residue returns x mod p of a signed number.
func (p *Prime) residue(x int32) uint64 {
	// A multiple of p that is larger than any such number, and below 2^62.
	return p.reduce(uint64(int64(x) + 1<<31*int64(p.value)))
}

// transform replaces coefficients by values: value k is the polynomial at root^(2·r(k) + 1).
func (p *Prime) transform(a []uint64) {
	for length, node := Degree/2, 1; length >= 1; length /= 2 {
		for start := 0; start < Degree; start += 2 * length {
			r := p.forward[node]
			node++
			low, high := a[start:start+length], a[start+length:start+2*length]
			for i := range low {
				x, y := low[i], p.times(high[i], r)
				low[i] = p.reduceOnce(x + y)
				high[i] = p.reduceOnce(x + p.value - y)
			}
		}
	}
}

// invert replaces values by coefficients.
func (p *Prime) invert(a []uint64) {
	for length := 1; length < Degree; length *= 2 {
		for start := 0; start < Degree; start += 2 * length {
			r := p.inverse[(Degree+start)/(2*length)]
			low, high := a[start:start+length], a[start+length:start+2*length]
			for i := range low {
				x, y := low[i], high[i]
				low[i] = p.reduceOnce(x + y)
				high[i] = p.times(p.reduceOnce(x+p.value-y), r)
			}
		}
	}
	for i := range a {
		a[i] = p.times(a[i], p.scale)
	}
}

// Element has residues modulo q1, then modulo q2: coefficients or values.
type Element [2][]uint64

func newElement() Element {
	both := make([]uint64, 2*Degree)
	return Element{both[:Degree:Degree], both[Degree:]}
}

// Clear overwrites a secret element.
func (e Element) Clear() {
	clear(e[0])
	clear(e[1])
}

// Ring is R_q.
type Ring struct {
	primes [2]*Prime
	// q, and 1/q1 modulo q2.
	modulus uint64
	inverse root
}

// New returns the ring of two different primes.
func New(q1, q2 uint32) (*Ring, error) {
	if q1 == q2 {
		return nil, wire.Refuse(wire.OutOfBounds, "the moduli %d and %d: expected two different primes", q1, q2)
	}
	first, err := NewPrime(q1)
	if err != nil {
		return nil, err
	}
	second, err := NewPrime(q2)
	if err != nil {
		return nil, err
	}
	r := &Ring{primes: [2]*Prime{first, second}, modulus: first.value * second.value}
	r.inverse = second.root(power(first.value, second.value-2, second.value))
	return r, nil
}

// Modulus returns q.
func (r *Ring) Modulus() uint64 { return r.modulus }

// Mask returns the ring element of a stream, as values.
func (r *Ring) Mask(seed *wire.Seed, label string, index uint64) Element {
	stream := seed.Expand(label, index, 0)
	residues := make([]uint32, Degree)
	mask := newElement()
	for i, prime := range r.primes {
		stream.Residues(residues, uint32(prime.value))
		for k, residue := range residues {
			mask[i][k] = uint64(residue)
		}
	}
	return mask
}

// OfSigned returns the element of signed coefficients, of less than 2^31 in size.
func (r *Ring) OfSigned(coefficients []int32) Element {
	e := newElement()
	for i, prime := range r.primes {
		for k, c := range coefficients {
			e[i][k] = prime.residue(c)
		}
	}
	return e
}

// OfWords returns the element of coefficients below 2^63.
func (r *Ring) OfWords(coefficients []uint64) Element {
	e := newElement()
	for i, prime := range r.primes {
		for k, c := range coefficients {
			e[i][k] = prime.reduce(c)
		}
	}
	return e
}

// ToValues replaces coefficients by values.
func (r *Ring) ToValues(e Element) {
	for i, prime := range r.primes {
		prime.transform(e[i])
	}
}

// ToCoefficients replaces values by coefficients.
func (r *Ring) ToCoefficients(e Element) {
	for i, prime := range r.primes {
		prime.invert(e[i])
	}
}

// Product returns the product of two elements in values.
func (r *Ring) Product(a, b Element) Element {
	out := newElement()
	for i, prime := range r.primes {
		for k := range out[i] {
			out[i][k] = prime.reduce(a[i][k] * b[i][k])
		}
	}
	return out
}

// Negate replaces an element by its negative.
func (r *Ring) Negate(a Element) {
	for i, prime := range r.primes {
		for k, x := range a[i] {
			a[i][k] = prime.reduceOnce(prime.value - x)
		}
	}
}

// Add adds b to a, both in the same form.
func (r *Ring) Add(a, b Element) {
	for i, prime := range r.primes {
		for k, x := range b[i] {
			a[i][k] = prime.reduceOnce(a[i][k] + x)
		}
	}
}

// AddMultiple adds factor·b to a, for a public factor.
func (r *Ring) AddMultiple(a, b Element, factor uint64) {
	for i, prime := range r.primes {
		by := prime.root(factor % prime.value)
		for k, x := range b[i] {
			a[i][k] = prime.reduceOnce(a[i][k] + prime.times(x, by))
		}
	}
}

// Words returns the coefficients modulo q of an element in coefficients.
func (r *Ring) Words(e Element) []uint64 {
	first, second := r.primes[0], r.primes[1]
	out := make([]uint64, Degree)
	for k := range out {
		x, y := e[0][k], e[1][k]
		difference := second.reduceOnce(y + second.value - second.reduce(x))
		out[k] = x + first.value*second.times(difference, r.inverse)
	}
	return out
}

// Centred returns the coefficients of an element, from −q/2 to q/2.
func (r *Ring) Centred(e Element) []int64 {
	words := r.Words(e)
	out := make([]int64, Degree)
	half := r.modulus / 2
	for k, x := range words {
		// All ones exactly if x is above q/2.
		above := -((half - x) >> 63)
		out[k] = int64(x - r.modulus&above)
	}
	clear(words)
	return out
}

// Tau returns the element with X^exponent in place of X, for odd exponents, in coefficients.
func (r *Ring) Tau(e Element, exponent int) Element {
	out := newElement()
	for i, prime := range r.primes {
		place := 0
		for _, x := range e[i] {
			// The place is public.
			if place < Degree {
				out[i][place] = x
			} else {
				out[i][place-Degree] = prime.reduceOnce(prime.value - x)
			}
			place = (place + exponent) % (2 * Degree)
		}
	}
	return out
}

// Monomial returns X^exponent in coefficients, 0 ≤ exponent < 2d. The exponent is secret: every
// coefficient is compared with it.
func (r *Ring) Monomial(exponent uint64) Element {
	out := newElement()
	for k := 0; k < Degree; k++ {
		plus := equal(uint64(k), exponent)
		minus := equal(uint64(k+Degree), exponent)
		for i, prime := range r.primes {
			out[i][k] = plus + minus*(prime.value-1)
		}
	}
	return out
}

// equal returns 1 if both are equal, else 0, without a branch.
func equal(a, b uint64) uint64 {
	x := a ^ b
	return 1 - (x|-x)>>63
}

// Rounding rounds coefficients modulo q to few bits.
type Rounding struct {
	modulus, reciprocal uint64
	bits                uint
}

// Rounding returns the rounding to this many bits, for 2^bits below q.
func (r *Ring) Rounding(width uint) Rounding {
	// ⌊2^(bits + 64) / q⌋ is below 2^64, since 2^bits is below q.
	reciprocal, _ := bits.Div64(1<<width, 0, r.modulus)
	return Rounding{modulus: r.modulus, reciprocal: reciprocal, bits: width}
}

// Round replaces each x below q by round(x·2^bits / q) modulo 2^bits, without a division.
func (r Rounding) Round(words []uint64) {
	half := (r.modulus - 1) / 2
	for i, x := range words {
		quotient, _ := bits.Mul64(x, r.reciprocal)
		// The quotient is at most two too small. The rest is exact modulo 2^64, and below 4q <
		// 2^58.
		rest := x<<r.bits - quotient*r.modulus + half
		for step := 0; step < 3; step++ {
			below := (rest - r.modulus) >> 63
			quotient += 1 - below
			rest -= r.modulus & (below - 1)
		}
		words[i] = quotient & (1<<r.bits - 1)
	}
}
