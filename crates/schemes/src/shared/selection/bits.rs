//! Noise of a packed selection, and bits of its messages.
//!
//! A coefficient of an answer decodes 2^(−D)·q·x + noise. The noise is the sum of
//!
//! - selection: Σ Eᶜ·(eᶜ + rᶜ) over the columns, with entries E of bounded Σ E², errors e of the
//!   selector and its rounding r to k bits;
//! - packing: [`RingPacking::variance`], which grows with the rounding of the keys;
//! - the switch of the answer to a bits of the mask and b bits of the body.
//!
//! All parts are subgaussian, or sums of at least d products, under the independence heuristic. So
//! variances add (`papir_lattice::noise`). One part can be rounded more if another part is rounded
//! less; [`Selection::choose`] searches for the fewest bytes.

use papir_core::FailureBound;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::{Tails, rounding};
use papir_lattice::packing::RingPacking;
use papir_lattice::response::ResponseBits;
use papir_lattice::selection::{Stacking, Storage};

use super::ring::{DEGREE, SelectionRing};
use super::variant::{Masks, PackedVariant};
use crate::shared::parameters::{FILL, READ_RATE, either_log2, tails, words_log2};

/// log₂ of the probability that any coefficient of an answer exceeds its bound, by default.
pub(super) const TAIL_LOG2: f64 = -42.0;
/// Share of the decoding limit that noise may fill in answers without masks, which have 2048
/// coefficients or more.
const PUBLIC_FILL: f64 = 31.0 / 32.0;
/// Number of answers that share the masks in the public part, when widths are compared.
const ANSWERS: usize = 16;
/// Estimated seconds of one core for a node of a packing tree that is made online.
const ONLINE_NODE: f64 = 4e-5;
/// Largest number of bits of a coefficient of an answer.
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
    /// Bits of a coefficient of the packing key's last matrix. With InspiRING this is y_h, which is
    /// in one of d − 1 key switches and may have fewer bits if masks are in the public part.
    /// Otherwise it is equal to `key`.
    pub last_key: u32,
    /// Bits of a coefficient of an answer's mask and body.
    pub answer: ResponseBits,
}

/// The counts of a packed selection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Selection {
    /// Ring of the selection.
    pub ring: SelectionRing,
    /// Storage of the matrix's words.
    pub storage: Storage,
    /// Message that carries the masks of packed answers.
    pub masks: Masks,
    /// Number of columns of the matrix, which is the number of entries of the selector.
    pub columns: usize,
    /// Words in an entry of the matrix. An answer has one of them.
    pub stacking: Stacking,
    /// D: words are taken modulo 2^D.
    pub plain_bits: u32,
    /// Bound on the sum of the squares of a row's entries.
    pub squares: f64,
    /// Number of LWE encryptions in a pack.
    pub capacity: usize,
    /// Number of rows that are packed.
    pub rows: usize,
    /// Rows that are made online. [`PackedVariant::pack_few`] packs them, or they are sent
    /// unpacked.
    pub singles: usize,
    /// Bound on the failure probability.
    pub failure: FailureBound,
}

/// Variances of an answer's coefficient by source, in units of q.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Errors and rounding of the selector, times the words.
    pub selection: f64,
    /// Noise of packing.
    pub packing: f64,
    /// Noise of switching the answer to few bits.
    pub response: f64,
}

impl Noise {
    /// Returns the sum of the variances.
    pub fn total(&self) -> f64 {
        self.selection + self.packing + self.response
    }
}

impl Selection {
    /// Returns the number of packs. The last pack may be padded with rows of zeros.
    pub fn packs(&self) -> usize {
        self.rows.div_ceil(self.capacity)
    }

    /// Rows that an answer packs: with the single ones, if they can be packed online.
    pub fn sent_rows<V: PackedVariant>(&self) -> usize {
        if V::few_nodes(DEGREE) > 0 {
            self.bodies()
        } else {
            self.rows
        }
    }

    /// Packs of an answer. Single rows take the places after the others, so the last pack may have
    /// both.
    pub fn sent_packs<V: PackedVariant>(&self) -> usize {
        self.sent_rows::<V>().div_ceil(self.capacity)
    }

