//! Parameters of DoublePIR: matrix, LWE set and message bits.

use papir_core::Choice;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters};
use papir_core::{Description, Error, Privacy, Result, Shape, Sizes, UpdateCost};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LOG2_Q, LweParams, N, SIGMA, matrix_bytes};

use super::digits::{BODY, DIGIT_BITS, MASK};
use super::layout::{Layout, MAX_RECORD_BITS, MAX_SIDE, units_of};
use super::noise::{self, Bits, Bounds, FIRST, SECOND, coefficients};
use super::second::digit_rows;
use crate::shared::messages::{
    SEED_BYTES, SHAPE_BYTES, read_all, read_bytes, read_shape, write_bytes, write_shape,
};
use crate::shared::parameters::{
    best, heights_near, one_record, refused, sealed, sealed_public, security, unfit,
};

/// The scheme's name.
pub(super) const NAME: &str = "double";
/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 8 + 4;

/// DoublePIR.
pub struct Double;

/// Parameters of [`Double`].
#[derive(Clone, Debug)]
pub struct DoubleParams {
    shape: Shape,
    pub(super) layout: Layout,
    pub(super) bits: Bits,
    pub(super) bounds: Bounds,
    pub(super) lwe: LweParams,
}

impl DoubleParams {
    /// The matrix with `units` units in each column, and the fewest message bits. A unit is as many
    /// records as fit the bytes of one.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for records above [`MAX_RECORD_BITS`], or for more units or columns
    /// than the noise allows.
    pub fn new(shape: Shape, units: u64) -> Result<Self> {
        let layout = Layout::new(&shape, units)?;
        let bits = noise::choose(&layout).ok_or_else(|| too_noisy(&layout))?;
        Self::with_bits(shape, layout, bits)
    }

