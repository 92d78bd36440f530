//! The ring `R_q = Z_q[X]/(X^d + 1)` for q = q₁·q₂, a product of two primes.
//!
//! The primes are below 2²⁸, so that 256 products fit a 64-bit sum and centred residues fit 28
//! bits.

use papir_kernels::gadget::{self, Gadget2, GadgetError};
use papir_kernels::ntt::{NttError, NttTable};
use papir_kernels::pointwise::{self, Modulus};
use papir_kernels::{Backend, galois};

use crate::cyclotomic::CyclotomicRing;
use crate::poly::{Coefficients, Form, Poly, Values};
use crate::prg::Expander;
use crate::prime::{inverse_mod, is_ntt_prime, primitive_root};

/// Error from the constructors of [`Ring`] and [`crate::rns::RnsRing`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// A prime has no 2d-th root of unity.
    #[error("prime {prime}: expected one that is 1 modulo {order}")]
    NoRoot {
        /// The prime.
        prime: u64,
        /// 2d.
        order: usize,
    },
    /// A modulus is not a prime from 3 to 2²⁸.
    #[error("modulus {0}: expected a prime from 3 to 2^28")]
    NotPrime(u32),
    /// The degree is not supported.
    #[error("degree {0}: expected a power of two from 16 to 65536")]
    Degree(usize),
    /// A prime is given twice.
    #[error("prime {0} is given twice: expected distinct primes")]
    SamePrime(u32),
    /// The transform refuses the prime or the degree.
    #[error(transparent)]
    Ntt(#[from] NttError),
    /// The transform modulo a wide prime refuses the prime or the degree.
    #[error(transparent)]
    Wide(#[from] papir_kernels::wide::NttError),
}

/// The ring with its precomputed tables.
#[derive(Debug, Clone)]
pub struct Ring {
    backend: Backend,
    degree: usize,
    primes: [Modulus; 2],
    tables: [NttTable; 2],
    /// q₁⁻¹ mod q₂, for Garner's reconstruction.
    garner: u32,
}

impl Ring {
    /// The ring of `degree` coefficients modulo the product of two primes.
    ///
    /// # Errors
    /// [`RingError`] if the degree is not supported, or a modulus is not a prime from 3 to 2²⁸, has
    /// no 2d-th root of unity or is given twice.
    pub fn new(degree: usize, primes: [u32; 2]) -> Result<Self, RingError> {
        // Degree and primes may come from the wire, so they are checked before any computation.
        if !degree.is_power_of_two() || !(16..=65536).contains(&degree) {
            return Err(RingError::Degree(degree));
        }
        if let Some(&prime) = primes.iter().find(|&&prime| !is_ntt_prime(prime)) {
            return Err(RingError::NotPrime(prime));
        }
        if primes[0] == primes[1] {
            return Err(RingError::SamePrime(primes[0]));
        }

        let tables = [ntt_table(primes[0], degree)?, ntt_table(primes[1], degree)?];
        // Fermat's theorem gives the inverse only modulo a prime, which was checked above.
        let garner = inverse_mod(u64::from(primes[0]), u64::from(primes[1])) as u32;

        Ok(Self {
            backend: Backend::current(),
            degree,
            primes: primes.map(Modulus::new),
            tables,
            garner,
        })
    }

    /// Bits of q.
    pub fn modulus_bits(&self) -> u32 {
        u64::BITS - self.modulus().leading_zeros()
    }

    /// q₁ and q₂ with their reduction constants.
    pub fn primes(&self) -> [Modulus; 2] {
        self.primes
    }

    /// The instructions of all operations, for loops over raw residues.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The in-place transform modulo prime 0 or 1, for loops over raw residues.
    pub fn table(&self, prime: usize) -> &NttTable {
        &self.tables[prime]
    }

    /// a(X^e) for odd e.
    pub fn automorphism(&self, a: &Poly<Coefficients>, e: usize) -> Poly<Coefficients> {
        let mut image = self.zero();
        for ((out, a), prime) in image
            .parts_mut()
            .into_iter()
            .zip(a.parts())
            .zip(self.primes)
        {
            galois::automorphism(out, a, e, prime);
        }
        image
    }

    /// a(X^e) for odd e, by permuting the values as [`galois::permutation`] of e does.
    pub fn permute(&self, a: &Poly<Values>, permutation: &[u32]) -> Poly<Values> {
        let mut image = self.zero();
        for (out, a) in image.parts_mut().into_iter().zip(a.parts()) {
            galois::permute(self.backend, out, a, permutation);
        }
        image
    }

    /// The coefficients in (−q/2, q/2]. Constant time in the coefficients.
    pub fn to_centred(&self, poly: &Poly<Coefficients>) -> Vec<i64> {
        // q is below 2⁵⁶, so the casts keep the sign.
        let q = self.modulus() as i64;
        self.lifted(poly)
            .map(|x| x as i64 - q * i64::from(x as i64 > q / 2))
            .collect()
    }

    /// Garner's reconstruction r₁ + q₁·((r₂ − r₁)/q₁ mod q₂) of each coefficient, without division.
    /// It is at most (q₁ − 1) + q₁·(q₂ − 1) = q − 1, so no reduction follows.
    fn lifted<'a>(&self, poly: &'a Poly<Coefficients>) -> impl Iterator<Item = u64> + 'a {
        let [first, second] = poly.parts();
        let [q1, q2] = self.primes;
        let garner = self.garner;
        first.iter().zip(second).map(move |(&r1, &r2)| {
            let difference = q2.sub(r2, q2.reduce(u64::from(r1)));
            u64::from(r1) + u64::from(q1.value()) * u64::from(q2.mul(difference, garner))
        })
    }
}

