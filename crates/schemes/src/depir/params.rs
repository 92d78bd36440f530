//! Parameters for a shape: ring, polynomial, primes, and their search.

use std::ops::RangeInclusive;
use std::sync::Arc;

use papir_core::codec::Writer;
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Parameters, Scheme, Target};
use papir_core::{Description, Error, FailureBound, Goal, Limits, Result, Shape, Sizes, UpdateCost};
use papir_kernels::bits::packed_len;
use papir_lattice::bv::noise;
use papir_lattice::bv::params::{BvParams, MAX_DEGREE, PLAINTEXT, SIGMA};
use papir_lattice::bv::slots::Slots;
use papir_lattice::security::{Secret, require_128};
use papir_ring::prime::ntt_primes_below;
use papir_ring::rns::log2_product;

use super::lines;
use super::simplex::Simplex;
use crate::shared::messages::{SEED_BYTES, read_all, read_shape, write_shape};
use crate::shared::parameters::{
    best, check_default_only, one_record, refused, score, sealed, sealed_public, security, unfit,
};
use crate::shared::units::Units;

/// The most records.
const MAX_RECORDS: u64 = 1 << 20;
/// Largest number of chunks in a record. Each is a polynomial of its own, with an answer of its
/// own.
const MAX_CHUNKS: usize = 16;
/// Bytes of a chunk: an entry modulo t.
pub(super) const CHUNK_BYTES: usize = 2;
/// The most primes.
const MAX_PRIMES: usize = 64;
/// Candidate ring degrees.
const DEGREES: [usize; 4] = [1 << 12, 1 << 13, 1 << 14, 1 << 15];
/// Candidate numbers of variables.
const VARIABLES: RangeInclusive<usize> = 1..=16;
/// log₂ of the probability that an evaluation exceeds its bound, and the same for modulus
/// switching.
const FAILURE_LOG2: f64 = -46.0;
/// Reason that no failure probability below 2⁻⁴⁰ is proved.
const MOMENTS: &str = "phases are bounded by the moments of independent Gaussian slots";
/// Bits between the bound on a phase and the modulus. Evaluation and switching may each fill an
/// eighth, together the quarter that a client accepts.
const ROOM_BITS: f64 = 3.0;
/// log₂ of the bound on primes.
const LOG2_LARGEST: f64 = 28.0;
/// Seconds for a term at a point.
const TERM_SECONDS: f64 = 3e-10;

/// Doubly-efficient PIR.
pub struct Depir;

/// Parameters of [`Depir`].
#[derive(Clone, Debug)]
pub struct DepirParams {
    /// Units of records in entries.
    pub(super) units: Units,
    pub(super) choice: Choice,
    /// Number of primes in an answer, the first ones.
    pub(super) kept: usize,
    pub(super) tables: Arc<Tables>,
}

/// Tables shared by copies of the parameters.
#[derive(Debug)]
pub(super) struct Tables {
    bv: BvParams,
    /// The slots of plaintexts.
    pub(super) slots: Slots,
}

/// Figures of parameters for a number of entries, which may exceed what is served.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// n.
    pub ring_degree: usize,
    /// m and D.
    pub simplex: Simplex,
    /// log₂ Q.
    pub modulus_bits: f64,
    /// Bytes of a query.
    pub query_bytes: f64,
    /// Bytes of an answer.
    pub answer_bytes: f64,
    /// Products in an answer's evaluation on lines.
    pub multiplications: f64,
}

impl DepirParams {
    /// Figures of the parameters for this many entries of 16 bits.
    ///
    /// # Errors
    /// [`Error::Parameters`] if no ring is large enough.
    pub fn outline(entries: u64, goal: Goal) -> Result<Outline> {
        let choice = Choice::best(entries, 1, goal)?;
        let (query_bytes, answer_bytes) = choice.bytes(1);
        Ok(Outline {
            ring_degree: choice.ring_degree,
            simplex: choice.simplex,
            modulus_bits: choice.modulus_bits(),
            query_bytes,
            answer_bytes,
            multiplications: choice.terms(choice.primes()),
        })
    }

    /// Parameters with this ring degree and number of variables.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for too many or too long records, [`Error::Parameters`] or
    /// [`Error::Insecure`] if the ring does not suffice.
    pub fn new(shape: Shape, ring_degree: usize, variables: usize) -> Result<Self> {
        let units = units_of(shape)?;
        Self::with_order(units, Choice::new(units.units(), ring_degree, variables)?, 1)
    }

