//! Values of one polynomial in several variables at many points modulo an odd prime q < 2²⁸.
//!
//! The polynomial has total degree at most D; its coefficients stand in lexicographic order of their
//! exponents, those of the last variable next to each other, C(D + v, v) of them. A point's powers are made once,
//! and each row of coefficients is a sum of products without reductions; only its result is reduced, by
//! Montgomery's algorithm ("Modular multiplication without trial division", 1985), and goes into the row above.

use crate::backend::Backend;

pub(crate) mod polynomial;

pub use polynomial::{MAX_DEGREE, MAX_VARIABLES, Polynomial, terms};

impl Polynomial {
    /// The values at points below q: a row of `out.len()` words for each variable.
    ///
    /// # Panics
    /// Where `points` has other than this many words.
    pub fn evaluate(&self, points: &[u32], out: &mut [u32]) {
        self.evaluate_with(Backend::current(), points, out);
    }

    /// [`Polynomial::evaluate`] on the backend given.
    pub fn evaluate_with(&self, backend: Backend, points: &[u32], out: &mut [u32]) {
        assert_eq!(points.len(), self.variables * out.len(), "a row of points for each variable");
        dispatch!(backend, poly_eval::evaluate(self, points, out));
    }
}