/// Returns the transform of one prime, with the root of unity that all parties find.
pub(crate) fn ntt_table(prime: u32, degree: usize) -> Result<NttTable, RingError> {
    let order = 2 * degree;
    let root = primitive_root(prime, order).ok_or(RingError::NoRoot {
        prime: prime.into(),
        order,
    })?;
    Ok(NttTable::new(prime, root, degree)?)
}

impl CyclotomicRing for Ring {
    type Word = u32;
    type Digits = Gadget2;
    const PRIMES: usize = 2;

    fn degree(&self) -> usize {
        self.degree
    }

    fn modulus(&self) -> u64 {
        u64::from(self.primes[0].value()) * u64::from(self.primes[1].value())
    }

    fn forward(&self, mut poly: Poly<Coefficients>) -> Poly<Values> {
        for (table, residues) in self.tables.iter().zip(poly.parts_mut()) {
            table.forward(self.backend, residues);
        }
        poly.relabel()
    }

    fn inverse(&self, mut poly: Poly<Values>) -> Poly<Coefficients> {
        for (table, residues) in self.tables.iter().zip(poly.parts_mut()) {
            table.inverse(self.backend, residues);
        }
        poly.relabel()
    }

    fn add_assign<F: Form>(&self, a: &mut Poly<F>, b: &Poly<F>) {
        for ((a, b), prime) in a.parts_mut().into_iter().zip(b.parts()).zip(self.primes) {
            pointwise::add_assign(self.backend, a, b, prime);
        }
    }

    fn sub_assign<F: Form>(&self, a: &mut Poly<F>, b: &Poly<F>) {
        for ((a, b), prime) in a.parts_mut().into_iter().zip(b.parts()).zip(self.primes) {
            pointwise::sub_assign(self.backend, a, b, prime);
        }
    }

    fn mul(&self, a: &Poly<Values>, b: &Poly<Values>) -> Poly<Values> {
        let mut product = self.zero();
        for (((out, a), b), prime) in product
            .parts_mut()
            .into_iter()
            .zip(a.parts())
            .zip(b.parts())
            .zip(self.primes)
        {
            pointwise::mul(self.backend, out, a, b, prime);
        }
        product
    }

