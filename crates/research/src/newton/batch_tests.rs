//! Tests of batches: against the records, at the bounds, behind the fence, and broken.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::scheme::{Choice, Client, Goal, Parameters, Server, Session, Wire};
use papir_core::{Error, NoProgress, NotPrivate, RecordBuffer, Records, Shape, Terms};
use papir_schemes::batched::{
    BatchedAnswer, BatchedClient, BatchedParams, BatchedQuery, BatchedServer,
};

use super::batch::{BatchVariant, NewtonBucket};
use super::params::Variant;
use super::{Symmetric, attack};

/// A variant with a short modulus, insecure but fast.
#[derive(Clone, Copy, Debug)]
struct Short;

impl Variant for Short {
    const NAME: &'static str = "newton-short-bucket";
    const ID: u16 = 0xffe2;
    const MODULUS_BITS: u32 = 256;
    const REGISTERED: bool = false;
}

impl BatchVariant for Short {
    const BATCHED_NAME: &'static str = "newton-short-batch";
    const BATCHED_ID: u16 = 0xffe3;
}

type Params<V> = BatchedParams<NewtonBucket<V>>;

const ACKNOWLEDGED: NotPrivate = NotPrivate::acknowledged();
const CAPACITY: usize = 16;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn records(count: u64, bytes: u64) -> RecordBuffer {
    let shape = Shape::of_bytes(count, bytes).unwrap();
    let packed = (0..shape.total_bytes())
        .map(|i| (i * 131 + i / 7) as u8)
        .collect();
    RecordBuffer::from_packed(shape, packed).unwrap()
}

/// A server and a client of batches, and the records.
struct Setup<V: BatchVariant> {
    server: BatchedServer<NewtonBucket<V>>,
    client: BatchedClient<NewtonBucket<V>>,
    records: RecordBuffer,
    rng: ChaCha20Rng,
}

impl<V: BatchVariant> Setup<V> {
    fn new(params: Params<V>, records: RecordBuffer) -> Self {
        let params = params
            .with_terms(&Terms::acknowledged(ACKNOWLEDGED))
            .unwrap();
        let mut rng = rng(1);
        let server = BatchedServer::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
        let client = BatchedClient::new(params, server.public().clone()).unwrap();
        Self {
            server,
            client,
            records,
            rng,
        }
    }

    fn of_capacity(capacity: usize, records: RecordBuffer) -> Self {
        Self::new(
            Params::for_capacity(records.shape(), Goal::Balanced, capacity).unwrap(),
            records,
        )
    }

    /// The bytes of a batch's query, and the outcome of the exchange.
    fn ask(&mut self, indices: &[u64]) -> (Vec<u8>, Result<Vec<Vec<u8>>, Error>) {
        let params = self.server.params();
        let (secret, query) = self.client.query(None, indices, &mut self.rng).unwrap();
        let sent = query.encode(params);
        let query = BatchedQuery::decode(params, &sent).unwrap();
        let answer = self
            .server
            .answer(Session::anonymous(), &query)
            .unwrap()
            .encode(params);
        (
            sent,
            self.client
                .extract(secret, BatchedAnswer::decode(params, &answer).unwrap()),
        )
    }

    fn check(&mut self, indices: &[u64]) {
        let expected: Vec<_> = indices
            .iter()
            .map(|&index| self.records.get(index).unwrap())
            .collect();
        assert_eq!(self.ask(indices).1.unwrap(), expected, "{indices:?}");
    }
}

#[test]
fn every_index_of_a_batch_is_the_records() {
    let count = 300;
    let mut setup = Setup::<Short>::of_capacity(CAPACITY, records(count, 5));
    let buckets = setup.server.params().bucket_count();
    assert!(buckets > CAPACITY, "{buckets} buckets");
    // Neighbours, and indices far from each other.
    for step in [1, 50] {
        let order: Vec<u64> = (0..count)
            .map(|i| i * step % count + i * step / count)
            .collect();
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len() as u64, count);
        order.chunks(CAPACITY).for_each(|batch| setup.check(batch));
    }
}

#[test]
fn batches_may_be_short_and_name_an_index_twice() {
    let mut setup = Setup::<Short>::of_capacity(CAPACITY, records(40, 70));
    for batch in [&[39][..], &[7, 7], &[0, 39, 0, 39, 5, 5], &[3; CAPACITY]] {
        setup.check(batch);
    }
}

