//! The lookups and dummies of one scheduled request.

use std::sync::Arc;

use papir_lookup::Wanted;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::promise::Promise;
use super::queue::SubmittedLookup;
use crate::core::lookups::FoundValue;
use crate::core::owned::OwnedWanted;
use crate::error::{Error, Result};

/// Length of a dummy's key in bytes. A random key of this length is in no database.
const DUMMY_BYTES: usize = 32;

/// The lookups of one scheduled request: submitted ones first, then dummies.
pub struct ScheduledBatch {
    wanted: Vec<OwnedWanted>,
    /// The promises of the submitted lookups, in order. Dummies have none.
    promises: Vec<Promise>,
}

/// The kind of a schedule's lookups. All lookups of a schedule are of one kind, so that none is
/// refused before it is sent unless all are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DummyKind {
    /// Lookups of random keys.
    Key,
    /// Lookups of uniformly random indices.
    Index,
}

impl ScheduledBatch {
    /// Fills `size` places with submitted lookups and dummies. Dummies of kind [`DummyKind::Index`]
    /// are below `records`.
    pub(super) fn new(
        submitted: Vec<SubmittedLookup>,
        size: usize,
        kind: DummyKind,
        records: u64,
        rng: &mut dyn CryptoRng,
    ) -> Self {
        // One for each place, also for the places of submitted lookups: the time to draw them does
        // not depend on the number of submitted lookups.
        let mut wanted: Vec<OwnedWanted> = std::iter::repeat_with(|| kind.draw(records, rng))
            .take(size)
            .collect();

        let mut promises = Vec::with_capacity(submitted.len());
        for (place, lookup) in wanted.iter_mut().zip(submitted) {
            *place = lookup.wanted;
            promises.push(lookup.promise);
        }
        Self { wanted, promises }
    }

    /// The keys or indices to look up, in order.
    pub fn wanted(&self) -> Vec<Wanted<'_>> {
        self.wanted.iter().map(OwnedWanted::borrowed).collect()
    }

    /// The keys to look up, in order; empty if the schedule looks up indices.
    pub fn keys(&self) -> Vec<&[u8]> {
        self.wanted
            .iter()
            .filter_map(|wanted| match wanted {
                OwnedWanted::Key(key) => Some(key.as_slice()),
                OwnedWanted::Index(_) => None,
            })
            .collect()
    }

    /// The indices to look up, in order; empty if the schedule looks up keys.
    pub fn indices(&self) -> Zeroizing<Vec<u64>> {
        // Allocated once: a vector that grows would leave copies of indices in memory.
        let mut indices = Zeroizing::new(Vec::with_capacity(self.wanted.len()));
        for wanted in &self.wanted {
            if let OwnedWanted::Index(index) = wanted {
                indices.push(**index);
            }
        }
        indices
    }

    /// Delivers the outcomes of the request's lookups, in order, to those who submitted them.
    /// Outcomes of dummies are dropped. If the request failed, all its lookups get the error.
    pub fn answer(self, found: Result<Vec<FoundValue>>) {
        match found {
            Ok(found) => {
                for (promise, value) in self.promises.into_iter().zip(found) {
                    promise.keep(value);
                }
            }
            Err(error) => {
                let shared = Arc::new(error);
                for promise in self.promises {
                    promise.keep(Err(Error::Shared(Arc::clone(&shared))));
                }
            }
        }
    }
}

impl DummyKind {
    fn draw(self, records: u64, rng: &mut dyn CryptoRng) -> OwnedWanted {
        match self {
            Self::Key => {
                let mut key = Zeroizing::new(vec![0; DUMMY_BYTES]);
                rng.fill_bytes(&mut key);
                OwnedWanted::Key(key)
            }
            Self::Index => OwnedWanted::Index(Zeroizing::new(below(records, rng))),
        }
    }
}

