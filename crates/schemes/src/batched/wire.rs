//! Messages of batches.
//!
//! ```text
//! public   seed of the code (32), the public part of each bucket, all equally long
//! query    what the buckets' queries share, once; then of each bucket's query what stands before and after it
//! answer   the answer of each bucket, all equally long
//! ```

use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_ring::prg::Seed;

use super::Bucket;
use super::params::{BatchedParams, SEED_BYTES};

/// What a client starts from.
pub struct BatchedPublic<S: Bucket> {
    /// Of the permutations that place copies.
    pub(super) seed: Seed,
    /// One for each bucket, no two the same.
    pub(super) buckets: Vec<S::Public>,
}

impl<S: Bucket> Clone for BatchedPublic<S> {
    fn clone(&self) -> Self {
        Self { seed: self.seed, buckets: self.buckets.clone() }
    }
}

/// One query to each bucket.
pub struct BatchedQuery<S: Bucket> {
    pub(super) buckets: Vec<S::Query>,
}

/// One answer from each bucket.
pub struct BatchedAnswer<S: Bucket> {
    pub(super) buckets: Vec<S::Answer>,
}

impl<S: Bucket> Wire<BatchedParams<S>> for BatchedPublic<S> {
    fn encode(&self, params: &BatchedParams<S>) -> Vec<u8> {
        let parts = self.buckets.iter().flat_map(|public| public.encode(params.inner()));
        self.seed.0.iter().copied().chain(parts).collect()
    }

    fn decode(params: &BatchedParams<S>, bytes: &[u8]) -> Result<Self> {
        let count = params.bucket_count();
        let Some((seed, rest)) = bytes.split_first_chunk::<SEED_BYTES>() else {
            let (found, expected) = (bytes.len() as u64, SEED_BYTES as u64);
            return Err(Error::Length { what: "the public part of batches", found, expected });
        };
        let parts = equal_parts("the public parts of buckets", rest, count)?;
        check_distinct(&parts)?;
        let buckets =
            parts.iter().map(|part| S::Public::decode(params.inner(), part)).collect::<Result<_>>()?;
        Ok(Self { seed: Seed(*seed), buckets })
    }
}

/// Two buckets with the same public part would get two encryptions under one secret and one mask: their
/// difference shows what was asked.
fn check_distinct(parts: &[&[u8]]) -> Result<()> {
    let mut sorted = parts.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1] && !pair[0].is_empty()) {
        let found = "two buckets with the same";
        return Err(Error::malformed("the public parts of buckets", found, "different ones"));
    }
    Ok(())
}

impl<S: Bucket> Wire<BatchedParams<S>> for BatchedQuery<S> {
    fn encode(&self, params: &BatchedParams<S>) -> Vec<u8> {
        let shared = S::Query::shared(params.inner());
        let mut bytes = Vec::with_capacity(params.query_bytes());
        for (i, query) in self.buckets.iter().enumerate() {
            let one = query.encode(params.inner());
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
        let shared = S::Query::shared(params.inner());
        let (common, rest) = bytes.split_at(shared.len());
        let one = |part: &[u8]| {
            let (before, after) = part.split_at(shared.start);
            S::Query::decode(params.inner(), &[before, common, after].concat())
        };
        let parts = equal_parts("the queries of buckets", rest, params.bucket_count())?;
        Ok(Self { buckets: parts.into_iter().map(one).collect::<Result<_>>()? })
    }
}

impl<S: Bucket> Wire<BatchedParams<S>> for BatchedAnswer<S> {
    fn encode(&self, params: &BatchedParams<S>) -> Vec<u8> {
        self.buckets.iter().flat_map(|answer| answer.encode(params.inner())).collect()
    }

    fn decode(params: &BatchedParams<S>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("an answer of a batch", bytes.len(), params.answer_bytes())?;
        let parts = equal_parts("the answers of buckets", bytes, params.bucket_count())?;
        let one = |part: &&[u8]| S::Answer::decode(params.inner(), part);
        Ok(Self { buckets: parts.iter().map(one).collect::<Result<_>>()? })
    }
}

/// Bytes in so many parts of the same length.
fn equal_parts<'a>(what: &'static str, bytes: &'a [u8], count: usize) -> Result<Vec<&'a [u8]>> {
    let each = bytes.len() / count;
    Error::check_length(what, bytes.len(), each * count)?;
    Ok((0..count).map(|i| &bytes[i * each..(i + 1) * each]).collect())
}
