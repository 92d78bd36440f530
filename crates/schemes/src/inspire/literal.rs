//! Unchecked parameters of InsPIRe.

use papir_core::{Error, Result, Shape};
use papir_kernels::matvec_i16;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::Literal as RlweLiteral;

use super::interpolation::Interpolation;
use crate::shared::parameters::refused;

/// The scheme's name.
pub(crate) const NAME: &str = "inspire";
/// Widest selector that the database pass supports.
pub(super) const MAX_QUERY_BITS: u32 = matvec_i16::MAX_PLANES as u32 * matvec_i16::PLANE_BITS;

/// InsPIRe.
#[derive(Clone, Copy, Debug)]
pub struct Inspire;

/// Bits of a coefficient of key material. y_h is in one of the d − 1 key switches of a pack, and an
/// external product is as one key switch, so both may be rounded more than y_g.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyBits {
    /// Bits of y_g.
    pub y_g: u32,
    /// Bits of y_h.
    pub y_h: u32,
    /// Bits of the RGSW bodies.
    pub rgsw: u32,
}

impl KeyBits {
    /// The same bits for all.
    pub const fn equal(bits: u32) -> Self {
        Self { y_g: bits, y_h: bits, rgsw: bits }
    }

    /// In the order of a query.
    pub const fn all(self) -> [u32; 3] {
        [self.y_g, self.y_h, self.rgsw]
    }
}

/// Unchecked values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Literal {
    /// Records and their length.
    pub shape: Shape,
    /// Ring and noise.
    pub rlwe: RlweLiteral,
    /// Variables of a column's polynomial, and t.
    pub interpolation: Interpolation,
    /// Gadget of the packing keys (z_ks, ℓ_ks).
    pub key_switch: GadgetParams,
    /// Gadget of the RGSW encryptions (z_gsw, ℓ_gsw).
    pub rgsw: GadgetParams,
    /// Bits of a selector entry.
    pub query_bits: u32,
    /// Bits of a coefficient of key material.
    pub key_bits: KeyBits,
    /// Bits of a coefficient of an answer's mask and body.
    pub answer_bits: (u32, u32),
}

impl Literal {
    /// Checks the bits for a modulus, and the packing matrix.
    ///
    /// # Errors
    /// [`Error::Parameters`].
    pub(super) fn check(&self, modulus: u64) -> Result<()> {
        let RlweLiteral { degree, sigma, .. } = self.rlwe;
        let (a_bits, b_bits) = self.answer_bits;
        let below_q = |bits: u32| (1..=62).contains(&bits) && 1u64 << bits < modulus;
        // The client decrypts with 64 bits: the mask of an answer times the secret must stay below
        // q/2.
        let product = 2f64.powi(a_bits as i32) * sigma * (degree as f64).sqrt() * 16.0;
        let fits = product < modulus as f64 / 2.0
            && below_q(a_bits)
            && (1..=MAX_QUERY_BITS).contains(&self.query_bits)
            && below_q(self.query_bits)
            && self.key_bits.all().into_iter().all(below_q)
            && (17..=32).contains(&a_bits)
            && (17..=a_bits).contains(&b_bits);
        if !fits {
            return Err(unfit(format!("message bits {self:?} do not fit q = {modulus}")));
        }
        check_matrix(degree, self.key_switch)
    }
}

/// Checks that entries of a packing matrix, sums of up to d digits, fit 32 bits.
///
/// # Errors
/// [`Error::Parameters`].
pub(super) fn check_matrix(degree: usize, key_switch: GadgetParams) -> Result<()> {
    let entry = (degree as u64) << (key_switch.log_base.clamp(1, 32) - 1);
    if entry < 1 << 31 {
        return Ok(());
    }
    Err(unfit(format!("entries of the packing matrix reach {entry}: expected below 2^31")))
}

pub(super) fn unfit(reason: String) -> Error {
    refused(NAME)(reason)
}
