//! Trivial PIR, by download of the database.
//!
//! Clients fetch the whole database once per version, and look up records in their own copy.
//!
//! The scheme hides the index perfectly, under no assumption. It takes the least traffic of all
//! schemes if the database is small or a client looks up records often enough. It hides nothing of
//! the database: every client has all records.
//!
//! The public part holds the compressed records (`blocks`). A query is a nonce, drawn without
//! looking at the indices, and its answer repeats the nonce. The exchange costs a few bytes and
//! tells a client that its version is still served. To the service it looks like a lookup of any
//! other scheme.
//!
//! ```text
//! parameters   shape (16), bytes of the blocks (8)
//! public       blocks
//! query        nonce (16)
//! answer       the query's nonce (16)
//! ```

mod blocks;
mod client;
mod params;
mod rows;
mod server;
#[cfg(test)]
mod tests;
mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Scheme, Unregistered};

pub use blocks::estimate;
pub use client::{DownloadClient, DownloadSecret};
pub use params::{BATCH, Download, DownloadParams};
pub use server::DownloadServer;
pub use wire::{DownloadPublic, Nonce};

impl Scheme for Download {
    const NAME: &'static str = params::NAME;
    const ID: u16 = 18;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = DownloadParams;
    type Public = DownloadPublic;
    type Query = Nonce;
    type Answer = Nonce;
    type Secret = DownloadSecret;
    type Registration = Unregistered;
    type Server = DownloadServer;
    type Client = DownloadClient;
}
