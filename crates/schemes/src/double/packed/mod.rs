//! DoublePIR with a packed second level: YPIR and InsPIRe₀.
//!
//! Clients of YPIR download no hint, and clients of InsPIRe₀ download masks of a few KiB. YPIR
//! (Menon, Wu, *YPIR: High-Throughput Single-Server PIR with Silent Preprocessing*, USENIX Security
//! 2024, ePrint 2024/270) packs by CDKS. InsPIRe₀ (Mahdavi, Patel, Seo, Yeo 2025, section 4) packs
//! by InspiRING: Algorithm 1 for packs of d, and PartialInspiRING (Algorithm 2) for packs of γ ≤
//! d/2, with one key-switching matrix instead of two.
//!
//! The first level is the first level of DoublePIR: an encrypted unit vector selects a column of
//! the matrix D of bytes. The second level is over the packing ring: digits of the hint D·A₁ are a
//! matrix of words with a column for each unit of D's columns. The client selects one column, which
//! has n words in digits for each byte of a record, and the server packs it into a few ring
//! encryptions.
//!
//! The digits of the first answers are made online, so their LWE masks depend on the query. Under
//! negacyclic blocks, the products for mask and body of this row are an RLWE encryption with the
//! digit in coefficient 0. YPIR packs these few encryptions for each query. Packing them by
//! InspiRING would take the offline half of a whole pack. So InsPIRe₀ sends, for each of them, the
//! mask and this one coefficient of the body, and puts the masks of its packs into the public part.
//!
//! | YPIR, figure 2; InsPIRe, section 4 | here |
//! |---|---|
//! | `DBSetup`: D·A₁, its digits | [`server::Server`]'s `prepare` |
//! | `DBSetup`: H₂ and its packs | [`crate::shared::selection::server`] |
//! | `Query` | [`client::Client`]'s `query` |
//! | `Answer` | [`server::Server`]'s `answer_many`, by [`crate::shared::selection::PackedMatrix`] |
//! | `Extract` | [`client::Client`]'s `extract` |
//!
//! Differences from the papers: the differences of DoublePIR here (centred words, D·A₁ and first
//! answers rounded before they become digits, σ = 11); the search chooses the width of digits and
//! all message bits for the fewest bytes or seconds; records of several bytes have digits for each
//! byte under one query; an answer beyond the noise bound of either level is refused. The gadget of
//! YPIR's packing keys drops low bits and may have a single digit, which reduces keys from 462 KB
//! to less than half.

mod certificate;
pub mod client;
pub mod literal;
pub mod params;
mod rows;
pub mod server;
#[cfg(test)]
mod tests;

use papir_core::Privacy;
use papir_core::scheme::{Scheme, Unregistered};

pub use crate::shared::selection::{
    ByCdks, ByInspiring, PackedVariant, SelectionAnswer as Answer, SelectionPublic as Public,
};
pub use client::{Client, Query, Secret};
pub use literal::{DigitShape, Literal, PackedDouble};
pub use params::Params;
pub use server::Server;

/// YPIR, as a scheme.
pub type Ypir = PackedDouble<ByCdks>;
/// InsPIRe₀, as a scheme.
pub type Inspire0 = PackedDouble<ByInspiring>;

impl<V: PackedVariant> Scheme for PackedDouble<V> {
    const NAME: &'static str = V::DOUBLE.name;
    const ID: u16 = V::DOUBLE.id;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = Params<V>;
    type Public = Public;
    type Query = Query;
    type Answer = Answer;
    type Secret = Secret;
    type Registration = Unregistered;
    type Server = Server<V>;
    type Client = Client<V>;
}
