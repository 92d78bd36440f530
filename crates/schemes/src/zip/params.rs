//! Parameters of ZipPIR: the matrix below, the client's modulus, slots and rounding.

use std::marker::PhantomData;

use papir_core::Choice;
use papir_core::codec::Writer;
use papir_core::cost::{Operation, Work};
use papir_core::scheme::{Goal, Parameters};
use papir_core::{Description, Limits, Result, Shape, Sizes, UpdateCost};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_u8::ROWS;

use super::base::{Base, ParameterSet};
use super::compression::{Compression, DIGEST_BYTES, MAX_KEY_BITS};
use crate::shared::messages::{SEED_BYTES, SHAPE_BYTES, read_all, read_shape, write_shape};
use crate::shared::parameters::{one_record, sealed, sealed_public};

/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 8 + 4;
/// Candidate heights compared for each number of key bits.
const CANDIDATES: u64 = 1024;

/// ZipPIR over a scheme.
pub struct ZipPir<B>(PhantomData<fn() -> B>);

/// Parameters of [`ZipPir`].
#[derive(Clone, Debug)]
pub struct ZipParams<B> {
    shape: Shape,
    pub(super) base: B,
    pub(super) compression: Compression,
}

impl<B: Base> ZipParams<B> {
    /// The matrix with `height` units in each column. `key_bits` bits of the LWE key share one
    /// number of a query: 1 is the paper's main construction, more its packed compression key.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for records, rows or columns beyond the limits of the
    /// scheme below; [`papir_core::Error::Parameters`] for too much noise or invalid `key_bits`.
    pub fn new(shape: Shape, height: u64, key_bits: usize) -> Result<Self> {
        let compression = Compression::new::<B::Set>(B::NAME, key_bits, B::MESSAGE_BITS)?;
        let base = B::new(&shape, height, &compression.lwe)?;
        let compression = compression.with_rows(base.hint_rows());
        Ok(Self { shape, base, compression })
    }

    /// The best parameters for a goal, with `key_bits` bits of the LWE key in one number of a query
    /// if given.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn choose_packed(shape: Shape, goal: Goal, key_bits: Option<usize>) -> Result<Self> {
        let (least, most) = B::heights(&shape)?.into_inner();
        let any = Self::new(shape, most, key_bits.unwrap_or(1))?;
        let mut best = (f64::INFINITY, most, key_bits.unwrap_or(1));
        for key_bits in key_bits.map_or(1..=MAX_KEY_BITS, |bits| bits..=bits) {
            let compression = Compression::new::<B::Set>(B::NAME, key_bits, B::MESSAGE_BITS)?;
            for height in (least..=most).step_by(((most - least) / CANDIDATES + 1) as usize).chain([most]) {
                let Some(base) = any.base.resized(&shape, height)? else { continue };
                let compression = compression.clone().with_rows(base.hint_rows());
                let cost = Self { shape, base, compression }.cost(goal);
                if cost < best.0 {
                    best = (cost, height, key_bits);
                }
            }
        }
        Self::new(shape, best.1, best.2)
    }

    pub(super) fn query_bytes(&self) -> usize {
        let parts = self.base.query_parts();
        let parts: usize = parts.iter().map(|part| packed_len(part.count, part.bits)).sum();
        self.compression.masked_key_bytes() + parts
    }

    fn answer_bytes(&self) -> usize {
        2 * self.base.online_words() + self.compression.joined_bytes()
    }

    fn sizes(&self) -> Sizes {
        let (compression, matrices) = (&self.compression, self.base.matrices());
        let kept = self.base.masks_bytes() + compression.material_bytes() as u64;
        Sizes {
            public: sealed_public(ENCODED_BYTES, SEED_BYTES + DIGEST_BYTES),
            keys: sealed(compression.keys_bytes()),
            ticket: compression.ticket_bytes() as u64,
            query: sealed(self.query_bytes()),
            query_keys: compression.offsets_bytes() as u64,
            answer: sealed(self.answer_bytes()),
            database: matrices[0],
            material: matrices[1..].iter().sum::<u64>() + kept,
            ..Sizes::default()
        }
    }

    /// Work of the verbs. It excludes Paillier operations of clients and tickets, which are done
    /// ahead; an answer also reads the residues of H.
    fn work(&self) -> Work {
        let (work, residues) = (self.base.work(), self.compression.residue_bytes() as f64);
        let groups = self.compression.rows.div_ceil(ROWS);
        Work { answer: work.answer.with(Operation::Matrix, residues, groups), ..work }
    }

    /// Cost under a goal, in bytes sent or read.
    fn cost(&self, goal: Goal) -> f64 {
        let sent = (self.query_bytes() + self.answer_bytes()) as f64;
        let read = self.base.matrices().iter().sum::<u64>() + self.compression.residue_bytes() as u64;
        self.compression.cost(goal, sent, read as f64)
    }
}

