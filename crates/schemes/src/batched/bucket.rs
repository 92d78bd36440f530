//! Schemes whose databases serve as buckets.

use std::ops::Range;

use papir_core::scheme::{Client, Parameters, Scheme, Server, Unregistered};
use papir_core::sections::SectionSource;
use papir_core::{Error, FailureBound, Progress, Records, Result, Shape};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use crate::inspire::client::Secret;
use crate::inspire::parts::{InspireInParts, PartsClient, PartsParams, PartsPublic};
use crate::inspire::server::PartsServer;
use crate::inspire::wire::Query;
use crate::simple::Simple;
use crate::simple::wire::SimplePublic;

/// A scheme without keys and tickets whose databases serve as buckets. One database is a group of
/// buckets; a query asks for one record of each bucket in the group.
pub trait Bucket: Scheme<Registration = Unregistered> {
    /// Name of batches over the scheme.
    const BATCHED_NAME: &'static str;
    /// Number of batches over the scheme on the wire. It is never reused.
    const BATCHED_ID: u16;

    /// Returns the number of buckets in a group, 1 by default. The records of a bucket are
    /// consecutive in the group.
    fn parts(_params: &Self::Params) -> usize {
        1
    }

    /// Returns the number of records that the group reserves for a bucket of `records` records. By
    /// default it is the same number.
    fn part_records(_params: &Self::Params, records: u64) -> u64 {
        records
    }

    /// Returns the parameters to compare for groups whose buckets have the shape `bucket`, within a
    /// failure bound.
    ///
    /// # Errors
    /// The errors of [`Parameters::candidates`].
    fn groups_of(bucket: Shape, failure: FailureBound) -> Result<Vec<Self::Params>> {
        Self::Params::candidates(bucket, failure)
    }

    /// Returns the seeds of all masks that are used with a query's secret. All seeds of a batch
    /// must differ.
    fn seeds(public: &Self::Public) -> Vec<Seed>;

    /// Returns the range of bytes of an encoded query that all queries of one
    /// [`Bucket::query_each`] share. It is empty by default.
    fn shared_bytes(_params: &Self::Params) -> Range<usize> {
        0..0
    }

    /// Prepares a group that clients query together with the group `first`, under one secret. Both
    /// groups have the same parameters. The new group reuses the public masks of `first` that
    /// depend only on the secret, and draws all other masks. By default, it draws all of them.
    ///
    /// # Errors
    /// The errors of [`Server::setup`].
    fn setup_sharing_keys(
        _first: &Self::Server,
        params: Self::Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self::Server> {
        Self::Server::setup(params, records, rng, progress)
    }

    /// Loads a group that [`Bucket::setup_sharing_keys`] prepared. `first` is the first group.
    ///
    /// # Errors
    /// The errors of [`Server::load`].
    fn load_sharing_keys(
        _first: &Self::Server,
        params: Self::Params,
        source: &dyn SectionSource,
    ) -> Result<Self::Server> {
        Self::Server::load(params, source)
    }

    /// Creates a client for a group that [`Bucket::setup_sharing_keys`] prepared. `_first` is the
    /// client of the first group.
    ///
    /// # Errors
    /// The errors of [`Client::new`].
    fn client_sharing_keys(
        _first: &Self::Client,
        params: Self::Params,
        public: Self::Public,
    ) -> Result<Self::Client> {
        Self::Client::new(params, public)
    }

    /// Makes one query for each group. All clients but the first were created by
    /// [`Bucket::client_sharing_keys`] from the first. The queries share one fresh secret, which is
    /// dropped once all answers are decoded; by default, each query has a secret of its own. No two
    /// clients may have the same public part: their queries would use the same masks under the same
    /// secret.
    ///
    /// # Errors
    /// The errors of [`Client::query`], and [`Error::Length`] if the number of index lists is not
    /// the number of clients.
    fn query_each(
        clients: &[Self::Client],
        indices: &[Vec<u64>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<(Self::Secret, Self::Query)>> {
        Error::check_length(
            "indices for several databases, counted",
            indices.len(),
            clients.len(),
        )?;

        let pairs = clients.iter().zip(indices);
        pairs
            .map(|(client, indices)| client.query(None, indices, rng))
            .collect()
    }
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

    fn groups_of(bucket: Shape, failure: FailureBound) -> Result<Vec<PartsParams>> {
        PartsParams::of_part(bucket, failure)
    }

    fn seeds(public: &PartsPublic) -> Vec<Seed> {
        public.seeds.clone()
    }

    /// Returns the range of the packing key.
    fn shared_bytes(params: &PartsParams) -> Range<usize> {
        let (selectors, keys) = params.query_parts();
        selectors..selectors + keys
    }

    fn setup_sharing_keys(
        first: &PartsServer<Self>,
        params: PartsParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<PartsServer<Self>> {
        first.setup_sharing_keys(params, records, rng, progress)
    }

    fn load_sharing_keys(
        first: &PartsServer<Self>,
        params: PartsParams,
        source: &dyn SectionSource,
    ) -> Result<PartsServer<Self>> {
        first.load_sharing_keys(params, source)
    }

    fn client_sharing_keys(
        first: &PartsClient,
        params: PartsParams,
        public: PartsPublic,
    ) -> Result<PartsClient> {
        Ok(first.sharing_keys(params, public))
    }

    fn query_each(
        clients: &[PartsClient],
        indices: &[Vec<u64>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<(Secret, Query)>> {
        PartsClient::query_each(clients, indices, rng)
    }
}

impl Bucket for Simple {
    const BATCHED_NAME: &'static str = "simple-batch";
    const BATCHED_ID: u16 = 13;

    fn seeds(public: &SimplePublic) -> Vec<Seed> {
        vec![public.seed]
    }
}