    /// Nodes of the packing trees of single rows, at most.
    pub fn online_nodes<V: PackedVariant>(&self) -> usize {
        self.singles * V::few_nodes(DEGREE)
    }

    /// Ring elements of masks in an answer.
    pub fn answer_masks<V: PackedVariant>(&self) -> usize {
        self.sent_packs::<V>() + (self.bodies() - self.sent_rows::<V>()) - self.public_masks()
    }

    /// Returns the number of ring elements of masks in the public part.
    pub fn public_masks(&self) -> usize {
        match self.masks {
            Masks::Answers => 0,
            Masks::Public => self.packs(),
        }
    }

    /// Returns the number of coefficients of bodies in an answer. All of them must decode.
    pub fn bodies(&self) -> usize {
        self.rows + self.singles
    }

    /// Ring elements of a packing key.
    pub fn key_elements<V: PackedVariant>(&self, gadget: GadgetParams) -> usize {
        V::matrices(DEGREE, self.capacity) * gadget.levels
    }

    /// Returns the largest number of bits of a selector's entry.
    pub(super) fn most_query_bits(&self) -> u32 {
        self.storage.most_query_bits().min(self.ring.most_bits())
    }

    /// Variances with these bits.
    pub fn noise<V: PackedVariant>(&self, bits: &SelectionBits) -> Noise {
        Noise {
            selection: self.selection(bits.query),
            packing: self.packing::<V>(bits.gadget, [bits.key, bits.last_key]),
            response: self.ring.mask_switch(bits.answer.a) + self.body_variance(bits.answer.b),
        }
    }

    /// Variance of packing. A pack that also has single rows is packed twice, at setup and online.
    pub(super) fn packing<V: PackedVariant>(
        &self,
        gadget: GadgetParams,
        key_bits: [u32; 2],
    ) -> f64 {
        let settings = key_bits.map(|bits| self.ring.setting(bits));
        let times = if self.online_nodes::<V>() > 0 {
            2.0
        } else {
            1.0
        };
        times * V::variance(&settings, gadget, self.capacity)
    }

    pub(super) fn selection(&self, query_bits: u32) -> f64 {
        self.squares
            * (self.ring.sigma() * self.ring.sigma() + rounding(self.ring.step(query_bits)))
    }

    /// Returns the variance that rounding a body to `bits` bits adds. If masks are in the public
    /// part, an answer has only bodies, and they have few bits. Then the largest rounding counts
    /// instead, in [`Selection::rounded_body`].
    pub(super) fn body_variance(&self, bits: u32) -> f64 {
        match self.masks {
            Masks::Answers => rounding(self.ring.step(bits)),
            Masks::Public => 0.0,
        }
    }

    /// Returns the largest distance from a message that rounding a body adds, beside its variance.
    fn rounded_body(&self, bits: u32) -> f64 {
        match self.masks {
            Masks::Answers => 0.0,
            Masks::Public => self.ring.step(bits) / 2.0,
        }
    }

    /// Returns the share of the decoding limit that errors may fill. Answers without masks have
    /// thousands of coefficients. An answer to another query has all of them within 31/32 of the
    /// limit with a probability below 2⁻⁹³, as in `inspire`.
    fn fill(&self) -> f64 {
        match self.masks {
            Masks::Answers => FILL,
            Masks::Public => PUBLIC_FILL,
        }
    }

    /// Returns what the words below the selected one add to its message at most. Δᵢ = q/(2^D·Bⁱ)
    /// times a word wₖ below wᵢ, of at most half of 2^D, is q/2·B^(k − i) or less.
    fn words_below(&self) -> f64 {
        self.ring.modulus() / 2.0 * self.stacking.below()
    }

    /// Returns the distance from a message that is no noise: the rounding of a body, and the words
    /// below the selected one.
    fn fixed_distance(&self, body_bits: u32) -> f64 {
        self.rounded_body(body_bits) + self.words_below()
    }

    /// Returns the largest allowed variance with bodies of `body_bits` bits. Each
    /// Δᵢ = round(q/(2^D·Bⁱ)) has an error of at most 1/2, which counts once for each unit of an
    /// entry: so the words above the selected one vanish but for this error.
    pub(super) fn budget(&self, body_bits: u32) -> f64 {
        let half = 2f64.powi(self.plain_bits as i32 - 1);

        let limit = self.fill() * self.ring.modulus() / (4.0 * half)
            - half / 2.0 * self.stacking.gain()
            - self.fixed_distance(body_bits);
        if limit <= 0.0 {
            return 0.0;
        }
        self.tails()
            .variance_for(limit, self.bodies() as f64, self.tail_log2())
    }

