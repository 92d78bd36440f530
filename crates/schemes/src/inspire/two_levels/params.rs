//! Checked parameters of InsPIRe⁽²⁾, sizes and work.
//!
//! Sizes follow Theorem 6, in papir's encoding.

use papir_core::cost::{Counts, DividedWork, Operation, Work};
use papir_core::scheme::Parameters as _;
use papir_core::{Goal, Result, Sizes};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_i16;
use papir_lattice::gadget::Gadget;
use papir_lattice::packing::inspiring::unit_words;
use papir_lattice::params::RlweParams;
use papir_lattice::response::ResponseBits;
use papir_lattice::selection::{matrix_bytes, matrix_words};
use papir_ring::CyclotomicRing;

use super::layout::Layout;
pub use super::literal::Literal;
use super::literal::NAME;
use super::noise::{Noise, NoiseInput, WORD_BITS};
use crate::shared::matrices::Selector;
use crate::shared::messages::SEED_BYTES;
use crate::shared::parameters::{
    READ_RATE, check_failure, refused, score, sealed, sealed_public, unfit,
};

/// Labels of the masks of A₀ and A₁.
const SELECTORS: [&str; 2] = ["inspire2/first", "inspire2/second"];
/// Seconds of packing one LWE encryption online, to compare candidates.
const ONLINE_PACK: f64 = 3e-5;

/// Checked parameters with the tables built from them.
#[derive(Clone, Debug)]
pub struct Params {
    literal: Literal,
    layout: Layout,
    rlwe: RlweParams,
    gadget: Gadget,
    noise: Noise,
    /// log₂ of a bound on the probability that an answer does not decode.
    pub(super) failure_log2: f64,
}

impl Params {
    /// Checks a literal and creates its parameters. The security comes from the table of estimates,
    /// the failure probability from the noise.
    ///
    /// # Errors
    /// [`papir_core::Error::Insecure`], [`papir_core::Error::Parameters`] or
    /// [`papir_core::Error::OutOfBounds`].
    pub fn new(literal: Literal) -> Result<Self> {
        let params = Self::build(literal, RlweParams::new(literal.rlwe).map_err(unfit(NAME))?)?;
        check_failure(NAME, params.failure_log2, literal.failure)?;
        Ok(params)
    }

    /// Builds parameters without checking security or correctness, for tests at small degrees.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] or [`papir_core::Error::OutOfBounds`] if the values do not
    /// fit together.
    pub fn insecure(literal: Literal) -> Result<Self> {
        Self::build(
            literal,
            RlweParams::insecure(literal.rlwe).map_err(refused(NAME))?,
        )
    }

    fn build(literal: Literal, rlwe: RlweParams) -> Result<Self> {
        literal.check(rlwe.ring().modulus())?;

        let layout = Layout::new(literal.shape, literal.gammas[0], literal.blocks)?;
        let gadget = Gadget::new(rlwe.ring(), literal.gadget).map_err(refused(NAME))?;
        let input = NoiseInput::new(&literal, &layout);
        let noise = Noise::compute(&input);
        let failure_log2 = noise.failure_log2(&input);

        Ok(Self {
            literal,
            layout,
            rlwe,
            gadget,
            noise,
            failure_log2,
        })
    }

    /// Returns the values of the parameters.
    pub fn literal(&self) -> &Literal {
        &self.literal
    }

    /// Returns the layout of the matrix.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the ring and its noise.
    pub fn rlwe(&self) -> &RlweParams {
        &self.rlwe
    }

    /// Returns the gadget of the packing keys.
    pub fn gadget(&self) -> &Gadget {
        &self.gadget
    }

    /// Returns the predicted noise of both levels.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// Returns Δ = round(q/p) of both levels, where p is 2¹⁶ and 2^D.
    pub fn scales(&self) -> [u64; 2] {
        [WORD_BITS, self.literal.mask.bits]
            .map(|bits| (self.rlwe.ring().modulus() + (1 << (bits - 1))) >> bits)
    }

