//! The server: preprocessing and online phase of Algorithm 4.

use papir_core::scheme::{Parameters, Scheme, Server, Session};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    AlignedBytes, Blob, BlobSlice, Change, Error, Progress, RecordBuffer, Records, Result, copy_packed,
};
use papir_kernels::ntt::NttTable;
use papir_kernels::pointwise::Modulus;
use papir_lattice::bv::params::PLAINTEXT;
use papir_lattice::bv::switch::Switch;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::interpolation::interpolate;
use super::lines::{self, Lines};
use super::params::{CHUNK_BYTES, Depir, DepirParams};
use super::structure::levels::Steps;
use super::structure::table::Store;
use super::structure::{Effort, Points, Structure};
use super::wire::{DepirAnswer, DepirQuery, coordinate_mask};
use crate::shared::messages::EmptyPublic;
use crate::shared::stored_records;

const RECORDS: &str = "depir/records";
const POLYNOMIALS: &str = "depir/polynomials";

/// The records, and the polynomials that interpolate them.
pub struct DepirServer {
    params: DepirParams,
    packed: Blob,
    /// Coefficients modulo t of a polynomial for each chunk.
    coefficients: BlobSlice<u32>,
    switch: Switch,
}

/// A query's ciphertexts, as values.
pub struct Ciphertexts<'a> {
    bodies: &'a [u32],
    masks: Vec<Vec<u32>>,
}

impl Server<Depir> for DepirServer {
    fn setup(
        params: DepirParams,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let packed = stored_records::copy(Depir::NAME, params.shape(), records, progress)?;
        Self::prepared(params, packed, progress)
    }

    fn params(&self) -> &DepirParams {
        &self.params
    }

