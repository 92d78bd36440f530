//! Spent private tokens, which are refused until the key of their issuer has ended.
//!
//! A key ends some time after a service last accepted its tokens, while the tokens of another key
//! were accepted: if the issuer is away, no key ends. It does not begin again for a year, so its
//! tokens need not be remembered any longer. Thus the table has at most one row for each token of
//! the keys that are in use.
//!
//! After a year an ended key is forgotten itself. An issuer that lists so old a key again could as
//! well sign new tokens.

use std::time::Duration;

use super::clock::microseconds;
use super::error::ClientError;
use super::registry::Registry;
use super::spent_token::{IssuerKeyId, SpentToken};
use super::store::Store;
use super::tables::Result;

/// Time after which a key ends that no service accepts. It is far longer than the time for which a
/// service accepts keys without a new directory of the issuer.
const ENDS_AFTER: Duration = Duration::from_secs(7 * 24 * 3600);
/// Time after which an ended key is removed, from the time when it was last accepted.
const REMOVED_AFTER: Duration = Duration::from_secs(365 * 24 * 3600);
/// Tokens that one transaction forgets. Others wait for it.
const CHUNK: u64 = 1000;

impl Store {
    /// Notes that a token is spent. Returns false if it was spent before, or its key has ended or
    /// was never noted. A true result is durable on return.
    pub(crate) fn spend(&self, token: &SpentToken) -> Result<bool> {
        let spent = self.write(|tables| Ok(tables.spend(token)?.then_some(())))?;
        Ok(spent.is_some())
    }

    /// Notes that keys are accepted at the time `now`, in microseconds since 1970. Returns those
    /// that have not ended.
    pub(crate) fn note_issuer_keys(
        &self,
        keys: &[IssuerKeyId],
        now: u64,
    ) -> Result<Vec<IssuerKeyId>> {
        // In one order, since services that share the tables must not wait for each other's rows.
        let mut keys = keys.to_vec();
        keys.sort_unstable();

        let usable = self.write(|tables| tables.note_issuer_keys(&keys, now).map(Some))?;
        Ok(usable.unwrap_or_default())
    }

    /// Forgets the tokens of keys that have ended, and the keys that ended long ago. `expiry` is
    /// the time by which clients expire.
    pub(super) fn forget_spent(&self, expiry: u64) -> Result<()> {
        loop {
            let changed = self.write(|tables| {
                let mut changed = tables.forget_spent(expiry, microseconds(ENDS_AFTER), CHUNK)?;
                if changed == 0 {
                    changed = tables.forget_ended_keys(expiry, microseconds(REMOVED_AFTER))?;
                }
                Ok((changed > 0).then_some(changed))
            })?;
            if changed.is_none() {
                return Ok(());
            }
        }
    }
}

impl Registry {
    /// Spends a token. Returns false if it was spent before, or its key has ended. A true result is
    /// durable on return, and requests that spend tokens at the same time share a write to disk.
    pub(crate) fn spend(&self, token: &SpentToken) -> std::result::Result<bool, ClientError> {
        Ok(self.store.spend(token)?)
    }

