//! Probability that an honest answer does not decode.
//!
//! The bounds are Theorems 7 and 8, with separate moduli for masks and bodies and the rounding of
//! queries and keys that papir adds.
//!
//! | Theorem 7 | here |
//! |---|---|
//! | Σ₀: first selection, packing with γ₀, switching | [`Noise::first`] |
//! | Σ₁, Σ₂: second selection, packing with γ₁ or γ₂, switching | [`Noise::second`], the larger |

use papir_lattice::noise::{Setting, Tails, rounding};
use papir_lattice::params::Literal as RlweLiteral;

use super::layout::Layout;
use super::literal::Literal;
use crate::shared::parameters::{FILL, either_log2, squares_of_whitened, tails, words_log2};

/// log₂ of the first level's plaintext modulus.
pub const WORD_BITS: u32 = 16;

/// Values on which the noise depends.
#[derive(Clone, Copy, Debug)]
pub(super) struct NoiseInput {
    pub(super) literal: Literal,
    /// Ring, σ and key rounding.
    pub(super) setting: Setting,
    /// Lengths of both selectors: N/t and t.
    selectors: [usize; 2],
}

/// Variances of the errors of both levels, in units of q. They include the last switch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Noise of selecting a column and packing a unit.
    pub first: f64,
    /// Noise of switching the packed unit to the bits of its digits.
    pub first_switch: f64,
    /// Noise of selecting a unit's digits and packing them.
    pub second: f64,
    /// Noise of switching the answer.
    pub second_switch: f64,
}

impl NoiseInput {
    /// Creates the values for these parameters.
    pub(super) fn new(literal: &Literal, layout: &Layout) -> Self {
        let RlweLiteral {
            degree,
            primes,
            sigma,
        } = literal.rlwe;
        let modulus = primes.map(f64::from).iter().product();
        let setting = Setting::error_like(degree, modulus, sigma, literal.key_bits);

        Self {
            literal: *literal,
            setting,
            selectors: [layout.columns, layout.blocks],
        }
    }

    /// Returns log₂ of a level's plaintext modulus.
    fn plain_bits(&self, level: usize) -> i32 {
        [WORD_BITS, self.literal.mask.bits][level] as i32
    }

    /// Returns the variance of an entry of a level's selector.
    fn entry(&self, level: usize) -> f64 {
        let grid = self.setting.modulus / 2f64.powi(self.literal.query_bits[level] as i32);
        self.setting.sigma * self.setting.sigma + rounding(grid)
    }

    /// Returns a bound on the sum of squares of a row's words. The words of D are whitened, so they
    /// are uniform and centred. Each digit counts as the largest digit.
    pub(super) fn squares(&self, level: usize) -> f64 {
        let count = self.selectors[level];
        let largest = 2f64.powi(self.plain_bits(level) - 1);

        if level == 0 {
            return squares_of_whitened(
                count,
                largest,
                self.literal.gammas[0],
                self.literal.failure,
            );
        }

        count as f64 * (largest * largest)
    }

    /// Returns the model of the tails of both levels.
    pub(super) fn tails(&self) -> Tails {
        tails(self.literal.failure, self.setting.degree)
    }

    /// Returns the share [`FILL`] of half of q/p, less the error of Δ = round(q/p) for a word of up
    /// to p/2.
    pub(super) fn threshold(&self, level: usize) -> f64 {
        let p = 2f64.powi(self.plain_bits(level));
        FILL * self.setting.modulus / (2.0 * p) - p / 4.0
    }

    /// Returns the number of coefficients that must decode at each level: the words of one unit,
    /// and all digits of one unit's encryption.
    pub(super) fn coefficients(&self) -> [f64; 2] {
        let Literal {
            gammas, mask, body, ..
        } = self.literal;
        let digits = mask.count * self.setting.degree + body.count * gammas[0];
        [gammas[0] as f64, digits as f64]
    }
}

impl Noise {
    /// Computes the variances for these parameters.
    pub(super) fn compute(input: &NoiseInput) -> Self {
        let Literal {
            gammas,
            gadget,
            mask,
            body,
            answer,
            ..
        } = input.literal;
        let packing = gammas.map(|gamma| input.setting.partial_packing(gadget, gamma));

        Self {
            first: input.squares(0) * input.entry(0) + packing[0],
            first_switch: input
                .setting
                .response_switch(mask.word_bits(), body.word_bits()),
            // The larger of the variances that the second and the third packing add.
            second: input.squares(1) * input.entry(1) + packing[1].max(packing[2]),
            second_switch: input.setting.response_switch(answer.a, answer.b),
        }
    }

    /// Returns log₂ of a bound on the probability that a record does not decode: that any
    /// coefficient of either level has too large an error.
    pub(super) fn failure_log2(&self, input: &NoiseInput) -> f64 {
        let variances = [
            self.first + self.first_switch,
            self.second + self.second_switch,
        ];
        let of_level = |level: usize| {
            let threshold = input.threshold(level);
            let coefficients = input.coefficients()[level];
            input
                .tails()
                .failure_log2(threshold, variances[level], coefficients)
        };

        // The sum of both probabilities is at most twice the larger one.
        let both = (of_level(0).max(of_level(1)) + 1.0).min(0.0);
        let bound = input.literal.failure;
        if bound.is_default() {
            both
        } else {
            either_log2(both, words_log2(bound))
        }
    }
}