    fn tails(&self) -> Tails {
        tails(self.failure, DEGREE)
    }

    fn tail_log2(&self) -> f64 {
        TAIL_LOG2 - self.failure.beyond_default()
    }

    /// Distance from its message that any coefficient exceeds with the probability of
    /// [`Selection::failure_log2`], in units of q/2^a; `None` beyond the decoding limit.
    pub fn bound<V: PackedVariant>(&self, bits: &SelectionBits) -> Option<u64> {
        let variance = self.noise::<V>(bits).total();
        let deviations = self
            .tails()
            .deviations(self.bodies() as f64, self.tail_log2());
        let distance = variance.sqrt() * deviations + self.fixed_distance(bits.answer.b);
        let distance = distance / self.ring.step(bits.answer.a);

        // Written so that a NaN fails too.
        (variance <= self.budget(bits.answer.b)).then_some(distance.ceil() as u64 + 1)
    }

    /// Returns log₂ of a bound on the probability that an honest answer has a coefficient beyond
    /// the bound.
    pub fn failure_log2(&self) -> f64 {
        if self.failure.is_default() {
            return self.tail_log2();
        }
        // Whitened words may exceed their bound too.
        either_log2(self.tail_log2(), words_log2(self.failure))
    }

    /// Bytes of the packs' words.
    pub fn pack_words_bytes<V: PackedVariant>(&self, gadget: GadgetParams) -> u64 {
        let words = V::pack_words(DEGREE, self.capacity, gadget.levels);
        self.packs() as u64 * (words * size_of::<<V::Packing as RingPacking>::Word>()) as u64
    }

    /// Rough seconds of one core for selecting and packing, to compare candidates.
    pub fn rough_seconds<V: PackedVariant>(&self, bits: &SelectionBits) -> f64 {
        let matrix = self.matrix_bytes() as f64 * self.products(bits.query);
        let pack = V::pack_seconds(DEGREE, self.capacity, bits.gadget.levels);
        let online = self.online_nodes::<V>() as f64 * ONLINE_NODE;
        matrix / READ_RATE + self.packs() as f64 * pack + online
    }

    /// Returns the products of a word with an entry of a selector, in units of those of a matrix
    /// whose entries have one word. The lower a word is in its entry, the more bits of the selector
    /// it is multiplied with.
    pub(super) fn products(&self, query_bits: u32) -> f64 {
        let Stacking { words, step } = self.stacking;
        let planes = |word: usize| self.storage.planes(query_bits - word as u32 * step);

        let all: usize = (0..words).map(planes).sum();
        all as f64 / (words * planes(words - 1)) as f64
    }

    /// Returns the bytes of the matrix, with all words of its entries.
    pub(super) fn matrix_bytes(&self) -> u64 {
        let rows = self.packs() * self.capacity;
        self.stacking.words as u64 * self.storage.matrix_bytes(rows, self.columns)
    }

    /// Bits of both messages.
    pub fn message_bits<V: PackedVariant>(&self, bits: &SelectionBits) -> usize {
        let words = self.words::<V>(bits.gadget);
        let each = [bits.query, bits.key, bits.answer.a, bits.answer.b];

        let all: usize = words
            .iter()
            .zip(each)
            .map(|(words, bits)| words * bits as usize)
            .sum();
        // The last matrix counts above with the bits of the others, and may have fewer.
        all - bits.gadget.levels * DEGREE * (bits.key - bits.last_key) as usize
    }

    /// Words of selector, key, masks and bodies. Masks that are fetched once for a version count in
    /// part, because many answers share them.
    pub(super) fn words<V: PackedVariant>(&self, gadget: GadgetParams) -> [usize; 4] {
        let d = DEGREE;
        let masks = self.answer_masks::<V>() * d + self.public_masks() * d / ANSWERS;
        [
            self.columns,
            self.key_elements::<V>(gadget) * d,
            masks,
            self.bodies(),
        ]
    }
}
