//! The ring `Z_q[X]/(X^d + 1)` for one prime q below 2⁵⁰.
//!
//! A residue is a word of 64 bits. Products of 50 bits fit the multipliers of AVX-512 IFMA and the
//! doubles of AVX2, so that one transform replaces the two of [`crate::ring::Ring`].

use papir_kernels::Backend;
use papir_kernels::gadget::GadgetError;
use papir_kernels::wide::{self, Gadget, Modulus, NttError, NttTable};

use crate::cyclotomic::CyclotomicRing;
use crate::poly::{self, Coefficients, Form, Values};
use crate::prg::Expander;
use crate::prime::wide_primitive_root;
use crate::ring::RingError;

/// A polynomial of d residues.
pub type Poly<F> = poly::Poly<F, u64>;

/// The ring with its precomputed tables.
#[derive(Debug, Clone)]
pub struct Ring {
    backend: Backend,
    modulus: Modulus,
    table: NttTable,
}

impl Ring {
    /// The ring of `degree` coefficients modulo a prime.
    ///
    /// # Errors
    /// [`RingError`] if the degree is not supported, or the modulus is not a prime from 3 to 2⁵⁰ or
    /// has no 2d-th root of unity.
    pub fn new(degree: usize, prime: u64) -> Result<Self, RingError> {
        // The search for a root needs a prime.
        if !(3..1 << 50).contains(&prime) || !wide::is_prime(prime) {
            return Err(NttError::Modulus { found: prime }.into());
        }

        let order = degree.saturating_mul(2);
        let root = wide_primitive_root(prime, order).ok_or(RingError::NoRoot { prime, order })?;
        Ok(Self {
            backend: Backend::current(),
            modulus: Modulus::new(prime),
            table: NttTable::new(prime, root, degree)?,
        })
    }

    /// q with its reduction constants.
    pub fn prime(&self) -> Modulus {
        self.modulus
    }

    /// The instructions of all operations, for loops over raw residues.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The in-place transform, for loops over raw residues.
    pub fn table(&self) -> &NttTable {
        &self.table
    }

    /// The coefficients in (−q/2, q/2]. Constant time in the coefficients.
    pub fn to_centred(&self, poly: &Poly<Coefficients>) -> Vec<i64> {
        // q is below 2⁵⁰, so the casts keep the sign.
        let q = self.modulus() as i64;
        poly.residues()
            .iter()
            .map(|&x| x as i64 - q * i64::from(x as i64 > q / 2))
            .collect()
    }

    /// a(X^e) for odd e.
    pub fn automorphism(&self, a: &Poly<Coefficients>, e: usize) -> Poly<Coefficients> {
        let mut image = self.zero();
        wide::automorphism(
            self.backend,
            image.residues_mut(),
            a.residues(),
            e,
            self.modulus,
        );
        image
    }

    /// Computes out = a·X^shift for `shift` below 2d.
    pub fn rotate(&self, a: &Poly<Coefficients>, shift: usize, out: &mut Poly<Coefficients>) {
        wide::rotate(
            self.backend,
            out.residues_mut(),
            a.residues(),
            shift,
            self.modulus,
        );
    }
}

impl CyclotomicRing for Ring {
    type Word = u64;
    type Digits = Gadget;
    const PRIMES: usize = 1;

    fn degree(&self) -> usize {
        self.table.degree()
    }

    fn modulus(&self) -> u64 {
        self.modulus.value()
    }

    fn forward(&self, mut poly: Poly<Coefficients>) -> Poly<Values> {
        self.table.forward(self.backend, poly.residues_mut());
        poly.relabel()
    }

    fn inverse(&self, mut poly: Poly<Values>) -> Poly<Coefficients> {
        self.table.inverse(self.backend, poly.residues_mut());
        poly.relabel()
    }

    fn add_assign<F: Form>(&self, a: &mut Poly<F>, b: &Poly<F>) {
        wide::add_assign(self.backend, a.residues_mut(), b.residues(), self.modulus);
    }

    fn sub_assign<F: Form>(&self, a: &mut Poly<F>, b: &Poly<F>) {
        wide::sub_assign(self.backend, a.residues_mut(), b.residues(), self.modulus);
    }

    fn mul(&self, a: &Poly<Values>, b: &Poly<Values>) -> Poly<Values> {
        let mut product = self.zero();
        wide::mul(
            self.backend,
            product.residues_mut(),
            a.residues(),
            b.residues(),
            self.modulus,
        );
        product
    }

    fn scale<F: Form>(&self, a: &Poly<F>, constant: u64) -> Poly<F> {
        let mut product = self.zero();
        // The kernel takes reduced constants only.
        let constant = self.modulus.reduce(constant);
        wide::scale(
            self.backend,
            product.residues_mut(),
            a.residues(),
            constant,
            self.modulus,
        );
        product
    }

