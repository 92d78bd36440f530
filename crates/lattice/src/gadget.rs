//! The approximate gadget decomposition (InsPIRe, appendix G.1): x ≈ Σ digitᵢ · 2^(drop + i·log_base).
//!
//! Digits are balanced and rounded, not floored: dropping low bits leaves a centred error.

use papir_kernels::gadget::{Gadget2, decompose, decompose_lazy};
use papir_ring::{Coefficients, Poly, Ring, Values};

/// log₂ of the base, dropped bits and number of digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GadgetParams {
    /// ℓ, the number of digits.
    pub levels: usize,
    /// log₂ z.
    pub log_base: u32,
    /// Low bits rounded away.
    pub drop: u32,
}

/// Why a decomposition is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GadgetError {
    /// Digits would not fit machine words.
    #[error(transparent)]
    Words(#[from] papir_kernels::gadget::GadgetError),
    /// The digits are too few: the top one, which takes what remains, is larger than the others.
    #[error("the top digit reaches {found}: expected at most {expected}, half the base, as in the others")]
    TopDigit {
        /// The largest absolute value of the top digit.
        found: u64,
        /// Half the base.
        expected: u64,
    },
}

/// A decomposition over one ring.
#[derive(Clone, Debug)]
pub struct Gadget {
    params: GadgetParams,
    digits: Gadget2,
}

impl Gadget {
    /// The decomposition of R_q's coefficients.
    ///
    /// # Errors
    /// [`GadgetError`] when digits would not fit machine words, or are too few for q.
    pub fn new(ring: &Ring, params: GadgetParams) -> Result<Self, GadgetError> {
        let [q1, q2] = ring.primes().map(|prime| prime.value());
        let digits = Gadget2::new(q1, q2, params.log_base, params.drop, params.levels)?;
        let (found, expected) = (digits.top_bound(), (1 << params.log_base) / 2);
        if found > expected {
            return Err(GadgetError::TopDigit { found, expected });
        }
        Ok(Self { params, digits })
    }

    /// ℓ, log z and the dropped bits.
    pub fn params(&self) -> GadgetParams {
        self.params
    }

    /// ℓ.
    pub fn levels(&self) -> usize {
        self.params.levels
    }

    /// The factor 2^(drop + i·log_base) of digit i.
    pub fn factor(&self, i: usize) -> u64 {
        1 << (self.params.drop + self.params.log_base * i as u32)
    }

    /// The digits of each coefficient: ℓ·d words, lowest digits first.
    pub fn decompose(&self, poly: &Poly<Coefficients>, digits: &mut [i32]) {
        let [first, second] = poly.parts();
        decompose(&self.digits, digits, first, second);
    }

    /// The digits of each coefficient as residues below 2q, ℓ·d modulo each prime, lowest digits first.
    pub fn decompose_lazy(&self, poly: &Poly<Coefficients>, first: &mut [u32], second: &mut [u32]) {
        let [residues1, residues2] = poly.parts();
        decompose_lazy(&self.digits, first, second, residues1, residues2);
    }

    /// The digits as ℓ ring elements in values.
    pub fn decompose_to_values(&self, ring: &Ring, poly: &Poly<Coefficients>) -> Vec<Poly<Values>> {
        let mut digits = vec![0; self.levels() * ring.degree()];
        self.decompose(poly, &mut digits);
        digits.chunks_exact(ring.degree()).map(|digit| ring.forward(ring.from_signed(digit))).collect()
    }
}
