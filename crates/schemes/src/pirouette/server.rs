//! Server of Pirouette and Respire.

use std::sync::Arc;

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{
    Parameters, RegisteredServer, Server, Session, UpdateEstimate, check_changes,
};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Progress, Records, Result};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::client::Path;
use super::common::RetrievalParams;
use super::keys::{Evaluation, Keys};
use super::polynomials::{Polynomials, Sections};
use super::retrieval::{Retrieval, Selection, respond};
use super::wire::RetrievalAnswer;
use crate::shared::messages::PublicSeed;
use crate::shared::stored_records::check_source;

/// A scheme that retrieves items by selections, in phases 1 to 3.
pub trait Selecting: Path<Public = PublicSeed> {
    /// Names of a snapshot's sections.
    const SECTIONS: Sections;

    /// Computes phase 0: the selection of each query's item, in order.
    fn select(
        params: &Self::Params,
        batch: &[(&Evaluation, &Self::Query)],
        progress: &dyn Progress,
    ) -> Vec<Selection>;
}

/// A prepared database.
pub struct RetrievalServer<S: Path> {
    params: S::Params,
    polynomials: Polynomials,
}

impl<S: Selecting> RetrievalServer<S> {
    /// Returns the evaluation of phases 1 to 3.
    pub(super) fn retrieval(&self) -> Retrieval<'_> {
        Retrieval {
            common: self.params.common(),
            polynomials: &self.polynomials,
        }
    }
}

impl<S: Selecting> Server<S> for RetrievalServer<S> {
    fn setup(
        params: S::Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(S::NAME, params.shape(), records)?;
        let polynomials =
            Polynomials::encode(params.common(), Seed::random(rng), records, progress)?;

        Ok(Self {
            params,
            polynomials,
        })
    }

    fn params(&self) -> &S::Params {
        &self.params
    }

    fn public(&self) -> &PublicSeed {
        self.polynomials.public()
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, S>, &S::Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<RetrievalAnswer>> {
        let mut keyed = Vec::with_capacity(batch.len());
        for (session, query) in batch {
            keyed.push((session.require_keys()?, query));
        }

        // In parts, so that the expanded keys of many clients are not in memory together.
        let mut selections = Vec::new();
        let mut switches = Vec::new();
        for part in Keys::parts(&keyed, Keys::clients_together(&self.params)) {
            progress.stage("expand keys", part.len() as u64);
            let mut expanded = Vec::with_capacity(part.len());
            for (keys, _) in part {
                expanded.push(keys.expanded(&self.params)?);
            }

            let queries: Vec<_> = expanded
                .iter()
                .zip(part)
                .map(|(keys, (_, query))| (&**keys, *query))
                .collect();
            selections.append(&mut S::select(&self.params, &queries, progress));
            switches.extend(expanded.iter().map(|keys| Arc::clone(&keys.ring_switch)));
        }

        let items = self.retrieval().run(&selections, progress);

        progress.stage("switch", items.len() as u64);
        Ok(switches
            .iter()
            .zip(&items)
            .map(|(switch, item)| respond(&self.params, switch, item))
            .collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;

        let setup = self.params.describe().work.setup;
        let copied = if changes.is_empty() {
            0.0
        } else {
            self.params.layout().bytes() as f64
        };

        Ok(UpdateEstimate {
            update: Counts::new().with(Operation::Copy, copied, 1),
            setup,
        })
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;

        let polynomials = self
            .polynomials
            .update(self.params.common(), changes, progress)?;
        Ok(Self {
            params: self.params.clone(),
            polynomials,
        })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.polynomials
            .read_packed(self.params.layout(), (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.polynomials.save(sink, S::SECTIONS)
    }

    fn load(params: S::Params, source: &dyn SectionSource) -> Result<Self> {
        let polynomials = Polynomials::load(params.common(), source, S::SECTIONS)?;
        Ok(Self {
            params,
            polynomials,
        })
    }
}

impl<S: Selecting> RegisteredServer<S> for RetrievalServer<S> {}
