//! Respire: Burton, Menon, Wu, *Respire: High-Rate PIR for Databases with Small Records*; its query path, as a
//! baseline beside Pirouette over the same database and under the same parameters.
//!
//! A query is one RLWE encryption of the row's one-hot vector and of the digits of all gates, each in a
//! coefficient of its own, which the server expands; from there on all is Pirouette's
//! ([`crate::pirouette::retrieval`]). The client registers the keys of the expansion, the gates and the response
//! ring once.
//!
//! | the paper | function |
//! |---|---|
//! | Setup, pp | [`crate::pirouette::keys::Conversion`] |
//! | Query | `query` |
//! | query expansion | `expansion` |
//! | Answer, Extract | [`crate::pirouette::server`], [`crate::pirouette::client`] |
//!
//! What differs: the ring is Pirouette's, of one modulus, so that answers and database are the same; of the
//! query's body only the coefficients that hold something travel, rounded.

mod expansion;
pub mod params;
mod query;
pub mod wire;

use papir_core::Privacy;
use papir_core::Progress;
use papir_core::scheme::{Never, Scheme};
use rand_core::CryptoRng;
use rayon::prelude::*;

use crate::pirouette::client::{RetrievalClient, RetrievalSecret, State};
use crate::pirouette::keys::{Conversion, Keys};
use crate::pirouette::path::{Path, Selecting};
use crate::pirouette::retrieval::{Sections, Selection};
use crate::pirouette::server::RetrievalServer;
use crate::pirouette::wire::RetrievalAnswer;
use crate::shared::empty_public::EmptyPublic;

/// Respire.
pub struct Respire;

impl Scheme for Respire {
    const NAME: &'static str = "respire";
    const ID: u16 = 15;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = params::RespireParams;
    type Public = EmptyPublic;
    type Query = wire::RespireQuery;
    type Answer = RetrievalAnswer;
    type Secret = RetrievalSecret;
    type ClientKeys = Keys<Conversion>;
    type ClientState = State;
    type Ticket = Never;
    type Server = RetrievalServer<Self>;
    type Client = RetrievalClient<Self>;
}

impl Path for Respire {
    type Expanded = Conversion;

    fn ask(
        params: &params::RespireParams,
        state: &State,
        item: u64,
        rng: &mut dyn CryptoRng,
    ) -> wire::RespireQuery {
        query::ask(params, state, item, rng)
    }
}

impl Selecting for Respire {
    const SECTIONS: Sections = Sections { bytes: "respire/database", values: "respire/transforms" };

    fn select(
        params: &params::RespireParams,
        batch: &[(&Conversion, &wire::RespireQuery)],
        progress: &dyn Progress,
    ) -> Vec<Selection> {
        progress.stage("expand", batch.len() as u64);
        batch.par_iter().map(|(keys, query)| expansion::expand(params, keys, query)).collect()
    }
}
