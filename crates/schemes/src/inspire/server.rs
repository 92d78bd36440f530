//! Server of InsPIRe: SETUP and RESPOND (Algorithms 7 and 9).
//!
//! A database is one part, or several parts that share packs.

use papir_core::cost::{Counts, Operation};
use papir_core::device::Device;
use papir_core::scheme::{
    self, DeviceServer, OnDevice, Parameters, Scheme, Session, UpdateEstimate, check_changes,
};
use papir_core::scratch::{InMemory, Scratch};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Progress, Records, Result, parallel};
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::packing::{Bodies, Packing};
use papir_lattice::rlwe::Rlwe;
use papir_ring::prg::Seed;
use papir_ring::{Poly, Values};
use rand_core::CryptoRng;

use super::evaluation::{Evaluation, switch};
use super::layout::Layout;
use super::literal::{Inspire, NAME};
use super::params::Params;
use super::prepared::{PackingKey, PartsLayout, PreparedParts, Sections};
use super::wire::{Answer, Query};
use crate::shared::messages::PublicSeed;
use crate::shared::packs::{Names, encryptions};
use crate::shared::stored_records::check_source;

/// A scheme whose database is one part, or several parts of one shape that share packs
/// ([`super::parts`]).
pub trait Parted: Scheme<Query = Query, Answer = Answer> + Clone {
    /// Names of the sections of a snapshot.
    const SECTIONS: Sections;
    /// True if databases that are queried together share the masks of packing keys.
    const SHARES_KEYS: bool;

    /// Returns the parameters that set ring and messages, and the layout of a part.
    fn layouts(params: &Self::Params) -> (&Params, &Layout);

    /// Returns the number of parts.
    fn parts(params: &Self::Params) -> usize;

    /// Returns the public part for the seeds of all parts.
    fn public(seeds: &[Seed]) -> Self::Public;

    /// Returns the work of an update that changes `columns` columns, at least one.
    fn update_work(params: &Self::Params, columns: usize) -> Counts;
}

impl Parted for Inspire {
    const SECTIONS: Sections = Sections {
        header: "inspire/header",
        database: "inspire/database",
        exceptions: "inspire/exceptions",
        packs: Names {
            scheme: NAME,
            words: "inspire/matrices",
            packs: "inspire/packs",
        },
    };
    /// False, because RGSW encryptions of two points under one secret must not share masks.
    const SHARES_KEYS: bool = false;

    fn layouts(params: &Params) -> (&Params, &Layout) {
        (params, params.layout())
    }

    fn parts(_params: &Params) -> usize {
        1
    }

    fn public(seeds: &[Seed]) -> PublicSeed {
        PublicSeed { seed: seeds[0] }
    }

    /// Returns the work of an update. It decodes and encodes the changed columns, and prepares all
    /// packs again from the whole matrix. A setup costs less from about half of the columns on.
    fn update_work(params: &Params, columns: usize) -> Counts {
        let sizes = params.sizes();
        params.preparing(2 * columns).with(
            Operation::Copy,
            (sizes.database + sizes.material) as f64,
            1,
        )
    }
}

/// Prepared parts: encoded matrices and their packs. A clone shares the matrices.
#[derive(Clone)]
pub struct PartsServer<S: Parted> {
    params: S::Params,
    public: S::Public,
    prepared: PreparedParts,
    evaluation: Evaluation,
}

impl<S: Parted> scheme::Server<S> for PartsServer<S> {
    const BOUNDED_MEMORY: bool = true;

    fn setup(
        params: S::Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::setup_resumable(params, records, &mut InMemory, rng, progress)
    }

    fn setup_resumable(
        params: S::Params,
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let seeds = random_seeds::<S>(&params, rng);
        Self::with_seeds(params, seeds, None, records, scratch, progress)
    }

    fn params(&self) -> &S::Params {
        &self.params
    }

