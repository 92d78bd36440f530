//! Noise from query to answer, and the failure probability.
//!
//! | quantity | taken as |
//! |---|---|
//! | weights of all keys | bounds: heavier keys are drawn again |
//! | bytes of the database | uniform and independent of the errors |
//! | digits and rounding errors of masks and bodies | uniform and independent |
//! | errors of keys and queries | Gaussian; their variances are expectations |
//! | errors that a trace leaves in several coefficients | correlated |
//!
//! The keys are the ring's key, the response ring's key and the short keys. Bytes of the database
//! are whitened ([`super::whitening`]). Correlated errors count with an energy and with a bound on
//! the variance of any combination.
//!
//! The failure probability is over all of these ([`papir_lattice::noise::Products`]): over keys,
//! queries, and the whitening stream of the database, which is drawn after its records were chosen.
//! Decision 25 has the derivation.

use papir_core::FailureBound;
use papir_lattice::bootstrap::lwe::SwitchParams;
use papir_lattice::bootstrap::noise::Gate;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Products, Setting, Tails, digit, failure_log2_with_products, rounding};
use papir_lattice::response::ResponseBits;

use super::chain::{
    Chain, DEGREE, LOG2_DEGREE, LOG2_DIGIT, LOG2_P, LOG2_QUERY, ORDER, OUTPUTS, QUERY_SIGMA,
    RESPONSE_DEGREE, RESPONSE_WEIGHT, TERNARY,
};
use super::layout::Layout;

/// Largest accepted error of an answer, relative to half the distance between messages.
pub(crate) const DECODING_PART: f64 = 0.875;
/// Largest number of bits of an answer's mask and body.
const MOST_BITS: u32 = 26;

/// Gadgets of the ring's keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gadgets {
    /// Gadget for rotations for bits.
    pub bits: GadgetParams,
    /// Gadget for rotations for digits.
    pub digits: GadgetParams,
    /// Gadget for automorphisms and s².
    pub conversion: GadgetParams,
}

/// Input of the noise computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseInput {
    /// Noise setting of the ring.
    pub ring: Setting,
    /// Short keys, for bits and for digits.
    pub short: [SwitchParams; 2],
    /// Gadgets of the ring's keys.
    pub gadgets: Gadgets,
    /// Gadget of the gates' RGSW encryptions.
    pub gate: GadgetParams,
    /// Numbers of bits ν₁, ν₂, ν₃.
    pub dimensions: [u32; 3],
}

/// Noise of an item that selections retrieve, relative to the squared modulus.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retrieved {
    /// Energies of a gate's rows: variances summed over a row's coefficients.
    pub rows: Gate,
    /// Energy of a selector. It is zero if gates choose among encryptions.
    pub selector: f64,
    /// Variance after the first dimension, or of the encryptions that gates choose among.
    pub first: f64,
    /// Variance that folding and rotation add.
    pub gates: f64,
    /// Parts that are products with errors that all coefficients share. Their tails are longer than
    /// a Gaussian's. The products are selectors times bytes of the database, and gates' rows times
    /// sums of digits and the key.
    pub products: [Products; 2],
}

/// Errors of encryptions of constants. The constants are selectors, or the encryptions that make
/// gates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constants {
    /// Energy of one encryption: the sum of the variances of its coefficients.
    energy: f64,
    /// Bound on the variance of a combination of errors, in one or several encryptions. The squares
    /// of the combination's weights sum to 1.
    largest: f64,
}

impl Constants {
    /// Creates the errors from `single`, a variance of the coefficient that holds the message, and
    /// from a trace. The last `expanded` steps of the trace are an expansion.
    pub(crate) fn new(
        ring: &Setting,
        conversion: GadgetParams,
        single: f64,
        expanded: u32,
    ) -> Self {
        let trace = ring.trace(conversion, LOG2_DEGREE as usize, expanded as usize);

        Self {
            energy: single + trace.energy,
            largest: single + trace.largest,
        }
    }
}

impl Retrieved {
    /// Computes the noise after `count` gates, under the gadgets of s² and the gates. `first` is
    /// the variance of the encryptions that the gates choose among; `origin` has the errors of the
    /// encryptions of m·gⱼ that make the gates.
    pub(crate) fn picked(
        ring: &Setting,
        conversion: GadgetParams,
        gate: GadgetParams,
        count: u32,
        first: f64,
        origin: Constants,
    ) -> Self {
        let q2 = ring.modulus * ring.modulus;
        let rows = ring.scheme_switch(conversion, origin.energy);

        let energy = f64::from(count) * gate.levels as f64 * origin.energy;
        let products = Products::of_errors(ring.digit_times_key(gate) / q2, energy, origin.largest);

        Self {
            rows: Gate {
                keyed: rows.keyed / q2,
                plain: rows.plain / q2,
            },
            selector: 0.0,
            first,
            gates: f64::from(count) * ring.gate(gate, rows) / q2,
            products: [Products::default(), products],
        }
    }

