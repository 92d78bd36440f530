//! InsPIRe over several databases at once, for [`crate::batched`]: one record of each, in one answer.
//!
//! A pack takes d LWE encryptions under one key, whatever database their rows are of. So m parts, databases
//! of the same shape, are stacked: each has ring elements of d/m words, d/m rows of every pack, and a
//! selector of its own. One packing matrix and one RLWE encryption serve all of them, instead of m each, and
//! selectors are m times as long. t is 1: each part would need a point of its own.
//!
//! | InsPIRe | here |
//! |---|---|
//! | Algorithm 7, ENCODEDB | [`crate::inspire::encode`], for each part |
//! | Algorithm 9, lines 7 to 12 | [`server`]: a selection for each part, then one packing |
//! | Algorithm 8, QUERY | [`client`]: a selector for each part, one packing key |
//! | Theorems 9, 10 | those of `inspire` with as many columns and t = 1: a row's noise is its own selector's |
//!
//! Not in the registry: queries ask for one record of each part, no more and no less.

pub mod client;
pub mod params;
pub mod server;
mod update;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

pub use client::{PartsClient, PartsSecret};
pub use params::PartsParams;
pub use server::PartsServer;
pub use wire::{PartsAnswer, PartsPublic, PartsQuery};

/// InsPIRe over several databases at once.
#[derive(Clone, Copy, Debug)]
pub struct InspireInParts;

impl Scheme for InspireInParts {
    const NAME: &'static str = params::NAME;
    /// Never on the wire by itself.
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
