//! DoublePIR whose second level is packed: YPIR (Menon, Wu, USENIX Security 2024, ePrint 2024/270) with CDKS
//! packing, InsPIRe₀ (Mahdavi, Patel, Seo, Yeo 2025, section 4) with InspiRING. No hint to download.
//!
//! The first level is DoublePIR's: an encrypted unit vector selects a column of the matrix D of bytes. The
//! second level stands over the packing ring: digits of the hint D·A₁ are a matrix of words with a column
//! for each unit of D's columns, the client selects one, and what is selected, n words in digits for each
//! byte of a record, is packed into a few ring encryptions.
//!
//! The digits of the first answers are made online, so their LWE masks depend on the query. Packing them
//! would take the offline half of packing at each query. Under negacyclic blocks the products that give
//! mask and body of such a row give an RLWE encryption with the wanted digit in coefficient 0, so its mask
//! and that one coefficient of its body are sent, for each digit of a few.
//!
//! | YPIR, figure 2; InsPIRe, section 4 | here |
//! |---|---|
//! | `DBSetup`: D·A₁, its digits | [`server::Server`]'s `prepare`; digits in `second` |
//! | `DBSetup`: H₂ and what packing prepares | [`crate::shared::selection::server`] |
//! | `Query` | [`client::Client`]'s `query` |
//! | `Answer` | [`server::Server::first_level`], [`server::Server::second_level`], [`server::Server::pack`], [`server::Server::round`] |
//! | `Extract` | [`client::Client`]'s `extract` |
//!
//! What differs from the papers: what differs in DoublePIR here (words centred, D·A₁ and first answers
//! rounded before they become digits, σ = 11); the width of digits is chosen, with all bits that travel,
//! for the fewest bytes or seconds; records of several bytes have digits for each byte under one query;
//! an answer that is not within the bound on the noise of both levels is refused.

pub mod client;
pub mod digits;
mod noise;
pub mod params;
mod search;
mod second;
pub mod server;
#[cfg(test)]
mod tests;
mod update;
pub mod wire;

use std::fmt::Debug;
use std::marker::PhantomData;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

use crate::shared::selection::Family;

pub use client::{Client, Secret};
pub use digits::DigitShape;
pub use params::{Literal, Params};
pub use server::Server;
pub use wire::{Answer, Public, Query};

/// What tells one packed DoublePIR from another.
pub trait Variant: Clone + Copy + Debug + Send + Sync + 'static {
    /// The scheme's name.
    const NAME: &'static str;
    /// Its number on the wire.
    const ID: u16;
    /// What packs the second level.
    type Family: Family;
}

/// The scheme of a variant.
#[derive(Clone, Copy, Debug)]
pub struct PackedDouble<V>(PhantomData<V>);

impl<V: Variant> Scheme for PackedDouble<V> {
    const NAME: &'static str = V::NAME;
    const ID: u16 = V::ID;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = Params<V>;
    type Public = Public;
    type Query = Query;
    type Answer = Answer;
    type Secret = Secret;
    type ClientKeys = Never;
    type ClientState = Never;
    type Ticket = Never;
    type Server = Server<V>;
    type Client = Client<V>;
}
