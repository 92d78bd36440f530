//! Checked parameters of InsPIRe, sizes and work.
//!
//! Sizes follow Theorem 12, in papir's encoding.

use papir_core::cost::{Counts, DividedWork, Operation, Rates, Work};
use papir_core::scheme::Parameters as _;
use papir_core::{Goal, Result, Sizes};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_i16;
use papir_lattice::gadget::Gadget;
use papir_lattice::packing::Packing;
use papir_lattice::packing::inspiring::{Inspiring, matrix_words};
use papir_lattice::params::RlweParams;
use papir_lattice::rgsw;
use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Values};

use super::interpolation::MAX_VARIABLES;
use super::layout::{Layout, PLAINTEXT};
use super::literal::NAME;
pub use super::literal::{KeyBits, Literal};
use super::noise::Noise;
use crate::shared::matrices::Selector;
use crate::shared::messages::SEED_BYTES;
use crate::shared::parameters::{
    READ_RATE, check_failure, refused, score, sealed, sealed_public, unfit,
};

/// Seconds of one external product of two digits, to compare candidates.
const EXTERNAL_PRODUCT: f64 = 5e-5;
/// Number of transform levels that take the time of one rotation and addition of Lagrange
/// interpolation. The time of a level is measured on the two levels of four elements, with all
/// costs of t > 1.
const ROTATION_LEVELS: f64 = 0.25;
/// Labels of the masks of the RGSW encryptions, for each variable's point.
const RGSW: [&str; MAX_VARIABLES] = [
    "inspire/rgsw",
    "inspire/rgsw/1",
    "inspire/rgsw/2",
    "inspire/rgsw/3",
];

