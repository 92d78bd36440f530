//! Respire: Burton, Menon, Wu, *Respire: High-Rate PIR for Databases with Small Records*. Only its
//! query path, as a baseline for Pirouette over the same database with the same parameters.
//!
//! A query is one RLWE encryption of the row's one-hot vector and of the digits of all gates, each in
//! a coefficient of its own. The server expands it and continues as in Pirouette
//! ([`crate::pirouette::retrieval`]). The client registers the keys of the expansion, the gates and
//! the response ring once.
//!
//! | the paper | function |
//! |---|---|
//! | Setup, pp | [`crate::pirouette::keys::Evaluation`] without short keys |
//! | Query, query expansion | [`query`] |
//! | Answer, Extract | [`crate::pirouette::server`], [`crate::pirouette::client`] |
//!
//! What differs from the paper: the ring is Pirouette's, with one modulus, so that answers and
//! database are the same; only the coefficients of a query's body that carry a message are sent,
//! rounded.

pub mod params;
pub mod query;

use papir_core::scheme::{Never, Scheme};
use papir_core::{Privacy, Progress};
use rand_core::CryptoRng;
use rayon::prelude::*;

use crate::pirouette::client::RetrievalClient;
use crate::pirouette::keys::{Evaluation, Keys};
use crate::pirouette::path::{Path, Selecting};
use crate::pirouette::retrieval::{Sections, Selection};
use crate::pirouette::secrets::{RetrievalSecret, State};
use crate::pirouette::server::RetrievalServer;
use crate::pirouette::wire::RetrievalAnswer;
use crate::shared::messages::EmptyPublic;

pub use params::Respire;

impl Scheme for Respire {
    const NAME: &'static str = "respire";
    const ID: u16 = 15;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = params::RespireParams;
    type Public = EmptyPublic;
    type Query = query::RespireQuery;
    type Answer = RetrievalAnswer;
    type Secret = RetrievalSecret;
    type ClientKeys = Keys<Evaluation<0>>;
    type ClientState = State;
    type Ticket = Never;
    type Server = RetrievalServer<Self>;
    type Client = RetrievalClient<Self>;
}

impl Path for Respire {
    type Expanded = Evaluation<0>;

    fn ask(
        params: &params::RespireParams,
        state: &State,
        item: u64,
        rng: &mut dyn CryptoRng,
    ) -> query::RespireQuery {
        query::ask(params, state, item, rng)
    }
}

impl Selecting for Respire {
    const SECTIONS: Sections = Sections { bytes: "respire/database", values: "respire/transforms" };

    fn select(
        params: &params::RespireParams,
        batch: &[(&Evaluation<0>, &query::RespireQuery)],
        progress: &dyn Progress,
    ) -> Vec<Selection> {
        progress.stage("expand", batch.len() as u64);
        batch.par_iter().map(|(keys, query)| query::expand(params, &keys.conversion, query)).collect()
    }
}
