//! Approximate gadget decomposition: x ≈ Σ digitᵢ · 2^(drop + i·log_base).
//!
//! Digits are balanced and the low bits are rounded, not floored, so that the dropped part is a
//! centred error (InsPIRe, appendix G.1).

use papir_ring::{Coefficients, CyclotomicRing, Poly, Ring, Values};

/// Parameters of a gadget decomposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GadgetParams {
    /// ℓ, the number of digits.
    pub levels: usize,
    /// log₂ z.
    pub log_base: u32,
    /// Number of low bits that are rounded away.
    pub drop: u32,
}

/// Invalid gadget parameters.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GadgetError {
    /// Digits do not fit machine words.
    #[error(transparent)]
    Words(#[from] papir_kernels::gadget::GadgetError),
    /// Too few digits for the modulus: the top digit, which takes the remainder, exceeds half the
    /// base.
    #[error("the top digit reaches {found}: expected at most {expected}, half the base")]
    TopDigit {
        /// The largest absolute value of the top digit.
        found: u64,
        /// Half the base.
        expected: u64,
    },
}

/// A gadget decomposition for one ring.
#[derive(Clone, Debug)]
pub struct Gadget<R: CyclotomicRing = Ring> {
    params: GadgetParams,
    digits: R::Digits,
}

impl<R: CyclotomicRing> Gadget<R> {
    /// Creates the decomposition of coefficients of R_q.
    ///
    /// # Errors
    /// [`GadgetError`] if the digits do not fit machine words or do not cover q.
    pub fn new(ring: &R, params: GadgetParams) -> Result<Self, GadgetError> {
        let (digits, found) = ring.digits(params.log_base, params.drop, params.levels)?;
        // Noise bounds assume all digits at most half the base; the top digit takes the remainder.
        let expected = (1 << params.log_base) / 2;
        if found > expected {
            return Err(GadgetError::TopDigit { found, expected });
        }
        Ok(Self { params, digits })
    }

    /// The parameters.
    pub fn params(&self) -> GadgetParams {
        self.params
    }

    /// ℓ, the number of digits.
    pub fn levels(&self) -> usize {
        self.params.levels
    }

    /// The factor 2^(drop + i·log_base) of digit i.
    pub fn factor(&self, i: usize) -> u64 {
        1 << (self.params.drop + self.params.log_base * i as u32)
    }

    /// Writes the digits of each coefficient: ℓ·d words, lowest digits first.
    pub fn decompose(&self, ring: &R, poly: &Poly<Coefficients, R::Word>, digits: &mut [i32]) {
        ring.decompose(&self.digits, poly, digits);
    }

    /// Writes the digits as residues below twice each prime: ℓ·d words for each prime, lowest
    /// digits first.
    pub fn decompose_lazy(
        &self,
        ring: &R,
        poly: &Poly<Coefficients, R::Word>,
        digits: &mut [&mut [R::Word]],
    ) {
        ring.decompose_lazy(&self.digits, poly, digits);
    }

    /// Returns the digits as ℓ ring elements in values, lowest first.
    pub fn decompose_to_values(
        &self,
        ring: &R,
        poly: &Poly<Coefficients, R::Word>,
    ) -> Vec<Poly<Values, R::Word>> {
        let mut digits = vec![0; self.levels() * ring.degree()];
        self.decompose(ring, poly, &mut digits);
        digits
            .chunks_exact(ring.degree())
            .map(|digit| ring.forward(ring.from_signed(digit)))
            .collect()
    }
}
