//! Parameters of ZipPIR: SimplePIR's matrix for a shape, the client's modulus, slots and rounding.

use std::marker::PhantomData;

use papir_core::Choice;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Operation, Work};
use papir_core::scheme::{Goal, Parameters};
use papir_core::{
    Description, Error, Limits, MAX_RECORD_BITS, MAX_RECORDS, Result, Shape, Sizes, UpdateCost, envelope,
};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::{LOG2_Q, MODULE_SIGMA, matrix_bytes};

use super::Strength;
use super::noise::{self, Budget, LOG2_DELTA, LOG2_P};
use crate::shared::shapes::{SHAPE_BYTES, read_shape, write_shape};
use crate::simple::layout::{Layout, heights};
use crate::zip::compression::params::{DIGEST_BYTES, SEED_BYTES, cheapest};
use crate::zip::compression::{Compressed, Compression};

/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 8 + 4;

/// Parameters of [`Zip`](super::Zip).
#[derive(Clone, Debug)]
pub struct ZipParams<T> {
    shape: Shape,
    pub(super) layout: Layout,
    pub(super) budget: Budget,
    pub(super) compression: Compression,
    strength: PhantomData<fn() -> T>,
}

impl<T: Strength> Compressed for ZipParams<T> {
    fn compression(&self) -> &Compression {
        &self.compression
    }
}

impl<T: Strength> ZipParams<T> {
    /// The matrix with `column_units` units in each column; a unit is the fewest records that fill
    /// whole bytes. `key_bits` bits of the LWE key share one number of a query: 1 is the paper's main
    /// construction, more its packed compression key.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] when rows or columns are too many for the noise, [`Error::Parameters`] for
    /// unfit `key_bits`.
    pub fn new(shape: Shape, column_units: u64, key_bits: usize) -> Result<Self> {
        let layout = Layout::new(&shape, column_units)?;
        let compression = Compression::new::<T>(T::ZIP.0, layout.rows, key_bits, LOG2_P)?;
        let budget = noise::budget(&layout, compression.n()).ok_or_else(|| {
            let reason = format!("the noise of {} columns exceeds the decoding limit", layout.columns);
            Error::Parameters { scheme: T::ZIP.0, reason }
        })?;
        Ok(Self { shape, layout, budget, compression, strength: PhantomData })
    }

    /// The best for a goal, with so many bits of the LWE key in one number of a query, or as many as suit.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn choose_packed(shape: Shape, goal: Goal, key_bits: Option<usize>) -> Result<Self> {
        let heights = heights(T::ZIP.0, &shape)?;
        let any = Self::new(shape, *heights.end(), key_bits.unwrap_or(1))?;
        let compression = |bits| Compression::new::<T>(T::ZIP.0, 0, bits, LOG2_P);
        let cost = |height, compression: &Compression| {
            let candidate = any.with(Layout::new(&shape, height)?, compression);
            Ok(candidate.map_or(f64::INFINITY, |params| params.cost(goal)))
        };
        let (height, key_bits) = cheapest(heights, key_bits, compression, cost)?;
        Self::new(shape, height, key_bits)
    }

    /// Bits of a word of the query.
    pub(super) fn query_bits(&self) -> u32 {
        LOG2_Q - self.budget.dropped_bits
    }

    pub(super) fn query_bytes(&self) -> usize {
        self.compression.masked_key_bytes() + packed_len(self.layout.columns, self.query_bits())
    }

    fn sizes(&self) -> Sizes {
        let (compression, sealed) =
            (&self.compression, |payload: usize| (payload + envelope::OVERHEAD) as u64);
        Sizes {
            public: sealed(8 + ENCODED_BYTES + SEED_BYTES + DIGEST_BYTES),
            keys: sealed(compression.keys_bytes()),
            ticket: compression.ticket_bytes() as u64,
            query: sealed(self.query_bytes()),
            query_keys: compression.offsets_bytes() as u64,
            answer: sealed(compression.joined_bytes()),
            database: matrix_bytes(self.layout.rows, self.layout.columns),
            material: compression.material_bytes() as u64,
            ..Sizes::default()
        }
    }

    /// What the verbs do, Paillier's part of client and tickets left out: that is done ahead. An answer reads
    /// H's residues besides.
    fn work(&self) -> Work {
        let (work, groups) = (self.layout.work(), self.layout.rows.div_ceil(ROWS));
        let residues = self.compression.residue_bytes() as f64;
        Work { answer: work.answer.with(Operation::Matrix, residues, groups), ..work }
    }

    /// The same parameters for another matrix and packing; `None` where its noise is too much.
    fn with(&self, layout: Layout, compression: &Compression) -> Option<Self> {
        let compression = compression.clone().with_rows(layout.rows);
        let budget = noise::budget(&layout, compression.n())?;
        Some(Self { layout, budget, compression, ..self.clone() })
    }

    /// What they cost under a goal, in bytes sent or touched.
    fn cost(&self, goal: Goal) -> f64 {
        let sent = (self.query_bytes() + self.compression.joined_bytes()) as f64;
        let matrix = matrix_bytes(self.layout.rows, self.layout.columns);
        let read = (matrix + self.compression.residue_bytes() as u64) as f64;
        self.compression.cost(goal, sent, read)
    }
}

impl<T: Strength> Parameters for ZipParams<T> {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        Self::choose_packed(shape, goal, None)
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Registered { goal, key_bits, .. } => Self::choose_packed(shape, goal, key_bits),
            // Records of whole bytes are units of one record.
            Choice::Columns(columns) => Self::new(shape, shape.records().div_ceil(columns.max(1)), 1),
            other => Err(other.refused_by(T::ZIP.0)),
        }
    }

    fn label(&self) -> String {
        let Layout { rows, columns, .. } = self.layout;
        format!("{rows} rows, {columns} columns, {} key bits", self.compression.key_bits)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        let Layout { rows, columns, .. } = self.layout;
        Description {
            scheme: T::ZIP.0,
            privacy: T::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: self.compression.security(),
            failure_log2: self.budget.failure_log2,
            limits: Limits {
                records: MAX_RECORDS,
                record_bits: MAX_RECORD_BITS,
                batch: 1,
                client_keys: true,
                tickets: true,
                owner_key: false,
                update: UpdateCost::PerRecord,
            },
            parameters: [
                ("log2 q", LOG2_Q.to_string()),
                ("log2 delta", LOG2_DELTA.to_string()),
                ("sigma", MODULE_SIGMA.to_string()),
                ("rows", rows.to_string()),
                ("columns", columns.to_string()),
                ("query bits", self.query_bits().to_string()),
            ]
            .into_iter()
            .chain(self.compression.describe())
            .collect(),
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.u64(self.layout.column_units).u32(self.compression.key_bits as u32);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("zip's parameters", bytes);
        let (shape, column_units, key_bits) = (read_shape(&mut reader)?, reader.u64()?, reader.u32()?);
        reader.finish()?;
        Self::new(shape, column_units, key_bits as usize)
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
        assert!(sizes.query + sizes.answer < 575 << 10, "{sizes:?}");
        assert!(sizes.keys < 500, "{sizes:?}");
        // With its hint held, an answer takes half of it.
        let sizes = described(1 << 16, 1 << 17, Goal::Balanced).sizes;
        assert!(sizes.query < 450 << 10 && sizes.answer / 2 < 66 << 10, "{sizes:?}");
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
