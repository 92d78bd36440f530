//! Noise from query to answer, and the failure probability.

use papir_lattice::bootstrap::lwe::SwitchParams;
use papir_lattice::bootstrap::noise::Gate;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Products, Setting, failure_log2, failure_log2_with_products, rounding};
use papir_lattice::response::ResponseBits;

use super::chain::{
    Chain, DEGREE, LOG2_DEGREE, LOG2_DIGIT, LOG2_P, LOG2_QUERY, ORDER, OUTPUTS, QUERY_SIGMA, RESPONSE_DEGREE,
    TERNARY,
};
use super::layout::Layout;
use crate::shared::parameters::MAX_FAILURE_LOG2;

/// Largest accepted error of an answer, relative to half the distance between messages.
pub(crate) const DECODING_PART: f64 = 0.875;
/// Bound on the squared norm of the response key, relative to its mean: three standard deviations
/// of a sum of 1024 squares.
const KEY_MARGIN: f64 = 1.14;

/// Gadgets of the ring's keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gadgets {
    /// For rotations for bits.
    pub bits: GadgetParams,
    /// For rotations for digits.
    pub digits: GadgetParams,
    /// For automorphisms and s².
    pub conversion: GadgetParams,
}

/// Input of the noise computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseInput {
    /// The ring.
    pub ring: Setting,
    /// The short keys, for bits and for digits.
    pub short: [SwitchParams; 2],
    /// Gadgets of the ring's keys.
    pub gadgets: Gadgets,
    /// Gadget of the gates' RGSW encryptions.
    pub gate: GadgetParams,
    /// ν₁, ν₂, ν₃.
    pub dimensions: [u32; 3],
}

/// Noise of an item retrieved by selections, relative to the squared modulus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieved {
    /// A gate's rows, as energies: variances summed over a row's coefficients.
    pub rows: Gate,
    /// A selector's energy; zero if gates choose among encryptions.
    pub selector: f64,
    /// Variance after the first dimension for any database, or of the encryptions that gates choose
    /// among.
    pub first: f64,
    /// Variance added by folding and rotation.
    pub gates: f64,
    /// The part of it from products of a digit's sum with the key and the single error that a trace
    /// leaves in a gate's row. That error is the same in all coefficients, so the tails are not
    /// Gaussian.
    pub products: Products,
}

/// Errors of the encryptions that gates are made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// Variance of the coefficient that holds the message.
    pub(crate) kept: f64,
    /// Variances of all coefficients together.
    pub(crate) energy: f64,
}

impl Origin {
    /// Errors after a rotation and a trace.
    pub(crate) fn of_rotation(ring: &Setting, gadgets: &Gadgets, rotation: f64) -> Self {
        let trace = ring.trace(gadgets.conversion, LOG2_DEGREE as usize);
        Self { kept: rotation + trace.kept, energy: rotation + trace.energy }
    }
}

impl Retrieved {
    /// Noise after `count` gates, under the gadgets of s² and the gates, from the variance of what
    /// they choose among and the errors of the encryptions of m·gⱼ that make them.
    pub(crate) fn picked(
        ring: &Setting,
        conversion: GadgetParams,
        gate: GadgetParams,
        count: u32,
        (first, origin): (f64, Origin),
    ) -> Self {
        let q2 = ring.modulus * ring.modulus;
        let rows = ring.scheme_switch(conversion, origin.energy);
        let products = Products {
            terms: f64::from(count) * gate.levels as f64,
            variance: ring.digit_times_key(gate) * origin.kept / q2,
        };
        Self {
            rows: Gate { keyed: rows.keyed / q2, plain: rows.plain / q2 },
            selector: 0.0,
            first,
            gates: f64::from(count) * ring.gate(gate, rows) / q2,
            products,
        }
    }

    /// Noise from a selector's energy and the errors of the encryptions of m·gⱼ that make gates.
    pub(crate) fn new(
        ring: &Setting,
        conversion: GadgetParams,
        gate: GadgetParams,
        [rows, columns, slots]: [u32; 3],
        (selector, origin): (f64, Origin),
    ) -> Self {
        let q2 = ring.modulus * ring.modulus;
        // Bytes are −128 at worst.
        let bytes = 2f64.powi(rows as i32) * 4f64.powi(LOG2_P as i32 - 1);
        let picked = Self::picked(ring, conversion, gate, columns + slots, (selector * bytes / q2, origin));
        Self { selector: selector / q2, ..picked }
    }

    /// Variance of an answer's phase, with the response ring's noise and rounding to these bits.
    fn answer(&self, response: &Setting, ring_switch: GadgetParams, bits: ResponseBits) -> f64 {
        let q2 = response.modulus * response.modulus;
        // Both halves of the larger key multiply the rounded mask.
        let rounded = (DEGREE as f64 * TERNARY + 1.0) * rounding(1.0) / q2;
        let switch = 2.0 * response.key_switch(ring_switch) / q2;
        let step = |bits: u32| rounding(2f64.powi(-(bits as i32)));
        let sent = KEY_MARGIN * response.degree as f64 * response.secret * step(bits.a) + step(bits.b);
        self.first + self.gates + rounded + switch + sent
    }

    /// log₂ of the probability that one of `coefficients` of an answer with these bits does not
    /// decode.
    pub(crate) fn failure_log2(&self, chain: &Chain, coefficients: usize, bits: ResponseBits) -> f64 {
        let threshold = DECODING_PART / 2f64.powi(LOG2_P as i32 + 1);
        let variance = self.answer(&chain.response_setting(), chain.ring_switch.params(), bits);
        let rest = variance - self.products.total();
        failure_log2_with_products(threshold, rest, self.products, coefficients as f64)
    }
}

