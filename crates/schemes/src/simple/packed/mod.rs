//! SimpleYPIR: SimplePIR whose answer is packed (Menon, Wu, *YPIR: High-Throughput Single-Server PIR with
//! Silent Preprocessing*, USENIX Security 2024, ePrint 2024/270, section 4.3): no hint to download.
//!
//! The database is a matrix of 16-bit words; a column holds many records, or a part of the database as
//! long as one long record. The client selects a column under LWE over the packing ring, and gets all of
//! it, d words to a ring encryption (CDKS packing).
//!
//! | the paper | here |
//! |---|---|
//! | `DBSetup` | [`server::Server`]'s `prepare`; the matrix in [`encode`], its packs in [`crate::shared::selection::server`] |
//! | `Query` | [`client::Client`]'s `query`: [`crate::shared::selection::client`] |
//! | `Answer` | [`server::Server::select`], [`server::Server::pack`], [`server::Server::round`] |
//! | `Extract` | [`client::Client`]'s `extract` |
//!
//! What differs from the paper: words are centred and modulo 2¹⁶; records are whitened by a public stream
//! that the client removes, so that the noise bound holds for every database; selector, keys and answer
//! travel in as few bits as the noise allows; the gadget drops low bits.

pub mod client;
pub mod encode;
pub mod layout;
pub mod params;
pub mod server;
mod update;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

use crate::shared::selection::{SelectionAnswer, SelectionQuery};

pub use client::{Client, Secret};
pub use params::Params;
pub use server::Server;
pub use wire::Public;

/// The scheme's name for the type system.
#[derive(Clone, Copy, Debug)]
pub struct SimpleYpir;

impl Scheme for SimpleYpir {
    const NAME: &'static str = "simpleypir";
    const ID: u16 = 7;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = Params;
    type Public = Public;
    type Query = SelectionQuery;
    type Answer = SelectionAnswer;
    type Secret = Secret;
    type ClientKeys = Never;
    type ClientState = Never;
    type Ticket = Never;
    type Server = Server;
    type Client = Client;
}
