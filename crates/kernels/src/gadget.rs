//! Approximate gadget decomposition into balanced digits.

use crate::dispatch::same_length;
use crate::modulus::Modulus;

pub(crate) mod base;
pub(crate) mod digits;

pub use base::{Gadget2, GadgetError};

kernel! {
    /// Writes the digits of d values with residues `r1` (below q₁) and `r2` (below q₂).
    ///
    /// `digits` has levels·d words, digit-major: the d lowest digits come first.
    pub fn decompose(gadget: &Gadget2, digits: &mut [i32], r1: &[u32], r2: &[u32])
    checks {
        same_length([r1.len(), r2.len()]);
        same_length([digits.len(), r1.len() * gadget.levels()]);
    }
    in gadget;
}

kernel! {
    /// Writes the digits of d values with residues `r1` (below q₁) and `r2` (below q₂) as residues:
    /// δ + q₁ in `out1` and δ + q₂ in `out2` for each digit δ. They are in (0, 2q), within the
    /// range of inputs to the transform.
    ///
    /// Both outputs have levels·d words, digit-major as in [`decompose`].
    pub fn decompose_lazy(
        gadget: &Gadget2, out1: &mut [u32], out2: &mut [u32], r1: &[u32], r2: &[u32],
    )
    checks {
        same_length([r1.len(), r2.len()]);
        same_length([out1.len(), out2.len(), r1.len() * gadget.levels()]);
        let smaller = u64::from(gadget.q1.min(gadget.q2));
        assert!(gadget.largest_digit() < smaller, "digits must be below both primes");
    }
    in gadget;
}

kernel! {
    /// Reduces any signed words to residues in [0, q).
    pub fn to_residues(out: &mut [u32], digits: &[i32], modulus: Modulus)
    checks { same_length([out.len(), digits.len()]) }
    in gadget;
}

kernel! {
    /// Centres residues in [0, q) to signed words in (−q/2, q/2].
    pub fn centre(out: &mut [i32], residues: &[u32], modulus: Modulus)
    checks { same_length([out.len(), residues.len()]) }
    in gadget;
}
