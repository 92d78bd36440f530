//! Plaintext slots.
//!
//! `Z_t[X]/(Xⁿ + 1)` is n copies of the field of t elements: one ciphertext holds n messages, and
//! sums and products act on each.

use papir_kernels::Backend;
use papir_kernels::ntt::NttTable;
use papir_ring::prime::primitive_root;
use papir_ring::ring::RingError;

use super::params::PLAINTEXT;

/// Transform between the n slots and the coefficients of a plaintext.
#[derive(Clone, Debug)]
pub struct Slots {
    backend: Backend,
    table: NttTable,
}

impl Slots {
    /// Creates the transform for plaintexts of `degree` coefficients.
    ///
    /// # Errors
    /// [`RingError`] unless the degree is a power of two from 16 to 2¹⁵.
    pub fn new(degree: usize) -> Result<Self, RingError> {
        // t − 1 is 2¹⁶, so degrees above 2¹⁵ have no root.
        let none = RingError::NoRoot {
            prime: PLAINTEXT.into(),
            order: 2 * degree,
        };
        let root = primitive_root(PLAINTEXT, 2 * degree).ok_or(none)?;
        Ok(Self {
            backend: Backend::current(),
            table: NttTable::new(PLAINTEXT, root, degree)?,
        })
    }

    /// Transforms slot values below t to coefficients, in place.
    pub fn encode(&self, slots: &mut [u32]) {
        self.table.inverse(self.backend, slots);
    }

    /// Transforms coefficients below t to slot values, in place.
    pub fn decode(&self, coefficients: &mut [u32]) {
        self.table.forward(self.backend, coefficients);
    }
}