    /// [`Self::new`] with at most `columns` columns, as many as whole units allow.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        Self::new(shape, units_of(&shape)?.0.div_ceil(columns.max(1)))
    }

    /// Checks bits.
    fn with_bits(shape: Shape, layout: Layout, bits: Bits) -> Result<Self> {
        for found in [bits.first, bits.second, bits.mask, bits.body] {
            if !(1..=LOG2_Q).contains(&found) {
                return Err(Error::out_of_bounds("the bits of a word of double", found.into(), "1 to 32"));
            }
        }
        let bounds = noise::bounds(&layout, &bits).ok_or_else(|| too_noisy(&layout))?;
        Ok(Self { shape, layout, bits, bounds, lwe: LweParams::new().map_err(unfit(NAME))? })
    }

    /// Bytes of a row of the hint: n words. n is a multiple of 8, so rows are whole bytes.
    pub(super) fn hint_row_bytes(&self) -> usize {
        packed_len(N, self.bits.mask)
    }

    /// Bytes of the hint.
    pub(super) fn hint_bytes(&self) -> usize {
        digit_rows(&self.layout) * self.hint_row_bytes()
    }

    /// Bytes of both parts of a query's payload.
    pub(super) fn query_bytes(&self) -> [usize; 2] {
        let Layout { columns, units, .. } = self.layout;
        [packed_len(columns, self.bits.first), packed_len(units, self.bits.second)]
    }

    /// Words of an answer's masks.
    pub(super) fn answer_masks(&self) -> usize {
        self.layout.unit_bytes * BODY.count * N
    }

    /// Bytes of both parts of an answer's payload.
    pub(super) fn answer_bytes(&self) -> [usize; 2] {
        let bodies = packed_len(coefficients(&self.layout), self.bits.body);
        [packed_len(self.answer_masks(), self.bits.mask), bodies]
    }

    fn sizes(&self) -> Sizes {
        let (layout, hint) = (&self.layout, self.hint_bytes());
        Sizes {
            public: sealed_public(ENCODED_BYTES, SEED_BYTES + hint),
            hint: hint as u64,
            query: sealed(self.query_bytes().iter().sum()),
            answer: sealed(self.answer_bytes().iter().sum()),
            database: matrix_bytes(layout.rows(), layout.columns),
            material: matrix_bytes(digit_rows(layout), layout.units) + (4 * N * digit_rows(layout)) as u64,
            ..Sizes::default()
        }
    }

    /// Work of the verbs: both hints and the masks of an answer are products of bytes with masks;
    /// an answer reads database and digits; a client encrypts a word for each column and unit, and
    /// reads a row of the hint for each digit.
    fn work(&self) -> Work {
        let Layout { columns, units, unit_bytes, .. } = self.layout;
        let matrices = [(self.layout.rows(), columns), (digit_rows(&self.layout), units)];
        let [database, digits] =
            matrices.map(|(rows, columns)| (matrix_bytes(rows, columns) as f64, rows.div_ceil(ROWS)));
        let [first, second] = matrices.map(|(rows, columns)| transformed_bytes(rows, columns) as f64);
        let online = BODY.count * unit_bytes;
        let words = 2 * columns + (2 + online) * units + coefficients(&self.layout);
        Work {
            setup: Counts::new()
                .with(Operation::Encode8, database.0, 1)
                .with(Operation::HintProduct8, first, database.1)
                .with(Operation::HintProduct8, second, digits.1),
            query: Counts::new().with(Operation::EncryptColumn, (columns + units) as f64, 1),
            answer: Counts::new()
                .with(Operation::Select8, database.0, database.1)
                .with(Operation::Select8, digits.0, digits.1)
                .with(Operation::HintProduct8, transformed_bytes(online, units) as f64, online)
                .with(Operation::Word, words as f64, 1),
            extract: Counts::new().with(Operation::DecryptRow, coefficients(&self.layout) as f64, 1),
        }
    }

    /// The parameters by name.
    fn values(&self) -> Vec<(&'static str, String)> {
        let Self { layout, bits, .. } = self;
        let deviations = [
            FIRST.deviation(layout.columns, LOG2_Q - bits.first, MASK.dropped_bits()),
            SECOND.deviation(layout.units, LOG2_Q - bits.second, LOG2_Q - bits.mask),
        ];
        let [first, second] = deviations.map(|deviation| format!("{:.2}", deviation.log2()));
        vec![
            ("n", N.to_string()),
            ("log2 q", LOG2_Q.to_string()),
            ("sigma", SIGMA.to_string()),
            ("p of the first level", "256".to_owned()),
            ("p of the second level", (1u32 << DIGIT_BITS).to_string()),
            ("digits of a mask and of a body", format!("{} and {}", MASK.count, BODY.count)),
            ("unit bytes", layout.unit_bytes.to_string()),
            ("columns", layout.columns.to_string()),
            ("units of a column", layout.units.to_string()),
            ("query bits", format!("{} and {}", bits.first, bits.second)),
            ("mask bits", bits.mask.to_string()),
            ("body bits", bits.body.to_string()),
            ("log2 noise of the first level", first),
            ("log2 noise of the second level", second),
        ]
    }
}

fn too_noisy(layout: &Layout) -> Error {
    let Layout { columns, units, .. } = layout;
    refused(NAME)(format!("the noise of {columns} columns of {units} units exceeds the decoding limit"))
}

impl Parameters for DoubleParams {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let (all, unit_bytes) = units_of(&shape)?;
        let (word, byte) = costs(goal);
        let unit = word + byte * (unit_bytes as usize * N * MASK.count) as f64;
        let (least, most) = (all.div_ceil(MAX_SIDE), all.min(MAX_SIDE));
        if least > most {
            return Err(refused(NAME)(format!("{all} units: at most {MAX_SIDE} columns of as many")));
        }
        let ideal = (all as f64 * word / unit).sqrt() as u64;
        let heights = heights_near(ideal, least..=most);
        let layouts = heights.map(|units| Layout::new(&shape, units)).collect::<Result<Vec<_>>>()?;
        let cost = |layout: &Layout| {
            let read = byte * matrix_bytes(layout.rows(), layout.columns) as f64;
            read + word * layout.columns as f64 + unit * layout.units as f64
        };
        Self::new(shape, best(layouts, cost).map_or(least, |layout| layout.units as u64))
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Columns(columns) => Self::with_columns(shape, columns),
            other => Err(other.refused_by(NAME)),
        }
    }

    fn label(&self) -> String {
        format!("{} units, {} columns", self.layout.units, self.layout.columns)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape,
            sizes: self.sizes(),
            security: Some(security(self.lwe.security())),
            failure_log2: self.bounds.failure_log2,
            limits: one_record(MAX_RECORD_BITS, UpdateCost::PerRecord),
            parameters: self.values(),
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.u64(self.layout.units as u64);
        let Bits { first, second, mask, body } = self.bits;
        write_bytes(&mut writer, [first, second, mask, body]);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let read = |reader: &mut Reader<'_>| Ok((read_shape(reader)?, reader.u64()?, read_bytes(reader)?));
        let (shape, units, [first, second, mask, body]) = read_all("double's parameters", bytes, read)?;
        Self::with_bits(shape, Layout::new(&shape, units)?, Bits { first, second, mask, body })
    }
}

