//! Ring operations for encryption, over any number of primes.

use std::fmt::Debug;

use papir_kernels::gadget::GadgetError;

use crate::aligned::Word;
use crate::poly::{Coefficients, Form, Poly, Values};
use crate::prg::Expander;

/// The ring `Z_q[X]/(X^d + 1)`, d a power of two.
///
/// Elements are residues modulo each of [`CyclotomicRing::PRIMES`] primes. Operations on a `prime`
/// take d residues modulo the prime of that number, or several rows of them.
#[expect(
    clippy::wrong_self_convention,
    reason = "`from_signed` and `from_words` make polynomials, not rings"
)]
pub trait CyclotomicRing: Clone + Debug + Send + Sync {
    /// A residue.
    type Word: Word;
    /// Constants of a gadget decomposition.
    type Digits: Clone + Debug + Send + Sync;
    /// Number of primes whose product is q.
    const PRIMES: usize;

    /// The degree d.
    fn degree(&self) -> usize;

    /// The modulus q.
    fn modulus(&self) -> u64;

    /// The zero polynomial.
    fn zero<F: Form>(&self) -> Poly<F, Self::Word> {
        Poly::zero(Self::PRIMES * self.degree())
    }

    /// Transforms coefficients to values.
    fn forward(&self, poly: Poly<Coefficients, Self::Word>) -> Poly<Values, Self::Word>;

    /// Transforms values to coefficients.
    fn inverse(&self, poly: Poly<Values, Self::Word>) -> Poly<Coefficients, Self::Word>;

    /// `a += b`.
    fn add_assign<F: Form>(&self, a: &mut Poly<F, Self::Word>, b: &Poly<F, Self::Word>);

    /// `a -= b`.
    fn sub_assign<F: Form>(&self, a: &mut Poly<F, Self::Word>, b: &Poly<F, Self::Word>);

    /// a·b.
    fn mul(
        &self,
        a: &Poly<Values, Self::Word>,
        b: &Poly<Values, Self::Word>,
    ) -> Poly<Values, Self::Word>;

    /// constant·a modulo q.
    fn scale<F: Form>(&self, a: &Poly<F, Self::Word>, constant: u64) -> Poly<F, Self::Word>;

    /// The polynomial with these signed coefficients.
    fn from_signed(&self, coefficients: &[i32]) -> Poly<Coefficients, Self::Word>;

    /// The polynomial with these coefficients, reduced modulo q.
    fn from_words(&self, coefficients: &[u64]) -> Poly<Coefficients, Self::Word>;

    /// The coefficients in [0, q).
    fn to_words(&self, poly: &Poly<Coefficients, Self::Word>) -> Vec<u64>;

    /// A uniform polynomial in values.
    fn uniform(&self, expander: &mut Expander) -> Poly<Values, Self::Word>;

    /// Transforms coefficients below 4 times the prime to values below 4 times the prime.
    fn forward_lazy(&self, prime: usize, residues: &mut [Self::Word]);

    /// For two groups of rows b and one of rows a, replaces each output by the coefficients of
    /// Σ aⱼ·bⱼ. Words of `a` are below 4 times the prime; there are at most 64 rows.
    fn products(
        &self,
        prime: usize,
        out: [&mut [Self::Word]; 2],
        a: &[Self::Word],
        b: [&[Self::Word]; 2],
    );

    /// Constants of a decomposition into `levels` digits of base 2^`log_base`, lowest first, of
    /// coefficients without their lowest `drop` bits; and the largest absolute value of the top
    /// digit.
    ///
    /// # Errors
    /// [`GadgetError`] if the digits do not fit.
    fn digits(
        &self,
        log_base: u32,
        drop: u32,
        levels: usize,
    ) -> Result<(Self::Digits, u64), GadgetError>;

    /// Writes the digits of each coefficient: levels·d words, lowest digits first.
    fn decompose(
        &self,
        digits: &Self::Digits,
        poly: &Poly<Coefficients, Self::Word>,
        out: &mut [i32],
    );

    /// Writes the digits as residues below twice the prime: levels·d words for each prime, lowest
    /// digits first.
    fn decompose_lazy(
        &self,
        digits: &Self::Digits,
        poly: &Poly<Coefficients, Self::Word>,
        out: &mut [&mut [Self::Word]],
    );
}
