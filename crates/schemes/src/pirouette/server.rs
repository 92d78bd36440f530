//! The server: records as polynomials, and Answer.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Server, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Error, Progress, Records, Result};
use papir_lattice::rlwe::Rlwe;
use papir_ring::Ring;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::fold::respond;
use super::keys::{Evaluation, Keys};
use super::layout::Layout;
use super::params::{Form, PirouetteParams};
use super::phase0::Expansion;
use super::retrieval::{Polynomials, Retrieval, Sections};
use super::wire::{PirouetteAnswer, PirouetteQuery, Public};
use super::{Lengths, Pirouette};
use crate::shape_io::check_source;

const SECTIONS: Sections = Sections { bytes: "pirouette/database", values: "pirouette/transforms" };

/// A prepared database. A clone shares it.
#[derive(Clone)]
pub struct PirouetteServer<T> {
    params: PirouetteParams<T>,
    polynomials: Polynomials,
}

impl<T: Lengths> PirouetteServer<T> {
    /// Phase 0 under a client's keys.
    ///
    /// # Errors
    /// [`Error::Malformed`] for keys that are none.
    pub fn expansion<'a>(&'a self, keys: &'a Keys<Evaluation>) -> Result<Expansion<'a, T>> {
        Ok(Expansion::new(&self.params, keys.expanded(&self.params.chain)?))
    }

    /// Phases 1 to 3.
    pub fn retrieval(&self) -> Retrieval<'_> {
        let ring = self.params.chain.ring();
        Retrieval { polynomials: &self.polynomials, ring, gate: &self.params.gate }
    }

    /// The answers' encryptions before they are switched, for computing on: for each query one for each plane,
    /// in the ring that all was computed in, with the item's bytes (signed) times q/p at multiples of d/span.
    ///
    /// # Errors
    /// As [`Server::answer`].
    pub fn encrypted_items(&self, batch: &[(&Keys<Evaluation>, &PirouetteQuery)]) -> Result<Vec<Vec<Rlwe>>> {
        let select =
            |(keys, query): &(&Keys<Evaluation>, &PirouetteQuery)| Ok(self.expansion(keys)?.run(query));
        let selections = batch.par_iter().map(select).collect::<Result<Vec<_>>>()?;
        Ok(self.retrieval().run(&selections))
    }

    /// ModSwitch and RingSwitch: the answer of a query's planes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for keys that are none.
    pub fn respond(&self, keys: &Keys<Evaluation>, planes: &[Rlwe]) -> Result<PirouetteAnswer> {
        let keys = keys.expanded(&self.params.chain)?;
        let answer = (self.params.answer_bits, self.params.layout.span);
        Ok(respond(&self.params.chain, &keys.conversion.ring_switch, answer, planes))
    }
}

/// Where polynomials lie, in which form, and their ring.
fn place<T: Lengths>(params: &PirouetteParams<T>) -> (&Layout, Form, &Ring) {
    (&params.layout, params.literal().form, params.chain.ring())
}

impl<T: Lengths> Server<Pirouette<T>> for PirouetteServer<T> {
    fn setup(
        params: PirouetteParams<T>,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(T::NAME, params.shape(), records)?;
        let polynomials = Polynomials::encode(place(&params), records, progress)?;
        Ok(Self { params, polynomials })
    }

    fn params(&self) -> &PirouetteParams<T> {
        &self.params
    }

    fn public(&self) -> &Public {
        &Public
    }

    fn answer(&self, session: Session<'_, Pirouette<T>>, query: &PirouetteQuery) -> Result<PirouetteAnswer> {
        self.answer_many(vec![(session, query)])?.pop().ok_or(Error::NotDecodable)
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Pirouette<T>>, &PirouetteQuery)>,
    ) -> Result<Vec<PirouetteAnswer>> {
        let batch = batch.into_iter().map(|(session, query)| Ok((session.require_keys()?, query)));
        let batch = batch.collect::<Result<Vec<_>>>()?;
        let items = self.encrypted_items(&batch)?;
        batch.iter().zip(&items).map(|((keys, _), item)| self.respond(keys, item)).collect()
    }

    fn keys_fit(&self, _keys: &Keys<Evaluation>) -> bool {
        true
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params.shape(), changes)?;
        let setup = self.params.describe().work.setup;
        let copied = if changes.is_empty() { 0.0 } else { self.params.layout.bytes() as f64 };
        Ok(UpdateEstimate { update: Counts::new().with(Operation::Copy, copied, 1), setup })
    }

    fn update(&self, changes: &[Change], _rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self> {
        check_changes(&self.params.shape(), changes)?;
        let polynomials = self.polynomials.update(self.params.chain.ring(), changes, progress)?;
        Ok(Self { params: self.params.clone(), polynomials })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.polynomials.read_packed((first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.polynomials.save(sink, SECTIONS)
    }

    fn load(params: PirouetteParams<T>, source: &dyn SectionSource) -> Result<Self> {
        let place = (&params.layout, params.literal().form);
        let polynomials = Polynomials::load(place, source, SECTIONS)?;
        Ok(Self { params, polynomials })
    }
}
