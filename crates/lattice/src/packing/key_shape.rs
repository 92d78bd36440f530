//! The shape of a packing key.

use std::fmt;

/// Packing, sizes and layout of a key. Keys of different shapes are never interchangeable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShape {
    /// Name of the packing.
    pub packing: &'static str,
    /// d.
    pub degree: usize,
    /// LWE encryptions in a pack: d, or γ.
    pub capacity: usize,
    /// Number of key-switching matrices.
    pub matrices: usize,
    /// ℓ, ring elements of a matrix.
    pub levels: usize,
}

impl KeyShape {
    /// Number of ring elements that a client sends.
    pub fn elements(&self) -> usize {
        self.matrices * self.levels
    }

    /// Number of their coefficients.
    pub fn words(&self) -> usize {
        self.elements() * self.degree
    }
}

impl fmt::Display for KeyShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            packing,
            degree,
            capacity,
            matrices,
            levels,
        } = self;
        write!(
            f,
            "{packing} of {capacity} at degree {degree} with {matrices} × {levels} ring elements"
        )
    }
}
