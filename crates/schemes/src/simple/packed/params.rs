//! Parameters of packed SimplePIR.

use std::marker::PhantomData;

use papir_core::Choice;
use papir_core::certificate::FailureCertificate;
use papir_core::codec::Writer;
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Parameters, Target};
use papir_core::{
    Description, Error, FailureBound, MAX_RECORD_BITS, Privacy, Result, Shape, Sizes, UpdateCost,
};
use papir_lattice::params::Literal as RlweLiteral;
use papir_lattice::selection::Stacking;

use super::certificate;
use super::choice::{Weighed, pack_counts, unbeaten};
use super::layout::{Layout, MAX_PACKS, least_packs, pack_bytes};
use crate::shared::messages::{
    SEED_BYTES, read_all, read_failure, read_shape, read_stacking, write_failure, write_shape,
    write_stacking,
};
use crate::shared::parameters::{
    BALANCED_LINE, best, one_record, refused, sealed, sealed_public, security, squares_of_whitened,
    successes,
};
use crate::shared::selection::{PackedVariant, Selection, SelectionBits, SelectionParams, Selects};

/// Degree d of the ring.
pub(super) const DEGREE: usize = RlweLiteral::DEFAULT.degree;

/// Number of answers that share the masks of a version, when parameters are compared.
const ANSWERS: u64 = 16;

/// The scheme of a variant.
pub struct Packed<V>(PhantomData<V>);

/// Parameters of a packed SimplePIR.
#[derive(Clone, Debug)]
pub struct Params<V: PackedVariant> {
    pub(super) layout: Layout,
    pub(super) selection: SelectionParams<V>,
}

/// The selection of a column: the figures that its messages and its noise depend on.
fn counts<V: PackedVariant>(layout: &Layout, failure: FailureBound) -> Selection {
    let word_bits = V::SIMPLE.storage.word_bits();
    let largest = 2f64.powi(word_bits as i32 - 1);

    // The words of one place of the entries are a row of words, and its length is √Σw² at most. The
    // length of the row of entries is the sum of these lengths or less, each times its Bⁱ.
    let words = layout.rows * layout.stacking.words;
    let squares = squares_of_whitened(layout.columns, largest, words, failure);

    Selection {
        ring: V::SIMPLE.ring,
        storage: V::SIMPLE.storage,
        masks: V::MASKS,
        columns: layout.columns,
        stacking: layout.stacking,
        plain_bits: word_bits,
        squares: layout.stacking.gain().powi(2) * squares,
        capacity: DEGREE,
        rows: layout.rows,
        singles: 0,
        failure,
    }
}

impl<V: PackedVariant> Params<V> {
    /// The smallest messages for units of `packs` packs.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if a unit holds no record or there are too many columns,
    /// [`Error::Parameters`] if the noise is too large.
    pub fn with_packs(shape: Shape, packs: u64) -> Result<Self> {
        Self::failing_less(shape, packs, FailureBound::DEFAULT)
    }

    /// Creates the parameters of [`Params::with_packs`] within this bound on the failure
    /// probability.
    ///
    /// # Errors
    /// The errors of [`Params::with_packs`].
    pub fn failing_less(shape: Shape, packs: u64, failure: FailureBound) -> Result<Self> {
        let all = V::SIMPLE
            .stackings
            .iter()
            .map(|&stacking| Self::stacked(shape, packs, stacking, failure));
        let smallest = best(successes(all)?, |params| {
            let bits = params.selection.bits();
            params.selection.counts.message_bits::<V>(bits) as f64
        });

        smallest.ok_or_else(|| Error::out_of_bounds("the words of an entry", 0, "1 or more"))
    }

    /// Creates the parameters of the smallest messages for units of `packs` packs, and entries of
    /// these words.
    ///
    /// # Errors
    /// The errors of [`Params::with_packs`].
    pub fn stacked(
        shape: Shape,
        packs: u64,
        stacking: Stacking,
        failure: FailureBound,
    ) -> Result<Self> {
        let layout = Layout::new::<V>(shape, DEGREE, packs, stacking)?;

        let bits = counts::<V>(&layout, failure).choose::<V>().ok_or_else(|| {
            refused(V::SIMPLE.name)(format!(
                "the noise of {} columns exceeds the decoding limit",
                layout.columns
            ))
        })?;

        Self::new(layout, bits, failure)
    }

    /// Creates the parameters of [`Params::with_packs`] with at most `columns` columns, and the
    /// least number of packs that gives so few.
    ///
    /// # Errors
    /// The errors of [`Params::with_packs`].
    pub fn with_columns(shape: Shape, columns: u64) -> Result<Self> {
        let least = least_packs(V::SIMPLE.storage, &shape, DEGREE);
        let bytes = pack_bytes(V::SIMPLE.storage, DEGREE) as u64;
        let ideal = (shape.total_bytes() / columns.max(1))
            .div_ceil(bytes)
            .max(least);

        // Unused slots take a little more.
        let packs = (ideal..=(2 * ideal + 1).min(MAX_PACKS))
            .find(|&packs| {
                Layout::new::<V>(shape, DEGREE, packs, Stacking::NONE)
                    .is_ok_and(|layout| layout.columns as u64 <= columns.max(1))
            })
            .unwrap_or(ideal);

        Self::with_packs(shape, packs)
    }

    /// All numbers of packs and of words of an entry that are compared.
    fn compared(shape: Shape, failure: FailureBound) -> Result<Vec<Weighed<Self>>> {
        let packs = pack_counts(&V::SIMPLE, &shape, DEGREE).into_iter();
        let all = packs.flat_map(|packs| {
            let stackings = V::SIMPLE.stackings.iter();
            stackings.map(move |&stacking| Self::stacked(shape, packs, stacking, failure))
        });

        let all = successes(all)?;
        Ok(all.into_iter().map(Self::weighed).collect())
    }

