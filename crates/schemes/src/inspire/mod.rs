//! InsPIRe, without a hint to download or keys to keep.
//!
//! Mahdavi, Patel, Seo, Yeo 2025, sections 3 and 6.
//!
//! Records are 16-bit words modulo p = 65537, whitened by a public stream. A column is t ring
//! elements, stored as the coefficients of the polynomial through them. The client selects a column
//! under LWE. The server packs the selected coefficients into t RLWE encryptions (InspiRING) and
//! evaluates the polynomial at the client's point, which is an RGSW encryption of a unit monomial.
//!
//! ```text
//! setup    D′ ← encode(whitened records)      a column is a polynomial through t ring elements
//!          packs ← InspiRING.prepare(D′·A)    half of the packing depends on no query
//! query    b ← LWE_s(the column), y ← RGSW_s(X^point), k ← packing key of s
//!          masks are public: only bodies are sent
//! answer   b′ ← D′·b                          all queries in one pass over the database
//!          c ← InspiRING(b′, packs, k)        t RLWE encryptions of the column's elements
//!          r ← EvalPoly(c, y)                 the column's polynomial at the client's point
//!          switch r to a smaller modulus
//! extract  decrypt r under s, which is consumed; remove the whitening
//! ```
//!
//! | paper | here |
//! |---|---|
//! | Algorithm 7, ENCODEDB | [`encode`] |
//! | Algorithm 7, INTERPOLATE; appendices G.2, G.3 | [`interpolation`] |
//! | Algorithm 11, Lemmas 7, 8 | [`interpolation::Nodes`] |
//! | Algorithm 7, GENFIXEDQUERYPARTS | `packing`, `rgsw_masks` and `selector` of [`Params`] |
//! | Algorithm 9, line 7: H = D′·A | [`papir_lattice::selection`] |
//! | Algorithm 1 (InspiRING) | [`papir_lattice::packing::inspiring`] |
//! | Algorithm 8, QUERY | [`client`] |
//! | Algorithm 9, RESPOND, EVALPOLY | [`server`], `prepared`, `evaluation` |
//! | the same on several machines, or on a GPU | `shard`, `on_device` |
//! | Algorithm 10, EXTRACT | [`client`] |
//! | Theorems 9, 10 | [`noise`] |
//! | Theorem 12 (sizes) | [`params`], [`wire`] |
//! | appendix G.1 (gadgets) | `widths`, `choice` |
//!
//! Beyond the paper: `update` prepares only changed columns again, `encode::Columns` reads records
//! back, `divided` prepares by many tasks.

mod certificate;
mod choice;
pub mod client;
mod divided;
pub mod encode;
mod evaluation;
pub mod interpolation;
pub mod layout;
mod literal;
pub mod noise;
mod on_device;
pub mod params;
#[cfg(feature = "all")]
pub mod parts;
mod prepared;
mod rows;
pub mod server;
mod shard;
#[cfg(test)]
mod tests;
#[cfg(feature = "all")]
pub mod two_levels;
mod update;
mod widths;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{DividedScheme, OnDevice, Scheme, SliceTasks, Unregistered};

pub use crate::shared::messages::PublicSeed as Public;
pub use client::{Client, Secret};
pub use interpolation::Interpolation;
pub use literal::Inspire;
pub use params::Params;
pub use wire::{Answer, Query};

/// A prepared database.
pub type Server = server::PartsServer<Inspire>;

impl Scheme for Inspire {
    const NAME: &'static str = literal::NAME;
    const ID: u16 = 2;
    const PRIVACY: Privacy = Privacy::Private;
    const DIVIDED: Option<&'static dyn DividedScheme<Self>> = Some(&shard::InspireSlices);
    const TASKS: Option<&'static dyn SliceTasks<Self>> = Some(&shard::InspireSlices);
    const DEVICE: Option<&'static dyn OnDevice<Self>> = Some(&server::PartsOnDevice);

    type Params = Params;
    type Public = Public;
    type Query = Query;
    type Answer = Answer;
    type Secret = Secret;
    type Registration = Unregistered;
    type Server = Server;
    type Client = Client;
}
