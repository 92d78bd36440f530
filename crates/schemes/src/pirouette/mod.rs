//! Pirouette: Kang and Schild, *Pirouette: Query Efficient Single-Server PIR*.
//!
//! A query is one LWE encryption of an index whose mask is a seed: 36 bytes. The client's evaluation keys,
//! uploaded once, let the server make of it what selects a record.
//!
//! | the paper | module |
//! |---|---|
//! | Setup (evk) | [`keys`], over the parameters of [`chain`] |
//! | Query, Extract | [`client`] |
//! | Answer, phase 0 | [`bits`], [`phase0`] |
//! | Answer, phases 1 to 3 | [`retrieval`]: the first dimension in `first`, folding and rotation in `fold` |
//! | ModSwitch, RingSwitch | `fold` |
//! | what Respire shares, and what not | [`path`] |
//! | Table 1 | [`layout`], [`params`] |
//! | correctness | [`noise`] |
//!
//! What differs, and why (decision 20): all bits but the top four are found one at a time from the lowest up,
//! one rotation a bit, whose outputs serve subtraction and circuit bootstrapping at once (the paper: 3/5
//! rotations a bit, and one more for each RGSW). The first dimension's one-hot vector comes from rotations
//! of a box by the top bits, not from a tree of RGSW products, so that its noise is that of fresh
//! bootstrapping and a coefficient of the database holds a byte. The query is under the ring's own key, so
//! that it is lifted to the ring's modulus as it is.

pub mod bits;
pub mod chain;
pub mod client;
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
pub mod server;
#[cfg(test)]
mod tests;
pub mod wire;

use std::fmt::Debug;
use std::marker::PhantomData;

use papir_core::Privacy;
use papir_core::Progress;
use papir_core::scheme::{Never, Scheme};
use rand_core::CryptoRng;

use self::path::{Path, Selecting};
use self::retrieval::{Sections, Selection};

use crate::shared::empty_public::EmptyPublic;

/// How long the short keys are that rotations go by, and under which name a scheme goes with them.
pub trait Lengths: Copy + Debug + Send + Sync + 'static {
    /// The name on the command line.
    const NAME: &'static str;
    /// The number on the wire.
    const ID: u16;
    /// Both of the scheme over encrypted databases.
    const ENCRYPTED: (&'static str, u16);
    /// Whether they are long enough.
    const PRIVACY: Privacy;
    /// Bits of the key for bits and of the key for digits.
    const DIMENSIONS: [usize; 2];
}

/// 640 and 832 bits.
#[derive(Clone, Copy, Debug)]
pub struct Full;

impl Lengths for Full {
    const NAME: &'static str = "pirouette";
    const ID: u16 = 14;
    const ENCRYPTED: (&'static str, u16) = ("pirouette-encrypted", 16);
    const PRIVACY: Privacy = Privacy::Private;
    const DIMENSIONS: [usize; 2] = [640, 832];
}

/// Pirouette.
pub struct Pirouette<T = Full>(PhantomData<fn() -> T>);

impl<T: Lengths> Scheme for Pirouette<T> {
    const NAME: &'static str = T::NAME;
    const ID: u16 = T::ID;
    const PRIVACY: Privacy = T::PRIVACY;

    type Params = params::PirouetteParams<T>;
    type Public = EmptyPublic;
    type Query = wire::PirouetteQuery;
    type Answer = wire::RetrievalAnswer;
    type Secret = client::RetrievalSecret;
    type ClientKeys = keys::Keys<keys::Evaluation>;
    type ClientState = client::State;
    type Ticket = Never;
    type Server = server::RetrievalServer<Self>;
    type Client = client::RetrievalClient<Self>;
}

impl<T: Lengths> Path for Pirouette<T> {
    type Expanded = keys::Evaluation;

    fn ask(
        params: &Self::Params,
        state: &client::State,
        item: u64,
        rng: &mut dyn CryptoRng,
    ) -> wire::PirouetteQuery {
        client::encrypt(params, state, item, rng)
    }
}

impl<T: Lengths> Selecting for Pirouette<T> {
    const SECTIONS: Sections = Sections { bytes: "pirouette/database", values: "pirouette/transforms" };

    fn select(
        params: &Self::Params,
        batch: &[(&keys::Evaluation, &wire::PirouetteQuery)],
        progress: &dyn Progress,
    ) -> Vec<Selection> {
        phase0::select(params, batch, progress)
    }
}
