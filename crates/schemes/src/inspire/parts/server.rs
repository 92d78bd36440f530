//! SETUP and RESPOND (Algorithms 7 and 9 of InsPIRe) for parts that share packs.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{self, Parameters, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Progress, Records, Result};
use papir_lattice::packing::inspiring::Inspiring;
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::params::{InspireInParts, NAME, PartsParams};
use super::wire::{PartsAnswer, PartsPublic, PartsQuery};
use crate::inspire::prepared::{Key, Prepared, Sections};
use crate::inspire::server::{lift_keys, switch};
use crate::shared::packs::Names;
use crate::shared::stored_records::check_source;

const SECTIONS: Sections = Sections {
    header: "stacked/header",
    database: "stacked/database",
    exceptions: "stacked/exceptions",
    packs: Names { scheme: NAME, words: "stacked/matrices", packs: "stacked/packs" },
};

/// The parts' matrices and their packs. A clone shares the matrices.
#[derive(Clone)]
pub struct PartsServer {
    params: PartsParams,
    public: PartsPublic,
    prepared: Prepared,
}

impl scheme::Server<InspireInParts> for PartsServer {
    fn setup(
        params: PartsParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare(params, None, records, rng, progress)
    }

    fn setup_sharing_keys(
        first: &Self,
        params: PartsParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare(params, Some(first.prepared.packing().clone()), records, rng, progress)
    }

    fn params(&self) -> &PartsParams {
        &self.params
    }

    fn public(&self) -> &PartsPublic {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, InspireInParts>, &PartsQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<PartsAnswer>> {
        let below = self.params.below();
        let queries: Vec<&PartsQuery> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;
        progress.stage("read_keys", count);
        let read_key = |query: &&PartsQuery| self.prepared.online_key(lift_keys(below, &query.keys));
        let keys = queries.par_iter().map(read_key).collect::<Result<Vec<Key>>>()?;
        progress.stage("select", count);
        let selectors: Vec<&[u64]> = queries.iter().map(|query| query.selectors.as_slice()).collect();
        let selected = self.prepared.select(below, &selectors);
        progress.stage("pack", count);
        let packed = self.prepared.pack(below, selected, &keys.iter().collect::<Vec<_>>())?;
        Ok(packed.iter().map(|results| PartsAnswer(switch(below, results))).collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;
        let description = self.params.describe();
        let setup = description.work.setup;
        let columns = self.prepared.changed_columns(changes);
        if columns == 0 {
            return Ok(UpdateEstimate { update: Counts::new(), setup });
        }
        // A setup encodes each column once; an update decodes and encodes the changed ones.
        let all = (self.params.parts() * self.params.part().columns) as f64;
        let share = (2.0 * columns as f64 / all).min(2.0);
        let update = setup.iter().fold(Counts::new(), |counts, one| {
            let encodes = matches!(one.operation, Operation::Encode16 | Operation::Interpolate);
            counts.with(one.operation, one.times * if encodes { share } else { 1.0 }, one.parts)
        });
        let update = update.with(Operation::Copy, description.sizes.database as f64, 1);
        Ok(UpdateEstimate { update, setup })
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;
        Ok(Self { prepared: self.prepared.update(self.params.below(), changes, progress)?, ..self.clone() })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.prepared.read_packed(self.params.shape(), first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.prepared.save(sink)
    }

    fn load(params: PartsParams, source: &dyn SectionSource) -> Result<Self> {
        Self::load_with(params, None, source)
    }

    fn load_sharing_keys(first: &Self, params: PartsParams, source: &dyn SectionSource) -> Result<Self> {
        Self::load_with(params, Some(first.prepared.packing().clone()), source)
    }
}

impl PartsServer {
    fn prepare(
        params: PartsParams,
        packing: Option<Inspiring>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(NAME, params.shape(), records)?;
        let seeds = (0..params.parts()).map(|_| Seed::random(rng)).collect();
        let layouts = (params.below(), params.part());
        let prepared = Prepared::prepare(&SECTIONS, layouts, seeds, packing, records, progress)?;
        Ok(Self::assemble(params, prepared))
    }

    fn load_with(
        params: PartsParams,
        packing: Option<Inspiring>,
        source: &dyn SectionSource,
    ) -> Result<Self> {
        let layouts = (params.below(), params.part());
        let prepared = Prepared::load(&SECTIONS, layouts, params.parts(), packing, source)?;
        Ok(Self::assemble(params, prepared))
    }

    fn assemble(params: PartsParams, prepared: Prepared) -> Self {
        Self { params, public: PartsPublic { seeds: prepared.seeds.clone() }, prepared }
    }
}