    fn public(&self) -> &S::Public {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, S>, &Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let queries: Vec<&Query> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;

        // Keys come first: one that does not fit is refused before the pass over the database.
        progress.stage("read_keys", count);
        let keys = parallel::try_map(&queries, |query| self.read_keys(query))?;

        let results = match self.evaluate_on_device(&queries, &keys, progress) {
            Some(results) => results,
            None => self.results(&queries, &keys, progress)?,
        };

        progress.stage("switch", count);
        Ok(parallel::map(&results, |results| {
            switch(self.ring_params(), results)
        }))
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;
        let update = match self.prepared.changed_columns(changes) {
            0 => Counts::new(),
            columns => S::update_work(&self.params, columns),
        };
        Ok(UpdateEstimate {
            update,
            setup: self.params.describe().work.setup,
        })
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;
        // The seeds stay, and with them the public part and the masks of points.
        Ok(Self {
            prepared: self
                .prepared
                .update(self.ring_params(), changes, progress)?,
            ..self.clone()
        })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.prepared
            .read_packed(self.params.shape(), first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.prepared.save(sink)
    }

    fn load(params: S::Params, source: &dyn SectionSource) -> Result<Self> {
        Self::load_with(params, None, source)
    }
}

/// Selection and packing on a device, and evaluation if it supports the parameters.
pub(super) struct PartsOnDevice;

impl<S: Parted<Server = PartsServer<S>>> OnDevice<S> for PartsOnDevice {
    fn place(&self, server: &PartsServer<S>, device: &dyn Device) -> Result<DeviceServer<S>> {
        let params = &server.params;
        let placed = PartsServer {
            prepared: server.prepared.on_device(server.ring_params(), device)?,
            ..server.clone()
        };

        Ok(DeviceServer {
            server: placed,
            matrices: PreparedParts::device_matrices(parts_layout::<S>(params), S::parts(params)),
        })
    }
}

/// Ring, messages and layout of a scheme's parts.
fn parts_layout<S: Parted>(params: &S::Params) -> PartsLayout<'_> {
    let (params, layout) = S::layouts(params);
    PartsLayout { params, layout }
}

/// Draws random seeds, one for each part.
pub(super) fn random_seeds<S: Parted>(params: &S::Params, rng: &mut dyn CryptoRng) -> Vec<Seed> {
    (0..S::parts(params)).map(|_| Seed::random(rng)).collect()
}

/// Key material of a query, prepared for an answer.
pub struct Keys {
    pub(super) packing: PackingKey,
    pub(super) rgsw: Vec<Poly<Values>>,
}

impl PartsServer<Inspire> {
    /// Prepares a database under the given public seed.
    ///
    /// # Errors
    /// The errors of the source, and [`papir_core::Error::Parameters`] for a source of another
    /// shape.
    pub fn prepare(
        params: Params,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::with_seeds(params, vec![seed], None, records, &mut InMemory, progress)
    }
}

impl<S: Parted> PartsServer<S> {
    /// Prepares a database that clients query together with this one, under one secret. If the
    /// scheme shares keys, the new database reuses the masks of this one's packing keys.
    ///
    /// # Errors
    /// The errors of [`setup`](scheme::Server::setup).
    pub(crate) fn setup_sharing_keys(
        &self,
        params: S::Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let seeds = random_seeds::<S>(&params, rng);
        let packing = self.shared_packing();
        Self::with_seeds(params, seeds, packing, records, &mut InMemory, progress)
    }

    /// Loads a database that [`Self::setup_sharing_keys`] prepared.
    ///
    /// # Errors
    /// The errors of [`load`](scheme::Server::load).
    pub(crate) fn load_sharing_keys(
        &self,
        params: S::Params,
        source: &dyn SectionSource,
    ) -> Result<Self> {
        Self::load_with(params, self.shared_packing(), source)
    }

    fn with_seeds(
        params: S::Params,
        seeds: Vec<Seed>,
        packing: Option<Packing<Inspiring>>,
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(S::NAME, params.shape(), records)?;

        let prepared = PreparedParts::prepare(
            S::SECTIONS,
            parts_layout::<S>(&params),
            seeds,
            packing,
            records,
            scratch,
            progress,
        )?;
        Ok(Self::assemble(params, prepared))
    }

