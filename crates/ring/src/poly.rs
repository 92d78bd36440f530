//! Polynomials of R_q as residues modulo the ring's primes.

use std::fmt::Debug;
use std::marker::PhantomData;

use zeroize::Zeroize;

use crate::aligned::{Aligned, Word};

/// The meaning of the residues of a [`Poly`].
pub trait Form: Clone + Copy + Debug + PartialEq + Eq + 'static {}

/// Coefficients in natural order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficients {}

/// Values at the odd powers of a 2d-th root of unity (NTT form, bit-reversed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {}

impl Form for Coefficients {}
impl Form for Values {}

/// A polynomial: d residues modulo each prime, prime after prime. The default has no residues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poly<F: Form, W: Word = u32> {
    residues: Aligned<W>,
    form: PhantomData<F>,
}

impl<F: Form, W: Word> Default for Poly<F, W> {
    fn default() -> Self {
        Self {
            residues: Aligned::default(),
            form: PhantomData,
        }
    }
}

impl<F: Form, W: Word> Poly<F, W> {
    /// A polynomial from reduced residues modulo the first prime, then modulo the second.
    pub fn from_residues(residues: &[W]) -> Self {
        Self {
            residues: Aligned::copy_of(residues),
            form: PhantomData,
        }
    }

    /// A polynomial of `residues` zeros.
    pub(crate) fn zero(residues: usize) -> Self {
        Self {
            residues: Aligned::zeroed(residues),
            form: PhantomData,
        }
    }

    /// All residues.
    pub fn residues(&self) -> &[W] {
        &self.residues
    }

    /// All residues, mutable.
    pub fn residues_mut(&mut self) -> &mut [W] {
        &mut self.residues
    }

    /// Changes the form in the type; the caller has transformed the residues.
    pub(crate) fn relabel<G: Form>(self) -> Poly<G, W> {
        Poly {
            residues: self.residues,
            form: PhantomData,
        }
    }
}

impl<F: Form> Poly<F> {
    /// The residues modulo q₁ and modulo q₂.
    pub fn parts(&self) -> [&[u32]; 2] {
        // Only rings of two primes have words of 32 bits, so the halves have d residues each.
        let (first, second) = self.residues.split_at(self.residues.len() / 2);
        [first, second]
    }

    /// The residues modulo q₁ and modulo q₂, mutable.
    pub fn parts_mut(&mut self) -> [&mut [u32]; 2] {
        let half = self.residues.len() / 2;
        let (first, second) = self.residues.split_at_mut(half);
        [first, second]
    }
}

impl<F: Form, W: Word> Zeroize for Poly<F, W> {
    fn zeroize(&mut self) {
        self.residues.zeroize();
    }
}
