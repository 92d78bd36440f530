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

/// A scheme without keys and tickets whose databases serve as buckets. One database is a group of
/// buckets; a query asks for one record of each.
pub trait Bucket: Scheme<ClientKeys = Never, ClientState = Never, Ticket = Never> {
    /// Name of batches over the scheme.
    const BATCHED_NAME: &'static str;
    /// Number on the wire; never reused.
    const BATCHED_ID: u16;

    /// Buckets in a group. Their records are consecutive.
    fn parts(_params: &Self::Params) -> usize {
        1
    }

    /// Records of a group's part, for a bucket with this many.
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

    /// Seeds of all masks used with a query's secret. All seeds of a batch must differ.
    fn seeds(public: &Self::Public) -> Vec<Seed>;
}

impl Bucket for InspireInParts {
    const BATCHED_NAME: &'static str = "inspire-batch";
    const BATCHED_ID: u16 = 12;

    fn parts(params: &PartsParams) -> usize {
        params.parts
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