    fn from_signed(&self, coefficients: &[i32]) -> Poly<Coefficients> {
        let mut poly = self.zero();
        wide::from_signed(
            self.backend,
            poly.residues_mut(),
            coefficients,
            self.modulus,
        );
        poly
    }

    fn from_words(&self, coefficients: &[u64]) -> Poly<Coefficients> {
        let mut poly = self.zero();
        wide::reduce(
            self.backend,
            poly.residues_mut(),
            coefficients,
            self.modulus,
        );
        poly
    }

    fn to_words(&self, poly: &Poly<Coefficients>) -> Vec<u64> {
        poly.residues().to_vec()
    }

    fn uniform(&self, expander: &mut Expander) -> Poly<Values> {
        let mut poly = self.zero();
        expander.uniform_u64(self.modulus(), poly.residues_mut());
        poly
    }

    fn forward_lazy(&self, _prime: usize, residues: &mut [u64]) {
        self.table.forward_lazy(self.backend, residues);
    }

    fn products(&self, _prime: usize, [out0, out1]: [&mut [u64]; 2], a: &[u64], b: [&[u64]; 2]) {
        // Both sums in one call: vector code then loads each word of `a` once.
        wide::dot_pair(self.backend, [&mut *out0, &mut *out1], a, b, self.modulus);
        self.table.inverse(self.backend, out0);
        self.table.inverse(self.backend, out1);
    }

    fn digits(
        &self,
        log_base: u32,
        drop: u32,
        levels: usize,
    ) -> Result<(Gadget, u64), GadgetError> {
        let digits = Gadget::new(self.modulus(), log_base, drop, levels)?;
        let top = digits.top_bound();
        Ok((digits, top))
    }

    fn decompose(&self, digits: &Gadget, poly: &Poly<Coefficients>, out: &mut [i32]) {
        wide::decompose(self.backend, digits, out, poly.residues());
    }

    fn decompose_lazy(&self, digits: &Gadget, poly: &Poly<Coefficients>, out: &mut [&mut [u64]]) {
        out.iter_mut()
            .for_each(|out| wide::decompose_lazy(self.backend, digits, out, poly.residues()));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::prg::Seed;

    /// The largest prime below 2⁵⁰ that is 1 modulo 2¹².
    const PRIME: u64 = (1 << 50) - 16_383;

    fn random(ring: &Ring, index: u64) -> Poly<Coefficients> {
        ring.inverse(ring.uniform(&mut Seed([7; 32]).expand("test", index)))
    }

    #[test]
    fn products_match_the_definition() {
        let ring = Ring::new(64, PRIME).unwrap();
        let a = random(&ring, 0);
        let b = random(&ring, 1);
        let q = i128::from(PRIME);
        let mut expected = [0i128; 64];
        for (i, &x) in a.residues().iter().enumerate() {
            for (j, &y) in b.residues().iter().enumerate() {
                let term = i128::from(x) * i128::from(y) % q;
                expected[(i + j) % 64] += if i + j < 64 { term } else { -term };
            }
        }
        let product = ring.inverse(ring.mul(&ring.forward(a), &ring.forward(b)));

        assert_eq!(product.residues(), expected.map(|x| x.rem_euclid(q) as u64));
    }

    #[test]
    fn rotations_are_products_by_powers() {
        let ring = Ring::new(64, PRIME).unwrap();
        let a = random(&ring, 2);
        for shift in [0, 1, 63, 64, 65, 127] {
            let mut power = vec![0; 64];
            power[shift % 64] = if shift < 64 { 1 } else { -1 };
            let power = ring.forward(ring.from_signed(&power));
            let mut rotated = ring.zero();
            ring.rotate(&a, shift, &mut rotated);
            assert_eq!(
                rotated,
                ring.inverse(ring.mul(&ring.forward(a.clone()), &power)),
                "{shift}"
            );
        }
    }

    #[test]
    fn unsuitable_primes_are_refused() {
        for bad in [0, 1, 2, 4, PRIME - 4096, 1 << 50, u64::MAX] {
            assert_eq!(
                Ring::new(64, bad).err(),
                Some(NttError::Modulus { found: bad }.into())
            );
        }

        assert_eq!(
            Ring::new(64, 97).err(),
            Some(RingError::NoRoot {
                prime: 97,
                order: 128
            })
        );
        for degree in [0, 63, 1 << 60, usize::MAX] {
            assert!(Ring::new(degree, PRIME).is_err(), "{degree}");
        }
        assert_eq!(
            Ring::new(8, PRIME).err(),
            Some(NttError::Degree { found: 8 }.into())
        );
    }
}
