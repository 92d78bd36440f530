package ring

import (
	"math/big"
	"math/rand"
	"testing"

	"papir.example/go/internal/wire"
)

func testRing(t *testing.T) *Ring {
	t.Helper()
	r, err := New(268369921, 249561089)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func small(random *rand.Rand, most int32) []int32 {
	out := make([]int32, Degree)
	for i := range out {
		out[i] = random.Int31n(2*most+1) - most
	}
	return out
}

func TestProductsAreThoseOfPolynomials(t *testing.T) {
	r := testRing(t)
	random := rand.New(rand.NewSource(1))
	a, b := small(random, 1<<20), small(random, 77)
	expected := make([]int64, Degree)
	for i, x := range a {
		for k, y := range b {
			product := int64(x) * int64(y)
			if i+k < Degree {
				expected[i+k] += product
			} else {
				expected[i+k-Degree] -= product
			}
		}
	}

	x, y := r.OfSigned(a), r.OfSigned(b)
	r.ToValues(x)
	r.ToValues(y)
	product := r.Product(x, y)
	r.ToCoefficients(product)
	for k, found := range r.Centred(product) {
		if found != expected[k] {
			t.Fatalf("coefficient %d is %d, expected %d", k, found, expected[k])
		}
	}
}

func TestTransformsInvertEachOther(t *testing.T) {
	r := testRing(t)
	random := rand.New(rand.NewSource(2))
	words := make([]uint64, Degree)
	for i := range words {
		words[i] = random.Uint64() % r.Modulus()
	}
	words[0], words[1] = r.Modulus()-1, 0
	e := r.OfWords(words)
	r.ToValues(e)
	r.ToCoefficients(e)
	for k, found := range r.Words(e) {
		if found != words[k] {
			t.Fatalf("word %d is %d, expected %d", k, found, words[k])
		}
	}
}

// Value k is the polynomial at root^(2·r(k) + 1), with the least base that gives a root.
func TestValuesAreInTheDocumentedOrder(t *testing.T) {
	r := testRing(t)
	for i, prime := range r.primes {
		p := prime.value
		base := uint64(2)
		for power(power(base, (p-1)/(2*Degree), p), Degree, p) != p-1 {
			base++
		}
		psi := power(base, (p-1)/(2*Degree), p)
		e := r.OfSigned(append([]int32{0, 1}, make([]int32, Degree-2)...))
		r.ToValues(e)
		for _, k := range []int{0, 1, 2, 3, 1000, Degree - 1} {
			if expected := power(psi, 2*reverse(k)+1, p); e[i][k] != expected {
				t.Errorf("value %d of X modulo %d is %d, expected %d", k, p, e[i][k], expected)
			}
		}
	}
}

func TestReductionsAtTheirLimits(t *testing.T) {
	prime, err := NewPrime(268369921)
	if err != nil {
		t.Fatal(err)
	}
	p := prime.value
	for _, x := range []uint64{0, 1, p - 1, p, p + 1, 2*p - 1, p * p, p*p - 1, 1<<63 - 1, (1<<63 - 1) / p * p} {
		if found := prime.reduce(x); found != x%p {
			t.Errorf("%d modulo %d is %d, expected %d", x, p, found, x%p)
		}
	}
	for _, x := range []int32{0, 1, -1, 1<<31 - 1, -1 << 31} {
		expected := uint64(((int64(x) % int64(p)) + int64(p)) % int64(p))
		if found := prime.residue(x); found != expected {
			t.Errorf("the residue of %d is %d, expected %d", x, found, expected)
		}
	}
}

func TestRoundingIsExact(t *testing.T) {
	random := rand.New(rand.NewSource(3))
	r := testRing(t)
	q := new(big.Int).SetUint64(r.Modulus())
	for _, bits := range []uint{1, 17, 32, 40, 54, 55} {
		words := []uint64{0, 1, r.Modulus() - 1, r.Modulus() / 2, r.Modulus()/2 + 1}
		for i := 0; i < 500; i++ {
			words = append(words, random.Uint64()%r.Modulus())
		}
		// Words next to the half between two results.
		for i := uint64(0); i < 50; i++ {
			half := new(big.Int).SetUint64(2*(random.Uint64()%(1<<bits)) + 1)
			half.Mul(half, q).Rsh(half, bits+1)
			words = append(words, half.Uint64(), half.Uint64()+1)
		}

		rounded := append([]uint64(nil), words...)
		r.Rounding(bits).Round(rounded)
		for i, x := range words {
			wide := new(big.Int).SetUint64(x)
			wide.Lsh(wide, bits+1).Add(wide, q).Div(wide, new(big.Int).Lsh(q, 1))
			expected := wide.Uint64() & (1<<bits - 1)
			if rounded[i] != expected {
				t.Fatalf("%d in %d bits is %d, expected %d", x, bits, rounded[i], expected)
			}
		}
	}
}

func TestTauAndMonomials(t *testing.T) {
	r := testRing(t)
	x := r.Monomial(3)
	for _, one := range []struct {
		element  Element
		exponent uint64
	}{
		{r.Tau(x, 5), 15},
		{r.Tau(x, 2*Degree-1), 2*Degree - 3},
		{r.Tau(r.Monomial(Degree+1), 5), (5*Degree + 5) % (2 * Degree)},
	} {
		expected := r.Words(r.Monomial(one.exponent))
		for k, found := range r.Words(one.element) {
			if found != expected[k] {
				t.Fatalf("exponent %d: coefficient %d is %d, expected %d", one.exponent, k, found, expected[k])
			}
		}
	}
}

func TestBadModuliAreRefused(t *testing.T) {
	// 12289 is a prime, 1 modulo 4096, and the others are not, or are too long.
	if _, err := NewPrime(12289); err != nil {
		t.Error(err)
	}
	for _, value := range []uint32{0, 1, 2, 4097, 8193, 24578, 249561088, 249561091, 4096*4096 + 1, 1<<32 - 1, 4293918721} {
		if _, err := NewPrime(value); err == nil {
			t.Errorf("%d is accepted", value)
		}
	}
	if _, err := New(268369921, 268369921); err == nil {
		t.Error("equal primes are accepted")
	}
}

func TestPrimesAreKnown(t *testing.T) {
	for n := int64(0); n < 3000; n++ {
		if isPrime(uint64(n)) != big.NewInt(n).ProbablyPrime(20) {
			t.Errorf("%d", n)
		}
	}
	for _, n := range []int64{4759123141, 25326001, 3215031751, 2147483647, 2147483629, 268369921} {
		if n < 1<<32 && isPrime(uint64(n)) != big.NewInt(n).ProbablyPrime(20) {
			t.Errorf("%d", n)
		}
	}
}

func TestMasksAreReproducible(t *testing.T) {
	r := testRing(t)
	var seed wire.Seed
	a, b := r.Mask(&seed, "label", 0), r.Mask(&seed, "label", 1)
	if a[0][0] == b[0][0] && a[1][0] == b[1][0] {
		t.Error("two masks begin alike")
	}
	for i, prime := range r.primes {
		for _, x := range a[i] {
			if x >= prime.value {
				t.Fatalf("%d is not below %d", x, prime.value)
			}
		}
	}
}