    /// [`DepirParams::new`] with the paper's primes: 1 modulo 2nk, k the least prime above D.
    /// Modulo these, ciphertexts are decomposed at k-th roots of unity. Few of them are below 2²⁸.
    ///
    /// # Errors
    /// The errors of [`DepirParams::new`], and [`Error::Parameters`] if there are not enough
    /// primes.
    pub fn fourier(shape: Shape, ring_degree: usize, variables: usize) -> Result<Self> {
        let units = units_of(shape)?;
        let choice = Choice::new(units.units(), ring_degree, variables)?;
        Self::with_order(units, choice, lines::roots(choice.simplex.degree) as usize)
    }

    /// With primes that are 1 modulo 2n times `roots`.
    fn with_order(units: Units, choice: Choice, roots: usize) -> Result<Self> {
        let primes = primes(choice.ring_degree * roots, choice.modulus_bits())?;
        let enough = |&count: &usize| log2_product(&primes[..count]) >= choice.reply_bits();
        let kept = (1..=primes.len()).find(enough).unwrap_or(primes.len());
        Self::with_primes(units, choice, &primes, kept)
    }

    /// Parameters with these primes of Q, largest first, of which answers keep `kept`.
    fn with_primes(units: Units, choice: Choice, primes: &[u32], kept: usize) -> Result<Self> {
        let scheme = Depir::NAME;
        let needed = choice.modulus_bits();
        // Bounds are floating-point results, which may differ slightly between machines.
        if log2_product(primes) < needed - 0.01 {
            let reason = format!("a modulus of {:.1} bits: expected {needed:.1}", log2_product(primes));
            return Err(refused(scheme)(reason));
        }
        let least = choice.reply_bits();
        let reply = log2_product(primes.get(..kept).unwrap_or_default());
        if reply < least - 0.01 {
            let reason = format!("answers have a modulus of {reply:.1} bits: expected {least:.1}");
            return Err(refused(scheme)(reason));
        }
        let bv = BvParams::new(choice.ring_degree, primes).map_err(unfit(scheme))?;
        let slots = Slots::new(choice.ring_degree).map_err(|error| unfit(scheme)(error.into()))?;
        Ok(Self { units, choice, kept, tables: Arc::new(Tables { bv, slots }) })
    }

    /// The simplex of m and D: the points of entries and the exponents of f.
    pub fn simplex(&self) -> Simplex {
        self.choice.simplex
    }

    /// n, the number of slots of a query.
    pub fn ring_degree(&self) -> usize {
        self.choice.ring_degree
    }

    /// The ring, its error and its security.
    pub fn bv(&self) -> &BvParams {
        &self.tables.bv
    }

    /// Number of polynomials: entries modulo t in each unit of records.
    pub fn chunks(&self) -> usize {
        self.units.unit_bytes / CHUNK_BYTES
    }

    /// Bits of a residue on the wire.
    pub(super) fn word_bits(&self) -> u32 {
        let largest = self.bv().ring().tables().iter().map(|table| table.modulus()).max();
        largest.map_or(0, u32::ilog2) + 1
    }

    /// Words of a query: m bodies modulo all primes.
    pub(super) fn query_words(&self) -> usize {
        self.choice.simplex.variables * self.bv().ring().len() * self.choice.ring_degree
    }

    /// Words of an answer: for each chunk D + 1 parts modulo the kept primes.
    pub(super) fn answer_words(&self) -> usize {
        self.chunks() * (self.choice.simplex.degree + 1) * self.kept * self.choice.ring_degree
    }

    /// Words of the polynomials.
    pub(super) fn coefficients(&self) -> usize {
        self.chunks() * self.choice.simplex.len()
    }

    fn sizes(&self) -> Sizes {
        let packed = |words: usize| packed_len(words, self.word_bits());
        Sizes {
            public: sealed_public(self.encode().len(), 0),
            query: sealed(SEED_BYTES + packed(self.query_words())),
            answer: sealed(packed(self.answer_words())),
            database: 4 * self.coefficients() as u64,
            material: self.units.shape.total_bytes(),
            ..Sizes::default()
        }
    }

