//! SETUP and RESPOND (Algorithms 7 and 9). Matrices and packs are in `prepared`.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{self, Parameters, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Progress, Records, Result};
use papir_lattice::mod_switch::lift_elements;
use papir_lattice::packing::{Bodies, RingPacking};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::{Rows, Workspace};
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly, Values};
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::literal::{Inspire, NAME};
use super::masks::rgsw_masks;
use super::params::Params;
use super::prepared::{Key, Prepared, Sections};
use super::wire::{Answer, Query};
use crate::shared::messages::PublicSeed;
use crate::shared::packs::Names;
use crate::shared::stored_records::check_source;

const SECTIONS: Sections = Sections {
    header: "inspire/header",
    database: "inspire/database",
    exceptions: "inspire/exceptions",
    packs: Names { scheme: NAME, words: "inspire/matrices", packs: "inspire/packs" },
};

/// A prepared database: the encoded matrix and its packs. A clone shares the matrices.
#[derive(Clone)]
pub struct Server {
    params: Params,
    public: PublicSeed,
    prepared: Prepared,
    rgsw_masks: Vec<Poly<Values>>,
}

impl scheme::Server<Inspire> for Server {
    fn setup(
        params: Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare(params, Seed::random(rng), records, progress)
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn public(&self) -> &PublicSeed {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Inspire>, &Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let queries: Vec<&Query> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;
        progress.stage("read_keys", count);
        let keys = queries.par_iter().map(|query| self.read_keys(query)).collect::<Result<Vec<_>>>()?;
        progress.stage("select", count);
        let bodies = self.select_many(&queries);
        progress.stage("pack", count);
        let packed = self.pack_many(bodies, &keys)?;
        progress.stage("evaluate", count);
        let results: Vec<Vec<Rlwe>> =
            packed.into_par_iter().zip(&keys).map(|(packed, keys)| self.evaluate(packed, keys)).collect();
        progress.stage("switch", count);
        Ok(results.par_iter().map(|results| switch(&self.params, results)).collect())
    }

    /// Counts decoding and encoding the changed columns, and preparing all packs again from the
    /// whole matrix. A setup costs less from about half of the columns on.
    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.layout().shape, changes)?;
        let update = match self.prepared.changed_columns(changes) {
            0 => Counts::new(),
            columns => {
                let stored = self.params.stored_bytes() as f64;
                self.params.preparing(2 * columns).with(Operation::Copy, stored, 1)
            }
        };
        Ok(UpdateEstimate { update, setup: self.params.describe().work.setup })
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        check_changes(&self.params.layout().shape, changes)?;
        Ok(Self { prepared: self.prepared.update(&self.params, changes, progress)?, ..self.clone() })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.prepared.read_packed(self.params.layout().shape, first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.prepared.save(sink)
    }

    fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let prepared = Prepared::load(&SECTIONS, (&params, params.layout()), 1, None, source)?;
        Ok(Self::assemble(params, prepared))
    }
}

/// Key material of a query in the form that an answer uses.
pub struct Keys {
    packing: Key,
    rgsw: Vec<Poly<Values>>,
}

impl Server {
    /// Prepares a database under a given public seed.
    ///
    /// # Errors
    /// Those of the source, and [`papir_core::Error::Parameters`] for a source of another shape.
    pub fn prepare(
        params: Params,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let layout = params.layout();
        check_source(NAME, layout.shape, records)?;
        let prepared = Prepared::prepare(&SECTIONS, (&params, layout), vec![seed], None, records, progress)?;
        Ok(Self::assemble(params, prepared))
    }

    fn assemble(params: Params, prepared: Prepared) -> Self {
        let seed = prepared.seeds[0];
        let rgsw_masks = rgsw_masks(&params, &seed);
        Self { params, public: PublicSeed { seed }, prepared, rgsw_masks }
    }

    /// Line 7, b′ = D′·b: bodies of all packs modulo q, in one pass over the database.
    pub fn select(&self, query: &Query) -> Vec<Bodies> {
        self.select_many(&[query])
    }

