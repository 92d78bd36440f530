//! The server: expands queries; the rest is Pirouette's.

use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Parameters, Scheme, Server, Session, UpdateEstimate, check_changes};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, Error, Progress, Records, Result};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use papir_ring::Ring;
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::Respire;
use super::client::mask;
use super::params::RespireParams;
use super::wire::RespireQuery;
use crate::pirouette::chain::DEGREE;
use crate::pirouette::fold::respond;
use crate::pirouette::keys::{Conversion, Keys};
use crate::pirouette::layout::Layout;
use crate::pirouette::params::{Form, OfAnswer};
use crate::pirouette::retrieval::{Polynomials, Retrieval, Sections, Selection};
use crate::pirouette::wire::{PirouetteAnswer, Public};
use crate::shape_io::check_source;

const SECTIONS: Sections = Sections { bytes: "respire/database", values: "respire/transforms" };

/// A prepared database. A clone shares it.
#[derive(Clone)]
pub struct RespireServer {
    params: RespireParams,
    polynomials: Polynomials,
}

fn place(params: &RespireParams) -> (&Layout, Form, &Ring) {
    (&params.layout, Form::Compact, params.chain.ring())
}

impl RespireServer {
    /// A query's selectors and gates.
    ///
    /// # Errors
    /// [`Error::Malformed`] for keys that are none.
    pub fn expand(&self, keys: &Keys<Conversion>, query: &RespireQuery) -> Result<Selection> {
        let (params, ring) = (&self.params, self.params.chain.ring());
        let (keys, steps) = (keys.expanded(&params.chain)?, params.log2_stride() as usize);
        let mut encryption = self.encryption(query);
        keys.galois.trace(ring, &mut encryption, steps);
        let mut parts = keys.galois.expand(ring, encryption, steps);
        let mut digits = parts.split_off(1 << params.layout.log2_rows).into_iter();
        let bits = params.layout.log2_columns + params.layout.log2_slots;
        let gates: Vec<Vec<Rlwe>> =
            (0..bits).map(|_| digits.by_ref().take(params.gate.levels()).collect()).collect();
        let gates = gates.into_par_iter().map(|levels| keys.square.rgsw(ring, levels)).collect();
        parts.truncate(params.layout.rows);
        let values = parts.into_par_iter().map(|part| (ring.forward(part.a), ring.forward(part.b)));
        let (masks, bodies): (Vec<_>, Vec<_>) = values.collect::<Vec<_>>().into_iter().unzip();
        Ok(Selection { gates, selectors: Rows::new(&masks, &bodies) })
    }

    /// The query's encryption: coefficients that did not travel are zero, as the trace leaves nothing of them.
    fn encryption(&self, query: &RespireQuery) -> Rlwe {
        let (params, ring) = (&self.params, self.params.chain.ring());
        let switch = PowerSwitch::new(ring.modulus(), params.query_bits());
        let mut body = vec![0; DEGREE];
        let places = body.iter_mut().step_by(1 << params.log2_stride());
        places.zip(&query.body).for_each(|(out, &word)| *out = switch.up(word));
        Rlwe { a: ring.inverse(mask(ring, &query.seed)), b: ring.from_words(&body) }
    }

    /// Phases 1 to 3.
    pub fn retrieval(&self) -> Retrieval<'_> {
        let ring = self.params.chain.ring();
        Retrieval { polynomials: &self.polynomials, ring, gate: &self.params.gate }
    }

    /// ModSwitch and RingSwitch: the answer of a query's planes.
    ///
    /// # Errors
    /// [`Error::Malformed`] for keys that are none.
    pub fn respond(&self, keys: &Keys<Conversion>, planes: &[Rlwe]) -> Result<PirouetteAnswer> {
        let keys = keys.expanded(&self.params.chain)?;
        let answer = (self.params.answer_bits(), self.params.layout.span);
        Ok(respond(&self.params.chain, &keys.ring_switch, answer, planes))
    }
}

impl Server<Respire> for RespireServer {
    fn setup(
        params: RespireParams,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(Respire::NAME, params.shape(), records)?;
        let polynomials = Polynomials::encode(place(&params), records, progress)?;
        Ok(Self { params, polynomials })
    }

    fn params(&self) -> &RespireParams {
        &self.params
    }

    fn public(&self) -> &Public {
        &Public
    }

    fn answer(&self, session: Session<'_, Respire>, query: &RespireQuery) -> Result<PirouetteAnswer> {
        self.answer_many(vec![(session, query)])?.pop().ok_or(Error::NotDecodable)
    }

    fn answer_many(&self, batch: Vec<(Session<'_, Respire>, &RespireQuery)>) -> Result<Vec<PirouetteAnswer>> {
        let batch = batch.into_iter().map(|(session, query)| Ok((session.require_keys()?, query)));
        let batch = batch.collect::<Result<Vec<_>>>()?;
        let selections = batch.par_iter().map(|(keys, query)| self.expand(keys, query));
        let items = self.retrieval().run(&selections.collect::<Result<Vec<_>>>()?);
        batch.iter().zip(&items).map(|((keys, _), item)| self.respond(keys, item)).collect()
    }

    fn keys_fit(&self, _keys: &Keys<Conversion>) -> bool {
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

    fn load(params: RespireParams, source: &dyn SectionSource) -> Result<Self> {
        let polynomials = Polynomials::load((&params.layout, Form::Compact), source, SECTIONS)?;
        Ok(Self { params, polynomials })
    }
}