impl<B: Base> Parameters for ZipParams<B> {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        Self::choose_packed(shape, goal, None)
    }

    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            Choice::Registered { goal, key_bits, .. } => Self::choose_packed(shape, goal, key_bits),
            Choice::Columns(columns) => Self::new(shape, B::height_for(&shape, columns.max(1))?, 1),
            other => Err(other.refused_by(B::NAME)),
        }
    }

    fn label(&self) -> String {
        format!("{}, {} key bits", self.base.label(), self.compression.key_bits)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        let (one, other) = (self.compression.security(), self.base.security());
        Description {
            scheme: B::NAME,
            privacy: B::Set::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: one.map(|one| other.filter(|other| other.bits < one.bits).unwrap_or(one)),
            failure_log2: self.base.failure_log2(),
            limits: Limits {
                client_keys: true,
                tickets: true,
                ..one_record(B::MAX_RECORD_BITS, UpdateCost::PerRecord)
            },
            parameters: [self.base.describe(), self.compression.describe()].concat(),
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.u64(self.base.height()).u32(self.compression.key_bits as u32);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (shape, height, key_bits) = read_all("ZipPIR parameters", bytes, |reader| {
            Ok((read_shape(reader)?, reader.u64()?, reader.u32()?))
        })?;
        Self::new(shape, height, key_bits as usize)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::base::Standard;
    use super::super::over_double::Levels;
    use super::super::over_simple::Columns;
    use super::*;
    use papir_core::Error;
    use papir_core::cost::Rates;

    type OverSimple = ZipParams<Columns<Standard>>;
    type OverDouble = ZipParams<Levels<Standard>>;

    fn described<B: Base>(records: u64, bits: u64, goal: Goal) -> Description {
        ZipParams::<B>::choose(Shape::new(records, bits).unwrap(), goal).unwrap().describe()
    }

    fn over_simple(records: u64, bits: u64, goal: Goal) -> Description {
        described::<Columns<Standard>>(records, bits, goal)
    }

    fn over_double(records: u64, bits: u64, goal: Goal) -> Description {
        described::<Levels<Standard>>(records, bits, goal)
    }

    fn traffic(description: &Description) -> u64 {
        description.sizes.query + description.sizes.answer
    }

    #[test]
    fn choices_fit_their_goals() {
        for (records, bits) in [(1 << 24, 512), (1_000_003, 8), (1 << 20, 1), (99_991, 4096)] {
            let [least, balanced, fast] = Goal::ALL.map(|goal| over_simple(records, bits, goal));
            assert!(traffic(&least) <= traffic(&balanced) + 1000 && traffic(&least) <= traffic(&fast) + 1000);
            let seconds = |one: &Description| one.work.answer.core_seconds(&Rates::BUILT_IN);
            assert!(seconds(&fast) <= 1.02 * seconds(&least).min(seconds(&balanced)));
        }
        for (records, bits) in [(1 << 30, 8), (1_000_003, 16), (1 << 20, 1), (99_991, 64)] {
            let [least, balanced, fast] = Goal::ALL.map(|goal| over_double(records, bits, goal));
            assert!(traffic(&least) <= traffic(&balanced) + 1000 && traffic(&least) <= traffic(&fast) + 1000);
        }
    }

    fn survives_its_bytes<B: Base>() {
        let params = ZipParams::<B>::choose(Shape::new(12_345, 13).unwrap(), Goal::Balanced).unwrap();
        let again = ZipParams::<B>::decode(&params.encode()).unwrap();
        assert_eq!((again.describe(), params.encode().len()), (params.describe(), ENCODED_BYTES));
    }

    #[test]
    fn parameters_survive_their_bytes() {
        survives_its_bytes::<Columns<Standard>>();
        survives_its_bytes::<Levels<Standard>>();
    }

    #[test]
    fn a_gibibyte_has_the_sizes_of_the_table() {
        let sizes = over_simple(1 << 16, 1 << 17, Goal::MinCommunication).sizes;
        assert!(sizes.query + sizes.answer < 575 << 10, "{sizes:?}");
        assert!(sizes.keys < 500, "{sizes:?}");
        // With a held ticket, an answer is half as long.
        let sizes = over_simple(1 << 16, 1 << 17, Goal::Balanced).sizes;
        assert!(sizes.query < 450 << 10 && sizes.answer / 2 < 66 << 10, "{sizes:?}");
    }

    #[test]
    fn tickets_over_double_do_not_grow_with_the_records() {
        let of = |records: u64| OverDouble::new(Shape::of_bytes(records, 1).unwrap(), 1 << 10, 4);
        let [small, large] = [1 << 20, 1 << 28].map(|records| of(records).unwrap().describe().sizes);
        assert!(small.ticket == large.ticket && small.answer == large.answer && small.query < large.query);
    }

    #[test]
    fn extremes_are_accepted_or_refused_with_a_reason() {
        let simple = [(1 << 40, 1), (1 << 32, 8), (1, 1 << 21), (1 << 16, 1 << 21)];
        let simple = simple.map(|(records, bits)| over_simple(records, bits, Goal::Balanced));
        let double = [(1 << 38, 1), (1, 1), (1 << 30, 64)];
        let double = double.map(|(records, bits)| over_double(records, bits, Goal::Balanced));
        for description in simple.into_iter().chain(double) {
            assert!(description.failure_log2 <= -40.0, "{description:?}");
            assert!(description.security.unwrap().bits >= 128.0);
        }
        let error = OverSimple::choose(Shape::new(1 << 40, 1 << 21).unwrap(), Goal::Balanced);
        assert!(matches!(error, Err(Error::Parameters { .. })));
        for (records, bits) in [(9, 65), (1 << 40, 8)] {
            assert!(OverDouble::choose(Shape::new(records, bits).unwrap(), Goal::Balanced).is_err());
        }
    }
}
