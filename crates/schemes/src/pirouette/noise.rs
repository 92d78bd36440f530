//! Noise from the query to the answer, and the failure probability.

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
    /// For automorphisms.
    pub galois: GadgetParams,
    /// For s².
    pub square: GadgetParams,
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
        let trace = ring.trace(gadgets.galois, LOG2_DEGREE as usize);
        Self { kept: rotation + trace.kept, energy: rotation + trace.energy }
    }
}

/// Gadgets of a gate's RGSW encryption and of the key s² used for it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateGadgets {
    pub(crate) gate: GadgetParams,
    pub(crate) square: GadgetParams,
}

impl Retrieved {
    /// Noise after `count` gates, from the variance of what they choose among and the errors of the
    /// encryptions of m·gⱼ that make them.
    pub(crate) fn picked(
        ring: &Setting,
        gadgets: GateGadgets,
        count: u32,
        (first, origin): (f64, Origin),
    ) -> Self {
        let q2 = ring.modulus * ring.modulus;
        let gate = ring.scheme_switch(gadgets.square, origin.energy);
        let products = Products {
            terms: f64::from(count) * gadgets.gate.levels as f64,
            variance: ring.digit_times_key(gadgets.gate) * origin.kept / q2,
        };
        Self {
            rows: Gate { keyed: gate.keyed / q2, plain: gate.plain / q2 },
            selector: 0.0,
            first,
            gates: f64::from(count) * ring.gate(gadgets.gate, gate) / q2,
            products,
        }
    }

    /// Noise from a selector's energy and the errors of the encryptions of m·gⱼ that make gates.
    pub(crate) fn new(
        ring: &Setting,
        gadgets: GateGadgets,
        [rows, columns, slots]: [u32; 3],
        (selector, origin): (f64, Origin),
    ) -> Self {
        let q2 = ring.modulus * ring.modulus;
        // Bytes are −128 at worst.
        let bytes = 2f64.powi(rows as i32) * 4f64.powi(LOG2_P as i32 - 1);
        let picked = Self::picked(ring, gadgets, columns + slots, (selector * bytes / q2, origin));
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

    /// Returns the fewest bits of an answer's mask and body with which `coefficients` coefficients
    /// decode, and log₂ of the failure probability. `besides` is log₂ of the probability of another
    /// failure.
    pub(crate) fn answer_bits(
        &self,
        chain: &Chain,
        coefficients: usize,
        besides: f64,
    ) -> Option<(ResponseBits, f64)> {
        let failure = |bits: ResponseBits| {
            let answer = self.failure_log2(chain, coefficients, bits);
            (answer.exp2() + besides.exp2()).log2()
        };
        let all = (LOG2_P + 2..=26).flat_map(|b| (b..=26).map(move |a| ResponseBits { a, b }));
        let fit = all.map(|bits| (bits, failure(bits))).filter(|(_, failure)| *failure <= MAX_FAILURE_LOG2);
        let sent = |bits: &ResponseBits| bits.a as usize * RESPONSE_DEGREE + bits.b as usize * coefficients;
        fit.min_by_key(|(bits, _)| sent(bits))
    }
}

/// The noise from the query to the item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Noise of the item.
    pub retrieved: Retrieved,
    /// Variances of the exponents in turns²: of the worst bit, and of the digit.
    pub exponents: [f64; 2],
}

impl Noise {
    /// The variances for these parameters.
    pub fn compute(input: &NoiseInput) -> Self {
        let NoiseInput { ring, gadgets, dimensions, gate, .. } = *input;
        let rotation = ring.rotation(gadgets.bits, input.short[0].dimension);
        let box_rotation = ring.rotation(gadgets.digits, input.short[1].dimension);
        let boxes = 2f64.powi((dimensions[0] - LOG2_DIGIT) as i32);
        // The trace keeps one coefficient of a rotation's error.
        let selector = box_rotation * boxes + ring.trace(gadgets.galois, LOG2_DEGREE as usize).energy;
        let origin = Origin::of_rotation(&ring, &gadgets, rotation);
        let gadgets = GateGadgets { gate, square: gadgets.square };
        Self {
            retrieved: Retrieved::new(&ring, gadgets, dimensions, (selector, origin)),
            exponents: exponents(input, rotation / (ring.modulus * ring.modulus)),
        }
    }

