//! Parameters of doubly-efficient PIR: ring, polynomial and primes.

use std::sync::Arc;

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Rates, Work};
use papir_core::scheme::{Parameters, Scheme, Target, of_goals};
use papir_core::{Description, Error, FailureBound, Limits, Result, Shape, Sizes, UpdateCost};
use papir_kernels::bits::packed_len;
use papir_lattice::bv::params::{BvParams, PLAINTEXT, SIGMA};
use papir_lattice::bv::slots::Slots;
use papir_ring::rns::log2_product;

use super::choice::{Choice, NAME, primes};
use super::evaluation::{Points, Tables, Tabulated, Tabulation};
use super::lines;
use super::simplex::Simplex;
use super::structure::Form;
use crate::shared::messages::{SEED_BYTES, read_all, read_shape, write_shape};
use crate::shared::parameters::{
    check_default_only, one_record, refused, sealed, sealed_public, security, unfit,
};
use crate::shared::units::Units;

/// Largest number of records.
const MAX_RECORDS: u64 = 1 << 28;
/// Largest number of chunks in a record. Each chunk has a polynomial and an answer of its own.
const MAX_CHUNKS: usize = 16;
/// Bytes of a chunk. A chunk is an entry modulo t.
pub(super) const CHUNK_BYTES: usize = 2;
/// Largest number of primes of Q.
const MAX_PRIMES: usize = 64;
/// Reason that the scheme proves no failure probability below 2⁻⁴⁰.
const MOMENTS: &str = "phases are bounded by the moments of independent Gaussian slots";

/// Doubly-efficient PIR.
pub struct Depir;

/// Parameters of [`Depir`].
#[derive(Clone, Debug)]
pub struct DepirParams {
    /// Division of the records into units; each unit is an entry.
    pub(super) units: Units,
    pub(super) choice: Choice,
    /// Number of primes that an answer keeps. They are the first primes of Q.
    pub(super) kept: usize,
    /// Tables of f, or `None` for evaluation on lines.
    tabulation: Option<Tabulation>,
    pub(super) shared: Arc<RingTables>,
}

/// Tables of the ring, which all clones of the parameters share.
#[derive(Debug)]
pub(super) struct RingTables {
    bv: BvParams,
    /// The slots of plaintexts.
    pub(super) slots: Slots,
}

impl DepirParams {
    /// Creates parameters with this ring degree and number of variables, for evaluation on lines.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for too many or too long records, [`Error::Parameters`] or
    /// [`Error::Insecure`] if the ring does not suffice.
    pub fn new(shape: Shape, ring_degree: usize, variables: usize) -> Result<Self> {
        let units = units_of(shape)?;
        let choice = Choice::new(units.units(), ring_degree, variables)?;
        Self::with_order(units, choice, 1)
    }

    /// Creates parameters like [`DepirParams::new`], with the primes of the paper: they are 1
    /// modulo 2nk, where k is the least prime above D. Modulo these primes, ciphertexts can be
    /// decomposed at k-th roots of unity. Few of these primes are below 2²⁸.
    ///
    /// # Errors
    /// The errors of [`DepirParams::new`], and [`Error::Parameters`] if there are not enough
    /// primes.
    pub fn fourier(shape: Shape, ring_degree: usize, variables: usize) -> Result<Self> {
        let units = units_of(shape)?;
        let choice = Choice::new(units.units(), ring_degree, variables)?;
        Self::with_order(units, choice, lines::roots(choice.simplex.degree) as usize)
    }

    /// Creates the parameters with primes that are 1 modulo 2n times `roots`.
    fn with_order(units: Units, choice: Choice, roots: usize) -> Result<Self> {
        let primes = primes(choice.ring_degree * roots, choice.modulus_bits())?;

        let kept = (1..=primes.len())
            .find(|&count| log2_product(&primes[..count]) >= choice.reply_bits())
            .unwrap_or(primes.len());

        Self::with_primes(units, choice, &primes, kept)
    }

