//! Messages of batches.
//!
//! ```text
//! public   seed of the code (32), the public part of each group of buckets, all equally long
//! query    the shared part of the groups' queries, once; then the rest of each group's query
//! answer   the answer of each group, all equally long
//! ```

use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_ring::prg::Seed;

use super::bucket::Bucket;
use super::params::BatchedParams;
use crate::shared::messages::SEED_BYTES;

/// Public parts of all groups, and the seed of the code.
pub struct BatchedPublic<S: Bucket> {
    /// Seed of the permutations that place copies.
    pub(super) seed: Seed,
    /// Public parts of the groups, one for each group of buckets.
    pub(super) groups: Vec<S::Public>,
}

impl<S: Bucket> Clone for BatchedPublic<S> {
    fn clone(&self) -> Self {
        Self {
            seed: self.seed,
            groups: self.groups.clone(),
        }
    }
}

/// One query to each group of buckets.
pub struct BatchedQuery<S: Bucket> {
    pub(super) groups: Vec<S::Query>,
}

/// One answer from each group of buckets.
pub struct BatchedAnswer<S: Bucket> {
    pub(super) groups: Vec<S::Answer>,
}

impl<S: Bucket> Wire<BatchedParams<S>> for BatchedPublic<S> {
    fn encode(&self, params: &BatchedParams<S>) -> Vec<u8> {
        let parts = self
            .groups
            .iter()
            .flat_map(|public| public.encode(&params.inner));
        self.seed.0.iter().copied().chain(parts).collect()
    }

    fn decode(params: &BatchedParams<S>, bytes: &[u8]) -> Result<Self> {
        let count = params.groups();
        let Some((seed, rest)) = bytes.split_first_chunk::<SEED_BYTES>() else {
            let found = bytes.len() as u64;
            let expected = SEED_BYTES as u64;
            return Err(Error::Length {
                what: "the public part of batches",
                found,
                expected,
            });
        };

        let parts = equal_parts("the public parts of buckets", rest, count)?;
        let groups: Vec<S::Public> = parts
            .iter()
            .map(|part| S::Public::decode(&params.inner, part))
            .collect::<Result<_>>()?;

        check_distinct(groups.iter().flat_map(S::seeds).collect())?;

        Ok(Self {
            seed: Seed(*seed),
            groups,
        })
    }
}

/// Checks that no two seeds are equal. Two buckets with the same masks would get two encryptions
/// under one secret and one mask, whose difference reveals the indices.
fn check_distinct(mut seeds: Vec<Seed>) -> Result<()> {
    seeds.sort_unstable_by_key(|seed| seed.0);
    if seeds.windows(2).any(|pair| pair[0] == pair[1]) {
        let found = "two buckets with the same seed";
        return Err(Error::malformed(
            "the public parts of buckets",
            found,
            "different ones",
        ));
    }
    Ok(())
}

impl<S: Bucket> Wire<BatchedParams<S>> for BatchedQuery<S> {
    fn encode(&self, params: &BatchedParams<S>) -> Vec<u8> {
        let shared = S::shared_bytes(&params.inner);
        let mut bytes = Vec::with_capacity(params.query_bytes());
        for (i, query) in self.groups.iter().enumerate() {
            let one = query.encode(&params.inner);
            // All queries of a batch have the same shared part, since one secret encrypts them all.
            if i == 0 {
                bytes.extend_from_slice(&one[shared.clone()]);
            }
            bytes.extend_from_slice(&one[..shared.start]);
            bytes.extend_from_slice(&one[shared.end..]);
        }
        bytes
    }

    fn decode(params: &BatchedParams<S>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("a query of a batch", bytes.len(), params.query_bytes())?;
        let shared = S::shared_bytes(&params.inner);
        let (common, rest) = bytes.split_at(shared.len());

        let mut groups = Vec::with_capacity(params.groups());
        for part in equal_parts("the queries of buckets", rest, params.groups())? {
            // The shared part was sent once, and returns to its place in each query.
            let (before, after) = part.split_at(shared.start);
            let query = [before, common, after].concat();
            groups.push(S::Query::decode(&params.inner, &query)?);
        }

        Ok(Self { groups })
    }
}

impl<S: Bucket> Wire<BatchedParams<S>> for BatchedAnswer<S> {
    fn encode(&self, params: &BatchedParams<S>) -> Vec<u8> {
        self.groups
            .iter()
            .flat_map(|answer| answer.encode(&params.inner))
            .collect()
    }

    fn decode(params: &BatchedParams<S>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("an answer of a batch", bytes.len(), params.answer_bytes())?;
        let parts = equal_parts("the answers of buckets", bytes, params.groups())?;
        let groups = parts
            .iter()
            .map(|part| S::Answer::decode(&params.inner, part))
            .collect::<Result<_>>()?;

        Ok(Self { groups })
    }
}

/// Splits bytes into `count` parts of equal length, and refuses a length that is not a multiple of
/// `count`.
fn equal_parts<'a>(what: &'static str, bytes: &'a [u8], count: usize) -> Result<Vec<&'a [u8]>> {
    let each = bytes.len() / count;
    Error::check_length(what, bytes.len(), each * count)?;
    Ok((0..count)
        .map(|i| &bytes[i * each..(i + 1) * each])
        .collect())
}