    /// Returns the lengths of both selectors: N/t and t.
    pub fn selectors(&self) -> [usize; 2] {
        [self.layout.columns, self.layout.blocks]
    }

    /// Returns the selector of a level.
    pub fn selector(&self, level: usize) -> Selector<'_> {
        Selector {
            rlwe: &self.rlwe,
            label: SELECTORS[level],
            columns: self.selectors()[level],
            scale: self.scales()[level],
            bits: self.literal.query_bits[level],
        }
    }

    /// Returns the payload bytes of both selectors and of the key material.
    pub fn query_parts(&self) -> [usize; 3] {
        let [c, t] = self.selectors();
        let [first, second] = self.literal.query_bits;
        let keys = packed_len(self.literal.key_words(), self.literal.key_bits);
        [packed_len(c, first), packed_len(t, second), keys]
    }

    /// Returns the payload bytes of an answer.
    pub(super) fn answer_bytes(&self) -> usize {
        let [first, masks, second] = self.literal.answer_words();
        let ResponseBits { a, b } = self.literal.answer;
        packed_len(first, b) + packed_len(masks, a) + packed_len(second, b)
    }

    /// Returns the number of rows of the second level's matrix: τ·d.
    pub(super) fn digit_rows(&self) -> usize {
        self.literal.mask.count * self.literal.rlwe.degree
    }

    /// Returns the number of words in the second level's matrix.
    pub(super) fn digit_words(&self) -> usize {
        matrix_words(self.digit_rows(), self.layout.blocks)
    }

    /// Returns the bytes of the matrices of all packs, of the first packing (0) or the second (1).
    pub(super) fn pack_bytes(&self, packing: usize) -> u64 {
        let gamma = self.literal.gammas[packing];
        let degree = self.literal.rlwe.degree;
        let levels = self.literal.gadget.levels;
        let unit = unit_words(degree, gamma, levels);
        // A matrix is stored in units. Several packs share one where γ is below a row group.
        let packs = [self.layout.blocks, self.literal.packs()[0]][packing];
        4 * packs.div_ceil(unit / (gamma * degree * levels)) as u64 * unit as u64
    }

    /// Returns the bytes of the second level's matrix, its packs and their masks.
    fn second_level_bytes(&self) -> u64 {
        let masks = 8 * self.literal.rlwe.degree * self.literal.packs()[0];
        matrix_bytes(self.digit_rows(), self.layout.blocks) + self.pack_bytes(1) + masks as u64
    }

    /// Returns the exact lengths of messages and stores.
    pub(super) fn sizes(&self) -> Sizes {
        let [first, second, keys] = self.query_parts();
        let hint = packed_len(self.literal.public_words(), self.literal.answer.a);
        let material = self.pack_bytes(0) + self.second_level_bytes();
        let unit_layout = &self.layout.unit_layout;

        Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES + hint),
            hint: hint as u64,
            query_keys: keys as u64,
            query: sealed(first + second + keys),
            answer: sealed(self.answer_bytes()),
            database: self.layout.matrix_bytes(),
            material,
            seen: unit_layout.seen(unit_layout.unit_bytes as u64, hint as u64),
            ..Sizes::default()
        }
    }

    /// Returns the work of each operation.
    pub(super) fn work(&self) -> Work {
        let degree = self.literal.rlwe.degree;
        let keys = self.literal.key_words();
        let [first, second] = self.selectors();
        let [packs, online] = self.literal.packs();
        let encryptions = first.div_ceil(degree) + second.div_ceil(degree) + keys / degree;
        let setup = self.material_work(self.layout.blocks);
        let database = self.layout.matrix_bytes() as f64;

        Work {
            setup: setup.with(Operation::Encode16, database / 2.0, self.layout.columns),
            query: Counts::new().with(Operation::Encrypt, encryptions as f64, 1),
            answer: self.answering().together(),
            extract: Counts::new().with(Operation::Decrypt, (packs + online + 1) as f64, 1),
        }
    }

    /// Returns the work of an answer. Its slices are units of the first level; the combiner does
    /// the work of the second level.
    pub(super) fn answering(&self) -> DividedWork {
        let [first, second] = self.selectors();
        let [_, online] = self.literal.packs();
        let database = self.layout.matrix_bytes() as f64;
        let groups = self.layout.rows() / matvec_i16::ROWS;
        let digits = 2 * self.digit_words();
        let digit_groups = self.digit_rows() / matvec_i16::ROWS;
        let online_packs = online as f64 * self.share_of_a_pack(2);

        // Words of messages are unpacked, split, lifted or rounded.
        let keys = self.literal.key_words();
        let answer = self.literal.answer_words().iter().sum::<usize>();
        let [read, taken, given] = [
            first + keys,
            self.layout.rows(),
            second + self.digit_rows() + answer,
        ]
        .map(|words| 2.0 * words as f64);

        DividedWork {
            slices: Counts::new()
                .with(Operation::Select16, database, groups)
                .with(Operation::Matrix, self.pack_bytes(0) as f64, groups)
                .with(Operation::Word, taken, 1),
            shard: Counts::new().with(Operation::Word, read, 1),
            combiner: Counts::new()
                .with(Operation::Select16, digits as f64, digit_groups)
                .with(Operation::Matrix, self.pack_bytes(1) as f64, groups)
                .with(Operation::Pack, online_packs, online)
                .with(Operation::Word, given, 1),
            combiner_bytes: self.second_level_bytes(),
        }
    }

    /// Returns the work of preparing `blocks` packs of the first level, and the second level: every
    /// row is multiplied with the masks of all blocks of d columns.
    pub(super) fn material_work(&self, blocks: usize) -> Counts {
        let [first, second] = self
            .selectors()
            .map(|columns| columns.div_ceil(self.literal.rlwe.degree));
        let [packs, _] = self.literal.packs();
        let [unit, ..] = self.literal.gammas;

        let transforms = blocks * unit * first + self.digit_rows() * second;
        let full_packs =
            blocks as f64 * self.share_of_a_pack(0) + packs as f64 * self.share_of_a_pack(1);
        let counts = Counts::new().with(Operation::HintTransform, transforms as f64, blocks);
        counts.with(Operation::Pack, full_packs, blocks)
    }

    /// Returns the work of preparing a pack of γ as a share of the work of a pack of d. It takes
    /// γ/d of the key switches, and a transform of log₂ γ levels instead of log₂ d. Five levels
    /// weigh as much as the rest (measured).
    fn share_of_a_pack(&self, packing: usize) -> f64 {
        let gamma = self.literal.gammas[packing] as f64;
        let degree = self.literal.rlwe.degree as f64;
        gamma / degree * (5.0 + gamma.log2()) / (5.0 + degree.log2())
    }

    /// Returns the cost that the goal minimises, from message bytes and estimated seconds of one
    /// core for an answer.
    pub(super) fn score(&self, goal: Goal) -> f64 {
        let Sizes {
            query,
            answer,
            hint,
            database,
            material,
            ..
        } = self.sizes();
        let online = self.literal.packs()[1] * self.literal.gammas[2];
        let seconds = (database + material) as f64 / READ_RATE + online as f64 * ONLINE_PACK;
        score(goal, (query + answer + hint) as f64, seconds)
    }

    /// Returns true if the first level's material is at most the database, or four times the
    /// database for the least communication. A single unit in a column is always allowed.
    pub(super) fn affordable(&self, goal: Goal) -> bool {
        let times = if goal == Goal::MinCommunication { 4 } else { 1 };
        self.layout.blocks == 1 || self.pack_bytes(0) <= times * self.layout.matrix_bytes()
    }
}
