//! Pirouette: Kang and Schild, *Pirouette: Query Efficient Single-Server PIR*.
//!
//! A query is one LWE encryption of an index. Its mask is a seed, so it has 36 bytes. With the
//! client's evaluation keys, which are uploaded once, the server converts it to the selection of a
//! record.
//!
//! ```text
//! register  evaluation keys of a fresh secret: blind rotation, circuit bootstrapping, ring switch
//! setup     records, whitened, as polynomials in columns and slots
//! query     b ← LWE(index), its mask from a seed: 36 bytes
//! answer    phase 0: RGSW of the lower bits, rotations by them; a one-hot vector of the top bits
//!           phase 1: Σ polynomial · selector for each column, in one pass over the database
//!           phase 2: gates by RGSW select the column
//!           phase 3: gates select the slot; ModSwitch, RingSwitch
//! extract   decrypt; remove the whitening
//! ```
//!
//! | the paper | module |
//! |---|---|
//! | Setup (evk) | [`keys`], over the parameters of [`chain`] |
//! | Query, Extract | [`client`] |
//! | Answer, phase 0 | `phase0`; as printed, for comparison: [`trial`] |
//! | Answer, phase 1 | [`polynomials`] |
//! | Answer, phases 2 and 3; ModSwitch, RingSwitch | [`retrieval`] |
//! | shared with Respire | [`common`] |
//! | Table 1 | [`layout`], [`params`] |
//! | correctness | [`noise`] |
//!
//! Differences from the paper (decision 20): all bits except the top four are extracted one at a
//! time from the lowest up. Each bit takes one rotation, whose outputs serve both subtraction and
//! circuit bootstrapping; the paper takes 3/5 rotations a bit, and one more for each RGSW. The
//! first dimension's one-hot vector comes from rotations of a box by the top bits instead of a tree
//! of RGSW products. So its noise is the noise of fresh bootstrapping, and a coefficient of the
//! database holds a byte. The query is under the ring's own key, so it is lifted to the ring's
//! modulus without a key switch. Records are whitened by a public stream ([`whitening`]). Answers
//! are always switched to the response ring: a server does not compute on with them.

pub mod chain;
pub mod client;
pub mod common;
pub mod encrypted;
pub mod keys;
pub mod layout;
pub mod noise;
pub mod params;
mod phase0;
pub mod polynomials;
pub mod products;
mod recent;
pub mod respire;
pub mod retrieval;
mod rows;
pub mod server;
#[cfg(test)]
mod tests;
pub mod trial;
pub mod whitening;
pub mod wire;

use papir_core::scheme::{Never, RegisteredWith, Scheme};
use papir_core::{Privacy, Progress};
use rand_core::CryptoRng;

pub use chain::{ParameterSet, Standard};
use client::Path;
use keys::{Evaluation, Keys, State};
pub use params::Pirouette;
use polynomials::Sections;
use retrieval::Selection;
use server::Selecting;

use crate::shared::messages::PublicSeed;

impl<T: ParameterSet> Scheme for Pirouette<T> {
    const NAME: &'static str = T::NAME;
    const ID: u16 = T::ID;
    const PRIVACY: Privacy = T::PRIVACY;

    type Params = params::PirouetteParams<T>;
    type Public = PublicSeed;
    type Query = wire::PirouetteQuery;
    type Answer = wire::RetrievalAnswer;
    type Secret = client::RetrievalSecret;
    type Registration = RegisteredWith<Keys, State, Never>;
    type Server = server::RetrievalServer<Self>;
    type Client = client::RetrievalClient<Self>;
}

impl<T: ParameterSet> Path for Pirouette<T> {
    fn ask(
        params: &Self::Params,
        state: &State,
        item: u64,
        rng: &mut dyn CryptoRng,
    ) -> Self::Query {
        client::encrypt(params, state, item, rng)
    }
}

impl<T: ParameterSet> Selecting for Pirouette<T> {
    const SECTIONS: Sections = Sections {
        seed: "pirouette/seed",
        bytes: "pirouette/database",
        values: "pirouette/transforms",
    };

    fn select(
        params: &Self::Params,
        batch: &[(&Evaluation, &wire::PirouetteQuery)],
        progress: &dyn Progress,
    ) -> Vec<Selection> {
        phase0::select(params, batch, progress)
    }
}
