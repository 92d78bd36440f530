//! Negacyclic number-theoretic transform over Z_q\[X\]/(X^d + 1), q a prime below 2³⁰.
//!
//! Let ψ be a primitive 2d-th root of unity. [`NttTable::forward`] maps the d coefficients of a(X),
//! in natural order, to the d values a(ψ^(2·brv(k)+1)), where brv reverses the log₂ d bits of the
//! slot k. The butterflies are Harvey's lazy ones ("Faster arithmetic for number-theoretic
//! transforms", 2014): values stay below 4q, and each product by a root uses Shoup's precomputed
//! quotient.

use crate::backend::Backend;

pub(crate) mod table;

pub use table::{NttError, NttTable};

impl NttTable {
    /// Transforms coefficients below 4q to values in [0, q), with slots in bit-reversed order.
    pub fn forward(&self, backend: Backend, x: &mut [u32]) {
        assert_eq!(x.len(), self.d, "coefficients of an NTT");
        dispatch!(backend, ntt::forward(self, x));
    }

    /// [`NttTable::forward`] without the last reduction: values in [0, 4q).
    ///
    /// The representatives may differ between backends.
    pub fn forward_lazy(&self, backend: Backend, x: &mut [u32]) {
        assert_eq!(x.len(), self.d, "coefficients of an NTT");
        dispatch!(backend, ntt::forward_lazy(self, x));
    }

    /// Transforms values below 2q, with slots in bit-reversed order, to coefficients in [0, q).
    pub fn inverse(&self, backend: Backend, x: &mut [u32]) {
        assert_eq!(x.len(), self.d, "values of an NTT");
        dispatch!(backend, ntt::inverse(self, x));
    }
}
