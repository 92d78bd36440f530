//! The shape of a packing key.

use std::fmt;

/// What a key packs, and how: keys of different shapes are never taken for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyShape {
    /// [`RingPacking::NAME`].
    pub packing: &'static str,
    /// d.
    pub degree: usize,
    /// LWE encryptions a pack: d, or γ.
    pub capacity: usize,
    /// Key-switching matrices.
    pub matrices: usize,
    /// ℓ, ring elements a matrix.
    pub levels: usize,
}

impl KeyShape {
    /// The ring elements that a client sends.
    pub fn elements(&self) -> usize {
        self.matrices * self.levels
    }
}

impl fmt::Display for KeyShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { packing, degree, capacity, matrices, levels } = self;
        write!(f, "{packing} of {capacity} at degree {degree} with {matrices} × {levels} ring elements")
    }
}
