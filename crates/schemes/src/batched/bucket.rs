//! Schemes whose databases serve as buckets.

use std::marker::PhantomData;

use papir_core::scheme::{Never, Parameters, Scheme};
use papir_core::{Result, Shape};
use papir_ring::prg::Seed;

use crate::inspire::parts::{InspireInParts, PartsParams, PartsPublic};
use crate::simple::Simple;
use crate::simple::wire::SimplePublic;

/// Batches over a scheme.
pub struct Batched<S>(PhantomData<fn() -> S>);

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

impl Bucket for Simple {
    const BATCHED_NAME: &'static str = "simple-batch";
    const BATCHED_ID: u16 = 13;

    fn seeds(public: &SimplePublic) -> Vec<Seed> {
        vec![public.seed]
    }
}
