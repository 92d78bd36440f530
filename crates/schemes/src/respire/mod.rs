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
//! | Setup, pp | [`client::RespireClient`]'s `register` |
//! | Query | [`client::RespireClient`]'s `query` |
//! | query expansion | [`server::RespireServer::expand`] |
//! | Answer | [`server::RespireServer`]'s `answer` |
//!
//! What differs: the ring is Pirouette's, of one modulus, so that answers and database are the same; of the
//! query's body only the coefficients that hold something travel, rounded.

pub mod client;
pub mod params;
pub mod server;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

use crate::pirouette::client::State;
use crate::pirouette::keys::{Conversion, Keys};
use crate::pirouette::wire::{PirouetteAnswer, Public};

/// Respire.
pub struct Respire;

impl Scheme for Respire {
    const NAME: &'static str = "respire";
    const ID: u16 = 15;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = params::RespireParams;
    type Public = Public;
    type Query = wire::RespireQuery;
    type Answer = PirouetteAnswer;
    type Secret = crate::pirouette::client::PirouetteSecret;
    type ClientKeys = Keys<Conversion>;
    type ClientState = State;
    type Ticket = Never;
    type Server = server::RespireServer;
    type Client = client::RespireClient;
}
