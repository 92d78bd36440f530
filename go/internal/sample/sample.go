// Package sample draws secrets and errors.
//
// Every sample reads its whole table; no branch and no address depends on a random value.
package sample

import (
	"crypto/rand"
	"encoding/binary"
	"io"
	"math/big"
	"math/bits"

	"papir.example/go/internal/blake3"
	"papir.example/go/internal/wire"
)

// queryContext separates the randomness of queries from all other uses of the hash.
const queryContext = "papir 2026 randomness of queries v1"

// Source is the generator of one query's secrets. It is the extended output of a hash, so that it
// takes the same time on every processor.
type Source struct {
	output *blake3.Output
}

// ForQuery returns the generator of a query for a record. It is a pseudorandom function of 32 fresh
// bytes, of the scheme, the version and the record. If the system draws the same bytes twice, as on
// a restored machine, queries for different records still have different secrets. Fresh is the
// system's generator, or nil for crypto/rand.
func ForQuery(scheme uint16, version wire.Version, index uint64, fresh io.Reader) (*Source, error) {
	if fresh == nil {
		fresh = rand.Reader
	}
	var drawn [32]byte
	defer clear(drawn[:])
	if _, err := io.ReadFull(fresh, drawn[:]); err != nil {
		return nil, err
	}

	h := blake3.NewDeriveKey(queryContext)
	defer h.Clear()
	// The length of the state, of which these clients have none.
	var state [8]byte
	h.Write(state[:])
	h.Write(binary.LittleEndian.AppendUint16(nil, scheme))
	h.Write(version[:])
	var number [8]byte
	defer clear(number[:])
	binary.LittleEndian.PutUint64(number[:], index)
	h.Write(number[:])
	h.Write(drawn[:])
	return &Source{output: h.Output()}, nil
}

// Clear overwrites the generator.
func (s *Source) Clear() { s.output.Clear() }

func (s *Source) next(buffer *[8]byte) uint64 {
	s.output.Read(buffer[:])
	return binary.LittleEndian.Uint64(buffer[:])
}

// Gaussian is a discrete Gaussian over the integers, P(x) ∝ exp(−x²/2σ²).
type Gaussian struct {
	// Entry k is ⌊2^63·P(|x| ≤ k)⌋, up to the k at which the tail is below 2^−63.
	table []uint64
}

// NewGaussian returns the distribution with the standard deviation σ = numerator/denominator.
func NewGaussian(numerator, denominator int64) *Gaussian {
	const precision = 320
	number := func(x int64) *big.Float { return new(big.Float).SetPrec(precision).SetInt64(x) }
	zero := number(0)

	// r = exp(−1/2σ²) by its series.
	exponent := new(big.Float).SetPrec(precision).Quo(
		number(-denominator*denominator), number(2*numerator*numerator))
	r, term := number(1), number(1)
	for k := int64(1); k < 80; k++ {
		term.Mul(term, exponent).Quo(term, number(k))
		r.Add(r, term)
	}

	// Weights r^(k²): each is the one before, times r^(2k − 1).
	square := new(big.Float).SetPrec(precision).Mul(r, r)
	weights := []*big.Float{number(1)}
	weight, step := number(1), new(big.Float).SetPrec(precision).Set(r)
	least := new(big.Float).SetPrec(precision).SetMantExp(number(1), -100)
	for weight.Cmp(least) > 0 {
		weight = new(big.Float).SetPrec(precision).Mul(weight, step)
		step = new(big.Float).SetPrec(precision).Mul(step, square)
		weights = append(weights, weight)
	}

	total := number(1)
	for _, w := range weights[1:] {
		total.Add(total, w).Add(total, w)
	}

	g := &Gaussian{}
	sum := new(big.Float).SetPrec(precision).Set(zero)
	for k, w := range weights {
		sum.Add(sum, w)
		if k > 0 {
			sum.Add(sum, w)
		}
		share := new(big.Float).SetPrec(precision).Quo(sum, total)
		entry, _ := share.SetMantExp(share, 63).Uint64()
		if entry >= 1<<63-1 {
			break
		}
		g.table = append(g.table, entry)
	}
	return g
}

// Fill fills out with independent samples.
func (g *Gaussian) Fill(source *Source, out []int32) {
	var buffer [8]byte
	for i := range out {
		word := source.next(&buffer)
		uniform := word & (1<<63 - 1)
		var magnitude uint64
		for _, entry := range g.table {
			// Both are below 2^63: the top bit is set exactly if uniform ≥ entry.
			magnitude += (entry - uniform - 1) >> 63
		}
		sign := int32(word >> 63)
		out[i] = (int32(magnitude) ^ -sign) + sign
	}
	clear(buffer[:])
}

// Ternary fills out with independent samples, uniform in −1, 0, 1 to within 2^−62.
func Ternary(source *Source, out []int32) {
	var buffer [8]byte
	for i := range out {
		high, _ := bits.Mul64(source.next(&buffer), 3)
		out[i] = int32(high) - 1
	}
	clear(buffer[:])
}