    fn scale<F: Form>(&self, a: &Poly<F>, constant: u64) -> Poly<F> {
        let mut product = self.zero();
        for ((out, a), prime) in product
            .parts_mut()
            .into_iter()
            .zip(a.parts())
            .zip(self.primes)
        {
            pointwise::scale(self.backend, out, a, prime.reduce(constant), prime);
        }
        product
    }

    fn from_signed(&self, coefficients: &[i32]) -> Poly<Coefficients> {
        let mut poly = self.zero();
        for (out, prime) in poly.parts_mut().into_iter().zip(self.primes) {
            gadget::to_residues(self.backend, out, coefficients, prime);
        }
        poly
    }

    fn from_words(&self, coefficients: &[u64]) -> Poly<Coefficients> {
        let mut poly = self.zero();
        for (out, prime) in poly.parts_mut().into_iter().zip(self.primes) {
            pointwise::reduce(self.backend, out, coefficients, prime);
        }
        poly
    }

    fn to_words(&self, poly: &Poly<Coefficients>) -> Vec<u64> {
        self.lifted(poly).collect()
    }

    fn uniform(&self, expander: &mut Expander) -> Poly<Values> {
        // The transform permutes the polynomials, so that of a uniform one is uniform too.
        let mut poly = self.zero();
        for (out, prime) in poly.parts_mut().into_iter().zip(self.primes) {
            expander.uniform_u32(prime.value(), out);
        }
        poly
    }

    fn forward_lazy(&self, prime: usize, residues: &mut [u32]) {
        self.tables[prime].forward_lazy(self.backend, residues);
    }

    fn products(&self, prime: usize, out: [&mut [u32]; 2], a: &[u32], b: [&[u32]; 2]) {
        for (out, b) in out.into_iter().zip(b) {
            // At most 64 products below 4·2²⁸·2²⁸ fit the 64 bits of a sum.
            pointwise::dot(self.backend, out, a, b, self.primes[prime]);
            self.tables[prime].inverse(self.backend, out);
        }
    }

    fn digits(
        &self,
        log_base: u32,
        drop: u32,
        levels: usize,
    ) -> Result<(Gadget2, u64), GadgetError> {
        let [q1, q2] = self.primes.map(Modulus::value);
        let digits = Gadget2::new(q1, q2, log_base, drop, levels)?;
        let top = digits.top_bound();
        Ok((digits, top))
    }

    fn decompose(&self, digits: &Gadget2, poly: &Poly<Coefficients>, out: &mut [i32]) {
        let [first, second] = poly.parts();
        gadget::decompose(self.backend, digits, out, first, second);
    }

    fn decompose_lazy(&self, digits: &Gadget2, poly: &Poly<Coefficients>, out: &mut [&mut [u32]]) {
        let [first, second] = poly.parts();
        let [out1, out2] = out else {
            unreachable!("a slice for each prime");
        };
        gadget::decompose_lazy(self.backend, digits, out1, out2, first, second);
    }
}

/// A running sum Σ a·b without intermediate reductions.
///
/// Holds 256 products, as the primes are below 2²⁸; [`Accumulator::reduce`] empties it.
#[derive(Debug, Clone)]
pub struct Accumulator {
    backend: Backend,
    sums: Vec<u64>,
}

impl Accumulator {
    /// An empty sum for this ring.
    pub fn new(ring: &Ring) -> Self {
        Self {
            backend: ring.backend,
            sums: vec![0; 2 * ring.degree],
        }
    }

    /// Adds a·b.
    pub fn add_product(&mut self, a: &Poly<Values>, b: &Poly<Values>) {
        // Sums without reductions need no modulus: both primes go through in one call.
        pointwise::mul_accumulate(self.backend, &mut self.sums, a.residues(), b.residues());
    }