    /// Creates the parameters with these primes of Q, largest first. Answers keep the first `kept`
    /// primes.
    fn with_primes(units: Units, choice: Choice, primes: &[u32], kept: usize) -> Result<Self> {
        let scheme = Depir::NAME;

        let needed = choice.modulus_bits();
        // Bounds are floating-point results, which may differ slightly between machines.
        if log2_product(primes) < needed - 0.01 {
            let reason = format!(
                "a modulus of {:.1} bits: expected {needed:.1}",
                log2_product(primes)
            );
            return Err(refused(scheme)(reason));
        }

        // Below this, an answer may not decode for the noise that switching adds.
        let least = choice.reply_bits();
        let reply = log2_product(primes.get(..kept).unwrap_or_default());
        if reply < least - 0.01 {
            let reason = format!("answers have a modulus of {reply:.1} bits: expected {least:.1}");
            return Err(refused(scheme)(reason));
        }

        let bv = BvParams::new(choice.ring_degree, primes).map_err(unfit(scheme))?;
        let slots = Slots::new(choice.ring_degree).map_err(|error| unfit(scheme)(error.into()))?;

        Ok(Self {
            units,
            choice,
            kept,
            tabulation: None,
            shared: Arc::new(RingTables { bv, slots }),
        })
    }

    /// Chooses the best parameters for evaluation by the tables that an operator asks for.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for too many or too long records, [`Error::Parameters`] if no tables
    /// are short enough or `failure` is not the default bound.
    pub fn choose_with_tables(shape: Shape, tables: Tables, failure: FailureBound) -> Result<Self> {
        let units = units_of(shape)?;
        let chunks = units.unit_bytes / CHUNK_BYTES;
        check_default_only(NAME, Choice::failure_log2(chunks), failure, MOMENTS)?;

        let (choice, tabulation) = Choice::best_with(units.units(), chunks, tables)?;
        Self::with_order(units, choice, 1)?.tabulated(tabulation)
    }

    /// Adds evaluation by tables to these parameters.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for more tabulated variables than the polynomial has, or for tables
    /// that are too long.
    pub fn tabulated(self, tabulation: Tabulation) -> Result<Self> {
        tabulation
            .form(self.choice.simplex)
            .table_lengths(self.choice.simplex)?;
        Ok(Self {
            tabulation: Some(tabulation),
            ..self
        })
    }

    /// Adds evaluation by the tables that an operator asks for.
    ///
    /// # Errors
    /// [`Error::Parameters`] if no tables are short enough.
    pub fn with_tables(self, tables: Tables) -> Result<Self> {
        let tabulation = tables
            .of(self.choice.simplex, self.chunks())
            .ok_or_else(|| {
                refused(NAME)(
                    "no such tables have less than 10 GiB, or with these steps 2^40 bytes a prime"
                        .to_owned(),
                )
            })?;
        self.tabulated(tabulation)
    }

    /// Returns the tables of f, or `None` for evaluation on lines.
    pub fn tabulation(&self) -> Option<Tabulation> {
        self.tabulation
    }

    /// Returns the choice that gives the same kind of tables for another shape, or `None` for
    /// evaluation on lines.
    pub fn tables(&self) -> Option<Tables> {
        let Tabulation {
            tabulated,
            steps,
            points,
        } = self.tabulation?;

        let tabulated = if tabulated == self.choice.simplex.variables {
            Tabulated::All
        } else {
            Tabulated::First(tabulated)
        };

        Some(Tables {
            tabulated,
            steps: Some(steps),
            points,
        })
    }

    /// Returns the form of each chunk's structure, or `None` for evaluation on lines.
    pub(super) fn form(&self) -> Option<Form> {
        self.tabulation
            .map(|tabulation| tabulation.form(self.choice.simplex))
    }

    /// Returns the bytes of each table, for each prime of each chunk in turn. The list is empty for
    /// evaluation on lines.
    pub fn table_lengths(&self) -> Vec<u64> {
        let lengths = self
            .form()
            .and_then(|form| form.table_lengths(self.choice.simplex).ok());
        lengths.unwrap_or_default().repeat(self.chunks())
    }

    /// Returns the total bytes of all tables.
    pub fn table_bytes(&self) -> u64 {
        self.table_lengths().iter().sum()
    }

    /// Returns the simplex with m variables and degree D, which has the points of entries and the
    /// exponents of f.
    pub fn simplex(&self) -> Simplex {
        self.choice.simplex
    }

    /// Returns n, the degree of the ring and the number of slots of a query.
    pub fn ring_degree(&self) -> usize {
        self.choice.ring_degree
    }

    /// Returns the ring, its error and its security.
    pub fn bv(&self) -> &BvParams {
        &self.shared.bv
    }

    /// Returns the number of polynomials, one for each 16-bit chunk of a unit.
    pub fn chunks(&self) -> usize {
        self.units.unit_bytes / CHUNK_BYTES
    }

    /// Returns the number of bits of a residue on the wire.
    pub(super) fn word_bits(&self) -> u32 {
        let largest = self
            .bv()
            .ring()
            .tables()
            .iter()
            .map(|table| table.modulus())
            .max();

        largest.map_or(0, u32::ilog2) + 1
    }

