//! Unchecked parameters of InsPIRe.

use papir_core::{FailureBound, Result, Shape};
use papir_kernels::matvec_i16;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::response::ResponseBits;

use super::interpolation::Interpolation;
use crate::shared::parameters::refused;

/// The scheme's name.
pub(crate) const NAME: &str = "inspire";
/// Largest number of bits of a selector entry that the pass over the database supports.
pub(super) const MAX_QUERY_BITS: u32 = matvec_i16::MAX_PLANES as u32 * matvec_i16::PLANE_BITS;
/// Share of half the distance between messages that an error may fill. The answer to another query
/// has all its 2048 words within this share with a probability of (31/32)^2048 < 2⁻⁹³.
pub(super) const FILL: f64 = 31.0 / 32.0;
/// Least number of bits of an answer's coefficient: one more than a word has.
pub(super) const LEAST_ANSWER_BITS: u32 = 17;

/// InsPIRe, as a scheme.
#[derive(Clone, Copy, Debug)]
pub struct Inspire;

/// Numbers of bits of a coefficient of key material. y_h is in one of the d − 1 key switches of a
/// pack, and an external product adds about the noise of one key switch. So both may be rounded
/// more than y_g.
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
    /// Returns the same number of bits for all key material.
    pub const fn equal(bits: u32) -> Self {
        Self {
            y_g: bits,
            y_h: bits,
            rgsw: bits,
        }
    }

    /// Returns the numbers of bits in the order of a query: y_g, y_h, RGSW bodies.
    pub const fn all(self) -> [u32; 3] {
        [self.y_g, self.y_h, self.rgsw]
    }
}

/// Values of parameters, unchecked.
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
    /// True if an error may fill 31/32 of half the distance between messages, on both sides of a
    /// message. A word further away is refused, so that an answer to another query does not pass.
    /// Parameters of older databases refuse no word.
    pub reserved: bool,
    /// Bound on the failure probability.
    pub failure: FailureBound,
}

impl Literal {
    /// Returns the bits of an answer's mask and body.
    pub(super) fn response(&self) -> ResponseBits {
        let (a, b) = self.answer_bits;
        ResponseBits { a, b }
    }

    /// Returns the share of half the distance between messages that an error may fill.
    pub(super) fn fill(&self) -> f64 {
        if self.reserved { FILL } else { 1.0 }
    }

    /// Checks the bits for a modulus, and the packing matrix.
    pub(super) fn check(&self, modulus: u64) -> Result<()> {
        let RlweLiteral { degree, sigma, .. } = self.rlwe;
        let answer = self.response();
        // The range comes first: a shift by 64 or more overflows.
        let below_q = |bits: u32| (1..=62).contains(&bits) && 1u64 << bits < modulus;

        let fits = answer.fit(degree, modulus as f64, sigma)
            && answer.b >= LEAST_ANSWER_BITS
            && below_q(answer.a)
            && self.query_bits <= MAX_QUERY_BITS
            && below_q(self.query_bits)
            && self.key_bits.all().into_iter().all(below_q);
        if !fits {
            return Err(refused(NAME)(format!(
                "message bits {self:?} do not fit q = {modulus}"
            )));
        }

        check_matrix(degree, self.key_switch)
    }
}

/// Checks that entries of a packing matrix fit 32 bits. They are sums of up to d digits.
pub(super) fn check_matrix(degree: usize, key_switch: GadgetParams) -> Result<()> {
    // A digit is at most half the base in size. The limits keep the shift within 64 bits.
    let entry = (degree as u64) << (key_switch.log_base.clamp(1, 32) - 1);
    if entry < 1 << 31 {
        return Ok(());
    }
    Err(refused(NAME)(format!(
        "entries of the packing matrix reach {entry}: expected below 2^31"
    )))
}
