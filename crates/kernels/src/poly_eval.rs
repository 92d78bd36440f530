//! Evaluation of a polynomial in several variables at many points, modulo an odd prime q < 2²⁸.
//!
//! The polynomial has v variables and total degree at most D. Its C(D + v, v) coefficients are in
//! lexicographic order of their exponents, with the exponents of the last variable next to each
//! other. The powers of a point are computed once. Each row of coefficients is a sum of products
//! without reductions; only the sum is reduced, by Montgomery's algorithm ("Modular multiplication
//! without trial division", 1985), and becomes a term of the row above.

use crate::backend::Backend;

pub(crate) mod polynomial;

pub use polynomial::{MAX_DEGREE, MAX_VARIABLES, Polynomial, terms};

impl Polynomial {
    /// Evaluates the polynomial at `out.len()` points with coordinates below q.
    ///
    /// `points` has a row of `out.len()` coordinates for each variable.
    ///
    /// # Panics
    /// If `points` has another number of words.
    pub fn evaluate(&self, backend: Backend, points: &[u32], out: &mut [u32]) {
        assert_eq!(
            points.len(),
            self.variables * out.len(),
            "coordinates of the points"
        );
        dispatch!(backend, poly_eval::evaluate(self, points, out));
    }
}