    fn work(&self) -> Work {
        let ring = self.bv().ring();
        let terms = self.chunks() as f64 * self.choice.terms(ring.len());
        let Simplex { variables, degree } = self.choice.simplex;
        // Divided differences and conversion to powers, along each variable.
        let steps = self.coefficients() * variables * degree.max(1);
        let words = |count: usize| Counts::new().with(Operation::Word, count as f64, 1);
        Work {
            setup: Counts::new().with(Operation::Interpolate, steps as f64, 1),
            query: words(self.query_words()),
            answer: words(self.query_words() + self.answer_words()).with(Operation::Term, terms, ring.len()),
            extract: words(self.answer_words()),
        }
    }
}

impl Parameters for DepirParams {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let (units, Target { goal, failure }) = (units_of(shape)?, target.into());
        let chunks = units.unit_bytes / CHUNK_BYTES;
        check_default_only(Depir::NAME, Choice::failure_log2(chunks), failure, MOMENTS)?;
        let choice = Choice::best(units.units(), chunks, goal)?;
        Self::with_order(units, choice, 1)
    }

    fn label(&self) -> String {
        let Simplex { variables, degree } = self.choice.simplex;
        format!("{} slots, {variables} variables of degree {degree}", self.choice.ring_degree)
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
                ("log2 reply modulus", format!("{:.1}", log2_product(&ring.primes()[..self.kept]))),
                ("log2 noise", format!("{:.1}", self.choice.noise_bits())),
                ("chunks", self.chunks().to_string()),
            ],
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.units.shape);
        writer.u32(self.choice.ring_degree as u32).u16(self.choice.simplex.variables as u16);
        let primes = self.bv().ring().primes();
        writer.u16(primes.len() as u16).u16(self.kept as u16);
        for prime in primes {
            writer.u32(prime);
        }
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (units, ring_degree, variables, primes, kept) =
            read_all("depir's parameters", bytes, |reader| {
                let units = units_of(read_shape(reader)?)?;
                let (ring_degree, variables) = (reader.u32()? as usize, usize::from(reader.u16()?));
                let count = usize::from(reader.u16()?);
                if !(1..=MAX_PRIMES).contains(&count) {
                    let expected = format!("1 to {MAX_PRIMES}");
                    return Err(Error::out_of_bounds("the number of depir's primes", count as u64, expected));
                }
                let kept = usize::from(reader.u16()?);
                let primes = (0..count).map(|_| reader.u32()).collect::<Result<Vec<_>>>()?;
                Ok((units, ring_degree, variables, primes, kept))
            })?;
        if !primes.is_sorted_by(|a, b| a > b) {
            return Err(Error::malformed("depir's primes", "primes out of order", "descending ones"));
        }
        Self::with_primes(units, Choice::new(units.units(), ring_degree, variables)?, &primes, kept)
    }
}

/// Units of records: 16 bits, or as many chunks as a record needs.
fn units_of(shape: Shape) -> Result<Units> {
    if shape.records() > MAX_RECORDS {
        let expected = format!("at most {MAX_RECORDS}");
        return Err(Error::out_of_bounds("the number of records", shape.records(), expected));
    }
    let chunks = shape.record_bytes().div_ceil(CHUNK_BYTES);
    if chunks > MAX_CHUNKS {
        let expected = format!(
            "at most {}: each 16 bits of a record need another polynomial and another answer",
            8 * CHUNK_BYTES * MAX_CHUNKS
        );
        return Err(Error::out_of_bounds("the record length in bits", shape.record_bits(), expected));
    }
    Units::new(shape, CHUNK_BYTES * chunks)
}

/// Free values of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// n.
    pub(super) ring_degree: usize,
    /// m and D.
    pub(super) simplex: Simplex,
}

