//! Noise of a packed selection; choice of message bits.
//!
//! A coefficient of an answer decodes 2^(−D)·q·x + noise. The noise is the sum of
//!
//! - selection: Σ wᶜ·(eᶜ + rᶜ) over the columns, with words w of bounded Σ w², errors e of the
//!   selector and its rounding r to k bits;
//! - packing: [`RingPacking::variance`], which grows with the rounding of the keys;
//! - the switch of the answer to a bits of the mask and b bits of the body.
//!
//! All are subgaussian, or sums of d products and more, under the independence heuristic, so
//! variances add (`papir_lattice::noise`). One part can be rounded more if another is rounded less;
//! [`Selection::choose`] searches for the fewest bytes.

use std::ops::RangeInclusive;

use papir_core::FailureBound;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Setting, Tails, rounding};
use papir_lattice::packing::RingPacking;
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::response::ResponseBits;
use papir_lattice::selection::matrix_bytes;

use super::family::Family;
use crate::shared::parameters::{FILL, READ_RATE, either_log2, tails, words_log2};

/// The ring of every packed selection.
pub(super) const RING: RlweLiteral = RlweLiteral::DEFAULT;
/// log₂ of the probability that any coefficient of an answer exceeds its bound, by default.
const TAIL_LOG2: f64 = -42.0;
/// Numbers and widths of gadget digits that are compared.
const LEVELS: RangeInclusive<usize> = 1..=3;
const LOG_BASES: RangeInclusive<u32> = 8..=28;
/// Bits of q: the digits of a gadget and the dropped bits together.
const MODULUS_BITS: u32 = 56;
/// Most bits of a coefficient of selector and keys: 2⁵⁵ is below q.
pub(super) const MAX_QUERY_BITS: u32 = 55;
/// Most bits of a coefficient of an answer.
pub(super) const MAX_ANSWER_BITS: u32 = 32;

/// Bits of all messages, and the gadget of the packing key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectionBits {
    /// Gadget of the packing key.
    pub gadget: GadgetParams,
    /// Bits of a selector entry.
    pub query: u32,
    /// Bits of a coefficient of the packing key.
    pub key: u32,
    /// Bits of a coefficient of an answer's mask and body.
    pub answer: ResponseBits,
}

/// The counts of a packed selection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// Columns of the matrix: entries of the selector.
    pub columns: usize,
    /// D: words are taken modulo 2^D.
    pub plain_bits: u32,
    /// Bound on the sum of the squares of a row's words.
    pub squares: f64,
    /// LWE encryptions in a pack.
    pub capacity: usize,
    /// Rows that are packed.
    pub rows: usize,
    /// Rows that are made online and sent unpacked.
    pub singles: usize,
    /// Bound on the failure probability.
    pub failure: FailureBound,
}

/// Variances of an answer's coefficient by source, in units of q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Errors and rounding of the selector, times the words.
    pub selection: f64,
    /// Packing.
    pub packing: f64,
    /// Switching the answer to few bits.
    pub response: f64,
}

impl Noise {
    /// Their sum.
    pub fn total(&self) -> f64 {
        self.selection + self.packing + self.response
    }
}

/// q.
pub(super) fn modulus() -> f64 {
    RING.primes.map(f64::from).iter().product()
}

fn setting(key_bits: u32) -> Setting {
    Setting::error_like(RING.degree, modulus(), RING.sigma, key_bits)
}

impl Selection {
    /// Packs; the last one may be padded with rows of zeros.
    pub fn packs(&self) -> usize {
        self.rows.div_ceil(self.capacity)
    }

    /// Ring elements of masks in an answer.
    pub fn masks(&self) -> usize {
        self.packs() + self.singles
    }

    /// Coefficients of bodies in an answer; all must decode.
    pub fn bodies(&self) -> usize {
        self.rows + self.singles
    }

    /// Ring elements of a packing key.
    pub fn key_elements<F: Family>(&self, gadget: GadgetParams) -> usize {
        F::matrices(RING.degree, self.capacity) * gadget.levels
    }

    /// Variances with these bits.
    pub fn noise<F: Family>(&self, bits: &SelectionBits) -> Noise {
        Noise {
            selection: self.selection(bits.query),
            packing: F::Packing::variance(&setting(bits.key), bits.gadget, self.capacity),
            response: mask_switch(bits.answer.a) + rounding(step(bits.answer.b)),
        }
    }

    fn selection(&self, query_bits: u32) -> f64 {
        self.squares * (RING.sigma * RING.sigma + rounding(step(query_bits)))
    }

    /// Largest allowed variance. Δ = round(q/2^D) is off by at most 1/2, once for each unit of a
    /// word.
    pub fn budget(&self) -> f64 {
        let half = 2f64.powi(self.plain_bits as i32 - 1);
        let limit = FILL * modulus() / (4.0 * half) - half / 2.0;
        self.tails().variance_for(limit, self.bodies() as f64, self.tail_log2())
    }

    fn tails(&self) -> Tails {
        tails(self.failure, RING.degree)
    }

    fn tail_log2(&self) -> f64 {
        TAIL_LOG2 - self.failure.beyond_default()
    }

    /// Distance from its message that any coefficient exceeds with the probability of
    /// [`Selection::failure_log2`], in units of q/2^a; `None` beyond the decoding limit.
    pub fn bound<F: Family>(&self, bits: &SelectionBits) -> Option<u64> {
        let variance = self.noise::<F>(bits).total();
        let deviations = self.tails().deviations(self.bodies() as f64, self.tail_log2());
        let distance = variance.sqrt() * deviations / step(bits.answer.a);
        // Written so that a NaN fails too.
        (variance <= self.budget()).then_some(distance.ceil() as u64 + 1)
    }