    /// Computes the noise from the errors of selectors and of the encryptions of m·gⱼ that make
    /// gates.
    pub(crate) fn new(
        ring: &Setting,
        conversion: GadgetParams,
        gate: GadgetParams,
        dimensions: [u32; 3],
        selector: Constants,
        origin: Constants,
    ) -> Self {
        let [rows, columns, slots] = dimensions;
        let q2 = ring.modulus * ring.modulus;

        // Whitened bytes are uniform from −128 to 127.
        let energy = 2f64.powi(rows as i32) * selector.energy;
        let first = Products::of_errors(digit(LOG2_P) / q2, energy, selector.largest);

        let count = columns + slots;
        let picked = Self::picked(ring, conversion, gate, count, first.total(), origin);
        Self {
            selector: selector.energy / q2,
            products: [first, picked.products[1]],
            ..picked
        }
    }

    /// Returns the same noise if selectors and gates are outputs of one expansion. Their errors are
    /// correlated then, so the two sums of products are not independent. Their parts count as parts
    /// of one sum, each of the larger variance.
    #[must_use]
    pub(crate) fn of_one_expansion(self) -> Self {
        let [first, gates] = self.products;
        let variance = first.variance.max(gates.variance);
        let joint = Products {
            terms: (first.total() + gates.total()) / variance,
            variance,
        };

        Self {
            products: [Products::default(), joint],
            ..self
        }
    }

    /// Returns the variance of an answer's phase, with the response ring's noise and rounding to
    /// these bits.
    fn answer(&self, response: &Setting, ring_switch: GadgetParams, bits: ResponseBits) -> f64 {
        let q2 = response.modulus * response.modulus;

        // Both halves of the larger key multiply the rounded mask.
        let rounded = (DEGREE as f64 * TERNARY + 1.0) * rounding(1.0) / q2;
        let switch = 2.0 * response.key_switch(ring_switch) / q2;
        let sent = response.degree as f64 * RESPONSE_WEIGHT * step(bits.a) + step(bits.b);
        self.first + self.gates + rounded + switch + sent
    }

    /// Returns log₂ of a bound on the probability that one of `coefficients` coefficients of an
    /// answer with these bits does not decode.
    pub(crate) fn failure_log2(
        &self,
        chain: &Chain,
        coefficients: usize,
        bits: ResponseBits,
    ) -> f64 {
        let threshold = DECODING_PART / 2f64.powi(LOG2_P as i32 + 1);
        self.beyond_log2(threshold, chain, coefficients, bits)
    }

    /// Returns log₂ of a bound on the probability that the error of one of `coefficients`
    /// coefficients of an answer with these bits exceeds a threshold, in turns.
    pub(super) fn beyond_log2(
        &self,
        threshold: f64,
        chain: &Chain,
        coefficients: usize,
        bits: ResponseBits,
    ) -> f64 {
        let variance = self.answer(&chain.response_setting(), chain.ring_switch.params(), bits);
        let of_products: f64 = self.products.iter().map(|products| products.total()).sum();

        // The products have tails of their own, so their part is not counted as Gaussian.
        let rest = variance - of_products;
        failure_log2_with_products(threshold, rest, &self.products, coefficients as f64)
    }
}

/// Returns the variance, in turns², of the error of rounding to these bits.
fn step(bits: u32) -> f64 {
    rounding(2f64.powi(-(bits as i32)))
}

/// Noise from the query to the item.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Noise of the item.
    pub retrieved: Retrieved,
    /// log₂ of a bound on the probability that a bit or a digit of the index is misread.
    pub index_failure_log2: f64,
}

impl Noise {
    /// Computes the noise for these parameters.
    pub fn compute(input: &NoiseInput) -> Self {
        let NoiseInput {
            ring,
            short,
            gadgets,
            gate,
            dimensions,
        } = *input;
        let [rows, columns, slots] = dimensions;
        let conversion = gadgets.conversion;

        let rotation = ring.rotation(gadgets.bits, short[0].dimension);
        let box_rotation = ring.rotation(gadgets.digits, short[1].dimension);
        let boxes = 2f64.powi((rows - LOG2_DIGIT) as i32);

        // The trace keeps one coefficient of a rotation's error.
        let selector = Constants::new(&ring, conversion, box_rotation * boxes, LOG2_DIGIT);
        let origin = Constants::new(&ring, conversion, rotation, 0);
        let retrieved = Retrieved::new(&ring, conversion, gate, dimensions, selector, origin);

        let relative = rotation / (ring.modulus * ring.modulus);
        let index = rows + columns + slots;
        let found = index - LOG2_DIGIT;
        let bits = bits_failure_log2(&ring, &short[0], gate, index, found, relative);

        // A digit: the remaining query, and half turns for up to τ bits. With its sign it has 2⁵
        // values.
        let left = fresh() + f64::from(found + rows - LOG2_DIGIT) * relative;
        let exponent = left + ring.switch(&short[1], f64::from(ORDER));
        let digit = 0.5 / 2f64.powi(LOG2_DIGIT as i32 + 1);
        let digits =
            Tails::Gaussian.failure_log2(digit - rounding_bias(&short[1]), exponent, boxes);

        Self {
            retrieved,
            index_failure_log2: (bits.exp2() + digits.exp2()).log2(),
        }
    }

