//! Pirouette: Kang and Schild, *Pirouette: Query Efficient Single-Server PIR*.
//!
//! A query is one LWE encryption of an index whose mask is a seed: 36 bytes. With the client's
//! evaluation keys, uploaded once, the server converts it to the selection of a record.
//!
//! | the paper | module |
//! |---|---|
//! | Setup (evk) | [`keys`], over the parameters of [`chain`] |
//! | Query, Extract | [`client`] |
//! | Answer, phase 0 | [`bits`], [`phase0`] |
//! | Answer, phases 1 to 3 | [`retrieval`]: the first dimension in `first`, folding and rotation in `fold` |
//! | ModSwitch, RingSwitch | `fold` |
//! | shared with Respire | [`common`], [`path`] |
//! | Table 1 | [`layout`], [`params`] |
//! | correctness | [`noise`] |
//!
//! What differs from the paper (decision 20): all bits except the top four are extracted one at a
//! time from the lowest up, with one rotation a bit, whose outputs serve both subtraction and circuit
//! bootstrapping (the paper: 3/5 rotations a bit, and one more for each RGSW). The first dimension's
//! one-hot vector comes from rotations of a box by the top bits instead of a tree of RGSW products,
//! so its noise is that of fresh bootstrapping and a coefficient of the database holds a byte. The
//! query is under the ring's own key, so it is lifted to the ring's modulus without a key switch.

pub mod bits;
pub mod chain;
pub mod client;
pub mod common;
pub mod encrypted;
pub(crate) mod first;
pub(crate) mod fold;
pub mod keys;
pub mod layout;
pub mod noise;
pub mod params;
pub mod path;
pub mod phase0;
pub mod respire;
pub mod retrieval;
pub(crate) mod search;
pub mod secrets;
pub mod server;
#[cfg(test)]
mod tests;
pub mod wire;

use papir_core::scheme::{Never, Scheme};
use papir_core::{Privacy, Progress};
use rand_core::CryptoRng;

pub use chain::{ParameterSet, Standard};
use keys::Evaluation;
pub use params::Pirouette;
use path::{Path, Selecting};
use retrieval::{Sections, Selection};

use crate::shared::messages::EmptyPublic;

impl<T: ParameterSet> Scheme for Pirouette<T> {
    const NAME: &'static str = T::NAME;
    const ID: u16 = T::ID;
    const PRIVACY: Privacy = T::PRIVACY;

    type Params = params::PirouetteParams<T>;
    type Public = EmptyPublic;
    type Query = wire::PirouetteQuery;
    type Answer = wire::RetrievalAnswer;
    type Secret = secrets::RetrievalSecret;
    type ClientKeys = keys::Keys<Evaluation<2>>;
    type ClientState = secrets::State;
    type Ticket = Never;
    type Server = server::RetrievalServer<Self>;
    type Client = client::RetrievalClient<Self>;
}

impl<T: ParameterSet> Path for Pirouette<T> {
    type Expanded = Evaluation<2>;

    fn ask(
        params: &Self::Params,
        state: &secrets::State,
        item: u64,
        rng: &mut dyn CryptoRng,
    ) -> wire::PirouetteQuery {
        client::encrypt(params, state, item, rng)
    }
}

impl<T: ParameterSet> Selecting for Pirouette<T> {
    const SECTIONS: Sections = Sections { bytes: "pirouette/database", values: "pirouette/transforms" };

    fn select(
        params: &Self::Params,
        batch: &[(&Evaluation<2>, &wire::PirouetteQuery)],
        progress: &dyn Progress,
    ) -> Vec<Selection> {
        phase0::select(params, batch, progress)
    }
}