    /// [`Server::select`] for several queries, in one pass over the database.
    pub fn select_many(&self, queries: &[&Query]) -> Vec<Bodies> {
        let selectors: Vec<&[u64]> = queries.iter().map(|query| query.selector.as_slice()).collect();
        self.prepared.select(&self.params, &selectors)
    }

    /// Key material of a query, lifted to q: packing key and RGSW bodies.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for a query of other parameters.
    pub fn read_keys(&self, query: &Query) -> Result<Keys> {
        let ring = self.params.rlwe().ring();
        let mut elements = lift_keys(&self.params, &query.keys);
        let rgsw = elements.split_off(self.prepared.packing.shape().elements());
        let rgsw = rgsw.into_iter().map(|poly| ring.forward(poly)).collect();
        Ok(Keys { packing: self.prepared.online_key(elements)?, rgsw })
    }

    /// Lines 8 to 12: packs the selected bodies, t encryptions for each chunk.
    ///
    /// # Errors
    /// As [`Server::read_keys`].
    pub fn pack(&self, bodies: Vec<Bodies>, keys: &Keys) -> Result<Vec<Rlwe>> {
        Ok(self.pack_many(bodies, std::slice::from_ref(keys))?.into_iter().flatten().collect())
    }

    /// [`Server::pack`] for several queries, in one pass over the packing matrices.
    ///
    /// # Errors
    /// As [`Server::read_keys`].
    pub fn pack_many(&self, bodies: Vec<Bodies>, keys: &[Keys]) -> Result<Vec<Vec<Rlwe>>> {
        let keys: Vec<&Key> = keys.iter().map(|keys| &keys.packing).collect();
        self.prepared.pack(&self.params, bodies, &keys)
    }

    /// EVALPOLY: Horner's rule at the encrypted point, with one result for each chunk. With several
    /// variables (appendix G.2) the polynomials in the innermost one are evaluated first; their
    /// values are the coefficients in the next.
    pub fn evaluate(&self, packed: Vec<Rlwe>, keys: &Keys) -> Vec<Rlwe> {
        let rows = self.params.rgsw_rows();
        let points = self.rgsw_masks.chunks_exact(rows).zip(keys.rgsw.chunks_exact(rows));
        let variables = self.params.layout().interpolation.variables().zip(points);
        variables.fold(packed, |coefficients, (size, (masks, bodies))| {
            let point = Rows::new(masks, bodies);
            coefficients.par_chunks(size).map(|polynomial| self.horner(polynomial, &point)).collect()
        })
    }

    /// Σ_k cₖ·Z^k at the encrypted Z.
    fn horner(&self, coefficients: &[Rlwe], point: &Rows) -> Rlwe {
        let ring = self.params.rlwe().ring();
        let mut descending = coefficients.iter().rev();
        let first = descending.next().cloned().unwrap_or_else(|| Rlwe::zero(ring));
        let mut work = Workspace::new(ring, point.count());
        descending.fold(first, |sum, coefficient| {
            let mut next = Rlwe::zero(ring);
            work.external_product(ring, self.params.rgsw(), &sum, point, &mut next);
            next.add_assign(ring, coefficient);
            next
        })
    }
}

/// Key material of [`Params::key_elements`] bits, lifted to q.
pub(crate) fn lift_keys(params: &Params, keys: &[u64]) -> Vec<Poly<Coefficients>> {
    let ring = params.rlwe().ring();
    let words = keys.chunks_exact(ring.degree()).zip(params.key_elements());
    words.flat_map(|(words, bits)| lift_elements(ring, bits, words)).collect()
}

/// Switches masks and bodies to the bits of an answer.
pub(crate) fn switch(params: &Params, results: &[Rlwe]) -> Answer {
    let (ring, bits) = (params.rlwe().ring(), params.answer_bits());
    Answer {
        masks: results.iter().flat_map(|result| bits.mask(ring, &result.a)).collect(),
        bodies: results.iter().flat_map(|result| bits.body(ring, &ring.to_words(&result.b))).collect(),
    }
}
