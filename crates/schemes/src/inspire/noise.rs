//! The computed probability that an honest answer does not decode (InsPIRe, Theorems 9 and 10, with
//! the rounding of queries, keys and answers that papir adds).

use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Setting, failure_log2, rounding};

use super::layout::{Layout, PLAINTEXT};

/// What the noise depends on.
#[derive(Clone, Copy, Debug)]
pub struct NoiseInput<'a> {
    /// Records, columns, t.
    pub layout: &'a Layout,
    /// Ring, σ and key rounding.
    pub setting: Setting,
    /// Bits to which the selector is rounded.
    pub query_bits: u32,
    /// Gadget of the packing keys.
    pub key_switch: GadgetParams,
    /// Gadget of the RGSW encryption.
    pub rgsw: GadgetParams,
    /// Bits of an answer's mask and body.
    pub answer_bits: (u32, u32),
}

/// Variances of an answer's error, in units of q, by where they come from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Errors and rounding of the selector, times the database (Horner sum included).
    pub selection: f64,
    /// t packs.
    pub packing: f64,
    /// t − 1 external products.
    pub evaluation: f64,
    /// Switching the answer to few bits.
    pub response: f64,
}

impl Noise {
    /// The variances for these parameters.
    pub fn compute(input: &NoiseInput<'_>) -> Self {
        let setting = &input.setting;
        let points = input.layout.points as f64;
        let grid = setting.modulus / 2f64.powi(input.query_bits as i32);
        let selector = setting.sigma * setting.sigma + rounding(grid);
        Self {
            selection: squared_words((input.layout.columns * input.layout.points) as f64) * selector,
            packing: points * setting.packing(input.key_switch),
            evaluation: (points - 1.0) * setting.external_product(input.rgsw),
            response: setting.response_switch(input.answer_bits.0, input.answer_bits.1),
        }
    }

    /// Their sum before the answer is switched.
    pub fn before_switching(&self) -> f64 {
        self.selection + self.packing + self.evaluation
    }

    /// log₂ of the probability that a record does not decode: any coefficient of any chunk.
    pub fn failure_log2(&self, input: &NoiseInput<'_>) -> f64 {
        let p = f64::from(PLAINTEXT);
        // Δ = round(q/p) is off by at most 1/2, once for each unit of a message of up to t·p/2.
        let overflow = input.layout.points as f64 * p / 4.0;
        let threshold = input.setting.modulus / (2.0 * p) - overflow;
        let coefficients = (input.layout.degree * input.layout.chunks) as f64;
        failure_log2(threshold, self.before_switching() + self.response, coefficients)
    }
}

/// A bound on the sum of squares of `count` whitened words: they are uniform below 2¹⁶ in size and
/// centred, so the sum is count·2³²/12 up to a deviation; ten standard deviations are added.
fn squared_words(count: f64) -> f64 {
    let mean = 2f64.powi(32) / 12.0;
    // Var(x²) of a uniform x is (4/5)·mean².
    let deviation = 10.0 * (0.8 * count).sqrt() * mean;
    (count * mean + deviation).min(count * 2f64.powi(30))
}