    /// The sum modulo q; the accumulator is zero afterwards.
    pub fn reduce(&mut self, ring: &Ring) -> Poly<Values> {
        let mut sum = ring.zero();
        for ((out, sums), prime) in sum
            .parts_mut()
            .into_iter()
            .zip(self.sums.chunks_exact(ring.degree))
            .zip(ring.primes)
        {
            pointwise::reduce(self.backend, out, sums, prime);
        }

        self.sums.fill(0);
        sum
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::prg::Seed;
    use crate::prime::ntt_primes;

    fn ring(d: usize) -> Ring {
        let primes = ntt_primes(28, d, 2);
        Ring::new(d, [primes[0], primes[1]]).unwrap()
    }

    fn random(ring: &Ring, index: u64) -> Poly<Coefficients> {
        ring.inverse(ring.uniform(&mut Seed([7; 32]).expand("test", index)))
    }

    /// a·b by the definition, in 128-bit integers.
    fn schoolbook(a: &[u64], b: &[u64], q: u64) -> Vec<u64> {
        let d = a.len();
        let mut product = vec![0u128; d];
        for (i, &x) in a.iter().enumerate() {
            for (j, &y) in b.iter().enumerate() {
                let term = u128::from(x) * u128::from(y) % u128::from(q);
                let wrapped = i + j >= d;
                let signed = if wrapped { u128::from(q) - term } else { term };
                product[(i + j) % d] = (product[(i + j) % d] + signed) % u128::from(q);
            }
        }
        product.into_iter().map(|x| x as u64).collect()
    }

    #[test]
    fn products_match_the_definition() {
        let ring = ring(64);
        let a = random(&ring, 0);
        let b = random(&ring, 1);
        let expected = schoolbook(&ring.to_words(&a), &ring.to_words(&b), ring.modulus());
        let product = ring.inverse(ring.mul(&ring.forward(a), &ring.forward(b)));
        assert_eq!(ring.to_words(&product), expected);
    }

    #[test]
    fn words_round_trip_and_centre() {
        let ring = ring(64);
        let q = ring.modulus();
        let words: Vec<u64> = (0..64)
            .map(|i| [0, 1, q - 1, q / 2, q / 2 + 1, 12345][i % 6])
            .collect();
        let poly = ring.from_words(&words);

        assert_eq!(ring.to_words(&poly), words);
        let centred = ring.to_centred(&poly);
        assert_eq!(
            &centred[..5],
            &[0, 1, -1, (q / 2) as i64, -((q / 2) as i64)]
        );
    }

    #[test]
    fn automorphism_is_the_same_in_both_forms() {
        let ring = ring(64);
        let a = random(&ring, 2);
        for e in [1, 3, 5, 63, 127] {
            let permutation = galois::permutation(64, e);
            let by_values = ring.inverse(ring.permute(&ring.forward(a.clone()), &permutation));
            assert_eq!(ring.automorphism(&a, e), by_values, "e = {e}");
        }
    }

    #[test]
    fn accumulated_products_are_the_sum_of_products() {
        let ring = ring(64);
        let mut accumulator = Accumulator::new(&ring);
        let mut expected = ring.zero();
        for i in 0..256 {
            let a = ring.forward(random(&ring, i));
            let b = ring.forward(random(&ring, i + 1000));
            ring.add_assign(&mut expected, &ring.mul(&a, &b));
            accumulator.add_product(&a, &b);
        }

        assert_eq!(accumulator.reduce(&ring), expected);
    }

    #[test]
    fn unsuitable_primes_are_refused() {
        for bad in [0, 1, 2, 4, 268_369_919, u32::MAX] {
            assert_eq!(
                Ring::new(64, [257, bad]).err(),
                Some(RingError::NotPrime(bad))
            );
        }
        for degree in [0, 8, 63, 1 << 20] {
            assert_eq!(
                Ring::new(degree, [257, 769]).err(),
                Some(RingError::Degree(degree))
            );
        }

        assert!(matches!(
            Ring::new(64, [97, 97]),
            Err(RingError::SamePrime(97))
        ));
        assert!(matches!(
            Ring::new(64, [97, 257]),
            Err(RingError::NoRoot {
                prime: 97,
                order: 128
            })
        ));
    }
}
