//! The client: queries every bucket for one record.

use papir_core::scheme::{Client, Never, Parameters, check_indices};
use papir_core::{Error, Record, Result};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::bucket::Bucket;
use super::code::{Code, CopyPlace, place_vartime};
use super::params::{Batched, BatchedParams};
use super::wire::{BatchedAnswer, BatchedPublic, BatchedQuery};

/// A client for each group of buckets.
pub struct BatchedClient<S: Bucket> {
    params: BatchedParams<S>,
    code: Code,
    groups: Vec<S::Client>,
}

/// Secrets of the queries of one batch, and the bucket of each index.
pub struct BatchedSecret<S: Bucket> {
    groups: Vec<S::Secret>,
    /// The bucket of each index, in order; `None` for an index without a place.
    chosen: Zeroizing<Vec<Option<usize>>>,
}

impl<S: Bucket> Client<Batched<S>> for BatchedClient<S> {
    fn new(params: BatchedParams<S>, public: BatchedPublic<S>) -> Result<Self> {
        let code = Code::new(params.shape().records(), params.buckets, &public.seed);

        let mut groups: Vec<S::Client> = Vec::with_capacity(public.groups.len());
        for public in public.groups {
            let client = match groups.first() {
                None => S::Client::new(params.inner.clone(), public),
                Some(first) => S::client_sharing_keys(first, params.inner.clone(), public),
            };
            groups.push(client?);
        }

        Ok(Self {
            params,
            code,
            groups,
        })
    }

    fn params(&self) -> &BatchedParams<S> {
        &self.params
    }

    /// Makes one query to every group. The number of queries does not depend on the indices, and
    /// queries are made even if some records have no places. [`extract`](Client::extract) reports
    /// that later, when everything was sent.
    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(BatchedSecret<S>, BatchedQuery<S>)> {
        check_indices(
            S::BATCHED_NAME,
            &self.params.shape(),
            indices,
            self.params.capacity,
        )?;

        // Drawn together, so that the queries share a secret if the scheme supports it.
        let places = self.places_vartime(indices);
        let indices = self.indices(&places);
        let (secrets, queries) = S::query_each(&self.groups, &indices, rng)?
            .into_iter()
            .unzip();

        // Buckets alone are kept: `extract` finds records by them.
        let buckets = places.iter().map(|place| place.map(|place| place.bucket));
        let chosen = Zeroizing::new(buckets.collect());
        Ok((
            BatchedSecret {
                groups: secrets,
                chosen,
            },
            BatchedQuery { groups: queries },
        ))
    }

    /// Decrypts all answers. An answer that does not decode fails the whole batch, even if it holds
    /// no wanted record. So a failure does not depend on the indices.
    fn extract(&self, secret: BatchedSecret<S>, answer: BatchedAnswer<S>) -> Result<Vec<Record>> {
        let BatchedSecret { groups, chosen } = secret;
        let answers = self
            .groups
            .iter()
            .zip(groups.into_iter().zip(answer.groups));

        // All answers are opened before the first error is returned: the work is always the same.
        let opened: Vec<Result<Zeroizing<Vec<Record>>>> = answers
            .map(|(client, (secret, answer))| client.extract(secret, answer).map(Zeroizing::new))
            .collect();

        // Records of buckets that nobody wanted are erased too, also if a later one fails.
        let expected = self.params.groups() * self.params.parts();
        let mut records: Zeroizing<Vec<Record>> = Zeroizing::new(Vec::with_capacity(expected));
        for group in opened {
            records.append(&mut *group?);
        }
        Error::check_length("the number of a batch's records", records.len(), expected)?;

        // Reported only after the exchange: a client that sends nothing tells the service about its
        // indices.
        let lost = chosen.iter().filter(|bucket| bucket.is_none()).count();
        if lost > 0 {
            let reason = format!(
                "{lost} records of a batch share all their places with others, with probability 2^-40: \
                 query fewer at a time"
            );
            return Err(BatchedParams::<S>::unfit(reason));
        }

        // Groups have consecutive buckets, so a record's position in the joined answers is its
        // bucket.
        Ok(chosen
            .iter()
            .flatten()
            .map(|&bucket| records[bucket].clone())
            .collect())
    }
}

impl<S: Bucket> BatchedClient<S> {
    /// Returns the indices to query in each group: the index of the wanted record of each bucket,
    /// or of the bucket's first record if none is wanted.
    fn indices(&self, places: &[Option<CopyPlace>]) -> Zeroizing<Vec<Vec<u64>>> {
        let parts = self.params.parts() as u64;
        let records = self.params.part_records();
        // A bucket without a wanted record is queried for its first one. The query hides the index,
        // so any would do.
        let firsts: Vec<u64> = (0..parts).map(|part| part * records).collect();

        let mut indices = Zeroizing::new(vec![firsts; self.groups.len()]);
        for place in places.iter().flatten() {
            let (group, index) = self.params.in_group(*place);
            indices[group][place.bucket % self.params.parts()] = index;
        }
        indices
    }

    /// Chooses a place for each index, with different indices in different buckets. An index
    /// without a free place gets `None`. Variable in time.
    fn places_vartime(&self, indices: &[u64]) -> Zeroizing<Vec<Option<CopyPlace>>> {
        // Sorted, so that each index is found by binary search below.
        let mut distinct = Zeroizing::new(indices.to_vec());
        distinct.sort_unstable();
        distinct.dedup();

        let copies: Vec<Zeroizing<Vec<CopyPlace>>> = distinct
            .iter()
            .map(|&index| Zeroizing::new(self.code.places_vartime(index).collect::<Vec<_>>()))
            .collect();
        let buckets: Vec<Vec<usize>> = copies
            .iter()
            .map(|copies| copies.iter().map(|place| place.bucket).collect())
            .collect();
        let candidates = Zeroizing::new(buckets);
        let chosen = place_vartime(&candidates, self.params.bucket_count());

        // Equal indices share a place: a bucket answers one query of a batch.
        let places = indices.iter().map(|index| {
            let record = distinct.binary_search(index).unwrap_or_default();
            copies[record]
                .iter()
                .copied()
                .find(|place| Some(place.bucket) == chosen[record])
        });
        Zeroizing::new(places.collect())
    }
}
