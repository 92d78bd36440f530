//! Batches: k records of one database for far less than k times the work, over any scheme.
//!
//! A probabilistic batch code (Ishai, Kushilevitz, Ostrovsky, Sahai 2004; Angel, Chen, Laine, Setty 2018)
//! puts a copy of each record into one bucket of each of w groups. Every bucket is a database of its own.
//! Of k records a client chooses one copy each, no two in the same bucket, and asks every bucket for one
//! record: those that hold none of its copies too. The server goes over w databases' worth of buckets
//! instead of k databases.
//!
//! | paper (Angel et al.) | here |
//! |---|---|
//! | `Encode` (4.2) | [`server`], `code`: by permutations, so that a client needs no table of places |
//! | `GenSchedule` (4.3) | [`client`], `placement`: a matching, which exists or not, instead of random walks |
//! | failure by experiment (4.5) | `bound`: by Hall's theorem |
//!
//! The queries of one batch share a fresh secret where the scheme can do so ([`query_each`](papir_core::scheme::Client::query_each));
//! each bucket has masks of its own. A batch has the same length whatever and however much is asked.

mod bound;
pub mod client;
mod code;
mod copies;
pub mod params;
mod permutation;
mod placement;
mod sections;
pub mod server;
#[cfg(test)]
mod tests;
pub mod wire;

use std::marker::PhantomData;

use papir_core::scheme::{Never, Parameters, Scheme};
use papir_core::{Privacy, Result, Shape};
use papir_ring::prg::Seed;

use crate::inspire::parts::{InspireInParts, PartsParams, PartsPublic};
use crate::simple::wire::SimplePublic;

pub use client::{BatchedClient, BatchedSecret};
pub use params::BatchedParams;
pub use server::BatchedServer;
pub use wire::{BatchedAnswer, BatchedPublic, BatchedQuery};

/// A scheme that buckets can be made of, without keys and tickets: one database is a group of buckets, of which
/// a query asks one record each.
pub trait Bucket: Scheme<ClientKeys = Never, ClientState = Never, Ticket = Never> {
    /// The name of batches over it.
    const BATCHED_NAME: &'static str;
    /// Their number on the wire; never reused.
    const BATCHED_ID: u16;

    /// Buckets of a group, whose records follow one another.
    fn parts(_params: &Self::Params) -> usize {
        1
    }

    /// Records of a group's part for a bucket of so many.
    fn part_records(_params: &Self::Params, records: u64) -> u64 {
        records
    }

    /// Parameters worth comparing for groups of buckets of this shape.
    ///
    /// # Errors
    /// As [`Parameters::candidates`].
    fn groups_of(bucket: Shape) -> Result<Vec<Self::Params>> {
        Self::Params::candidates(bucket)
    }

    /// The seeds of all masks under which a query's secret is used: no two of one batch may be the same.
    fn seeds(public: &Self::Public) -> Vec<Seed>;
}

impl Bucket for InspireInParts {
    const BATCHED_NAME: &'static str = "inspire-batch";
    const BATCHED_ID: u16 = 12;

    fn parts(params: &PartsParams) -> usize {
        params.parts()
    }

    fn part_records(params: &PartsParams, records: u64) -> u64 {
        params.part_records(records)
    }

    fn groups_of(bucket: Shape) -> Result<Vec<PartsParams>> {
        PartsParams::of_part(bucket)
    }

    fn seeds(public: &PartsPublic) -> Vec<Seed> {
        public.seeds.clone()
    }
}

impl Bucket for crate::simple::Simple {
    const BATCHED_NAME: &'static str = "simple-batch";
    const BATCHED_ID: u16 = 13;

    fn seeds(public: &SimplePublic) -> Vec<Seed> {
        vec![public.seed]
    }
}

/// Batches over a scheme.
pub struct Batched<S>(PhantomData<fn() -> S>);

impl<S: Bucket> Scheme for Batched<S> {
    const NAME: &'static str = S::BATCHED_NAME;
    const ID: u16 = S::BATCHED_ID;
    const PRIVACY: Privacy = S::PRIVACY;

    type Params = BatchedParams<S>;
    type Public = BatchedPublic<S>;
    type Query = BatchedQuery<S>;
    type Answer = BatchedAnswer<S>;
    type Secret = BatchedSecret<S>;
    type ClientKeys = Never;
    type ClientState = Never;
    type Ticket = Never;
    type Server = BatchedServer<S>;
    type Client = BatchedClient<S>;
}
