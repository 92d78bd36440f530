//! Exact sizes of messages (Theorem 12, in papir's encoding) and work of the verbs.

use papir_core::cost::{Counts, Operation, Rates, Work};
use papir_core::{Goal, Sizes, scheme::Parameters as _};
use papir_kernels::bits::packed_len;

use super::layout::Layout;
use super::params::Params;
use crate::shared::messages::SEED_BYTES;
use crate::shared::parameters::{READ_RATE, score, sealed, sealed_public};

/// Seconds of one external product of two digits, to compare candidates.
const EXTERNAL_PRODUCT: f64 = 5e-5;
/// Transform levels that take as long as one rotation and addition of Lagrange interpolation.
/// Levels are timed as the two of four elements, with all that t > 1 costs.
const ROTATION_LEVELS: f64 = 0.25;

impl Params {
    /// Payload bytes of the selector, and of the key material.
    pub fn query_parts(&self) -> (usize, usize) {
        let layout = self.layout();
        let element = |bits| packed_len(layout.degree, bits);
        let keys = self.key_elements().into_iter().map(element).sum();
        (packed_len(layout.columns, self.literal().query_bits), keys)
    }

    /// Payload bytes of the masks, and of the bodies, of an answer.
    pub fn answer_parts(&self) -> (usize, usize) {
        let coefficients = self.layout().chunks * self.layout().degree;
        let (a_bits, b_bits) = self.literal().answer_bits;
        (packed_len(coefficients, a_bits), packed_len(coefficients, b_bits))
    }

    /// Exact lengths of messages and stores.
    pub(super) fn sizes(&self) -> Sizes {
        let (selector, keys) = self.query_parts();
        let (masks, bodies) = self.answer_parts();
        let element = 8 * self.layout().degree;
        let pack = self.matrix_words() * 4 + (1 + self.literal().key_switch.levels) * element;
        Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES),
            query_keys: keys as u64,
            query: sealed(selector + keys),
            answer: sealed(masks + bodies),
            database: self.layout().matrix_bytes() as u64,
            material: (self.layout().packs() * pack) as u64,
            ..Sizes::default()
        }
    }

    /// Work of the verbs.
    pub(super) fn work(&self) -> Work {
        let &Layout { degree, chunks, columns, .. } = self.layout();
        let encryptions = columns.div_ceil(degree) + self.key_elements().len();
        let matrices = (self.layout().packs() * self.matrix_words() * 4) as f64;
        Work {
            setup: self.preparing(2 * self.layout().pairs()),
            query: Counts::new().with(Operation::Encrypt, encryptions as f64, 1),
            answer: Counts::new()
                .with(Operation::Select16, self.layout().matrix_bytes() as f64, self.groups())
                .with(Operation::Matrix, matrices, self.groups())
                .with(Operation::ExternalProduct, self.products(), self.polynomials())
                .with(Operation::Word, self.answer_words() as f64, 1),
            extract: Counts::new().with(Operation::Decrypt, chunks as f64, 1),
        }
    }

    /// Work of coding `columns` columns, each word in the levels of the interpolation, and of
    /// preparing all packs.
    pub(super) fn preparing(&self, columns: usize) -> Counts {
        let layout = self.layout();
        let words = (layout.rows() * columns) as f64;
        let (levels, rotations) = layout.interpolation.work(layout.degree);
        let levels = levels + ROTATION_LEVELS * rotations;
        let packing = self.packing().with(Operation::Encode16, words, columns);
        packing.with(Operation::Interpolate, words * levels, columns)
    }

    /// Work of preparing all packs: every row is multiplied with the masks of all blocks of d
    /// columns.
    fn packing(&self) -> Counts {
        let layout = self.layout();
        let (rows, packs) = (layout.rows(), layout.packs());
        let blocks = layout.columns.div_ceil(layout.degree);
        // A pack of two digits is the unit; about half of it grows with the number of digits.
        let pack = 0.5 + 0.25 * self.literal().key_switch.levels as f64;
        let transforms = (rows * blocks) as f64;
        let counts = Counts::new().with(Operation::HintTransform, transforms, self.groups());
        counts.with(Operation::Pack, packs as f64 * pack, packs)
    }

    /// Bytes of database and packing matrices.
    pub(super) fn stored_bytes(&self) -> u64 {
        let sizes = self.sizes();
        sizes.database + sizes.material
    }

    /// External products of two digits. Their time is that of 4·ℓ transforms of digits and 4 of
    /// sums.
    fn products(&self) -> f64 {
        let layout = self.layout();
        let transforms = (self.literal().rgsw.levels + 1) as f64 / 3.0;
        ((layout.points - 1) * layout.chunks) as f64 * transforms
    }

    /// Polynomials in one variable that threads evaluate in parallel.
    fn polynomials(&self) -> usize {
        let layout = self.layout();
        layout.packs() / layout.interpolation.variables().next().unwrap_or(1)
    }

    /// Words that an answer unpacks, splits into planes or lifts (selector, keys, rows), and rounds
    /// and packs (results).
    fn answer_words(&self) -> usize {
        let &Layout { degree, chunks, columns, .. } = self.layout();
        2 * columns + 2 * self.key_elements().len() * degree + self.layout().rows() + 4 * chunks * degree
    }

    /// Row groups, the units of work for threads.
    fn groups(&self) -> usize {
        self.layout().rows() / papir_kernels::matvec_i16::ROWS
    }

    /// Bytes of a query and its answer.
    pub(super) fn message_bytes(&self) -> u64 {
        let sizes = self.sizes();
        sizes.query + sizes.answer
    }

    /// Rough seconds of one core for an answer, to compare candidates.
    pub(super) fn rough_seconds(&self) -> f64 {
        self.stored_bytes() as f64 / READ_RATE + self.products() * EXTERNAL_PRODUCT
    }

    /// Rough seconds of one core for a setup.
    pub(super) fn rough_setup_seconds(&self) -> f64 {
        self.work().setup.seconds(&Rates::BUILT_IN, 1)
    }

    /// Cost that the goal minimises.
    pub(super) fn score(&self, goal: Goal) -> f64 {
        score(goal, self.message_bytes() as f64, self.rough_seconds())
    }

    /// Whether the material is at most 1.02 times the database, four times that for the least
    /// communication. A single pack in a chunk is always allowed.
    pub(super) fn affordable(&self, goal: Goal) -> bool {
        let sizes = self.sizes();
        let times = if goal == Goal::MinCommunication { 4.0 } else { 1.0 };
        self.layout().points == 1 || sizes.material as f64 <= 1.02 * times * sizes.database as f64
    }
}
