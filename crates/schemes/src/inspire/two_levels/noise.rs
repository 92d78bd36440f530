//! The computed probability that an honest answer does not decode: Theorems 7 and 8, with moduli of their
//! own for masks and bodies and the rounding of queries and keys that papir adds.
//!
//! | Theorem 7 | here |
//! |---|---|
//! | Σ₀: first selection, packing with γ₀, switching | [`Noise::first`] |
//! | Σ₁, Σ₂: second selection, packing with γ₁ or γ₂, switching | [`Noise::second`], the larger of both |

use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Setting, failure_log2, rounding, squares_of_uniform};
use papir_lattice::response::ResponseBits;

use super::digits::Digits;

/// log₂ of the first level's plaintext modulus.
pub const WORD_BITS: u32 = 16;
/// How much of the distance to the next message noise may fill. In the rest an answer that is none of the
/// secret's falls, and is noticed.
pub const FILL: f64 = 0.9;
/// log₂ of one sample's statistical distance from the Gaussian (`papir_ring::sample`).
const SAMPLER_LOG2: f64 = -57.0;

/// What the noise depends on.
#[derive(Clone, Copy, Debug)]
pub struct NoiseInput {
    /// Ring, σ and key rounding.
    pub setting: Setting,
    /// Gadget of the packing keys.
    pub gadget: GadgetParams,
    /// γ₀, γ₁, γ₂.
    pub gammas: [usize; 3],
    /// N/t and t: the lengths of the selectors.
    pub selectors: [usize; 2],
    /// Bits to which they are rounded.
    pub query_bits: [u32; 2],
    /// Digits of a word of the first level's masks; τ and D.
    pub mask: Digits,
    /// Those of its bodies.
    pub body: Digits,
    /// Bits of an answer's masks and bodies.
    pub answer: ResponseBits,
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
    /// What one entry of a selector adds for each unit of a word, squared.
    fn entry(&self, level: usize) -> f64 {
        let grid = self.setting.modulus / 2f64.powi(self.query_bits[level] as i32);
        self.setting.sigma * self.setting.sigma + rounding(grid)
    }

    /// Σ words² of a row of D: whitened, so uniform and centred.
    pub(super) fn first_squares(&self) -> f64 {
        squares_of_uniform(self.selectors[0] as f64, 2f64.powi(WORD_BITS as i32 - 1))
    }

    /// Σ digits² of a row of the second level, at worst.
    pub(super) fn second_squares(&self) -> f64 {
        self.selectors[1] as f64 * 4f64.powi(self.mask.bits as i32 - 1)
    }

    /// The larger of the variances that the second and the third packing add.
    fn second_packing(&self) -> f64 {
        let pack = |gamma| self.setting.partial_packing(self.gadget, gamma);
        pack(self.gammas[1]).max(pack(self.gammas[2]))
    }

    /// [`FILL`] of half of q/2¹⁶, less what Δ = round(q/2¹⁶) is off by for a word of up to 2¹⁵.
    pub fn first_threshold(&self) -> f64 {
        self.threshold(WORD_BITS)
    }

    /// The same for q/2^D.
    pub fn second_threshold(&self) -> f64 {
        self.threshold(self.mask.bits)
    }

    fn threshold(&self, bits: u32) -> f64 {
        let p = 2f64.powi(bits as i32);
        FILL * self.setting.modulus / (2.0 * p) - p / 4.0
    }

    /// Coefficients that must decode: those of one unit, and all digits of one unit's encryption.
    pub fn coefficients(&self) -> [f64; 2] {
        let digits = self.mask.count * self.setting.degree + self.body.count * self.gammas[0];
        [self.gammas[0] as f64, digits as f64]
    }
}

impl Noise {
    /// The variances for these parameters.
    pub fn compute(input: &NoiseInput) -> Self {
        let setting = &input.setting;
        let packing = setting.partial_packing(input.gadget, input.gammas[0]);
        Self {
            first: input.first_squares() * input.entry(0) + packing,
            first_switch: setting.response_switch(input.mask.word_bits(), input.body.word_bits()),
            second: input.second_squares() * input.entry(1) + input.second_packing(),
            second_switch: setting.response_switch(input.answer.a, input.answer.b),
        }
    }

    /// log₂ of the probability that a record does not decode: any coefficient of either level.
    pub fn failure_log2(&self, input: &NoiseInput) -> f64 {
        let [first, second] = input.coefficients();
        let first = failure_log2(input.first_threshold(), self.first + self.first_switch, first);
        let second = failure_log2(input.second_threshold(), self.second + self.second_switch, second);
        // The secret's coefficients are no exact Gaussians; among the many errors that does not count.
        let sampler = input.setting.degree as f64 * SAMPLER_LOG2.exp2();
        ((first.max(second) + 1.0).exp2() + sampler).log2().min(0.0)
    }
}
