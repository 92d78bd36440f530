//! What InsPIRe's messages and verbs cost: exact sizes (Theorem 12, of papir's encoding) and counted work.

use papir_core::cost::{Counts, Operation, Rates, Work};
use papir_core::{Goal, Sizes, envelope, scheme::Parameters as _};
use papir_kernels::bits::packed_len;

use super::layout::Layout;
use super::params::Params;

/// Uplink and downlink that [`Goal::Balanced`] assumes, bytes a second (10 Mbit/s).
const BALANCED_LINE: f64 = 1.25e6;
/// Bytes a second of one core reading database or packing matrices, for comparing candidates.
const READ_RATE: f64 = 2e10;
/// Seconds of one external product of two digits, for comparing candidates.
const EXTERNAL_PRODUCT: f64 = 5e-5;
/// Levels of a transform, as machines are timed at them (the two of four elements, with all that t > 1 costs),
/// that take as long as one rotation and addition of Lagrange interpolation.
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
            public: (envelope::OVERHEAD + 8 + self.encode().len() + 32) as u64,
            hint: 0,
            keys: 0,
            ticket: 0,
            query_keys: keys as u64,
            query: (envelope::OVERHEAD + selector + keys) as u64,
            answer: (envelope::OVERHEAD + masks + bodies) as u64,
            database: self.layout().matrix_bytes() as u64,
            material: (self.layout().packs() * pack) as u64,
        }
    }

    /// What the verbs do.
    pub(super) fn work(&self) -> Work {
        let &Layout { degree, chunks, columns, .. } = self.layout();
        let encryptions = columns.div_ceil(degree) + self.key_elements().len();
        Work {
            setup: self.preparing(2 * self.layout().pairs()),
            query: Counts::new().with(Operation::Encrypt, encryptions as f64, 1),
            answer: Counts::new()
                .with(Operation::Select16, self.layout().matrix_bytes() as f64, self.groups())
                .with(
                    Operation::Matrix,
                    (self.layout().packs() * self.matrix_words() * 4) as f64,
                    self.groups(),
                )
                .with(Operation::ExternalProduct, self.products(), self.polynomials())
                .with(Operation::Word, self.answer_words() as f64, 1),
            extract: Counts::new().with(Operation::Decrypt, chunks as f64, 1),
        }
    }

    /// Coding so many columns, each word in the levels of the interpolation, and preparing all packs.
    pub(super) fn preparing(&self, columns: usize) -> Counts {
        let layout = self.layout();
        let words = (layout.rows() * columns) as f64;
        let (levels, rotations) = layout.interpolation.work(layout.degree);
        self.packing().with(Operation::Encode16, words, columns).with(
            Operation::Interpolate,
            words * (levels + ROTATION_LEVELS * rotations),
            columns,
        )
    }

    /// Preparing all packs: every row is multiplied with the masks of all blocks of d columns.
    fn packing(&self) -> Counts {
        let layout = self.layout();
        let (rows, packs) = (layout.rows(), layout.packs());
        let blocks = layout.columns.div_ceil(layout.degree);
        // A pack of two digits is the unit; what grows with their number is about half of it.
        let pack = 0.5 + 0.25 * self.literal().key_switch.levels as f64;
        Counts::new().with(Operation::HintTransform, (rows * blocks) as f64, self.groups()).with(
            Operation::Pack,
            packs as f64 * pack,
            packs,
        )
    }

    /// Bytes of database and packing matrices.
    pub(super) fn stored_bytes(&self) -> u64 {
        let sizes = self.sizes();
        sizes.database + sizes.material
    }

    /// External products of two digits: 4·ℓ transforms of digits and 4 of sums take the time.
    fn products(&self) -> f64 {
        let layout = self.layout();
        let transforms = (self.literal().rgsw.levels + 1) as f64 / 3.0;
        ((layout.points - 1) * layout.chunks) as f64 * transforms
    }

    /// Polynomials in one variable that threads evaluate at the same time.
    fn polynomials(&self) -> usize {
        let layout = self.layout();
        layout.packs() / layout.interpolation.variables().next().unwrap_or(1)
    }

    /// Words of messages: the selector is unpacked and split into planes, the keys are unpacked and
    /// lifted, every row is lifted, and mask and body of each result are rounded and packed.
    fn answer_words(&self) -> usize {
        let &Layout { degree, chunks, columns, .. } = self.layout();
        2 * columns + 2 * self.key_elements().len() * degree + self.layout().rows() + 4 * chunks * degree
    }

    /// Row groups: what threads share.
    fn groups(&self) -> usize {
        self.layout().rows() / papir_kernels::matvec_i16::ROWS
    }

    /// Bytes of a query and its answer.
    pub(super) fn message_bytes(&self) -> u64 {
        let sizes = self.sizes();
        sizes.query + sizes.answer
    }

    /// Seconds of one core for an answer, roughly: for comparing candidates only.
    pub(super) fn rough_seconds(&self) -> f64 {
        self.stored_bytes() as f64 / READ_RATE + self.products() * EXTERNAL_PRODUCT
    }

    /// Seconds of one core for a setup, as roughly.
    pub(super) fn rough_setup_seconds(&self) -> f64 {
        self.work().setup.seconds(&Rates::BUILT_IN, 1)
    }

    /// What the goal minimises.
    pub(super) fn score(&self, goal: Goal) -> f64 {
        let bytes = self.message_bytes() as f64;
        match goal {
            Goal::MinCommunication => bytes,
            Goal::Balanced => bytes / BALANCED_LINE + self.rough_seconds(),
            Goal::MinTime => self.rough_seconds(),
        }
    }

    /// Whether the material may be as large as it is: as the database (four times it for the least
    /// communication) and a fiftieth more, unless a single pack a chunk already exceeds that.
    pub(super) fn affordable(&self, goal: Goal) -> bool {
        let sizes = self.sizes();
        let times = if goal == Goal::MinCommunication { 4.0 } else { 1.0 };
        self.layout().points == 1 || sizes.material as f64 <= 1.02 * times * sizes.database as f64
    }
}
