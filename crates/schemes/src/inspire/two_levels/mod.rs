//! InsPIRe⁽²⁾ (Mahdavi, Patel, Seo, Yeo 2025, section 5): two levels of selection, both packed. For records
//! of 1 bit to 2 KiB, the least traffic of all for records of some tens of bytes.
//!
//! Records lie in units of γ₀ words of 16 bits, t units in a column. The first level selects a column under
//! LWE and packs each of its t units into an RLWE encryption. Of these the client wants one: switched to few
//! bits and cut into digits, they are the database of a second level, with a column a unit, from which a
//! second encrypted unit vector selects. What that gives is packed again. The masks of the first level's
//! encryptions are known ahead, and so is almost all of the second level: only the digits of their bodies
//! (γ₀ coefficients of d) are new with each query, and the third packing packs those while the client
//! waits.
//!
//! | paper | here |
//! |---|---|
//! | Algorithm 3, SETUP | [`server`], [`encode`] |
//! | Algorithm 3, GENFIXEDQUERYPARTS | [`masks`] |
//! | Algorithm 4, QUERY, GENQUERY, GENKSMATY | [`client`] |
//! | Algorithm 5, RESPOND | [`server`]; lines 9 to 12 in [`second`] |
//! | Algorithm 5, DECOMPOSE; Algorithm 6, COMPOSE | [`digits`] |
//! | Algorithm 2 (PartialInspiRING) | [`papir_lattice::packing::inspiring::PartialInspiring`] |
//! | Algorithm 6, EXTRACT | [`client`] |
//! | Theorems 7 and 8 | [`noise`] |
//! | Theorem 6 (sizes) | [`params`], [`wire`] |
//!
//! What differs from the paper: masks and bodies are switched to moduli of their own, powers of two; digits
//! are balanced, of a width that the search ([`search`]) picks; the message modulus is 2¹⁶, so that every
//! word has a place; selectors and keys travel rounded; records are whitened, so that the noise bound holds
//! for every database; and the masks of the second level's packs (`resp₁`), which depend on the snapshot
//! alone, are part of what a client fetches once a version and not of each answer.
//!
//! Beyond the paper: [`update`] prepares only the packs of changed units again, and the second level.

pub mod client;
pub mod digits;
pub mod encode;
pub mod layout;
pub mod masks;
pub mod noise;
pub mod params;
pub mod search;
pub mod second;
pub mod server;
#[cfg(test)]
mod tests;
pub mod update;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

pub use client::{Client, Secret};
pub use params::Params;
pub use server::Server;
pub use wire::{Answer, Public, Query};

/// The scheme's name for the type system.
#[derive(Clone, Copy, Debug)]
pub struct Inspire2;

impl Scheme for Inspire2 {
    const NAME: &'static str = params::NAME;
    const ID: u16 = 4;
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