/// Cost under a goal, in nanoseconds, of a word of the query and of a byte that the server reads: a
/// word of about 26 bits is sent at 10 Mbit/s, or only made and parsed; a core reads 25 GB/s.
fn costs(goal: Goal) -> (f64, f64) {
    match goal {
        Goal::MinCommunication => (2600.0, 0.0),
        Goal::Balanced => (2600.0, 0.04),
        Goal::MinTime => (2.0, 0.04),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn described(records: u64, bits: u64, goal: Goal) -> Description {
        DoubleParams::choose(Shape::new(records, bits).unwrap(), goal).unwrap().describe()
    }

    #[test]
    fn choices_fit_their_goals() {
        for (records, bits) in [(1 << 30, 8), (1 << 32, 1), (1_000_003, 16), (1 << 20, 1), (99_991, 64)] {
            let goals = [Goal::MinCommunication, Goal::Balanced, Goal::MinTime];
            let [least, balanced, fast] = goals.map(|goal| described(records, bits, goal).sizes);
            let traffic = |sizes: Sizes| sizes.query + sizes.answer;
            let work = |sizes: Sizes| sizes.database + sizes.material;
            assert!(traffic(least) <= traffic(balanced) && traffic(balanced) <= traffic(fast));
            assert!(work(fast) <= work(balanced) && work(balanced) <= work(least));
            let shape = Shape::new(records, bits).unwrap();
            let units = units_of(&shape).unwrap().0 as f64;
            let words = (least.query as f64 - 32.0) * 8.0 / 25.0;
            assert!(words <= 1.05 * 2.0 * units.sqrt() + 32.0, "{records} × {bits} bits: {words} words");
            assert!((fast.database as f64) < 1.05 * shape.total_bytes() as f64 + 1e6);
        }
    }

    /// The shape of the papers' tables. The reference program sends 312 KiB and 32 KiB after a hint
    /// of 16 MiB.
    #[test]
    fn a_gibibyte_costs_what_the_documentation_says() {
        let sizes = described(1 << 30, 8, Goal::MinCommunication).sizes;
        assert_eq!((sizes.query, sizes.answer, sizes.hint), (204_875, 9_892, 7_471_104));
    }

    #[test]
    fn parameters_survive_their_bytes_and_bad_ones_are_refused() {
        let params = DoubleParams::choose(Shape::new(12_345, 13).unwrap(), Goal::Balanced).unwrap();
        let bytes = params.encode();
        assert_eq!(bytes.len(), ENCODED_BYTES);
        assert_eq!(DoubleParams::decode(&bytes).unwrap().describe(), params.describe());
        for (position, value) in [(24, 0), (25, 33), (26, 255), (24, 9), (25, 9), (26, 9), (27, 6)] {
            let mut bad = bytes.clone();
            bad[position] = value;
            assert!(DoubleParams::decode(&bad).is_err(), "{value} at {position}");
        }
    }

    #[test]
    fn extremes_are_taken_or_refused_with_a_reason() {
        for (records, bits) in [(1 << 38, 1), (1 << 32, 8), (1, 1), (1, 64), (1 << 30, 64)] {
            let description = described(records, bits, Goal::MinTime);
            assert!(description.failure_log2 <= -40.0, "{records} × {bits}: {}", description.failure_log2);
            assert!(description.security.unwrap().bits >= 128.0);
        }
        let error = DoubleParams::choose(Shape::new(9, 65).unwrap(), Goal::Balanced).unwrap_err();
        assert!(error.to_string().contains("at most 64"), "{error}");
        let error = DoubleParams::choose(Shape::new(1 << 40, 8).unwrap(), Goal::MinTime).unwrap_err();
        assert!(error.to_string().contains("at most 262144 columns"), "{error}");
    }
}