/// The noise from the query to the item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Noise of the item.
    pub retrieved: Retrieved,
    /// log₂ of the probability that a bit or a digit of the index is misread.
    pub index_failure_log2: f64,
}

impl Noise {
    /// The noise for these parameters.
    pub fn compute(input: &NoiseInput) -> Self {
        let NoiseInput { ring, short, gadgets, gate, dimensions } = *input;
        let [rows, columns, slots] = dimensions;
        let rotation = ring.rotation(gadgets.bits, short[0].dimension);
        let box_rotation = ring.rotation(gadgets.digits, short[1].dimension);
        let boxes = 2f64.powi((rows - LOG2_DIGIT) as i32);
        // The trace keeps one coefficient of a rotation's error.
        let selector = box_rotation * boxes + ring.trace(gadgets.conversion, LOG2_DEGREE as usize).energy;
        let origin = Origin::of_rotation(&ring, &gadgets, rotation);
        let relative = rotation / (ring.modulus * ring.modulus);
        let index = rows + columns + slots;
        let found = index - LOG2_DIGIT;
        let bits = bits_failure_log2((&ring, &short[0]), gate, [index, found], relative);
        // A digit: the remaining query, and half turns for up to τ bits. With its sign it has 2⁵
        // values.
        let left = fresh() + f64::from(found + rows - LOG2_DIGIT) * relative;
        let exponent = left + ring.switch(&short[1], f64::from(ORDER));
        let digit = 0.5 / 2f64.powi(LOG2_DIGIT as i32 + 1);
        let digits = failure_log2(digit - rounding_bias(&short[1]), exponent, boxes);
        Self {
            retrieved: Retrieved::new(&ring, gadgets.conversion, gate, dimensions, (selector, origin)),
            index_failure_log2: (bits.exp2() + digits.exp2()).log2(),
        }
    }

    /// Returns the fewest bits of an answer's mask and body with which `coefficients` coefficients
    /// decode, and log₂ of the failure probability.
    pub(crate) fn answer_bits(&self, chain: &Chain, coefficients: usize) -> Option<(ResponseBits, f64)> {
        let failure = |bits: ResponseBits| {
            let answer = self.retrieved.failure_log2(chain, coefficients, bits);
            (answer.exp2() + self.index_failure_log2.exp2()).log2()
        };
        let all = (LOG2_P + 2..=26).flat_map(|b| (b..=26).map(move |a| ResponseBits { a, b }));
        let fit = all.map(|bits| (bits, failure(bits))).filter(|(_, failure)| *failure <= MAX_FAILURE_LOG2);
        let sent = |bits: &ResponseBits| bits.a as usize * RESPONSE_DEGREE + bits.b as usize * coefficients;
        fit.min_by_key(|(bits, _)| sent(bits))
    }
}

/// log₂ of the probability that one of the `found` lowest bits of an index of `index` bits is
/// misread, from the variance of a rotation in turns².
pub(crate) fn bits_failure_log2(
    (ring, short): (&Setting, &SwitchParams),
    gate: GadgetParams,
    [index, found]: [u32; 2],
    rotation: f64,
) -> f64 {
    let direct = direct_subtractions(gate.levels);
    // The exponent of bit j: the query and all subtractions of much earlier bits, times
    // 2^(index − j); subtractions of the last bits have weight 1.
    let bit = |j: u32| {
        let recent = j.min(direct);
        let shifted = fresh() + f64::from(j - recent) * rotation;
        shifted * 4f64.powi((index - j) as i32) + f64::from(recent) * rotation
    };
    let worst = (0..found).map(bit).fold(0.0, f64::max);
    let exponent = worst + ring.switch(short, f64::from(ORDER) / OUTPUTS as f64);
    // A bit is half a turn.
    failure_log2(0.25 - rounding_bias(short), exponent, f64::from(found))
}

/// Largest bias of a phase, in turns, from rounding halves up: half a word for each component with
/// a set key bit.
fn rounding_bias(short: &SwitchParams) -> f64 {
    (short.dimension + 1) as f64 / 2.0 / 2f64.powi(short.log2_q as i32)
}

/// Number of next bits that a rotation has an output of their own for, besides the gate's digits
/// and the output for all later bits.
pub(crate) fn direct_subtractions(gate_levels: usize) -> u32 {
    (OUTPUTS - gate_levels - 1) as u32
}

/// Variance of a query's error, in turns².
fn fresh() -> f64 {
    QUERY_SIGMA * QUERY_SIGMA / 4f64.powi(LOG2_QUERY as i32)
}

/// Gadgets of a chain's keys.
pub(crate) fn gadgets_of(chain: &Chain) -> Gadgets {
    Gadgets {
        bits: chain.bits.gadget.params(),
        digits: chain.digits.gadget.params(),
        conversion: chain.conversion.params(),
    }
}

/// The noise input of a chain and a layout.
pub(super) fn input(chain: &Chain, layout: &Layout, gate: GadgetParams) -> NoiseInput {
    NoiseInput {
        ring: chain.setting(),
        short: [chain.bits.switch, chain.digits.switch],
        gadgets: gadgets_of(chain),
        gate,
        dimensions: [layout.log2_rows, layout.log2_columns, layout.log2_slots],
    }
}
