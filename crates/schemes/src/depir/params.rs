//! Parameters: ring, polynomial and primes for a shape.

use std::sync::Arc;

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters, Scheme};
use papir_core::{Description, Error, Limits, Result, Shape, Sizes, UpdateCost};
use papir_kernels::bits::packed_len;
use papir_lattice::bv::params::{BvParams, MAX_DEGREE, PLAINTEXT, SIGMA};
use papir_lattice::bv::slots::Slots;
use papir_ring::rns::log2_product;

use super::decomposition;
use super::search::{self, Choice, Depir};
use super::simplex::Simplex;
use crate::shared::messages::{SEED_BYTES, read_shape, write_shape};
use crate::shared::parameters::{one_record, refused, sealed, sealed_public, security, unfit};
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

/// Parameters of [`Depir`].
#[derive(Clone, Debug)]
pub struct DepirParams {
    bundle: Units,
    choice: Choice,
    /// Number of primes in an answer, the first ones.
    kept: usize,
    tables: Arc<Tables>,
}

/// Tables shared by copies of the parameters.
#[derive(Debug)]
struct Tables {
    bv: BvParams,
    slots: Slots,
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
        let choice = search::choose(entries, 1, goal)?;
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
        let bundle = bundle(shape)?;
        let simplex = Simplex::holding(bundle.units(), variables);
        Self::with_order(bundle, Choice { ring_degree, simplex }, 1)
    }

    /// [`DepirParams::new`] with the paper's primes: 1 modulo 2nk, k the least prime above D.
    /// Modulo these, ciphertexts are decomposed at k-th roots of unity. Few of them are below 2²⁸.
    ///
    /// # Errors
    /// As [`DepirParams::new`], and [`Error::Parameters`] if there are not enough primes.
    pub fn fourier(shape: Shape, ring_degree: usize, variables: usize) -> Result<Self> {
        let bundle = bundle(shape)?;
        let simplex = Simplex::holding(bundle.units(), variables);
        let roots = decomposition::roots(simplex.degree) as usize;
        Self::with_order(bundle, Choice { ring_degree, simplex }, roots)
    }

    /// With primes that are 1 modulo 2n times `roots`.
    fn with_order(bundle: Units, choice: Choice, roots: usize) -> Result<Self> {
        check(choice)?;
        let primes = search::primes(choice.ring_degree * roots, choice.modulus_bits())?;
        let kept = search::kept(&primes, choice.reply_bits()).unwrap_or(primes.len());
        Self::with_primes(bundle, choice, &primes, kept)
    }

    /// Parameters with these primes of Q, largest first, of which answers keep `kept`.
    fn with_primes(bundle: Units, choice: Choice, primes: &[u32], kept: usize) -> Result<Self> {
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
        Ok(Self { bundle, choice, kept, tables: Arc::new(Tables { bv, slots }) })
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

    /// The slots of plaintexts.
    pub(super) fn slots(&self) -> &Slots {
        &self.tables.slots
    }

    /// log₂ of bounds on a phase's coefficients: of an evaluation, and of what switching adds.
    pub fn noise_bits(&self) -> [f64; 2] {
        [self.choice.noise_bits(), self.choice.switching_bits()]
    }

    /// Primes of an answer.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// Units of records in entries.
    pub(super) fn bundle(&self) -> &Units {
        &self.bundle
    }

    /// Number of polynomials: entries modulo t in each unit of records.
    pub fn chunks(&self) -> usize {
        self.bundle.unit_bytes / CHUNK_BYTES
    }

    /// Bits of a residue on the wire.
    pub(super) fn word_bits(&self) -> u32 {
        let largest = self.bv().ring().tables().iter().map(|table| table.modulus()).max();
        largest.map_or(0, u32::ilog2) + 1
    }

    /// Words of a query: m bodies modulo all primes.
    pub(super) fn query_words(&self) -> usize {
        self.simplex().variables * self.bv().ring().len() * self.ring_degree()
    }

    /// Words of an answer: for each chunk D + 1 parts modulo the kept primes.
    pub(super) fn answer_words(&self) -> usize {
        self.chunks() * (self.simplex().degree + 1) * self.kept * self.ring_degree()
    }

    /// Words of the polynomials.
    pub(super) fn coefficients(&self) -> usize {
        self.chunks() * self.simplex().len()
    }

    fn sizes(&self) -> Sizes {
        let packed = |words: usize| packed_len(words, self.word_bits());
        Sizes {
            public: sealed_public(self.encode().len(), 0),
            query: sealed(SEED_BYTES + packed(self.query_words())),
            answer: sealed(packed(self.answer_words())),
            database: 4 * self.coefficients() as u64,
            material: self.bundle.shape.total_bytes(),
            ..Sizes::default()
        }
    }

    fn work(&self) -> Work {
        let ring = self.bv().ring();
        let terms = self.chunks() as f64 * self.choice.terms(ring.len());
        let Simplex { variables, degree } = self.simplex();
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

/// Units of records: 16 bits, or as many chunks as a record needs.
fn bundle(shape: Shape) -> Result<Units> {
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

/// Bounds parameters from the wire.
fn check(choice: Choice) -> Result<()> {
    let Choice { ring_degree, simplex } = choice;
    let bounds = [
        ("a ring's degree", ring_degree, 1024, MAX_DEGREE),
        ("a polynomial's variables", simplex.variables, 1, 16),
        ("a polynomial's degree", simplex.degree, 0, papir_kernels::poly_eval::MAX_DEGREE),
    ];
    for (what, found, least, most) in bounds {
        if !(least..=most).contains(&found) {
            return Err(Error::out_of_bounds(what, found as u64, format!("{least} to {most}")));
        }
    }
    Ok(())
}

impl Parameters for DepirParams {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let bundle = bundle(shape)?;
        let choice = search::choose(bundle.units(), bundle.unit_bytes / CHUNK_BYTES, goal)?;
        Self::with_order(bundle, choice, 1)
    }

    fn label(&self) -> String {
        let Simplex { variables, degree } = self.simplex();
        format!("{} slots, {variables} variables of degree {degree}", self.ring_degree())
    }

    fn shape(&self) -> Shape {
        self.bundle.shape
    }

    fn describe(&self) -> Description {
        let Simplex { variables, degree } = self.simplex();
        let ring = self.bv().ring();
        Description {
            scheme: Depir::NAME,
            privacy: Depir::PRIVACY,
            shape: self.bundle.shape,
            sizes: self.sizes(),
            security: self.bv().security().map(security),
            failure_log2: Choice::failure_log2(self.chunks()),
            limits: Limits {
                records: MAX_RECORDS,
                batch: self.ring_degree(),
                ..one_record((8 * CHUNK_BYTES * MAX_CHUNKS) as u64, UpdateCost::Rebuild)
            },
            parameters: vec![
                ("n", self.ring_degree().to_string()),
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
        write_shape(&mut writer, self.bundle.shape);
        writer.u32(self.ring_degree() as u32).u16(self.simplex().variables as u16);
        let primes = self.bv().ring().primes();
        writer.u16(primes.len() as u16).u16(self.kept as u16);
        for prime in primes {
            writer.u32(prime);
        }
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("depir's parameters", bytes);
        let bundle = bundle(read_shape(&mut reader)?)?;
        let (ring_degree, variables) = (reader.u32()? as usize, usize::from(reader.u16()?));
        let count = usize::from(reader.u16()?);
        if !(1..=MAX_PRIMES).contains(&count) {
            let expected = format!("1 to {MAX_PRIMES}");
            return Err(Error::out_of_bounds("the number of depir's primes", count as u64, expected));
        }
        let kept = usize::from(reader.u16()?);
        let primes = (0..count).map(|_| reader.u32()).collect::<Result<Vec<_>>>()?;
        reader.finish()?;
        if !primes.is_sorted_by(|a, b| a > b) {
            return Err(Error::malformed("depir's primes", "primes out of order", "descending ones"));
        }
        let choice = Choice { ring_degree, simplex: Simplex::holding(bundle.units(), variables) };
        check(choice)?;
        Self::with_primes(bundle, choice, &primes, kept)
    }
}
