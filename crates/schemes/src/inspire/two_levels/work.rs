//! Exact sizes of messages and stores (Theorem 6), and work of the verbs.

use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::Parameters as _;
use papir_core::{Goal, Sizes};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_i16;
use papir_lattice::packing::inspiring::unit_words;
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::response::ResponseBits;
use papir_lattice::selection::matrix_words;

use super::params::Params;
use crate::shared::messages::SEED_BYTES;
use crate::shared::parameters::{READ_RATE, score, sealed, sealed_public};

/// Seconds of packing one LWE encryption online, to compare candidates.
const ONLINE_PACK: f64 = 3e-5;

impl Params {
    /// Payload bytes of both selectors and of the key material.
    pub fn query_parts(&self) -> [usize; 3] {
        let ([c, t], [first, second]) = (self.selectors(), self.literal().query_bits);
        [
            packed_len(c, first),
            packed_len(t, second),
            packed_len(self.literal().key_words(), self.literal().key_bits),
        ]
    }

    /// Payload bytes of an answer.
    pub fn answer_parts(&self) -> [usize; 3] {
        let ([first, masks, second], ResponseBits { a, b }) =
            (self.literal().answer_words(), self.literal().answer);
        [packed_len(first, b), packed_len(masks, a), packed_len(second, b)]
    }

    /// Rows of the second level's matrix: τ·d.
    pub fn digit_rows(&self) -> usize {
        self.literal().mask.count * self.literal().rlwe.degree
    }

    /// Words of the second level's matrix.
    pub fn digit_words(&self) -> usize {
        matrix_words(self.digit_rows(), self.layout().blocks)
    }

    /// Words of the matrices of `packs` packs of the first or second packing.
    pub(super) fn pack_words(&self, packing: usize, packs: usize) -> usize {
        let (gamma, RlweLiteral { degree, .. }) = (self.literal().gammas[packing], self.literal().rlwe);
        let unit = unit_words(degree, gamma, self.literal().gadget.levels);
        packs.div_ceil(unit / (gamma * degree * self.literal().gadget.levels)) * unit
    }

    /// Bytes of the first level's packing matrices.
    fn first_material(&self) -> usize {
        4 * self.pack_words(0, self.layout().blocks)
    }

    pub(super) fn sizes(&self) -> Sizes {
        let [first, second, keys] = self.query_parts();
        let hint = packed_len(self.literal().public_words(), self.literal().answer.a);
        let [packs, _] = self.literal().packs();
        let second_level = 2 * self.digit_words() + 4 * self.pack_words(1, packs);
        let masks = 8 * self.literal().rlwe.degree * packs;
        Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES + hint),
            hint: hint as u64,
            query_keys: keys as u64,
            query: sealed(first + second + keys),
            answer: sealed(self.answer_parts().iter().sum()),
            database: self.layout().matrix_bytes() as u64,
            material: (self.first_material() + second_level + masks) as u64,
            ..Sizes::default()
        }
    }

    /// Work of the verbs.
    pub(super) fn work(&self) -> Work {
        let degree = self.literal().rlwe.degree;
        let ([first, second], [packs, online]) = (self.selectors(), self.literal().packs());
        let layout = self.layout();
        let (words, groups) = ((layout.matrix_bytes() / 2) as f64, layout.rows() / matvec_i16::ROWS);
        let encryptions =
            first.div_ceil(degree) + second.div_ceil(degree) + self.literal().key_words() / degree;
        let matrices = self.first_material() + 4 * self.pack_words(1, packs);
        let digit_groups = self.digit_rows() / matvec_i16::ROWS;
        let online_packs = online as f64 * self.share_of_a_pack(2);
        Work {
            setup: self.material_work(layout.blocks).with(Operation::Encode16, words, layout.columns),
            query: Counts::new().with(Operation::Encrypt, encryptions as f64, 1),
            answer: Counts::new()
                .with(Operation::Select16, self.layout().matrix_bytes() as f64, groups)
                .with(Operation::Select16, 2.0 * self.digit_words() as f64, digit_groups)
                .with(Operation::Matrix, matrices as f64, groups)
                .with(Operation::Pack, online_packs, online)
                .with(Operation::Word, self.answer_work() as f64, 1),
            extract: Counts::new().with(Operation::Decrypt, (packs + online + 1) as f64, 1),
        }
    }

    /// Work of preparing `blocks` packs of the first level, and the second level: every row is
    /// multiplied with the masks of all blocks of d columns.
    pub(super) fn material_work(&self, blocks: usize) -> Counts {
        let degree = self.literal().rlwe.degree;
        let [first, second] = self.selectors().map(|columns| columns.div_ceil(degree));
        let ([packs, _], [unit, ..]) = (self.literal().packs(), self.literal().gammas);
        let transforms = blocks * unit * first + self.digit_rows() * second;
        let full_packs = blocks as f64 * self.share_of_a_pack(0) + packs as f64 * self.share_of_a_pack(1);
        let counts = Counts::new().with(Operation::HintTransform, transforms as f64, blocks);
        counts.with(Operation::Pack, full_packs, blocks)
    }

    /// Work of preparing a pack of γ as a share of one of d: γ/d of the key switches, and a
    /// transform of log₂ γ levels instead of log₂ d (measured: five levels weigh as much as the
    /// rest).
    fn share_of_a_pack(&self, packing: usize) -> f64 {
        let (gamma, degree) = (self.literal().gammas[packing] as f64, self.literal().rlwe.degree as f64);
        gamma / degree * (5.0 + gamma.log2()) / (5.0 + degree.log2())
    }

    /// Bytes that a new version copies from the previous one.
    pub(super) fn snapshot_bytes(&self) -> usize {
        let Sizes { database, material, .. } = self.sizes();
        (database + material) as usize
    }

    /// Words of messages that are unpacked, split, lifted or rounded.
    fn answer_work(&self) -> usize {
        let [first, second] = self.selectors();
        let answer: usize = self.literal().answer_words().iter().sum();
        2 * (first + second + self.literal().key_words())
            + 2 * self.layout().rows()
            + 2 * self.digit_rows()
            + 2 * answer
    }

    /// Rough seconds of one core for an answer, to compare candidates.
    fn rough_seconds(&self) -> f64 {
        let sizes = self.sizes();
        let online = self.literal().packs()[1] * self.literal().gammas[2];
        (sizes.database + sizes.material) as f64 / READ_RATE + online as f64 * ONLINE_PACK
    }

    /// Cost that the goal minimises.
    pub(super) fn score(&self, goal: Goal) -> f64 {
        let sizes = self.sizes();
        score(goal, (sizes.query + sizes.answer + sizes.hint) as f64, self.rough_seconds())
    }

    /// Whether the first level's material is at most the database, four times that for the least
    /// communication. A single unit in a column is always allowed.
    pub(super) fn affordable(&self, goal: Goal) -> bool {
        let times = if goal == Goal::MinCommunication { 4 } else { 1 };
        self.layout().blocks == 1 || self.first_material() <= times * self.layout().matrix_bytes()
    }
}
