//! Polynomials of R_q as residues modulo both primes.

use std::marker::PhantomData;

use zeroize::Zeroize;

/// The meaning of the residues of a [`Poly`].
pub trait Form: Clone + Copy + std::fmt::Debug + PartialEq + Eq + 'static {}

/// Coefficients in natural order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coefficients {}

/// Values at the odd powers of a 2d-th root of unity (NTT form, bit-reversed).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {}

impl Form for Coefficients {}
impl Form for Values {}

/// A polynomial: d residues modulo q₁, then d modulo q₂. The default has no residues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Poly<F: Form> {
    residues: Vec<u32>,
    form: PhantomData<F>,
}

impl<F: Form> Default for Poly<F> {
    fn default() -> Self {
        Self::from_residues(Vec::new())
    }
}

impl<F: Form> Poly<F> {
    /// A polynomial from reduced residues modulo q₁, followed by those modulo q₂.
    pub fn from_residues(residues: Vec<u32>) -> Self {
        Self { residues, form: PhantomData }
    }

    /// All residues.
    pub fn residues(&self) -> &[u32] {
        &self.residues
    }

    /// The residues modulo q₁ and those modulo q₂.
    pub fn parts(&self) -> [&[u32]; 2] {
        let (first, second) = self.residues.split_at(self.residues.len() / 2);
        [first, second]
    }

    /// The residues modulo q₁ and those modulo q₂, mutable.
    pub fn parts_mut(&mut self) -> [&mut [u32]; 2] {
        let half = self.residues.len() / 2;
        let (first, second) = self.residues.split_at_mut(half);
        [first, second]
    }

    /// Changes the form in the type; the caller has transformed the residues.
    pub(crate) fn relabel<G: Form>(self) -> Poly<G> {
        Poly::from_residues(self.residues)
    }
}

impl<F: Form> Zeroize for Poly<F> {
    fn zeroize(&mut self) {
        self.residues.zeroize();
    }
}