    fn load_with(
        params: S::Params,
        packing: Option<Packing<Inspiring>>,
        source: &dyn SectionSource,
    ) -> Result<Self> {
        let of_parts = parts_layout::<S>(&params);
        let parts = S::parts(&params);
        let prepared = PreparedParts::load(S::SECTIONS, of_parts, parts, packing, source)?;
        Ok(Self::assemble(params, prepared))
    }

    fn assemble(params: S::Params, prepared: PreparedParts) -> Self {
        // Parts share their packs, so one seed gives the masks of the point.
        let evaluation = Evaluation::new(parts_layout::<S>(&params).params, &prepared.seeds[0]);
        Self {
            public: S::public(&prepared.seeds),
            params,
            prepared,
            evaluation,
        }
    }

    /// The packing, for a database with the same keys.
    fn shared_packing(&self) -> Option<Packing<Inspiring>> {
        S::SHARES_KEYS.then(|| self.prepared.packing.clone())
    }

    fn ring_params(&self) -> &Params {
        parts_layout::<S>(&self.params).params
    }

    /// Computes lines 7 to 12 and EVALPOLY on a device. Returns `None` if no device has the packs,
    /// or if the device fails.
    fn evaluate_on_device(
        &self,
        queries: &[&Query],
        keys: &[Keys],
        progress: &dyn Progress,
    ) -> Option<Vec<Vec<Rlwe>>> {
        self.prepared
            .evaluate_on_device(self.ring_params(), queries, keys, progress)
    }

    /// Computes lines 7 to 12 and EVALPOLY: one result for each chunk, for each query.
    fn results(
        &self,
        queries: &[&Query],
        keys: &[Keys],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Rlwe>>> {
        let count = queries.len() as u64;

        progress.stage("select", count);
        let bodies = self.select(queries);

        progress.stage("pack", count);
        let packed = self.pack(bodies, keys)?;

        progress.stage("evaluate", count);
        Ok(parallel::map(
            packed.into_iter().zip(keys),
            |(packed, keys)| self.evaluate(packed, keys),
        ))
    }

    /// Computes line 7, b′ = D′·b: the bodies of all packs modulo q for each query, in one pass
    /// over the database.
    pub fn select(&self, queries: &[&Query]) -> Vec<Bodies> {
        let selectors: Vec<&[u64]> = queries
            .iter()
            .map(|query| query.selector.as_slice())
            .collect();
        self.prepared.select(self.ring_params(), &selectors)
    }

    /// Reads the key material of a query: the packing key, and RGSW bodies lifted to q.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for a query of other parameters.
    pub fn read_keys(&self, query: &Query) -> Result<Keys> {
        let params = self.ring_params();
        let (packing, rgsw) = params.split_keys(&query.keys);
        Ok(Keys {
            packing: self.prepared.packing_key(params, packing)?,
            rgsw: Evaluation::lift(params, rgsw),
        })
    }

    /// Computes lines 8 to 12: packs the selected bodies of each query to t encryptions for each
    /// chunk, in one pass over the packing matrices.
    ///
    /// # Errors
    /// The errors of [`PartsServer::read_keys`].
    pub fn pack(&self, bodies: Vec<Bodies>, keys: &[Keys]) -> Result<Vec<Vec<Rlwe>>> {
        let keys: Vec<_> = keys.iter().map(|keys| &keys.packing).collect();
        let packed = self.prepared.pack(bodies, &keys)?;

        let ring = self.ring_params().rlwe().ring();
        let packs = &self.prepared.packs.packs;
        Ok(packed
            .iter()
            .map(|bodies| encryptions(ring, packs, bodies))
            .collect())
    }

    /// Computes EVALPOLY, with one result for each chunk.
    pub fn evaluate(&self, packed: Vec<Rlwe>, keys: &Keys) -> Vec<Rlwe> {
        self.evaluation
            .evaluate(self.ring_params(), packed, &keys.rgsw)
    }
}