    /// Returns the number of words in a query: m bodies modulo all primes.
    pub(super) fn query_words(&self) -> usize {
        self.choice.simplex.variables * self.bv().ring().len() * self.choice.ring_degree
    }

    /// Returns the number of words in an answer: for each chunk D + 1 parts modulo the kept primes.
    pub(super) fn answer_words(&self) -> usize {
        self.chunks() * (self.choice.simplex.degree + 1) * self.kept * self.choice.ring_degree
    }

    /// Returns the number of coefficients of all polynomials.
    pub(super) fn coefficients(&self) -> usize {
        self.chunks() * self.choice.simplex.len()
    }

    /// Returns the number of bytes of packed words on the wire.
    fn packed_bytes(&self, words: usize) -> usize {
        packed_len(words, self.word_bits())
    }

    fn sizes(&self) -> Sizes {
        Sizes {
            public: sealed_public(self.encode().len(), 0),
            query: sealed(SEED_BYTES + self.packed_bytes(self.query_words())),
            answer: sealed(self.packed_bytes(self.answer_words())),
            database: 4 * self.coefficients() as u64 + self.table_bytes(),
            material: self.units.shape.total_bytes(),
            ..Sizes::default()
        }
    }

    /// Estimates the seconds of a core for an answer, divided by its n indices.
    fn answer_seconds(&self) -> f64 {
        self.work().answer.core_seconds(&Rates::BUILT_IN) / self.ring_degree() as f64
    }

    fn work(&self) -> Work {
        let ring = self.bv().ring();
        let Simplex { variables, degree } = self.choice.simplex;

        // Divided differences and conversion to powers, along each variable. An entry of a table
        // takes about four such steps.
        let steps = (self.coefficients() * variables * degree.max(1)) as f64;
        let entries = self.table_bytes() as f64;

        let around = word_work(self.query_words() + self.answer_words());
        let chunks = self.chunks() as f64;
        let answer = match self.tabulation {
            None => around.with(
                Operation::Term,
                chunks * self.choice.terms(ring.len()),
                ring.len(),
            ),
            Some(tabulation) => {
                let (lookups, products) = tabulation.work(self.choice.simplex);
                let values = chunks * self.choice.values(ring.len());
                let parts = degree + 1;
                around
                    .with(Operation::Lookup, values * lookups, parts)
                    .with(Operation::Term, values * products, parts)
            }
        };

        Work {
            setup: Counts::new().with(Operation::Interpolate, steps + 4.0 * entries, 1),
            query: word_work(self.query_words()),
            answer,
            extract: word_work(self.answer_words()),
        }
    }
}

/// Returns the work of packing or unpacking words.
fn word_work(words: usize) -> Counts {
    Counts::new().with(Operation::Word, words as f64, 1)
}

impl Parameters for DepirParams {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let units = units_of(shape)?;
        let Target { goal, failure } = target.into();
        let chunks = units.unit_bytes / CHUNK_BYTES;
        check_default_only(Depir::NAME, Choice::failure_log2(chunks), failure, MOMENTS)?;