    /// log₂ of the probability that an honest answer has a coefficient beyond the bound.
    pub fn failure_log2(&self) -> f64 {
        if self.failure.is_default() {
            return self.tail_log2();
        }
        // Whitened words may exceed their bound too.
        either_log2(self.tail_log2(), words_log2(self.failure))
    }

    /// The bits and the gadget with the fewest bytes; `None` if no answer decodes.
    pub fn choose<F: Family>(&self) -> Option<SelectionBits> {
        let takes = |gadget: &GadgetParams| F::takes(RING.degree, self.capacity, *gadget);
        let candidates = gadgets().filter(takes).filter_map(|gadget| self.choose_bits::<F>(gadget));
        candidates.min_by_key(|bits| self.message_bits::<F>(bits))
    }

    /// Bytes of the packs' words.
    pub fn pack_words_bytes<F: Family>(&self, gadget: GadgetParams) -> u64 {
        let words = F::pack_words(RING.degree, self.capacity, gadget.levels);
        self.packs() as u64 * (words * size_of::<<F::Packing as RingPacking>::Word>()) as u64
    }

    /// Rough seconds of one core for selecting and packing, to compare candidates.
    pub fn rough_seconds<F: Family>(&self, gadget: GadgetParams) -> f64 {
        let matrix = matrix_bytes(self.packs() * self.capacity, self.columns);
        let pack = F::pack_seconds(RING.degree, self.capacity, gadget.levels);
        matrix as f64 / READ_RATE + self.packs() as f64 * pack
    }

    /// Bits of both messages.
    pub fn message_bits<F: Family>(&self, bits: &SelectionBits) -> usize {
        let words = self.words::<F>(bits.gadget);
        let each = [bits.query, bits.key, bits.answer.a, bits.answer.b];
        words.iter().zip(each).map(|(words, bits)| words * bits as usize).sum()
    }

    /// Words of selector, key, masks and bodies.
    fn words<F: Family>(&self, gadget: GadgetParams) -> [usize; 4] {
        let d = RING.degree;
        [self.columns, self.key_elements::<F>(gadget) * d, self.masks() * d, self.bodies()]
    }

    fn choose_bits<F: Family>(&self, gadget: GadgetParams) -> Option<SelectionBits> {
        let budget = self.budget();
        let packing = |bits| F::Packing::variance(&setting(bits), gadget, self.capacity);
        if packing(MAX_QUERY_BITS) > budget {
            return None;
        }
        let [selector, keys, masks, bodies] = self.words::<F>(gadget);
        let (sent, answered) = (1..=MAX_QUERY_BITS, 1..=MAX_ANSWER_BITS);
        let parts = [
            Part { words: selector, variance: &|bits| self.selection(bits), bits: sent.clone() },
            Part { words: keys, variance: &packing, bits: sent },
            Part { words: masks, variance: &mask_switch, bits: self.plain_bits + 1..=MAX_ANSWER_BITS },
            Part { words: bodies, variance: &|bits| rounding(step(bits)), bits: answered },
        ];
        let [query, key, a, b] = spend(&parts, budget)?;
        (b <= a).then_some(SelectionBits { gadget, query, key, answer: ResponseBits { a, b } })
    }
}

/// Rounding step of a coefficient that is sent in `bits` bits.
fn step(bits: u32) -> f64 {
    modulus() / 2f64.powi(bits as i32)
}

/// Variance of switching the mask to `bits` bits.
fn mask_switch(bits: u32) -> f64 {
    RING.degree as f64 * RING.sigma * RING.sigma * rounding(step(bits))
}

/// Gadgets whose digits and dropped bits cover q.
fn gadgets() -> impl Iterator<Item = GadgetParams> {
    let of = |levels: usize, log_base: u32| {
        let drop = MODULUS_BITS.checked_sub(levels as u32 * log_base)?;
        Some(GadgetParams { levels, log_base, drop })
    };
    LEVELS.flat_map(move |levels| LOG_BASES.filter_map(move |log_base| of(levels, log_base)))
}

/// Part of the messages: number of words, and the variance that they add with each number of bits.
/// One bit more leaves a quarter of it, or more.
struct Part<'a> {
    words: usize,
    variance: &'a dyn Fn(u32) -> f64,
    bits: RangeInclusive<u32>,
}

/// Returns bits for each part, few in total, with a variance of at most `budget`.
///
/// Starts with the bits that each part needs alone, gives the next bit to the part where it reduces
/// the variance most for its words, and takes back spare bits.
fn spend<const N: usize>(parts: &[Part<'_>; N], budget: f64) -> Option<[u32; N]> {
    let mut bits = [0; N];
    for (bits, part) in bits.iter_mut().zip(parts) {
        *bits = part.bits.clone().find(|&bits| (part.variance)(bits) <= budget)?;
    }
    let total =
        |bits: &[u32; N]| -> f64 { bits.iter().zip(parts).map(|(&b, part)| (part.variance)(b)).sum() };
    while total(&bits) > budget {
        let gain = |i: &usize| {
            let part = &parts[*i];
            ((part.variance)(bits[*i]) - (part.variance)(bits[*i] + 1)) / part.words.max(1) as f64
        };
        let open = (0..N).filter(|&i| bits[i] < *parts[i].bits.end());
        let best = open.max_by(|a, b| gain(a).total_cmp(&gain(b)))?;
        bits[best] += 1;
    }
    let mut by_words: [usize; N] = std::array::from_fn(|i| i);
    by_words.sort_by_key(|&i| std::cmp::Reverse(parts[i].words));
    for i in by_words {
        while bits[i] > *parts[i].bits.start() {
            bits[i] -= 1;
            if total(&bits) > budget {
                bits[i] += 1;
                break;
            }
        }
    }
    Some(bits)
}
