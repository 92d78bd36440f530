//! What compression adds to the noise of a row, in *units* of q/2¹⁶, the last bit of a slot:
//!
//! - the rounding of the hint to units, Σ ρᵢ·sᵢ with |ρᵢ| ≤ ½ and key bits sᵢ. The server takes off its mean
//!   over keys, Σ ρᵢ/2, and leaves Σ ρᵢ·(sᵢ − ½), of variance n/48;
//! - what spills over from the slot below, ⌊Σ uᵢ·sᵢ/2¹⁶⌋ for digits uᵢ, one for each bit of the key. The client
//!   takes off ½·Σ sᵢ, the server Σ (uᵢ/2¹⁶ − ½)/2, and what is left is Σ (uᵢ/2¹⁶ − ½)·(sᵢ − ½), of variance n/48;
//! - less than [`EXACT`] units for the rounding of the word itself, for half of an odd weight, and for the
//!   part of the spill that comes from the word below and its own spill.
//!
//! Words of H are uniform where a row of the database has any word that is not zero, up to a factor of a power
//! of two; where it has none, rounding and spill are their means exactly. Each sum is subgaussian with the
//! deviation given, and they are independent.

/// What is bounded for certain, in units.
pub(crate) const EXACT: f64 = 2.0;

/// The variance of rounding and spill together, in units².
pub(crate) fn variance(n: usize) -> f64 {
    2.0 * n as f64 / 48.0
}