    /// Returns the fewest bits of an answer's mask and body with which `coefficients` coefficients
    /// decode, and log₂ of the failure probability. Returns `None` if they never decode.
    pub(crate) fn answer_bits(
        &self,
        chain: &Chain,
        coefficients: usize,
    ) -> Option<(ResponseBits, f64)> {
        let longest = ResponseBits {
            a: MOST_BITS,
            b: MOST_BITS,
        };
        if !self.closes(chain, coefficients, longest) {
            return None;
        }

        let best = (LOG2_P + 2..=MOST_BITS)
            .filter_map(|b| self.with_fewest_of_mask(chain, coefficients, b))
            .min_by_key(|bits| {
                bits.a as usize * RESPONSE_DEGREE + bits.b as usize * coefficients
            })?;
        Some((best, self.failure_log2(chain, coefficients, best)))
    }

    /// Returns the fewest bits of the mask with which answers with `b` bits of the body decode.
    /// Returns `None` if they never decode.
    fn with_fewest_of_mask(
        &self,
        chain: &Chain,
        coefficients: usize,
        b: u32,
    ) -> Option<ResponseBits> {
        // More bits of the mask never fail more often, so the fewest are found by bisection.
        let mut few = b;
        let mut enough = MOST_BITS;
        while few < enough {
            let a = (few + enough) / 2;
            if self.closes(chain, coefficients, ResponseBits { a, b }) {
                enough = a
            } else {
                few = a + 1
            }
        }

        // If none decode, the bisection ends at the most bits.
        let found = ResponseBits { a: few, b };
        self.closes(chain, coefficients, found).then_some(found)
    }

    /// Returns true if the failure probability of answers with these bits is within the default
    /// bound.
    fn closes(&self, chain: &Chain, coefficients: usize, bits: ResponseBits) -> bool {
        self.failure_log2(chain, coefficients, bits) <= FailureBound::DEFAULT.log2()
    }

    /// Returns log₂ of a bound on the probability that the index is misread or an answer with these
    /// bits does not decode.
    fn failure_log2(&self, chain: &Chain, coefficients: usize, bits: ResponseBits) -> f64 {
        let answer = self.retrieved.failure_log2(chain, coefficients, bits);
        (answer.exp2() + self.index_failure_log2.exp2()).log2()
    }
}

/// Returns log₂ of a bound on the probability that one of the `found` lowest bits of an index of
/// `index` bits is misread. `rotation` is the variance of a rotation in turns².
pub(crate) fn bits_failure_log2(
    ring: &Setting,
    short: &SwitchParams,
    gate: GadgetParams,
    index: u32,
    found: u32,
    rotation: f64,
) -> f64 {
    let direct = direct_subtractions(gate.levels);

    // The exponent of bit j: the query and all subtractions of much earlier bits, times
    // 2^(index − j); subtractions of the last bits have weight 1.
    let mut worst: f64 = 0.0;
    for j in 0..found {
        let recent = j.min(direct);
        let shifted = fresh() + f64::from(j - recent) * rotation;
        worst = worst.max(shifted * 4f64.powi((index - j) as i32) + f64::from(recent) * rotation);
    }
    let exponent = worst + ring.switch(short, f64::from(ORDER) / OUTPUTS as f64);

    // A bit is half a turn.
    Tails::Gaussian.failure_log2(0.25 - rounding_bias(short), exponent, f64::from(found))
}

/// Returns the largest bias of a phase, in turns, from rounding halves up: half a word for each
/// component with a set key bit.
fn rounding_bias(short: &SwitchParams) -> f64 {
    (short.dimension + 1) as f64 / 2.0 / 2f64.powi(short.log2_q as i32)
}

/// Returns the number of next bits for which a rotation has an output of their own, beside the
/// gate's digits and the output for all later bits.
pub(crate) fn direct_subtractions(gate_levels: usize) -> u32 {
    (OUTPUTS - gate_levels - 1) as u32
}

/// Returns the variance of a query's error, in turns².
fn fresh() -> f64 {
    QUERY_SIGMA * QUERY_SIGMA / 4f64.powi(LOG2_QUERY as i32)
}

/// Returns the gadgets of a chain's keys.
pub(crate) fn gadgets_of(chain: &Chain) -> Gadgets {
    Gadgets {
        bits: chain.bits.gadget.params(),
        digits: chain.digits.gadget.params(),
        conversion: chain.conversion.params(),
    }
}

/// Returns the noise input of a chain and a layout.
pub(super) fn input(chain: &Chain, layout: &Layout, gate: GadgetParams) -> NoiseInput {
    NoiseInput {
        ring: chain.setting(),
        short: [chain.bits.switch, chain.digits.switch],
        gadgets: gadgets_of(chain),
        gate,
        dimensions: [layout.log2_rows, layout.log2_columns, layout.log2_slots],
    }
}
