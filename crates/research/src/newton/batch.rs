//! Batches of NewtonPIR (section 4.3): a database for each bucket of a batch code.
//!
//! The batch code and its placement of records are those of [`papir_schemes::batched`], with
//! permutations in place of the paper's cuckoo hashing. All buckets share one n, and each gets a
//! query of its own. **Batches are not private either**: each query reveals the bucket's record
//! ([`attack`](super::attack)), wanted or not, and thus the batch's indices.

use std::marker::PhantomData;
use std::sync::Arc;

use papir_core::scheme::{
    Client, Never, Parameters, Scheme, Server, Session, Target, Unregistered,
};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, FailureBound, Privacy, Progress, Record, Records, Result, Shape};
use papir_ring::prg::Seed;
use papir_schemes::batched::Bucket;
use rand_core::CryptoRng;

use super::client::{NewtonClient, NewtonSecret};
use super::params::{Newton, NewtonParams, REASON, Symmetric, Variant};
use super::server::NewtonServer;
use super::wire::{NewtonAnswer, NewtonPublic, NewtonQuery};

/// A variant with one n for all clients, of which there are batches.
pub trait BatchVariant: Variant {
    /// Name of batches over the variant.
    const BATCHED_NAME: &'static str;
    /// Number of batches on the wire.
    const BATCHED_ID: u16;
}

impl BatchVariant for Symmetric {
    const BATCHED_NAME: &'static str = "newtonsym-batch";
    const BATCHED_ID: u16 = 20;
}

/// NewtonPIR with one n for all clients, as the scheme of buckets: without keys, state and tickets.
pub struct NewtonBucket<V = Symmetric>(PhantomData<fn() -> V>);

/// A bucket's server.
pub struct BucketServer<V>(NewtonServer<V>);

/// A bucket's client.
pub struct BucketClient<V>(NewtonClient<V>);

impl<V: BatchVariant> Scheme for NewtonBucket<V> {
    const NAME: &'static str = V::NAME;
    const ID: u16 = V::ID;
    const PRIVACY: Privacy = Privacy::NotPrivate(REASON);

    type Params = NewtonParams<V>;
    type Public = NewtonPublic;
    type Query = NewtonQuery;
    type Answer = NewtonAnswer;
    type Secret = NewtonSecret;
    type Registration = Unregistered;
    type Server = BucketServer<V>;
    type Client = BucketClient<V>;
}

impl<V: BatchVariant> Bucket for NewtonBucket<V> {
    const BATCHED_NAME: &'static str = V::BATCHED_NAME;
    const BATCHED_ID: u16 = V::BATCHED_ID;

    /// Records without digests, which are a separate choice.
    fn groups_of(bucket: Shape, failure: FailureBound) -> Result<Vec<NewtonParams<V>>> {
        let target = Target {
            failure,
            ..Target::default()
        };
        Ok(vec![NewtonParams::choose(bucket, target)?])
    }

    /// Queries have no public masks.
    fn seeds(_public: &NewtonPublic) -> Vec<Seed> {
        Vec::new()
    }

    /// Uses the n of the first bucket.
    fn setup_sharing_keys(
        first: &BucketServer<V>,
        params: NewtonParams<V>,
        records: &dyn Records,
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<BucketServer<V>> {
        // All buckets get the first one's n, so that a client's queries are under one modulus.
        let modulus = first.public().modulus.as_ref().map(Arc::clone);
        NewtonServer::setup_under(params, modulus, records, progress).map(BucketServer)
    }
}

impl<V: BatchVariant> Server<NewtonBucket<V>> for BucketServer<V> {
    fn setup(
        params: NewtonParams<V>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        NewtonServer::setup(params, records, rng, progress).map(Self)
    }

    fn params(&self) -> &NewtonParams<V> {
        self.0.params()
    }

    fn public(&self) -> &NewtonPublic {
        self.0.public()
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, NewtonBucket<V>>, &NewtonQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<NewtonAnswer>> {
        let queries = batch
            .into_iter()
            .map(|(_, query)| (Session::<Newton<V>>::anonymous(), query));
        self.0.answer_many(queries.collect(), progress)
    }

    fn update(
        &self,
        changes: &[Change],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        self.0.update(changes, rng, progress).map(Self)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.0.read_packed(first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        self.0.save(sink)
    }

    fn load(params: NewtonParams<V>, source: &dyn SectionSource) -> Result<Self> {
        NewtonServer::load(params, source).map(Self)
    }
}

impl<V: BatchVariant> Client<NewtonBucket<V>> for BucketClient<V> {
    fn new(params: NewtonParams<V>, public: NewtonPublic) -> Result<Self> {
        NewtonClient::new(params, public).map(Self)
    }

    fn params(&self) -> &NewtonParams<V> {
        self.0.params()
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(NewtonSecret, NewtonQuery)> {
        self.0.query(None, indices, rng)
    }

    fn extract(&self, secret: NewtonSecret, answer: NewtonAnswer) -> Result<Vec<Record>> {
        self.0.extract(secret, answer)
    }
}
