//! Parameters of ZipPIR: SimplePIR's matrix for a shape, the client's modulus, slots and rounding.

use std::marker::PhantomData;

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Operation, Work};
use papir_core::scheme::{Goal, Parameters};
use papir_core::{
    Description, Error, Limits, MAX_RECORD_BITS, MAX_RECORDS, Result, Security, Shape, Sizes, UpdateCost,
    envelope,
};
use papir_kernels::bits::packed_len;
use papir_kernels::rows8::ROWS;
use papir_lattice::lwe32::{LOG2_Q, LweParams, MODULE_SIGMA, matrix_bytes};
use papir_paillier as paillier;

use super::Strength;
use super::noise::{self, Budget};
use super::residues::{Dimensions, Residues, primes_for};
use super::slots::{LOG2_DELTA, SLOT_BITS, slots};
use crate::refusal::unfit;
use crate::shape_io::{SHAPE_BYTES, read_shape, write_shape};
use crate::simple::layout::{Layout, heights};

/// Bytes of a seed.
pub(super) const SEED_BYTES: usize = 32;
/// Bytes of a number of a ticket.
pub(super) const NUMBER_BYTES: usize = 8;
/// Bytes of what tells one client's tickets from another's.
pub(super) const TAG_BYTES: usize = 16;
/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 8;
/// Bits of security that a modulus of 3,072 bits is taken for.
const MODULUS_SECURITY: f64 = 128.0;
/// Bytes that a server reads in the time in which a line of 10 Mbit/s carries one: 10 GB/s.
const BYTES_READ: f64 = 8000.0;
/// Candidate heights that are compared.
const CANDIDATES: u64 = 2048;

/// Parameters of [`Zip`](super::Zip).
#[derive(Clone, Debug)]
pub struct ZipParams<T> {
    shape: Shape,
    pub(super) layout: Layout,
    pub(super) budget: Budget,
    pub(super) lwe: LweParams,
    pub(super) paillier: paillier::Params,
    /// S, rows of a ciphertext.
    pub(super) slots: usize,
    strength: PhantomData<fn() -> T>,
}

impl<T: Strength> ZipParams<T> {
    /// The matrix with `column_units` units in each column; a unit is the fewest records that fill
    /// whole bytes.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] when rows or columns are too many for the noise.
    pub fn new(shape: Shape, column_units: u64) -> Result<Self> {
        let layout = Layout::new(&shape, column_units)?;
        let refused = |reason: String| Error::Parameters { scheme: T::NAME, reason };
        let lwe = LweParams::binary().map_err(unfit(T::NAME))?;
        let budget = noise::budget(&layout, lwe.n()).ok_or_else(|| {
            refused(format!("the noise of {} columns exceeds the decoding limit", layout.columns))
        })?;
        let paillier = T::paillier().map_err(|error| refused(error.to_string()))?;
        let slots = slots(paillier.modulus_bits(), lwe.n());
        Ok(Self { shape, layout, budget, lwe, paillier, slots, strength: PhantomData })
    }

    /// n, words of an LWE key and ciphertexts of a compression key.
    pub(super) fn n(&self) -> usize {
        self.lwe.n()
    }

    /// Ciphertexts of a ticket and of an answer.
    pub(super) fn ciphertexts(&self) -> usize {
        self.layout.rows.div_ceil(self.slots)
    }

    /// Bits of a word of the query.
    pub(super) fn query_bits(&self) -> u32 {
        LOG2_Q - self.budget.dropped_bits
    }

    /// Digits that an exponent is stored in: whole words of 64 bits.
    pub(super) fn exponent_digits(&self) -> usize {
        self.slots.next_multiple_of(4)
    }

    /// Bytes of all exponents.
    pub(super) fn exponent_bytes(&self) -> usize {
        2 * self.ciphertexts() * self.n() * self.exponent_digits()
    }

    /// H as a matrix of wide integers.
    pub(super) fn dimensions(&self) -> Dimensions {
        Dimensions { rows: self.ciphertexts(), columns: self.n() }
    }

