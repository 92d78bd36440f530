//! Probability that an honest answer does not decode.
//!
//! Theorems 7 and 8, with separate moduli for masks and bodies and the rounding of queries and keys
//! that papir adds.
//!
//! | Theorem 7 | here |
//! |---|---|
//! | Σ₀: first selection, packing with γ₀, switching | [`Noise::first`] |
//! | Σ₁, Σ₂: second selection, packing with γ₁ or γ₂, switching | [`Noise::second`], the larger of both |

use papir_lattice::noise::{SAMPLER_LOG2, Setting, failure_log2, rounding, squares_of_uniform};
use papir_lattice::params::Literal as RlweLiteral;

use super::layout::Layout;
use super::literal::Literal;
use crate::shared::parameters::FILL;

/// log₂ of the first level's plaintext modulus.
pub const WORD_BITS: u32 = 16;

/// Values that the noise depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoiseInput {
    pub(super) literal: Literal,
    /// Ring, σ and key rounding.
    pub(super) setting: Setting,
    /// N/t and t: lengths of the selectors.
    selectors: [usize; 2],
}

/// Variances of the errors of both levels, in units of q, the last switch included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Selecting a column and packing a unit.
    pub first: f64,
    /// Switching it to the bits of its digits.
    pub first_switch: f64,
    /// Selecting a unit's digits and packing them.
    pub second: f64,
    /// Switching the answer.
    pub second_switch: f64,
}

impl NoiseInput {
    pub(super) fn new(literal: &Literal, layout: &Layout) -> Self {
        let RlweLiteral { degree, primes, sigma } = literal.rlwe;
        let modulus = primes.map(f64::from).iter().product();
        let setting = Setting::error_like(degree, modulus, sigma, literal.key_bits);
        Self { literal: *literal, setting, selectors: [layout.columns, layout.blocks] }
    }

    /// Variance of an entry of a selector.
    fn entry(&self, level: usize) -> f64 {
        let grid = self.setting.modulus / 2f64.powi(self.literal.query_bits[level] as i32);
        self.setting.sigma * self.setting.sigma + rounding(grid)
    }

    /// Σ words² of a row of D: whitened, so uniform and centred.
    pub(super) fn first_squares(&self) -> f64 {
        squares_of_uniform(self.selectors[0] as f64, 2f64.powi(WORD_BITS as i32 - 1))
    }

    /// Σ digits² of a row of the second level, at worst.
    pub(super) fn second_squares(&self) -> f64 {
        self.selectors[1] as f64 * 4f64.powi(self.literal.mask.bits as i32 - 1)
    }

    /// The larger of the variances that the second and the third packing add.
    fn second_packing(&self) -> f64 {
        let pack = |gamma| self.setting.partial_packing(self.literal.gadget, gamma);
        pack(self.literal.gammas[1]).max(pack(self.literal.gammas[2]))
    }

    /// [`FILL`] of half of q/2¹⁶, less the error of Δ = round(q/2¹⁶) for a word of up to 2¹⁵.
    pub(super) fn first_threshold(&self) -> f64 {
        self.threshold(WORD_BITS)
    }

    /// The same for q/2^D.
    pub(super) fn second_threshold(&self) -> f64 {
        self.threshold(self.literal.mask.bits)
    }

    fn threshold(&self, bits: u32) -> f64 {
        let p = 2f64.powi(bits as i32);
        FILL * self.setting.modulus / (2.0 * p) - p / 4.0
    }

    /// Coefficients that must decode: those of one unit, and all digits of one unit's encryption.
    pub(super) fn coefficients(&self) -> [f64; 2] {
        let digits =
            self.literal.mask.count * self.setting.degree + self.literal.body.count * self.literal.gammas[0];
        [self.literal.gammas[0] as f64, digits as f64]
    }
}

impl Noise {
    /// Variances for these parameters.
    pub(super) fn compute(input: &NoiseInput) -> Self {
        let setting = &input.setting;
        let packing = setting.partial_packing(input.literal.gadget, input.literal.gammas[0]);
        Self {
            first: input.first_squares() * input.entry(0) + packing,
            first_switch: setting
                .response_switch(input.literal.mask.word_bits(), input.literal.body.word_bits()),
            second: input.second_squares() * input.entry(1) + input.second_packing(),
            second_switch: setting.response_switch(input.literal.answer.a, input.literal.answer.b),
        }
    }

    /// log₂ of the probability that a record does not decode: any coefficient of either level.
    pub(super) fn failure_log2(&self, input: &NoiseInput) -> f64 {
        let [first, second] = input.coefficients();
        let first = failure_log2(input.first_threshold(), self.first + self.first_switch, first);
        let second = failure_log2(input.second_threshold(), self.second + self.second_switch, second);
        // The distance from the Gaussian counts for the secret's coefficients, not among the many
        // errors.
        let sampler = input.setting.degree as f64 * SAMPLER_LOG2.exp2();
        ((first.max(second) + 1.0).exp2() + sampler).log2().min(0.0)
    }
}