impl Choice {
    /// The simplex of this many variables that holds the entries.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    fn new(entries: u64, ring_degree: usize, variables: usize) -> Result<Self> {
        let simplex = Simplex::holding(entries, variables);
        let bounds = [
            ("a ring's degree", ring_degree, 1024, MAX_DEGREE),
            ("a polynomial's variables", simplex.variables, 1, *VARIABLES.end()),
            ("a polynomial's degree", simplex.degree, 0, papir_kernels::poly_eval::MAX_DEGREE),
        ];
        for (what, found, least, most) in bounds {
            if !(least..=most).contains(&found) {
                return Err(Error::out_of_bounds(what, found as u64, format!("{least} to {most}")));
            }
        }
        Ok(Self { ring_degree, simplex })
    }

    /// The best choice for this many entries of `chunks` chunks.
    ///
    /// # Errors
    /// [`Error::Parameters`] if no ring is large enough.
    fn best(entries: u64, chunks: usize, goal: Goal) -> Result<Self> {
        let simplices = VARIABLES.map(|variables| Simplex::holding(entries, variables)).collect::<Vec<_>>();
        let choices = DEGREES
            .into_iter()
            .flat_map(|ring_degree| simplices.iter().map(move |&simplex| Self { ring_degree, simplex }));
        let possible = choices.filter(|choice| choice.is_possible());
        best(possible, |choice| choice.cost(goal, chunks)).ok_or_else(|| {
            let reason = "no ring up to degree 2^15 evaluates a polynomial of";
            refused(Depir::NAME)(format!("{reason} {entries} values securely"))
        })
    }

    /// log₂ of a bound on the coefficients of an evaluation's phase.
    pub(super) fn noise_bits(self) -> f64 {
        let Simplex { variables, degree } = self.simplex;
        let largest = f64::from(PLAINTEXT / 2);
        noise::evaluation(self.ring_degree, variables, degree, largest, FAILURE_LOG2)
    }

    /// log₂ of the least Q.
    fn modulus_bits(self) -> f64 {
        (self.noise_bits() + ROOM_BITS).max(self.reply_bits())
    }

    /// log₂ of a bound on what modulus switching adds to a phase's coefficients.
    pub(super) fn switching_bits(self) -> f64 {
        noise::switching(self.ring_degree, self.simplex.degree, FAILURE_LOG2)
    }

    /// log₂ of the least modulus of an answer.
    fn reply_bits(self) -> f64 {
        self.switching_bits() + ROOM_BITS
    }

    /// log₂ of the probability that one of a query's `chunks` answers does not decode.
    fn failure_log2(chunks: usize) -> f64 {
        (chunks as f64).log2() + 1.0 + FAILURE_LOG2
    }

    /// Multiplications of one answer's evaluation: slots, primes, points of Y, terms in one
    /// variable fewer.
    fn terms(self, primes: usize) -> f64 {
        let points = self.ring_degree * primes * (self.simplex.degree + 1);
        points as f64 * self.simplex.rest() as f64
    }

    /// Primes of the least Q.
    fn primes(self) -> usize {
        (self.modulus_bits() / LOG2_LARGEST).ceil() as usize
    }

    /// Bytes of a query and of its answers in `chunks` chunks, ignoring the excess length of
    /// primes.
    fn bytes(self, chunks: usize) -> (f64, f64) {
        let Simplex { variables, degree } = self.simplex;
        let coefficients = self.ring_degree as f64 / 8.0;
        let answer = (degree + 1) as f64 * self.reply_bits() * chunks as f64;
        (coefficients * variables as f64 * self.modulus_bits(), coefficients * answer)
    }

    /// Cost of a query under a goal, answered in `chunks` chunks. Time counts for each of n
    /// indices: a single index is cheaper in another scheme.
    fn cost(self, goal: Goal, chunks: usize) -> f64 {
        let (query, answer) = self.bytes(chunks);
        let seconds = chunks as f64 * self.terms(self.primes()) * TERM_SECONDS;
        let indices = if goal == Goal::MinCommunication { 1 } else { self.ring_degree };
        score(goal, query + answer, seconds) / indices as f64
    }

    /// True if the polynomial can be evaluated and the ring is secure.
    fn is_possible(self) -> bool {
        // The primes' product slightly exceeds the bits.
        self.simplex.degree <= papir_kernels::poly_eval::MAX_DEGREE
            && require_128(self.ring_degree, self.modulus_bits() + 2.0, Secret::Ternary, SIGMA).is_ok()
    }
}

/// Returns primes that are 1 modulo twice the order, with at least this product: as few as possible
/// below 2²⁸, of similar size, largest first.
///
/// # Errors
/// [`Error::Parameters`] if there are not enough.
fn primes(order: usize, bits: f64) -> Result<Vec<u32>> {
    let least = (bits / LOG2_LARGEST).ceil().max(1.0) as usize;
    for count in least..=least + 2 {
        let mut log2_bound = bits / count as f64;
        while log2_bound <= LOG2_LARGEST {
            let primes = ntt_primes_below(log2_bound.exp2() as u32, order, count);
            if primes.len() == count && log2_product(&primes) >= bits {
                return Ok(primes);
            }
            log2_bound += 0.01;
        }
    }
    let reason = format!("too few primes that are 1 modulo {} below 2^28", 2 * order);
    Err(refused(Depir::NAME)(reason))
}