    /// Digits of a plaintext.
    pub(super) fn plaintext_digits(&self) -> usize {
        4 * self.paillier.plaintext_words()
    }

    /// Bits of the longest sum of the second product.
    fn product_bits(&self) -> u32 {
        let sum = self.n().next_power_of_two().ilog2();
        self.slots as u32 * SLOT_BITS + self.paillier.modulus_bits() + sum
    }

    /// The system in which the second product is computed.
    pub(super) fn residues(&self) -> Residues {
        Residues::new(self.product_bits(), self.plaintext_digits().max(self.exponent_digits()))
    }

    /// Bytes of H's residues.
    pub(super) fn residue_bytes(&self) -> usize {
        4 * self.dimensions().residues(primes_for(self.product_bits()))
    }

    pub(super) fn keys_bytes(&self) -> usize {
        self.paillier.modulus_bytes() + SEED_BYTES
    }

    pub(super) fn query_bytes(&self) -> usize {
        let offsets = self.n() * self.paillier.plaintext_bytes();
        NUMBER_BYTES + offsets + packed_len(self.layout.columns, self.query_bits())
    }

    pub(super) fn answer_bytes(&self) -> usize {
        self.ciphertexts() * self.paillier.ciphertext_bytes()
    }

    pub(super) fn ticket_bytes(&self) -> usize {
        NUMBER_BYTES + TAG_BYTES + self.answer_bytes()
    }

    fn sizes(&self) -> Sizes {
        let sealed = |payload: usize| (payload + envelope::OVERHEAD) as u64;
        Sizes {
            public: sealed(8 + ENCODED_BYTES + SEED_BYTES),
            keys: sealed(self.keys_bytes()),
            ticket: self.ticket_bytes() as u64,
            query: sealed(self.query_bytes()),
            query_keys: (self.n() * self.paillier.plaintext_bytes()) as u64,
            answer: sealed(self.answer_bytes()),
            database: matrix_bytes(self.layout.rows, self.layout.columns),
            material: (self.exponent_bytes() + self.residue_bytes()) as u64,
            ..Sizes::default()
        }
    }

    /// What the verbs do, Paillier's part of client and tickets left out: that is done ahead. An answer reads
    /// H's residues besides.
    fn work(&self) -> Work {
        let (work, groups) = (self.layout.work(), self.layout.rows.div_ceil(ROWS));
        Work { answer: work.answer.with(Operation::Matrix, self.residue_bytes() as f64, groups), ..work }
    }

    /// The security of LWE, unless the modulus is short; never above what 3,072 bits are taken for.
    fn security(&self) -> Option<Security> {
        let lwe = self.lwe.security();
        let bits = lwe.matzov.min(MODULUS_SECURITY);
        self.paillier.is_secure().then_some(Security { bits, source: lwe.set })
    }

    /// The same parameters for another matrix; `None` where its noise is too much.
    fn with_layout(self, layout: Layout) -> Option<Self> {
        let budget = noise::budget(&layout, self.n())?;
        Some(Self { layout, budget, ..self })
    }

    /// What they cost under a goal, in bytes sent or touched.
    fn cost(&self, goal: Goal) -> f64 {
        let sent = (self.query_bytes() + self.answer_bytes()) as f64;
        let matrix = matrix_bytes(self.layout.rows, self.layout.columns);
        let read = (matrix + self.residue_bytes() as u64) as f64;
        match goal {
            Goal::MinCommunication => sent,
            // The server works ahead for each byte of a ticket: as much to save as a byte on the line.
            Goal::Balanced => sent + read / BYTES_READ + self.ticket_bytes() as f64,
            Goal::MinTime => read + sent / 100.0,
        }
    }
}