    fn public(&self) -> &EmptyPublic {
        &EmptyPublic
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Depir>, &DepirQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<DepirAnswer>> {
        batch.into_iter().map(|(_, query)| self.answer_one(query, progress)).collect()
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        let packed = stored_records::change(self.params.shape(), &self.packed, changes)?;
        Self::prepared(self.params.clone(), packed, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        copy_packed(&self.params.shape(), &self.packed, first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(RECORDS, &[&self.packed])?;
        sink.put(POLYNOMIALS, &[self.coefficients.bytes()])
    }

    fn load(params: DepirParams, source: &dyn SectionSource) -> Result<Self> {
        let packed = stored_records::load(params.shape(), source, RECORDS)?;
        let coefficients = BlobSlice::<u32>::new(source.get(POLYNOMIALS)?, "depir's polynomials")?;
        Error::check_length("depir's polynomials", coefficients.bytes().len(), 4 * params.coefficients())?;
        if let Some(found) = coefficients.iter().find(|&&word| word >= PLAINTEXT) {
            let expected = format!("residues below {PLAINTEXT}");
            return Err(Error::malformed("depir's polynomials", found, expected));
        }
        Ok(Self::with(params, packed, coefficients))
    }
}

impl DepirServer {
    /// Evaluates every chunk's polynomial at the query's points.
    fn answer_one(&self, query: &DepirQuery, progress: &dyn Progress) -> Result<DepirAnswer> {
        progress.stage("expand", 1);
        let ciphertexts = self.expand(query);
        let mut words = Vec::new();
        for chunk in 0..self.params.chunks() {
            progress.stage("evaluate", 1);
            let residues = self.evaluate(&ciphertexts, chunk)?;
            progress.stage("switch", 1);
            words.append(&mut self.switch(&residues));
        }
        Ok(DepirAnswer::new(words))
    }

    /// Interpolates the polynomial of each chunk (Algorithm 4, line 1).
    fn prepared(params: DepirParams, packed: Blob, progress: &dyn Progress) -> Result<Self> {
        let shape = params.shape();
        let records = RecordBuffer::from_packed(shape, packed.to_vec())?;
        let (units, simplex) = (params.units, params.simplex());
        let mut bytes = vec![0u8; units.units() as usize * units.unit_bytes];
        units.read(&records, 0, &mut bytes)?;
        progress.stage("encode", params.chunks() as u64);
        let mut coefficients = AlignedBytes::zeroed(4 * params.coefficients());
        let polynomials = coefficients.slice_mut::<u32>().chunks_exact_mut(simplex.len());
        for (chunk, polynomial) in polynomials.enumerate() {
            for (value, unit) in polynomial.iter_mut().zip(bytes.chunks_exact(units.unit_bytes)) {
                let entry = &unit[chunk * CHUNK_BYTES..];
                *value = u16::from_le_bytes([entry[0], entry[1]]).into();
            }
            interpolate(simplex, polynomial);
            progress.advance(1);
        }
        let coefficients = BlobSlice::new(coefficients.into(), "depir's polynomials")?;
        Ok(Self::with(params, packed, coefficients))
    }

    fn with(params: DepirParams, packed: Blob, coefficients: BlobSlice<u32>) -> Self {
        let switch = Switch::new(&params.bv().ring().primes(), params.kept, PLAINTEXT);
        Self { params, packed, coefficients, switch }
    }

    /// Coefficients of a chunk's polynomial modulo t, in lexicographic order of exponents.
    pub fn polynomial(&self, chunk: usize) -> &[u32] {
        let length = self.params.simplex().len();
        &self.coefficients[chunk * length..][..length]
    }

    /// Expands a query to ciphertexts.
    pub fn expand<'a>(&self, query: &'a DepirQuery) -> Ciphertexts<'a> {
        let coordinates = (0..self.params.simplex().variables).into_par_iter();
        let mask = |coordinate| coordinate_mask(&self.params, &query.seed, coordinate);
        Ciphertexts { bodies: &query.bodies, masks: coordinates.map(mask).collect() }
    }

    /// Evaluates a chunk's polynomial at the ciphertexts. Returns, for each prime and each power of
    /// Y, n coefficients.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a first mask that is zero in a slot.
    pub fn evaluate(&self, ciphertexts: &Ciphertexts<'_>, chunk: usize) -> Result<Vec<Vec<u32>>> {
        let ring = self.params.bv().ring();
        let polynomial = self.polynomial(chunk);
        let one = |place: usize| {
            let (bodies, masks) = ciphertexts.modulo(place, ring.degree());
            let table = &ring.tables()[place];
            let modulus = Modulus::new(table.modulus());
            let lines = Lines::new(modulus, &bodies, &masks).ok_or_else(|| {
                Error::malformed("depir's query", "a first mask that is zero in a slot", "an invertible one")
            })?;
            let mut rows = lines.evaluate(self.params.simplex(), polynomial);
            rows.chunks_exact_mut(ring.degree()).for_each(|row| table.inverse(row));
            Ok(rows)
        };
        (0..ring.len()).into_par_iter().map(one).collect()
    }

    /// Builds the data structure of a chunk's polynomial (Algorithm 4, lines 2 to 15).
    ///
    /// # Errors
    /// The errors of [`Structure::new`].
    pub fn structure(
        &self,
        chunk: usize,
        options: (Steps, usize),
        store: &mut dyn Store,
        progress: &dyn Progress,
    ) -> Result<Structure> {
        let largest = self.params.bv().ring().primes().into_iter().max().unwrap_or_default();
        Structure::new(self.params.simplex(), self.polynomial(chunk), largest, options, store, progress)
    }

    /// Returns the result of [`DepirServer::evaluate`], computed by a data structure (Algorithm 4,
    /// lines 20 to 27).
    pub fn look_up(&self, structure: &Structure, ciphertexts: &Ciphertexts<'_>) -> (Vec<Vec<u32>>, Effort) {
        let (ring, degree) = (self.params.bv().ring(), self.params.simplex().degree);
        let points = |(place, modulus): (usize, Modulus)| {
            let (bodies, masks) = ciphertexts.modulo(place, ring.degree());
            let nodes = lines::nodes(modulus, degree);
            Points { modulus, rows: lines::values(modulus, &nodes, &bodies, &masks) }
        };
        let groups: Vec<Points> = ring.moduli().enumerate().map(points).collect();
        let (values, effort) = structure.evaluate(&groups);
        let back = |(values, table): (&Vec<u32>, &NttTable)| {
            let modulus = Modulus::new(table.modulus());
            let nodes = lines::nodes(modulus, degree);
            let mut rows = lines::coefficients(modulus, &nodes, values);
            rows.chunks_exact_mut(ring.degree()).for_each(|row| table.inverse(row));
            rows
        };
        (values.par_iter().zip(ring.tables()).map(back).collect(), effort)
    }

    /// Switches to the kept primes. Returns, for each power of Y and each prime, n coefficients.
    pub fn switch(&self, residues: &[Vec<u32>]) -> Vec<u32> {
        let n = self.params.ring_degree();
        let powers = (0..=self.params.simplex().degree).into_par_iter();
        let parts = powers.map(|power| self.switch.apply(n, |place| &residues[place][power * n..][..n]));
        parts.collect::<Vec<_>>().concat()
    }
}

impl Ciphertexts<'_> {
    /// Bodies and masks of all coordinates modulo one prime.
    pub fn modulo(&self, place: usize, degree: usize) -> (Vec<&[u32]>, Vec<&[u32]>) {
        let each = self.masks.first().map_or(1, Vec::len);
        let bodies = self.bodies.chunks_exact(each).map(|words| &words[place * degree..][..degree]);
        let masks = self.masks.iter().map(|words| &words[place * degree..][..degree]);
        (bodies.collect(), masks.collect())
    }
}