#[test]
fn batches_and_indices_out_of_bounds_are_refused() {
    let mut setup = Setup::<Short>::of_capacity(CAPACITY, records(40, 5));
    let mut refused = |indices: &[u64]| {
        setup
            .client
            .query(None, indices, &mut setup.rng)
            .err()
            .unwrap()
    };

    assert!(matches!(refused(&[0, 40]), Error::IndexOutOfRange { .. }));
    assert!(matches!(refused(&[]), Error::BatchSize { .. }));
    assert!(matches!(
        refused(&[1; CAPACITY + 1]),
        Error::BatchSize {
            capacity: CAPACITY,
            ..
        }
    ));

    let shape = Shape::of_bytes(40, 5).unwrap();
    for capacity in [0, 1025] {
        let error = Params::<Short>::for_capacity(shape, Goal::Balanced, capacity)
            .err()
            .unwrap();
        assert_eq!(error.code(), "out_of_bounds", "{capacity}");
    }
}

#[test]
fn batches_require_the_acknowledgement() {
    let records = records(40, 5);
    let params = Params::<Short>::for_capacity(records.shape(), Goal::Balanced, 2).unwrap();
    let setup = |params| BatchedServer::setup(params, &records, &mut rng(2), &NoProgress);
    assert!(matches!(
        setup(params.clone()),
        Err(Error::NotPrivate { .. })
    ));
    let terms = Terms::acknowledged(ACKNOWLEDGED);
    let server = setup(params.clone().with_terms(&terms).unwrap()).unwrap();
    // Encoded parameters do not contain the acknowledgement.
    let read = Params::<Short>::decode(&server.params().encode()).unwrap();
    let client = BatchedClient::new(read, server.public().clone());
    assert!(matches!(client, Err(Error::NotPrivate { .. })));
}

/// Section 4.3's digests, in each bucket.
#[test]
fn batches_of_records_with_digests_are_checked() {
    let records = records(40, 5);
    let params = Params::<Short>::with_choice(records.shape(), Choice::Digests).unwrap();
    assert!(params.label().ends_with("digests") && !params.label().contains("no digests"));
    let mut setup = Setup::new(params, records);
    setup.check(&[17]);
    // The same index, but encrypted under another point: the answer opens to another value.
    let (secret, _) = setup.client.query(None, &[3], &mut setup.rng).unwrap();
    let (_, other) = setup.client.query(None, &[3], &mut setup.rng).unwrap();
    let foreign = setup.server.answer(Session::anonymous(), &other).unwrap();
    assert!(matches!(
        setup.client.extract(secret, foreign),
        Err(Error::NotDecodable)
    ));
}

/// The claim of docs/notes/newtonpir.md: whoever sees a batch computes its indices.
#[test]
fn a_batch_reveals_its_indices() {
    let mut setup = Setup::<Symmetric>::of_capacity(8, records(90, 5));
    let params = setup.server.params();
    let buckets = params.bucket_count();
    let records = params.bucket_records();

    // Buckets of which nothing is wanted are queried at position 0.
    let first: BTreeSet<u64> = (0..buckets)
        .filter_map(|bucket| setup.server.record_at(bucket, 0))
        .collect();
    let others: Vec<u64> = (0..90)
        .filter(|index| !first.contains(index))
        .take(16)
        .collect();

    let revealed = |batch: &[u8]| -> BTreeSet<u64> {
        let found = attack::positions(batch, buckets, records).unwrap();
        assert_eq!(found.len(), buckets);
        let places = found.iter().enumerate().flat_map(|(bucket, found)| {
            assert_eq!(found.len(), 1, "bucket {bucket}");
            found
                .iter()
                .filter(|&&position| position > 0)
                .map(move |&position| (bucket, position))
        });
        places
            .map(|(bucket, position)| setup.server.record_at(bucket, position).unwrap())
            .collect()
    };

    let batches = [&others[..8], &others[8..], &others[..3]];
    for batch in batches {
        let query = setup.client.query(None, batch, &mut setup.rng).unwrap().1;
        let sent = query.encode(setup.server.params());
        assert_eq!(
            revealed(&sent),
            batch.iter().copied().collect(),
            "{batch:?}"
        );
        assert!(attack::positions(&sent[1..], buckets, records).is_err());
    }
}
