//! Pirouette: Kang and Schild, *Pirouette: Query Efficient Single-Server PIR*.
//!
//! A query is one LWE encryption of an index whose mask is a seed: 36 bytes. The client's evaluation keys,
//! uploaded once, let the server make of it what selects a record.
//!
//! | the paper | module |
//! |---|---|
//! | Setup (evk) | [`keys`], over the parameters of [`chain`] |
//! | Query, Extract | [`client`] |
//! | Answer, phase 0 | [`phase0`] |
//! | Answer, phase 1: first dimension | [`first`] |
//! | Answer, phases 2 and 3: folding, rotation, ModSwitch, RingSwitch | [`fold`] |
//! | Table 1 | [`layout`], [`params`] |
//! | correctness | [`noise`] |
//!
//! What differs, and why (decision 20): all bits but the top four are found one at a time from the lowest up,
//! one rotation a bit, whose outputs serve subtraction and circuit bootstrapping at once (the paper: 3/5
//! rotations a bit, and one more for each RGSW). The first dimension's one-hot vector comes from rotations
//! of a box by the top bits, not from a tree of RGSW products, so that its noise is that of fresh
//! bootstrapping and a coefficient of the database holds a byte. The query is under the ring's own key, so
//! that it is lifted to the ring's modulus as it is.

pub mod chain;
pub mod client;
mod first;
mod fold;
pub mod keys;
pub mod layout;
pub mod noise;
pub mod params;
pub mod phase0;
mod search;
pub mod server;
#[cfg(test)]
mod tests;
mod update;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

/// Pirouette.
pub struct Pirouette;

impl Scheme for Pirouette {
    const NAME: &'static str = "pirouette";
    const ID: u16 = 14;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = params::PirouetteParams;
    type Public = wire::Public;
    type Query = wire::PirouetteQuery;
    type Answer = wire::PirouetteAnswer;
    type Secret = client::PirouetteSecret;
    type ClientKeys = keys::Keys;
    type ClientState = client::State;
    type Ticket = Never;
    type Server = server::PirouetteServer;
    type Client = client::PirouetteClient;
}