/// Checked parameters with the tables built from them.
#[derive(Clone, Debug)]
pub struct Params {
    literal: Literal,
    layout: Layout,
    rlwe: RlweParams,
    key_switch: Gadget,
    rgsw: Gadget,
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
        Self::of_ring(literal, RlweParams::new(literal.rlwe).map_err(unfit(NAME))?)
    }

    /// Creates the parameters of [`Params::new`] from the tables of the literal's ring.
    pub(super) fn of_ring(literal: Literal, rlwe: RlweParams) -> Result<Self> {
        let params = Self::build(literal, rlwe)?;
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
        let layout = Layout::new(literal.shape, literal.rlwe.degree, literal.interpolation)?;
        let modulus = rlwe.ring().modulus();
        literal.check(modulus)?;

        let gadget = |params| Gadget::new(rlwe.ring(), params).map_err(refused(NAME));
        let key_switch = gadget(literal.key_switch)?;
        let rgsw = gadget(literal.rgsw)?;
        let noise = Noise::compute(&literal, &layout, modulus as f64);
        let failure_log2 = noise.failure_log2(&layout, modulus as f64, &literal);

        Ok(Self {
            literal,
            layout,
            rlwe,
            key_switch,
            rgsw,
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
    pub fn key_switch(&self) -> &Gadget {
        &self.key_switch
    }

    /// Returns the gadget of the RGSW encryptions.
    pub fn rgsw(&self) -> &Gadget {
        &self.rgsw
    }

    /// Returns the predicted noise of an answer.
    pub fn noise(&self) -> &Noise {
        &self.noise
    }

    /// Returns Δ = round(q/p).
    pub fn scale(&self) -> u64 {
        let p = u64::from(PLAINTEXT);
        (self.rlwe.ring().modulus() + p / 2) / p
    }

    /// Returns the number of RGSW rows for the point of each variable.
    pub(super) fn rgsw_rows(&self) -> usize {
        2 * self.literal.rgsw.levels
    }

    /// Splits the key material of a query into the packing key and the RGSW bodies.
    pub(super) fn split_keys<'a>(&self, keys: &'a [u64]) -> (&'a [u64], &'a [u64]) {
        let bodies = self.layout.interpolation.variables().len() * self.rgsw_rows();
        // Missing words leave a packing key of no words, which is refused.
        keys.split_at(keys.len().saturating_sub(bodies * self.layout.degree))
    }

    /// Returns the bits of a coefficient for each ring element of key material in a query: y_g, y_h
    /// and, variable by variable, RGSW bodies. There are no RGSW bodies if a column is a single
    /// point.
    pub fn key_elements(&self) -> Vec<u32> {
        let levels = self.literal.key_switch.levels;
        let counts = [
            levels,
            levels,
            self.layout.interpolation.variables().len() * self.rgsw_rows(),
        ];

        let kinds = self.literal.key_bits.all().into_iter().zip(counts);
        kinds
            .flat_map(|(bits, count)| std::iter::repeat_n(bits, count))
            .collect()
    }

    /// Returns the selector of a column.
    pub fn selector(&self) -> Selector<'_> {
        Selector {
            rlwe: &self.rlwe,
            label: "inspire/selector",
            columns: self.layout.columns,
            scale: self.scale(),
            bits: self.literal.query_bits,
        }
    }

    /// Creates InspiRING under the masks w_g and w_h of a public seed.
    ///
    /// # Errors
    /// None for checked parameters; otherwise [`papir_core::Error::Parameters`] for a gadget that
    /// does not fit.
    pub fn packing(&self, seed: &Seed) -> Result<Packing<Inspiring>> {
        Packing::new(&self.rlwe, &self.key_switch, self.layout.degree, seed).map_err(refused(NAME))
    }

    /// Expands the masks of the RGSW encryptions, variable by variable. There are none if a column
    /// is a single point.
    pub fn rgsw_masks(&self, seed: &Seed) -> Vec<Poly<Values>> {
        let labels = RGSW
            .iter()
            .take(self.layout.interpolation.variables().len());
        labels
            .flat_map(|label| rgsw::masks(self.rlwe.ring(), seed, label, &self.rgsw))
            .collect()
    }

    /// Returns the payload bytes of the selector, and of the key material.
    pub fn query_parts(&self) -> (usize, usize) {
        let selector = packed_len(self.layout.columns, self.literal.query_bits);
        let keys = self
            .key_elements()
            .into_iter()
            .map(|bits| packed_len(self.layout.degree, bits))
            .sum();
        (selector, keys)
    }

    /// Returns the payload bytes of an answer.
    pub(super) fn answer_bytes(&self) -> usize {
        let coefficients = self.layout.chunks * self.layout.degree;
        let (a, b) = self.literal.answer_bits;
        packed_len(coefficients, a) + packed_len(coefficients, b)
    }

    /// Returns the bytes of one pack's matrix.
    fn matrix_bytes(&self) -> u64 {
        4 * matrix_words(self.layout.degree, self.literal.key_switch.levels) as u64
    }

    /// Returns the exact lengths of messages and stores.
    pub(super) fn sizes(&self) -> Sizes {
        let (selector, keys) = self.query_parts();
        // A coefficient is stored modulo two primes, in four bytes each.
        let element = 8 * self.layout.degree;
        let pack = self.matrix_bytes() + ((1 + self.literal.key_switch.levels) * element) as u64;
        let matrices = self.layout.packs() as u64 * self.matrix_bytes();
        let unit_layout = &self.layout.unit_layout;

        Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES),
            query_keys: keys as u64,
            query: sealed(selector + keys),
            answer: sealed(self.answer_bytes()),
            database: self.layout.matrix_bytes(),
            material: self.layout.packs() as u64 * pack,
            device: self.layout.matrix_bytes() + matrices,
            seen: unit_layout.seen(unit_layout.unit_bytes as u64, 0),
            ..Sizes::default()
        }
    }

    /// Returns the number of row groups, the units of work for threads.
    fn groups(&self) -> usize {
        self.layout.rows() / matvec_i16::ROWS
    }

    /// Returns the equivalent number of external products of two digits. An external product takes
    /// 4·ℓ transforms of digits and 4 of sums.
    fn products(&self) -> f64 {
        let transforms = (self.literal.rgsw.levels + 1) as f64 / 3.0;
        ((self.layout.points - 1) * self.layout.chunks) as f64 * transforms
    }

    /// Returns the work of each operation.
    pub(super) fn work(&self) -> Work {
        let layout = &self.layout;
        let keys = self.key_elements().len();
        let encryptions = layout.columns.div_ceil(layout.degree) + keys;

        Work {
            setup: self.preparing(2 * layout.pairs()),
            query: Counts::new().with(Operation::Encrypt, encryptions as f64, 1),
            answer: self.answering().together(),
            extract: Counts::new().with(Operation::Decrypt, layout.chunks as f64, 1),
        }
    }

    /// Returns the work of an answer. Its slices are packs.
    pub(super) fn answering(&self) -> DividedWork {
        let layout = &self.layout;
        let groups = self.groups();
        let keys = self.key_elements().len();
        let &Layout {
            degree,
            chunks,
            columns,
            ..
        } = layout;
        let matrices = layout.packs() as f64 * self.matrix_bytes() as f64;

        // Polynomials in one variable that threads evaluate in parallel.
        let polynomials = layout.packs() / layout.interpolation.variables().next().unwrap_or(1);

        // Selector, keys and rows are unpacked, split into planes or lifted; results are rounded
        // and packed.
        let [read, taken, given] = [
            2 * columns + keys * degree,
            layout.rows(),
            (keys + 4 * chunks) * degree,
        ]
        .map(|words| words as f64);

        DividedWork {
            slices: Counts::new()
                .with(Operation::Select16, layout.matrix_bytes() as f64, groups)
                .with(Operation::Matrix, matrices, groups)
                .with(Operation::Word, taken, 1),
            shard: Counts::new().with(Operation::Word, read, 1),
            combiner: Counts::new()
                .with(Operation::ExternalProduct, self.products(), polynomials)
                .with(Operation::Word, given, 1),
            // The masks of all packs.
            combiner_bytes: 8 * (layout.packs() * degree) as u64,
        }
    }

    /// Returns the work of encoding or decoding `columns` columns, each word in the levels of the
    /// interpolation, and of preparing all packs: every row is multiplied with the masks of all
    /// blocks of d columns.
    pub(super) fn preparing(&self, columns: usize) -> Counts {
        let layout = &self.layout;
        let packs = self.layout.packs();
        let transforms = layout.rows() as f64 * layout.columns.div_ceil(layout.degree) as f64;

        // A pack of two digits is the unit; about half of it grows with the number of digits.
        let pack = 0.5 + 0.25 * self.literal.key_switch.levels as f64;

        let words = layout.rows() as f64 * columns as f64;
        let (levels, rotations) = layout.interpolation.work(layout.degree);

        Counts::new()
            .with(Operation::HintTransform, transforms, self.groups())
            .with(Operation::Pack, packs as f64 * pack, packs)
            .with(Operation::Encode16, words, columns)
            .with(
                Operation::Interpolate,
                words * (levels + ROTATION_LEVELS * rotations),
                columns,
            )
    }

    /// Returns the bytes of a query and its answer.
    pub(super) fn message_bytes(&self) -> u64 {
        let sizes = self.sizes();
        sizes.query + sizes.answer
    }

    /// Estimates the seconds of one core for an answer, to compare candidates.
    pub(super) fn rough_seconds(&self) -> f64 {
        let Sizes {
            database, material, ..
        } = self.sizes();
        (database + material) as f64 / READ_RATE + self.products() * EXTERNAL_PRODUCT
    }

    /// Estimates the seconds of one core for a setup.
    pub(super) fn rough_setup_seconds(&self) -> f64 {
        self.work().setup.seconds(&Rates::BUILT_IN, 1)
    }

    /// Returns the cost that the goal minimises.
    pub(super) fn score(&self, goal: Goal) -> f64 {
        score(goal, self.message_bytes() as f64, self.rough_seconds())
    }

    /// Returns true if the material is at most 1.02 times the database, or 4.08 times for the least
    /// communication. A single pack in a chunk is always allowed.
    pub(super) fn affordable(&self, goal: Goal) -> bool {
        let Sizes {
            database, material, ..
        } = self.sizes();
        let times = if goal == Goal::MinCommunication {
            4.0
        } else {
            1.0
        };
        self.layout.points == 1 || material as f64 <= 1.02 * times * database as f64
    }
}