impl<T: Strength> Parameters for ZipParams<T> {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let heights = heights(T::NAME, &shape)?;
        let (least, most) = (*heights.start(), *heights.end());
        let candidates = heights.step_by(((most - least) / CANDIDATES + 1) as usize).chain([most]);
        let highest = Self::new(shape, most)?;
        let weighed = candidates.map(|height| {
            let candidate = highest.clone().with_layout(Layout::new(&shape, height)?);
            Ok((candidate.map_or(f64::INFINITY, |params| params.cost(goal)), height))
        });
        let weighed = weighed.collect::<Result<Vec<_>>>()?;
        let best = weighed.iter().min_by(|a, b| a.0.total_cmp(&b.0));
        Self::new(shape, best.map_or(most, |(_, height)| *height))
    }

    fn label(&self) -> String {
        format!("{} rows, {} columns", self.layout.rows, self.layout.columns)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        let Layout { rows, columns, .. } = self.layout;
        Description {
            scheme: T::NAME,
            privacy: T::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: self.security(),
            failure_log2: self.budget.failure_log2,
            limits: Limits {
                records: MAX_RECORDS,
                record_bits: MAX_RECORD_BITS,
                batch: 1,
                client_keys: true,
                tickets: true,
                update: UpdateCost::PerRecord,
            },
            parameters: vec![
                ("n", self.n().to_string()),
                ("log2 q", LOG2_Q.to_string()),
                ("log2 delta", LOG2_DELTA.to_string()),
                ("sigma", MODULE_SIGMA.to_string()),
                ("rows", rows.to_string()),
                ("columns", columns.to_string()),
                ("query bits", self.query_bits().to_string()),
                ("log2 m", self.paillier.modulus_bits().to_string()),
                ("slots", self.slots.to_string()),
                ("ciphertexts", self.ciphertexts().to_string()),
            ],
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.u64(self.layout.column_units);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("zip's parameters", bytes);
        let (shape, column_units) = (read_shape(&mut reader)?, reader.u64()?);
        reader.finish()?;
        Self::new(shape, column_units)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::Full;
    use super::*;
    use papir_core::cost::Rates;

    fn described(records: u64, bits: u64, goal: Goal) -> Description {
        ZipParams::<Full>::choose(Shape::new(records, bits).unwrap(), goal).unwrap().describe()
    }

    #[test]
    fn choices_fit_their_goals() {
        for (records, bits) in [(1 << 24, 512), (1_000_003, 8), (1 << 20, 1), (99_991, 4096)] {
            let [least, balanced, fast] = Goal::ALL.map(|goal| described(records, bits, goal));
            let traffic = |one: &Description| one.sizes.query + one.sizes.answer;
            assert!(traffic(&least) <= traffic(&balanced) + 1000 && traffic(&least) <= traffic(&fast) + 1000);
            let seconds = |one: &Description| one.work.answer.core_seconds(&Rates::BUILT_IN);
            assert!(seconds(&fast) <= 1.02 * seconds(&least).min(seconds(&balanced)));
        }
    }

    #[test]
    fn parameters_survive_their_bytes() {
        let params = ZipParams::<Full>::choose(Shape::new(12_345, 13).unwrap(), Goal::Balanced).unwrap();
        let again = ZipParams::<Full>::decode(&params.encode()).unwrap();
        assert_eq!((again.describe(), params.encode().len()), (params.describe(), ENCODED_BYTES));
    }

    #[test]
    fn a_gibibyte_takes_what_the_table_says() {
        let sizes = described(1 << 16, 1 << 17, Goal::MinCommunication).sizes;
        assert!(sizes.query < 640 << 10 && sizes.answer < 130 << 10, "{sizes:?}");
        assert!(sizes.keys < 500, "{sizes:?}");
    }

    #[test]
    fn extremes_are_taken_or_refused_with_a_reason() {
        for (records, bits) in [(1 << 40, 1), (1 << 32, 8), (1, 1 << 21), (1 << 16, 1 << 21)] {
            let description = described(records, bits, Goal::Balanced);
            assert!(description.failure_log2 <= -40.0, "{records} × {bits}: {}", description.failure_log2);
            assert!(description.security.unwrap().bits >= 128.0);
        }
        let error = ZipParams::<Full>::choose(Shape::new(1 << 40, 1 << 21).unwrap(), Goal::Balanced);
        assert!(matches!(error, Err(Error::Parameters { .. })));
    }
}
