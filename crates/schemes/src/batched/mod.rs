//! Batches: many records in one query, over any scheme.
//!
//! A batch of k records costs much less than k queries.
//!
//! A probabilistic batch code (Ishai, Kushilevitz, Ostrovsky, Sahai 2004; Angel, Chen, Laine, Setty
//! 2018) puts a copy of each record into one bucket of each of w groups. Every bucket is a database
//! of its own. A client chooses one copy of each of its k records, no two in the same bucket, and
//! asks every bucket for one record. In a bucket without a chosen copy it asks for a record that it
//! does not want. The server processes buckets that are together as large as w databases, instead
//! of k databases.
//!
//! ```text
//! setup    w copies of each record, one in a bucket of each group
//!          a database of the scheme for each bucket
//! query    a matching: for each wanted record one copy, no two in one bucket
//!          a query to every bucket, for the copy or for any record
//! answer   every bucket answers its query
//! extract  the answers of the matched buckets, in the order of the wanted records
//! ```
//!
//! | paper (Angel et al.) | here |
//! |---|---|
//! | `Encode` (4.2) | [`server`], `code`: by permutations; a client needs no table |
//! | `GenSchedule` (4.3) | [`client`], `code`: a matching instead of random walks |
//! | failure by experiment (4.5) | `bound`: by Hall's theorem |
//!
//! The queries of one batch share a fresh secret if the scheme supports it
//! ([`Bucket::query_each`]); each bucket has masks of its own. The length of a batch does not
//! depend on the indices or on their number.

mod bound;
mod bucket;
pub mod client;
mod code;
pub mod params;
pub mod rows;
pub mod server;
#[cfg(test)]
mod tests;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{OnDevice, Scheme, Unregistered};

pub use bucket::Bucket;
pub use client::{BatchedClient, BatchedSecret};
pub use params::{Batched, BatchedParams};
pub use server::BatchedServer;
pub use wire::{BatchedAnswer, BatchedPublic, BatchedQuery};

impl<S: Bucket> Scheme for Batched<S> {
    const NAME: &'static str = S::BATCHED_NAME;
    const ID: u16 = S::BATCHED_ID;
    const PRIVACY: Privacy = S::PRIVACY;
    const DEVICE: Option<&'static dyn OnDevice<Self>> = match S::DEVICE {
        Some(_) => Some(&server::GroupsOnDevice),
        None => None,
    };

    type Params = BatchedParams<S>;
    type Public = BatchedPublic<S>;
    type Query = BatchedQuery<S>;
    type Answer = BatchedAnswer<S>;
    type Secret = BatchedSecret<S>;
    type Registration = Unregistered;
    type Server = BatchedServer<S>;
    type Client = BatchedClient<S>;
}
