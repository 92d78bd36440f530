package sample

import (
	"bytes"
	"math"
	"testing"

	"papir.example/go/internal/wire"
)

func source(t testing.TB, index uint64) *Source {
	t.Helper()
	s, err := ForQuery(1, wire.Version{}, index, bytes.NewReader(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTableEntriesAreTheCumulativeProbabilities(t *testing.T) {
	for _, one := range []struct {
		numerator, denominator int64
		least, most            int
	}{{11, 1, 95, 110}, {64, 10, 55, 65}} {
		g := NewGaussian(one.numerator, one.denominator)
		sigma := float64(one.numerator) / float64(one.denominator)
		if n := len(g.table); n < one.least || n > one.most {
			t.Errorf("σ = %v: %d entries", sigma, n)
		}
		var total float64
		for x := -300; x <= 300; x++ {
			total += math.Exp(-float64(x*x) / (2 * sigma * sigma))
		}
		var sum float64
		for k, entry := range g.table {
			w := math.Exp(-float64(k*k) / (2 * sigma * sigma))
			sum += w
			if k > 0 {
				sum += w
			}
			expected := sum / total
			if found := float64(entry) / (1 << 63); math.Abs(found-expected) > 1e-13 {
				t.Errorf("σ = %v, entry %d: %v, expected %v", sigma, k, found, expected)
			}
			if k > 0 && entry <= g.table[k-1] {
				t.Errorf("σ = %v: entry %d does not grow", sigma, k)
			}
		}
	}
}

func TestMoments(t *testing.T) {
	const count = 200000
	for _, sigma := range []float64{11, 6.4} {
		g := NewGaussian(int64(10*sigma), 10)
		samples := make([]int32, count)
		g.Fill(source(t, 7), samples)
		var sum, squares float64
		for _, x := range samples {
			sum += float64(x)
			squares += float64(x) * float64(x)
		}
		if mean := sum / count; math.Abs(mean) > 6*sigma/math.Sqrt(count) {
			t.Errorf("σ = %v: the mean is %v", sigma, mean)
		}
		variance := squares / count
		if math.Abs(variance/(sigma*sigma)-1) > 6*math.Sqrt(2.0/count) {
			t.Errorf("σ = %v: the variance is %v", sigma, variance)
		}
	}
}

func TestTernarySecretsAreUniform(t *testing.T) {
	const count = 90000
	samples := make([]int32, count)
	Ternary(source(t, 8), samples)
	counts := map[int32]int{}
	for _, x := range samples {
		counts[x]++
	}
	for _, x := range []int32{-1, 0, 1} {
		if math.Abs(float64(counts[x])-count/3) > 6*math.Sqrt(count*2.0/9) {
			t.Errorf("%d occurs %d times", x, counts[x])
		}
	}
	if len(counts) != 3 {
		t.Errorf("%d different values", len(counts))
	}
}

func TestRepeatedRandomnessDoesNotRepeatForAnotherQuery(t *testing.T) {
	seen := map[uint64]string{}
	draw := func(name string, scheme uint16, version wire.Version, index uint64, fresh byte) {
		s, err := ForQuery(scheme, version, index, bytes.NewReader(bytes.Repeat([]byte{fresh}, 32)))
		if err != nil {
			t.Fatal(err)
		}
		var buffer [8]byte
		value := s.next(&buffer)
		if other, found := seen[value]; found {
			t.Errorf("%s and %s have one generator", name, other)
		}
		seen[value] = name
	}
	draw("a query", 1, wire.Version{1}, 5, 0)
	draw("another record", 1, wire.Version{1}, 6, 0)
	draw("another version", 1, wire.Version{2}, 5, 0)
	draw("another scheme", 2, wire.Version{1}, 5, 0)
	draw("other fresh bytes", 1, wire.Version{1}, 5, 1)
}

func TestAGeneratorThatEndsIsAnError(t *testing.T) {
	if _, err := ForQuery(1, wire.Version{}, 0, bytes.NewReader(make([]byte, 31))); err == nil {
		t.Error("31 fresh bytes are accepted")
	}
}