        let choice = Choice::best(units.units(), chunks, goal)?;
        Self::with_order(units, choice, 1)
    }

    fn candidates(shape: Shape, failure: FailureBound) -> Result<Vec<Self>> {
        let mut candidates = of_goals::<Self>(shape, failure)?;

        // Tables are an offer where they are faster, if any are short enough.
        let all = Tables {
            tabulated: Tabulated::All,
            steps: None,
            points: Points::OnLines,
        };
        let tables = Self::choose_with_tables(shape, all, failure).ok();
        let least = candidates
            .iter()
            .map(Self::answer_seconds)
            .fold(f64::INFINITY, f64::min);
        candidates.extend(tables.filter(|tables| tables.answer_seconds() < least));

        Ok(candidates)
    }

    fn label(&self) -> String {
        let Simplex { variables, degree } = self.choice.simplex;
        let label = format!(
            "{} slots, {variables} variables of degree {degree}",
            self.choice.ring_degree
        );

        match self.tabulation {
            None => label,
            Some(tabulation) => format!("{label}, {}", tabulation.label()),
        }
    }

    fn shape(&self) -> Shape {
        self.units.shape
    }

    fn describe(&self) -> Description {
        let Simplex { variables, degree } = self.choice.simplex;
        let ring = self.bv().ring();

        Description {
            scheme: Depir::NAME,
            privacy: Depir::PRIVACY,
            shape: self.units.shape,
            sizes: self.sizes(),
            security: self.bv().security().map(security),
            failure_log2: Choice::failure_log2(self.chunks()),
            failure_bound: FailureBound::DEFAULT,
            limits: Limits {
                records: MAX_RECORDS,
                batch: self.choice.ring_degree,
                ..one_record((8 * CHUNK_BYTES * MAX_CHUNKS) as u64, UpdateCost::Rebuild)
            },
            parameters: vec![
                ("n", self.choice.ring_degree.to_string()),
                ("t", PLAINTEXT.to_string()),
                ("sigma", SIGMA.to_string()),
                ("m", variables.to_string()),
                ("D", degree.to_string()),
                ("k", (degree + 1).to_string()),
                ("log2 Q", format!("{:.1}", ring.log2_modulus())),
                ("primes", ring.len().to_string()),
                (
                    "log2 reply modulus",
                    format!("{:.1}", log2_product(&ring.primes()[..self.kept])),
                ),
                ("log2 noise", format!("{:.1}", self.choice.noise_bits())),
                ("chunks", self.chunks().to_string()),
                (
                    "f",
                    self.tabulation
                        .map_or("on lines".to_owned(), Tabulation::label),
                ),
            ],
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.units.shape);
        writer
            .u32(self.choice.ring_degree as u32)
            .u16(self.choice.simplex.variables as u16);

        let primes = self.bv().ring().primes();
        writer.u16(primes.len() as u16).u16(self.kept as u16);
        for prime in primes {
            writer.u32(prime);
        }

        if let Some(tabulation) = self.tabulation {
            tabulation.encode(&mut writer);
        }

        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let Encoded {
            units,
            ring_degree,
            variables,
            primes,
            kept,
            tabulation,
        } = read_all("depir's parameters", bytes, Encoded::read)?;

        // Answers keep the first primes, and no prime may occur twice.
        if !primes.is_sorted_by(|a, b| a > b) {
            return Err(Error::malformed(
                "depir's primes",
                "primes out of order",
                "descending ones",
            ));
        }

        let choice = Choice::new(units.units(), ring_degree, variables)?;
        let params = Self::with_primes(units, choice, &primes, kept)?;

        match tabulation {
            None => Ok(params),
            Some(tabulation) => params.tabulated(tabulation),
        }
    }
}

/// Encoded parameters, before they are checked against each other.
struct Encoded {
    units: Units,
    ring_degree: usize,
    variables: usize,
    primes: Vec<u32>,
    kept: usize,
    tabulation: Option<Tabulation>,
}

impl Encoded {
    fn read(reader: &mut Reader<'_>) -> Result<Self> {
        let units = units_of(read_shape(reader)?)?;
        let ring_degree = reader.u32()? as usize;
        let variables = usize::from(reader.u16()?);

        // Checked before it is used: the count decides how much is read.
        let count = usize::from(reader.u16()?);
        if !(1..=MAX_PRIMES).contains(&count) {
            let expected = format!("1 to {MAX_PRIMES}");
            return Err(Error::out_of_bounds(
                "the number of depir's primes",
                count as u64,
                expected,
            ));
        }

        let kept = usize::from(reader.u16()?);
        let primes = (0..count)
            .map(|_| reader.u32())
            .collect::<Result<Vec<_>>>()?;

        // Without tables there is nothing more, and answers are evaluated on lines.
        let rest = reader.rest();
        let tabulation = if rest.is_empty() {
            None
        } else {
            Some(read_all("depir's tables", rest, Tabulation::decode)?)
        };

        Ok(Self {
            units,
            ring_degree,
            variables,
            primes,
            kept,
            tabulation,
        })
    }
}

/// Divides records into units of 16 bits, or of several 16-bit chunks if a record is longer.
fn units_of(shape: Shape) -> Result<Units> {
    if shape.records() > MAX_RECORDS {
        let expected = format!("at most {MAX_RECORDS}");
        return Err(Error::out_of_bounds(
            "the number of records",
            shape.records(),
            expected,
        ));
    }

    let chunks = shape.record_bytes().div_ceil(CHUNK_BYTES);
    if chunks > MAX_CHUNKS {
        let expected = format!(
            "at most {}: each 16 bits of a record need another polynomial and another answer",
            8 * CHUNK_BYTES * MAX_CHUNKS
        );
        return Err(Error::out_of_bounds(
            "the record length in bits",
            shape.record_bits(),
            expected,
        ));
    }

    Units::new(shape, CHUNK_BYTES * chunks)
}
