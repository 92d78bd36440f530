//! InsPIRe⁽²⁾: two levels of selection, both packed.
//!
//! Mahdavi, Patel, Seo, Yeo 2025, section 5. Records have up to 2 KiB. The scheme takes the least
//! traffic of all schemes for records of some tens of bytes.
//!
//! Records fill units of γ₀ words of 16 bits, with t units in a column. The first level selects a
//! column under LWE and packs each of its t units into an RLWE encryption; the client wants one of
//! these encryptions. They are switched to few bits and split into digits. The digits are the
//! database of a second level with a column for each unit, and a second encrypted unit vector
//! selects one column. The result is packed again. The masks of the first level's encryptions are
//! known ahead, and so is almost all of the second level. Only the digits of the bodies (γ₀
//! coefficients of d) are new with each query, and the third packing packs them while the client
//! waits.
//!
//! | paper | here |
//! |---|---|
//! | Algorithm 3, SETUP | [`server`], [`layout`] |
//! | Algorithm 3, GENFIXEDQUERYPARTS | [`packings::Packings`], [`Params::selector`] |
//! | Algorithm 4, QUERY, GENQUERY, GENKSMATY | [`client`] |
//! | Algorithm 5, RESPOND | [`server`]; lines 7 and 8 in `first`, 9 to 12 in [`second`] |
//! | Algorithm 5, DECOMPOSE; Algorithm 6, COMPOSE | [`crate::shared::digits`] |
//! | Algorithm 2 (PartialInspiRING) | [`papir_lattice::packing::inspiring::PartialInspiring`] |
//! | Algorithm 6, EXTRACT | [`client`] |
//! | Theorems 7 and 8 | [`noise`] |
//! | Theorem 6 (sizes) | [`params`], [`wire`] |
//!
//! Differences from the paper: masks and bodies are switched to separate moduli, powers of two;
//! digits are balanced, of a width that `choice` finds; the message modulus is 2¹⁶, so that every
//! word is a residue; selectors and keys are rounded; records are whitened, so that the noise bound
//! holds for every database; and clients fetch the masks of the second level's packs (`resp₁`),
//! which depend on the snapshot alone, once for each version and not with each answer.
//!
//! Beyond the paper: an update prepares only the packs of changed units again, and the second
//! level.

mod certificate;
mod choice;
pub mod client;
mod first;
pub mod layout;
mod literal;
pub mod noise;
pub mod packings;
pub mod params;
mod rows;
pub mod second;
pub mod server;
#[cfg(test)]
mod tests;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{DividedScheme, OnDevice, Scheme, Unregistered};

pub use super::client::Secret;
pub use client::Client;
pub use literal::Inspire2;
pub use params::Params;
pub use server::Server;
pub use wire::{Answer, Public, Query};

impl Scheme for Inspire2 {
    const NAME: &'static str = literal::NAME;
    const ID: u16 = 4;
    const PRIVACY: Privacy = Privacy::Private;
    const DIVIDED: Option<&'static dyn DividedScheme<Self>> = Some(&first::Inspire2Slices);
    const DEVICE: Option<&'static dyn OnDevice<Self>> = Some(&server::FirstOnDevice);

    type Params = Params;
    type Public = Public;
    type Query = Query;
    type Answer = Answer;
    type Secret = Secret;
    type Registration = Unregistered;
    type Server = Server;
    type Client = Client;
}