    /// log₂ of the probability that a bit or a digit of the index is misread.
    pub fn index_failure_log2(&self, input: &NoiseInput) -> f64 {
        let [rows, columns, slots] = input.dimensions;
        let singles = f64::from(rows - LOG2_DIGIT + columns + slots);
        let boxes = 2f64.powi((rows - LOG2_DIGIT) as i32);
        // A bit is half a turn; a digit with its sign has 2⁵ values.
        let [_, bias_of_digits] = input.short.map(|short| rounding_bias(&short));
        let bits = bits_failure_log2(&input.short[0], self.exponents[0], singles);
        let digit = 0.5 / 2f64.powi(LOG2_DIGIT as i32 + 1);
        let digits = failure_log2(digit - bias_of_digits, self.exponents[1], boxes);
        (bits.exp2() + digits.exp2()).log2()
    }
}

/// log₂ of the probability that one of `singles` bits is misread, from the variance of the worst
/// one's exponent.
pub(crate) fn bits_failure_log2(short: &SwitchParams, exponent: f64, singles: f64) -> f64 {
    failure_log2(0.25 - rounding_bias(short), exponent, singles)
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

/// Variances of the exponents, in turns²: for the worst bit, and for the digit.
fn exponents(input: &NoiseInput, rotation: f64) -> [f64; 2] {
    let NoiseInput { ring, short, dimensions: [rows, columns, slots], .. } = *input;
    let places = rows + columns + slots + 1;
    let singles = places - 1 - LOG2_DIGIT;
    let places = Places { all: places, singles, direct: direct_subtractions(input.gate.levels) };
    // A digit: the remaining query, and half turns for up to τ bits.
    let left = fresh() + f64::from(singles + rows - LOG2_DIGIT) * rotation;
    let digit = left + ring.switch(&short[1], f64::from(ORDER));
    [bit_exponent(&ring, &short[0], places, rotation), digit]
}

/// Variance of a query's error, in turns².
fn fresh() -> f64 {
    QUERY_SIGMA * QUERY_SIGMA / 4f64.powi(LOG2_QUERY as i32)
}

/// Weights and number of the extracted bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    /// log₂ of the query's parts of a turn.
    pub(crate) all: u32,
    /// Bits to extract, from the lowest up.
    pub(crate) singles: u32,
    /// As [`direct_subtractions`].
    pub(crate) direct: u32,
}

/// Variance of the worst bit's exponent in turns², given that of a rotation.
pub(crate) fn bit_exponent(ring: &Setting, short: &SwitchParams, places: Places, rotation: f64) -> f64 {
    // Bit j: the query and all subtractions of much earlier bits, times 2^(places − 1 − j);
    // subtractions of the last bits have weight 1.
    let bit = |j: u32| {
        let recent = j.min(places.direct);
        let shifted = fresh() + f64::from(j - recent) * rotation;
        shifted * 4f64.powi((places.all - 1 - j) as i32) + f64::from(recent) * rotation
    };
    let worst = (0..places.singles).map(bit).fold(0.0, f64::max);
    worst + ring.switch(short, f64::from(ORDER) / OUTPUTS as f64)
}

/// Gadgets of a chain's keys.
pub(crate) fn gadgets_of(chain: &Chain) -> Gadgets {
    Gadgets {
        bits: chain.bits.gadget.params(),
        digits: chain.digits.gadget.params(),
        galois: chain.galois.params(),
        square: chain.square.params(),
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