    fn weighed(self) -> Weighed<Self> {
        let sizes = self.sizes();
        let bytes = sizes.query + sizes.answer + sizes.hint / ANSWERS;
        let work = self
            .selection
            .counts
            .rough_seconds::<V>(self.selection.bits());

        Weighed {
            line: bytes as f64 / BALANCED_LINE,
            work,
            seen: self.seen_bytes(),
            parameters: self,
        }
    }

    fn new(layout: Layout, bits: SelectionBits, failure: FailureBound) -> Result<Self> {
        let selection = SelectionParams::new(V::SIMPLE.name, counts::<V>(&layout, failure), bits)?;
        Ok(Self { layout, selection })
    }

    /// Returns the layout of the matrix.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    fn sizes(&self) -> Sizes {
        let [selector, keys] = self.selection.query_parts();
        let masks = self.selection.public_masks_bytes();
        let unit_layout = &self.layout.unit_layout;

        Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES + masks),
            hint: masks as u64,
            query_keys: keys as u64,
            query: sealed(selector + keys),
            answer: sealed(self.selection.answer_parts().iter().sum()),
            database: self.selection.matrix_bytes(),
            material: self.selection.packs_bytes(),
            seen: unit_layout.seen(self.seen_bytes(), masks as u64),
            ..Sizes::default()
        }
    }

    /// Returns the bytes of records that an answer reveals at most: those of a unit. If entries
    /// have several words, what the body of an answer has beyond its word may be of the words below
    /// it, which are of other records.
    fn seen_bytes(&self) -> u64 {
        let unit_bytes = self.layout.unit_layout.unit_bytes as u64;
        if self.layout.stacking == Stacking::NONE {
            return unit_bytes;
        }

        let body_bits = u64::from(self.selection.bits().answer.b);
        unit_bytes * body_bits / u64::from(self.layout.storage.word_bits())
    }

    fn values(&self) -> Vec<(&'static str, String)> {
        let layout = [("columns", self.layout.columns), ("rows", self.layout.rows)];
        let layout = layout.map(|(name, value)| (name, value.to_string()));
        layout.into_iter().chain(self.selection.values()).collect()
    }

    fn work(&self) -> Work {
        let units = self.layout.stacking.words * self.layout.columns;
        let words = self.layout.encoded(units);
        let encode = Counts::new().with(Operation::Encode16, words, self.layout.columns);
        let packs = (self.layout.rows / DEGREE) as f64;

        Work {
            setup: self.selection.count_setup(encode),
            query: Counts::new().with(Operation::Encrypt, self.selection.encryptions() as f64, 1),
            answer: self.selection.count_answer(Counts::new()),
            extract: Counts::new().with(Operation::Decrypt, packs, 1),
        }
    }
}

impl<V: PackedVariant> Selects for Params<V> {
    type Variant = V;

    fn selection(&self) -> &SelectionParams<V> {
        &self.selection
    }
}

impl<V: PackedVariant> Parameters for Params<V> {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let Target { goal, failure } = target.into();
        let all = Self::compared(shape, failure)?;

        best(all, |weighed| weighed.score(goal))
            .map(|weighed| weighed.parameters)
            .ok_or_else(|| Error::out_of_bounds("the number of packs in a unit", 0, "1 or more"))
    }

    /// Those that no others beat in bytes, work, and what a client sees at once.
    fn candidates(shape: Shape, failure: FailureBound) -> Result<Vec<Self>> {
        Self::compared(shape, failure).map(unbeaten)
    }

    fn with_fixed(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Columns(columns) => Self::with_columns(shape, columns),
            other => Err(other.refused_by(V::SIMPLE.name)),
        }
    }

    fn label(&self) -> String {
        let packs = self.layout.rows / DEGREE;
        let Layout {
            columns, stacking, ..
        } = self.layout;

        match stacking.words {
            1 => format!("{packs} packs, {columns} columns"),
            words => format!(
                "{packs} packs, {columns} columns of {words} words, 2^{} apart",
                stacking.step
            ),
        }
    }

    fn shape(&self) -> Shape {
        self.layout.shape()
    }

    fn describe(&self) -> Description {
        Description {
            scheme: V::SIMPLE.name,
            privacy: Privacy::Private,
            shape: self.shape(),
            sizes: self.sizes(),
            security: self.selection.rlwe().security().map(security),
            failure_log2: self.selection.counts.failure_log2(),
            failure_bound: self.selection.counts.failure,
            limits: one_record(MAX_RECORD_BITS, UpdateCost::PerPack),
            parameters: self.values(),
            work: self.work(),
        }
    }

    fn certificate(&self) -> Result<FailureCertificate> {
        certificate::of(&self.describe(), &self.selection)
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape());
        writer.u64((self.layout.rows / DEGREE) as u64);
        self.selection.bits().write(&mut writer, V::MASKS);
        write_stacking(&mut writer, self.layout.stacking);
        write_failure(&mut writer, self.selection.counts.failure);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let what = "parameters of a packed SimplePIR";
        let (shape, packs, bits, stacking, failure) = read_all(what, bytes, |reader| {
            let shape = read_shape(reader)?;
            let packs = reader.u64()?;
            let bits = SelectionBits::read(reader, V::MASKS)?;
            let stacking = read_stacking(reader)?;
            let failure = read_failure(reader)?;
            Ok((shape, packs, bits, stacking, failure))
        })?;

        Self::new(
            Layout::new::<V>(shape, DEGREE, packs, stacking)?,
            bits,
            failure,
        )
    }
}
