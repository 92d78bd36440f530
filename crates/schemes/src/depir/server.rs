//! Server: preprocessing and online phase of Algorithm 4.

use papir_core::scheme::{Parameters, Scheme, Server, Session};
use papir_core::scratch::{InMemory, Scratch};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    AlignedBytes, Blob, BlobSlice, Change, Error, Progress, RecordBuffer, Records, Result,
    copy_packed, parallel,
};
use papir_lattice::bv::params::PLAINTEXT;
use papir_lattice::bv::switch::Switch;
use rand_core::CryptoRng;

use super::evaluator::{Ciphertexts, Evaluator, QueryPoints};
use super::interpolation::interpolate;
use super::params::{CHUNK_BYTES, Depir, DepirParams};
use super::structure::{Effort, Structure};
use super::wire::{DepirAnswer, DepirQuery, coordinate_mask};
use crate::shared::messages::EmptyPublic;
use crate::shared::stored_records;

const RECORDS: &str = "depir/records";
const POLYNOMIALS: &str = "depir/polynomials";

/// The records, and the polynomials that interpolate them.
pub struct DepirServer {
    params: DepirParams,
    packed: Blob,
    /// Coefficients modulo t of each chunk's polynomial.
    coefficients: BlobSlice<u32>,
    evaluator: Evaluator,
    switch: Switch,
}

impl Server<Depir> for DepirServer {
    fn setup(
        params: DepirParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::setup_resumable(params, records, &mut InMemory, rng, progress)
    }

    fn setup_resumable(
        params: DepirParams,
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let packed = stored_records::copy(Depir::NAME, params.shape(), records, progress)?;
        Self::prepared(params, packed, scratch, progress)
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
        // Each evaluation takes all threads, and the memory for the values of all its points:
        // queries come one after another.
        batch
            .into_iter()
            .map(|(_, query)| self.answer_one(query, progress))
            .collect()
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        // A coefficient depends on every entry of its chunk, so an update prepares everything
        // again.
        let packed = stored_records::change(self.params.shape(), &self.packed, changes)?;
        Self::prepared(self.params.clone(), packed, &mut InMemory, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        copy_packed(&self.params.shape(), &self.packed, first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(RECORDS, &[&self.packed])?;
        sink.put(POLYNOMIALS, &[self.coefficients.bytes()])?;
        self.evaluator.save(sink)
    }

    fn load(params: DepirParams, source: &dyn SectionSource) -> Result<Self> {
        let packed = stored_records::load(params.shape(), source, RECORDS)?;

        let coefficients = BlobSlice::<u32>::new(source.get(POLYNOMIALS)?, "depir's polynomials")?;
        Error::check_length(
            "depir's polynomials",
            coefficients.bytes().len(),
            4 * params.coefficients(),
        )?;
        // Lifts subtract a coefficient from t, which must not wrap.
        if let Some(found) = coefficients.iter().find(|&&word| word >= PLAINTEXT) {
            let expected = format!("residues below {PLAINTEXT}");
            return Err(Error::malformed("depir's polynomials", found, expected));
        }

        let evaluator = Evaluator::load(&params, &coefficients, source)?;
        Ok(Self::with(params, packed, coefficients, evaluator))
    }
}

impl DepirServer {
    /// Evaluates every chunk's polynomial at the query's points.
    fn answer_one(&self, query: &DepirQuery, progress: &dyn Progress) -> Result<DepirAnswer> {
        progress.stage("expand", 1);
        let ciphertexts = self.expand(query);
        let points = self.points(&ciphertexts)?;

        let mut words = Vec::new();
        for chunk in 0..self.params.chunks() {
            progress.stage("evaluate", 1);
            let (residues, _) = self.evaluate(&points, chunk);

            progress.stage("switch", 1);
            words.append(&mut self.switch(&residues));
        }

        Ok(DepirAnswer::new(words))
    }

    /// Interpolates the polynomial of each chunk (Algorithm 4, line 1).
    fn prepared(
        params: DepirParams,
        packed: Blob,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let shape = params.shape();
        let records = RecordBuffer::from_packed(shape, packed.to_vec())?;
        let units = params.units;
        let simplex = params.simplex();

        let mut bytes = vec![0u8; units.units() as usize * units.unit_bytes];
        units.read(&records, 0, &mut bytes)?;

        progress.stage("encode", params.chunks() as u64);
        let mut coefficients = AlignedBytes::zeroed(4 * params.coefficients());
        let polynomials = coefficients
            .slice_mut::<u32>()
            .chunks_exact_mut(simplex.len());
        for (chunk, polynomial) in polynomials.enumerate() {
            // Points beyond the entries keep the value 0.
            let values = polynomial.iter_mut();
            for (value, unit) in values.zip(bytes.chunks_exact(units.unit_bytes)) {
                let entry = &unit[chunk * CHUNK_BYTES..];
                *value = u16::from_le_bytes([entry[0], entry[1]]).into();
            }

            interpolate(simplex, polynomial);
            progress.advance(1);
        }

        let coefficients = BlobSlice::new(coefficients.into(), "depir's polynomials")?;
        let evaluator = Evaluator::new(&params, &coefficients, scratch, progress)?;
        Ok(Self::with(params, packed, coefficients, evaluator))
    }

    fn with(
        params: DepirParams,
        packed: Blob,
        coefficients: BlobSlice<u32>,
        evaluator: Evaluator,
    ) -> Self {
        let switch = Switch::new(&params.bv().ring().primes(), params.kept, PLAINTEXT);

        Self {
            params,
            packed,
            coefficients,
            evaluator,
            switch,
        }
    }

    /// Returns the data structure of a chunk's polynomial, or `None` for evaluation on lines.
    pub fn structure(&self, chunk: usize) -> Option<&Structure> {
        self.evaluator.structure(chunk)
    }

    /// Returns the coefficients of a chunk's polynomial modulo t, in lexicographic order of
    /// exponents.
    pub fn polynomial(&self, chunk: usize) -> &[u32] {
        let length = self.params.simplex().len();
        &self.coefficients[chunk * length..][..length]
    }

    /// Expands a query to ciphertexts: draws their masks from the seed.
    pub fn expand<'a>(&self, query: &'a DepirQuery) -> Ciphertexts<'a> {
        let coordinates = 0..self.params.simplex().variables;
        let masks = parallel::map(coordinates, |coordinate| {
            coordinate_mask(&self.params, &query.seed, coordinate)
        });

        Ciphertexts {
            bodies: &query.bodies,
            masks,
        }
    }

    /// Computes the points of a query, which all chunks share.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a first mask that is zero in a slot.
    pub fn points<'a>(&self, ciphertexts: &'a Ciphertexts<'_>) -> Result<QueryPoints<'a>> {
        QueryPoints::new(&self.params, ciphertexts)
    }

    /// Evaluates a chunk's polynomial at a query's points. Returns, for each prime and each power
    /// of Y, n coefficients, and the work by tables.
    pub fn evaluate(&self, points: &QueryPoints<'_>, chunk: usize) -> (Vec<Vec<u32>>, Effort) {
        self.evaluator
            .evaluate(&self.params, points, chunk, self.polynomial(chunk))
    }

    /// Switches an evaluation to the kept primes. Returns, for each power of Y and each kept prime,
    /// n coefficients.
    pub fn switch(&self, residues: &[Vec<u32>]) -> Vec<u32> {
        let n = self.params.ring_degree();
        let powers = 0..=self.params.simplex().degree;

        let switched = parallel::map(powers, |power| {
            self.switch
                .apply(n, |place| &residues[place][power * n..][..n])
        });
        switched.concat()
    }
}
