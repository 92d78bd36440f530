//! The server of Pirouette and Respire: records as polynomials, and Answer.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Progress, Records, Result};
use papir_lattice::rlwe::Rlwe;
use rand_core::CryptoRng;

use super::chain::ParameterSet;
use super::common::{RetrievalParams, SelectingParams};
use super::fold::respond;
use super::keys::{Evaluation, Keys};
use super::params::Pirouette;
use super::path::{Path, Selecting};
use super::phase0::Expansion;
use super::retrieval::{Polynomials, Retrieval, Selection};
use super::wire::RetrievalAnswer;
use crate::shared::messages::EmptyPublic;
use crate::shared::stored_records::check_source;

/// A prepared database.
pub struct RetrievalServer<S: Path> {
    params: S::Params,
    polynomials: Polynomials,
}

impl<T: ParameterSet> RetrievalServer<Pirouette<T>> {
    /// Phase 0 in parts, under a client's keys.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for malformed keys.
    pub fn expansion<'a>(&'a self, keys: &'a Keys<Evaluation<2>>) -> Result<Expansion<'a, T>> {
        Ok(Expansion::new(&self.params, keys.expanded(self.params.chain())?))
    }
}

impl<S: Selecting> RetrievalServer<S> {
    /// Phase 0: returns the selection of each query's item.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for malformed keys.
    pub fn select(
        &self,
        batch: &[(&Keys<S::Expanded>, &S::Query)],
        progress: &dyn Progress,
    ) -> Result<Vec<Selection>> {
        let chain = self.params.chain();
        let batch = batch.iter().map(|(keys, query)| Ok((keys.expanded(chain)?, *query)));
        Ok(S::select(&self.params, &batch.collect::<Result<Vec<_>>>()?, progress))
    }

    /// Phases 1 to 3.
    pub fn retrieval(&self) -> Retrieval<'_> {
        let (ring, gate) = (self.params.chain().ring(), self.params.gate());
        Retrieval { polynomials: &self.polynomials, ring, gate }
    }

    /// Returns, for each query, the encryption of each plane before ModSwitch, for further
    /// computation: the item's signed bytes times q/p at multiples of d/span.
    ///
    /// # Errors
    /// As [`Server::answer`].
    pub fn encrypted_items(
        &self,
        batch: &[(&Keys<S::Expanded>, &S::Query)],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<Rlwe>>> {
        Ok(self.retrieval().run(&self.select(batch, progress)?, progress))
    }

    /// ModSwitch and RingSwitch: returns the answer of a query's planes.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for malformed keys.
    pub fn respond(&self, keys: &Keys<S::Expanded>, planes: &[Rlwe]) -> Result<RetrievalAnswer> {
        respond(&self.params, keys, planes)
    }
}

impl<S: Selecting> Server<S> for RetrievalServer<S> {
    fn setup(
        params: S::Params,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(S::NAME, params.shape(), records)?;
        let place = (params.layout(), params.form(), params.chain().ring());
        let polynomials = Polynomials::encode(place, records, progress)?;
        Ok(Self { params, polynomials })
    }

    fn params(&self) -> &S::Params {
        &self.params
    }

    fn public(&self) -> &EmptyPublic {
        &EmptyPublic
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, S>, &S::Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<RetrievalAnswer>> {
        let batch = batch.into_iter().map(|(session, query)| Ok((session.require_keys()?, query)));
        let batch = batch.collect::<Result<Vec<_>>>()?;
        let items = self.encrypted_items(&batch, progress)?;
        progress.stage("switch", batch.len() as u64);
        batch.iter().zip(&items).map(|((keys, _), item)| self.respond(keys, item)).collect()
    }

    fn keys_fit(&self, _keys: &Keys<S::Expanded>) -> bool {
        true
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;
        let setup = self.params.describe().work.setup;
        let copied = if changes.is_empty() { 0.0 } else { self.params.layout().bytes() as f64 };
        Ok(UpdateEstimate { update: Counts::new().with(Operation::Copy, copied, 1), setup })
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;
        let polynomials = self.polynomials.update(self.params.chain().ring(), changes, progress)?;
        Ok(Self { params: self.params.clone(), polynomials })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.polynomials.read_packed((first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.polynomials.save(sink, S::SECTIONS)
    }

    fn load(params: S::Params, source: &dyn SectionSource) -> Result<Self> {
        let polynomials = Polynomials::load((params.layout(), params.form()), source, S::SECTIONS)?;
        Ok(Self { params, polynomials })
    }
}
