//! InsPIRe, without a hint to download or keys to keep.
//!
//! Mahdavi, Patel, Seo, Yeo 2025, sections 3 and 6.
//!
//! Records are 16-bit words modulo p = 65537, whitened by a public stream. A column is t ring
//! elements, stored as the coefficients of the polynomial through them. The client selects a column
//! under LWE; the server packs the selected coefficients into t RLWE encryptions (InspiRING) and
//! evaluates the polynomial at the client's point, an RGSW encryption of a unit monomial.
//!
//! | paper | here |
//! |---|---|
//! | Algorithm 7, ENCODEDB | [`encode`] |
//! | Algorithm 7, INTERPOLATE; appendices G.2, G.3 | [`interpolation`] |
//! | Algorithm 11, Lemmas 7, 8 | [`lagrange`] |
//! | Algorithm 7, GENFIXEDQUERYPARTS | [`masks`], [`Params::selector`] |
//! | Algorithm 9, line 7: H = D′·A | [`papir_lattice::selection`] |
//! | Algorithm 1 (InspiRING) | [`papir_lattice::packing::inspiring`] |
//! | Algorithm 8, QUERY | [`client`] |
//! | Algorithm 9, RESPOND, EVALPOLY | [`server`], `prepared` |
//! | Algorithm 10, EXTRACT | [`client`] |
//! | Theorems 9, 10 | [`noise`] |
//! | Theorem 12 (sizes) | `work`, [`wire`] |
//! | appendix G.1 (gadgets) | `moduli`, `widths`, `search` |
//!
//! Beyond the paper: `update` prepares only changed columns again, [`decode`] reads records back.

mod choice;
pub mod client;
pub mod decode;
pub mod encode;
pub mod interpolation;
pub mod lagrange;
pub mod layout;
mod literal;
pub mod masks;
mod moduli;
pub mod noise;
pub mod params;
pub mod parts;
mod prepared;
mod search;
pub mod server;
pub mod two_levels;
mod update;
mod widths;
pub mod wire;
mod work;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

pub use crate::shared::messages::PublicSeed as Public;
pub use client::{Client, Secret};
pub use interpolation::Interpolation;
pub use literal::Inspire;
pub use params::Params;
pub use server::Server;
pub use wire::{Answer, Query};

impl Scheme for Inspire {
    const NAME: &'static str = literal::NAME;
    const ID: u16 = 2;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = Params;
    type Public = Public;
    type Query = Query;
    type Answer = Answer;
    type Secret = Secret;
    type ClientKeys = Never;
    type ClientState = Never;
    type Ticket = Never;
    type Server = Server;
    type Client = Client;
}