    /// Notes that the tokens of these keys are accepted from now on. Returns the keys that have not
    /// ended: the tokens of others are no longer remembered, and could be spent again.
    pub(crate) fn note_issuer_keys(
        &self,
        keys: &[IssuerKeyId],
    ) -> std::result::Result<Vec<IssuerKeyId>, ClientError> {
        Ok(self.store.note_issuer_keys(keys, self.clock.now())?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Barrier;
    #[cfg(all(unix, feature = "postgres"))]
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;
    use crate::clients::test_stores::TestStore;

    const KEY: IssuerKeyId = [1; 32];
    const OTHER: IssuerKeyId = [2; 32];

    fn token(key: IssuerKeyId, number: u64) -> SpentToken {
        SpentToken {
            key,
            digest: *blake3::hash(&number.to_le_bytes()).as_bytes(),
        }
    }

    #[test]
    fn a_token_is_spent_once_for_each_key() {
        for store in TestStore::of_each_kind() {
            assert!(!store.spend(&token(KEY, 1)).unwrap(), "the key is unknown");
            assert_eq!(store.note_issuer_keys(&[KEY], 10).unwrap(), [KEY]);

            assert!(store.spend(&token(KEY, 1)).unwrap());
            assert!(!store.spend(&token(KEY, 1)).unwrap());
            assert!(store.spend(&token(KEY, 2)).unwrap());
            assert!(!store.spend(&token(OTHER, 1)).unwrap());

            assert_eq!(
                store.note_issuer_keys(&[OTHER, KEY], 11).unwrap(),
                [KEY, OTHER]
            );
            assert!(store.spend(&token(OTHER, 1)).unwrap());
            assert!(!store.spend(&token(KEY, 1)).unwrap());
        }
    }

    #[test]
    fn of_many_threads_one_spends_a_token() {
        const THREADS: usize = 16;
        for store in TestStore::of_each_kind() {
            store.note_issuer_keys(&[KEY], 10).unwrap();
            let start = Barrier::new(THREADS);
            let store = &*store;

            let spent: Vec<bool> = thread::scope(|scope| {
                let threads: Vec<_> = (0..THREADS)
                    .map(|_| {
                        scope.spawn(|| {
                            start.wait();
                            store.spend(&token(KEY, 7)).unwrap()
                        })
                    })
                    .collect();
                threads
                    .into_iter()
                    .map(|thread| thread.join().unwrap())
                    .collect()
            });

            assert_eq!(spent.iter().filter(|spent| **spent).count(), 1, "{spent:?}");
        }
    }

    #[cfg(all(unix, feature = "postgres"))]
    #[test]
    fn a_key_does_not_end_while_one_of_its_tokens_is_spent() {
        let store = TestStore::shared();
        let store = &*store;
        store.note_issuer_keys(&[KEY, OTHER], day(0)).unwrap();
        store.note_issuer_keys(&[OTHER], day(8)).unwrap();
        let spending = Barrier::new(2);
        let has_ended = AtomicBool::new(false);

        let spent = thread::scope(|scope| {
            scope.spawn(|| {
                spending.wait();
                store.forget_spent(day(8)).unwrap();
                has_ended.store(true, Ordering::SeqCst);
            });
            store.write(|tables| {
                let is_new = tables.spend(&token(KEY, 1))?;
                spending.wait();
                thread::sleep(Duration::from_millis(300));
                assert!(!has_ended.load(Ordering::SeqCst), "it waits for the token");
                Ok(Some(is_new))
            })
        });

        assert_eq!(spent.unwrap(), Some(true));
        assert!(has_ended.load(Ordering::SeqCst));
        assert!(!store.spend(&token(KEY, 1)).unwrap());
    }

    /// The time, in days after a beginning, in microseconds since 1970.
    fn day(number: u64) -> u64 {
        1_800_000_000_000_000 + number * 24 * 3600 * 1_000_000
    }

    #[test]
    fn tokens_of_ended_keys_are_forgotten_and_stay_refused() {
        for store in TestStore::of_each_kind() {
            store.note_issuer_keys(&[KEY, OTHER], day(0)).unwrap();
            let count = 2 * CHUNK + 3;
            let spent = store.write(|tables| {
                for number in 0..count {
                    assert!(tables.spend(&token(KEY, number))?);
                }
                Ok(Some(()))
            });
            spent.unwrap();
            assert!(store.spend(&token(OTHER, 0)).unwrap());

            store.note_issuer_keys(&[OTHER], day(8)).unwrap();
            store.forget_spent(day(8)).unwrap();
            let left = store.write(|tables| tables.forget_spent(day(8), 0, CHUNK).map(Some));
            assert_eq!(left.unwrap(), Some(0), "all rows are gone");
            assert!(!store.spend(&token(KEY, 0)).unwrap(), "its key has ended");
            assert!(!store.spend(&token(KEY, count)).unwrap());
            assert!(!store.spend(&token(OTHER, 0)).unwrap(), "kept");

            // A key that is listed again stays ended.
            let usable = store.note_issuer_keys(&[KEY, OTHER], day(9));
            assert_eq!(usable.unwrap(), [OTHER]);
            assert!(!store.spend(&token(KEY, 0)).unwrap());
            assert!(store.spend(&token(OTHER, 1)).unwrap());
        }
    }

    #[test]
    fn an_ended_key_is_removed_after_a_year() {
        for store in TestStore::of_each_kind() {
            store.note_issuer_keys(&[KEY, OTHER], day(0)).unwrap();
            assert!(store.spend(&token(KEY, 0)).unwrap());
            store.note_issuer_keys(&[OTHER], day(8)).unwrap();
            store.forget_spent(day(8)).unwrap();

            // Not while no other key is accepted, and not while the clock is in doubt.
            for (accepted, expiry) in [(8, 900), (365, 365), (366, 0), (366, 365)] {
                store.note_issuer_keys(&[OTHER], day(accepted)).unwrap();
                let expiry = if expiry > 0 { day(expiry) } else { 0 };
                store.forget_spent(expiry).unwrap();
                let usable = store.note_issuer_keys(&[KEY], day(accepted)).unwrap();
                assert!(usable.is_empty(), "accepted on day {accepted}");
            }

            store.forget_spent(day(366)).unwrap();
            assert_eq!(store.note_issuer_keys(&[KEY], day(366)).unwrap(), [KEY]);
        }
    }

    #[test]
    fn a_key_ends_only_while_another_one_is_accepted() {
        for store in TestStore::of_each_kind() {
            store.note_issuer_keys(&[KEY, OTHER], day(1)).unwrap();
            assert!(store.spend(&token(KEY, 0)).unwrap());

            // The issuer was away for a year, or the service was.
            store.forget_spent(day(365)).unwrap();
            // A week has not passed since the key was accepted, not even by a clock that was wrong.
            store.note_issuer_keys(&[OTHER], day(8)).unwrap();
            store.forget_spent(day(365)).unwrap();
            store.note_issuer_keys(&[OTHER], day(900)).unwrap();
            store.forget_spent(day(8)).unwrap();
            // The clock is in doubt.
            store.forget_spent(0).unwrap();

            let usable = store.note_issuer_keys(&[KEY, OTHER], day(2));
            assert_eq!(usable.unwrap(), [KEY, OTHER]);
            assert!(!store.spend(&token(KEY, 0)).unwrap());
            assert!(store.spend(&token(KEY, 1)).unwrap());
        }
    }
}