/// A random number below `most`; 0 if `most` is 0. No number is more likely than another by more
/// than 2⁻⁶⁴.
fn below(most: u64, rng: &mut dyn CryptoRng) -> u64 {
    let product = u128::from(rng.next_u64()) * u128::from(most);
    u64::try_from(product >> 64).unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::core::schedule::promise::{Awaited, promise};

    const RECORDS: u64 = 1000;

    fn rng() -> ChaCha20Rng {
        ChaCha20Rng::seed_from_u64(1)
    }

    /// Makes a batch of four with these submitted indices.
    fn batch(indices: &[u64]) -> (ScheduledBatch, Vec<Awaited>) {
        let mut submitted = Vec::new();
        let mut awaited = Vec::new();
        for &index in indices {
            let (promise, waiting) = promise();
            submitted.push(SubmittedLookup {
                wanted: OwnedWanted::Index(Zeroizing::new(index)),
                promise,
            });
            awaited.push(waiting);
        }

        let batch = ScheduledBatch::new(submitted, 4, DummyKind::Index, RECORDS, &mut rng());
        (batch, awaited)
    }

    #[test]
    fn dummies_fill_the_batch() {
        for count in 0..=4 {
            let submitted: Vec<u64> = (0..count).map(|index| RECORDS + index).collect();
            let (batch, _awaited) = batch(&submitted);
            let indices = batch.indices();
            assert_eq!(indices.len(), 4);
            assert_eq!(indices[..submitted.len()], submitted);
            assert!(
                indices[submitted.len()..]
                    .iter()
                    .all(|index| *index < RECORDS)
            );
            assert!(batch.keys().is_empty());
        }
    }

    #[test]
    fn dummies_of_keys_are_fresh() {
        let mut rng = rng();
        let mut draw = || ScheduledBatch::new(Vec::new(), 3, DummyKind::Key, RECORDS, &mut rng);
        let first = draw();
        let second = draw();

        let mut keys = first.keys();
        keys.extend(second.keys());
        assert!(keys.iter().all(|key| key.len() == DUMMY_BYTES));
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), 6);
        assert!(first.indices().is_empty());
    }

    #[test]
    fn dummies_of_indices_are_uniform() {
        let mut rng = rng();
        let mut counts = [0_u32; 10];
        for _ in 0..10_000 {
            counts[usize::try_from(below(10, &mut rng)).unwrap()] += 1;
        }
        // Six standard deviations of 30.
        assert!(
            counts.iter().all(|count| (820..=1180).contains(count)),
            "{counts:?}"
        );
        assert_eq!([below(0, &mut rng), below(1, &mut rng)], [0, 0]);
    }

    #[test]
    fn values_go_to_those_who_submitted_the_lookups() {
        let (batch, awaited) = batch(&[7, 8]);
        let found = (0..4).map(|value| Ok(Some(vec![value])));
        batch.answer(Ok(found.collect()));
        let values: Vec<_> = awaited.into_iter().map(|one| one.wait().unwrap()).collect();
        assert_eq!(values, [Some(vec![0]), Some(vec![1])]);
    }

    #[test]
    fn a_lookup_that_fails_alone_leaves_the_others_their_values() {
        let (batch, awaited) = batch(&[7, 8, 9]);
        batch.answer(Ok(vec![
            Ok(Some(vec![0])),
            Err(Error::BadToken),
            Ok(None),
            Err(Error::BadToken),
        ]));

        let mut outcomes = awaited.into_iter().map(Awaited::wait);
        assert_eq!(outcomes.next().unwrap().unwrap(), Some(vec![0]));
        assert_eq!(outcomes.next().unwrap().unwrap_err().code(), "bad_token");
        assert_eq!(outcomes.next().unwrap().unwrap(), None);
    }

    #[test]
    fn all_lookups_of_a_failed_request_get_its_error() {
        let (batch, awaited) = batch(&[7, 8]);
        batch.answer(Err(Error::BadToken));
        for one in awaited {
            let error = one.wait().unwrap_err();
            assert_eq!((error.code(), error.is_retryable()), ("bad_token", false));
            assert_eq!(error.to_string(), Error::BadToken.to_string());
        }
    }
}
