//! InsPIRe over several databases for [`crate::batched`]: one record of each in one answer.
//!
//! A pack takes d LWE encryptions under one key, from any database. So m databases of the same
//! shape are parts of one: each has ring elements of d/m words, d/m rows of every pack, and its own
//! selector. One packing matrix and one RLWE encryption serve all parts, instead of m each; the
//! selectors are m times as long. t is 1, since each part would need its own point.
//!
//! | InsPIRe | here |
//! |---|---|
//! | Algorithm 7, ENCODEDB | [`crate::inspire::encode`], for each part |
//! | Algorithm 9, lines 7 to 12 | [`server`], `inspire::prepared`: a selection for each part, one packing |
//! | Algorithm 8, QUERY | [`client`]: a selector for each part, one packing key |
//! | Theorems 9, 10 | those of `inspire` with as many columns and t = 1: a row's noise is its own selector's |
//!
//! Not in the registry: a query asks for exactly one record of each part.

pub mod client;
pub mod params;
pub mod server;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

pub use client::{PartsClient, PartsSecret};
pub use params::{InspireInParts, PartsParams};
pub use server::PartsServer;
pub use wire::{PartsAnswer, PartsPublic, PartsQuery};

impl Scheme for InspireInParts {
    const NAME: &'static str = params::NAME;
    /// Never sent by itself.
    const ID: u16 = 0xff00;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = PartsParams;
    type Public = PartsPublic;
    type Query = PartsQuery;
    type Answer = PartsAnswer;
    type Secret = PartsSecret;
    type ClientKeys = Never;
    type ClientState = Never;
    type Ticket = Never;
    type Server = PartsServer;
    type Client = PartsClient;
}
