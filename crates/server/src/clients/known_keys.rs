//! Digests of registered keys, which no second client may use.
//!
//! Two clients with equal keys have equal random numbers, as copies of a running virtual machine
//! have. Under schemes with tickets, their queries reveal both indices. So the registry remembers a
//! digest of all keys that it accepted, also of clients that are gone.

use std::time::Duration;

use super::clock::microseconds;
use super::id::ClientId;
use super::keys_digest::{FirstUse, KeysDigest};
use super::quota::may_be_same;
use super::row::{ClientRow, Owner, Stage};
use super::store::Store;
use super::tables::Result;

/// Time for which a digest is remembered.
const REMEMBERED: Duration = Duration::from_secs(365 * 24 * 3600);
/// Most digests that are remembered, about 100 MB. The oldest are forgotten first.
const MOST: u64 = 1_000_000;
/// Digests that one transaction forgets. Others wait for it.
const CHUNK: u64 = 1000;
/// Time in which a registration may be repeated: its response was lost. Clients retry for a minute.
const REPEATABLE: Duration = Duration::from_secs(120);

/// The outcome of completing a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Completed {
    Registered,
    /// Another client has registered the keys. Nothing was changed.
    Repeated,
    /// The client was removed meanwhile.
    Gone,
}

/// A registration that may repeat an earlier one.
#[derive(Clone, Copy)]
pub(super) struct Repetition {
    pub(super) digest: KeysDigest,
    pub(super) owner: Owner,
    /// In microseconds since 1970.
    pub(super) now: u64,
}

/// Result of looking up the keys of a registration.
pub(super) enum KnownKeys {
    /// No client has registered them.
    Unknown,
    /// The same owner registered them just now, and has not used them: its response was lost. A
    /// repeated request has another private token.
    Unanswered(ClientId, ClientRow),
    /// Another client has registered them.
    OfAnother,
}

impl Store {
    /// Completes a registration: changes the client's row, and remembers its keys. Both are durable
    /// on return.
    pub(crate) fn complete(
        &self,
        database: &str,
        id: ClientId,
        digest: KeysDigest,
        now: u64,
        change: impl FnOnce(&mut ClientRow),
    ) -> Result<Completed> {
        let mut refusal = Completed::Gone;
        let completed = self.write(|tables| {
            let Some(mut row) = tables.row(database, id)? else {
                return Ok(None);
            };

            let own = FirstUse {
                client: id,
                time: now,
            };
            // Before the row is changed: it stays as it is if the keys are those of another client.
            if tables.note_keys(digest, own)?.client != id {
                refusal = Completed::Repeated;
                return Ok(None);
            }

            change(&mut row);
            tables.put_row(database, id, &row)?;
            Ok(Some(Completed::Registered))
        })?;
        Ok(completed.unwrap_or(refusal))
    }

    /// Looks up the keys of a registration.
    pub(super) fn known_keys(&self, database: &str, repetition: Repetition) -> Result<KnownKeys> {
        let Repetition { digest, owner, now } = repetition;
        self.read(|tables| {
            let Some(first) = tables.first_use(digest)? else {
                return Ok(KnownKeys::Unknown);
            };
            let Some(row) = tables.row(database, first.client)? else {
                return Ok(KnownKeys::OfAnother);
            };

            let is_new = now.abs_diff(first.time) < microseconds(REPEATABLE);
            let is_unused = !row.queried && row.next_ticket == 0 && row.next_sent_ahead == 0;
            let is_same = may_be_same(&row.owner, &owner) && row.stage == Stage::Registered;
            if is_new && is_unused && is_same {
                Ok(KnownKeys::Unanswered(first.client, row))
            } else {
                Ok(KnownKeys::OfAnother)
            }
        })
    }

    /// Removes a client whose registration failed, and forgets its keys: only the same bytes can be
    /// sent again. Returns whether the client existed.
    pub(super) fn take_back(
        &self,
        database: &str,
        id: ClientId,
        digest: Option<KeysDigest>,
    ) -> Result<bool> {
        let removed = self.write(|tables| {
            if !tables.remove_row(database, id)? {
                return Ok(None);
            }

            // Its own only: an earlier client may have registered the same keys, and keeps them.
            if let Some(digest) = digest
                && tables
                    .first_use(digest)?
                    .is_some_and(|first| first.client == id)
            {
                tables.forget_keys(digest)?;
            }
            Ok(Some(()))
        })?;
        Ok(removed.is_some())
    }

    /// Forgets digests that are too old or too many. `expiry` is the time by which clients expire.
    pub(super) fn forget_old_keys(&self, expiry: u64) -> Result<()> {
        self.forget_keys_before(expiry.saturating_sub(microseconds(REMEMBERED)), MOST)
    }

    /// Forgets digests that were noted before `time`, and the oldest beyond `most`.
    pub(super) fn forget_keys_before(&self, time: u64, most: u64) -> Result<()> {
        loop {
            let forgotten = self.write(|tables| {
                let forgotten = tables.forget_old_keys(time, most, CHUNK)?;
                Ok((forgotten > 0).then_some(forgotten))
            })?;
            if forgotten.unwrap_or(0) < CHUNK {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use papir_core::Version;

    use super::*;
    use crate::clients::quota::Quota;
    use crate::clients::test_stores::TestStore;

    const QUOTA: Quota = Quota {
        clients: 5000,
        bytes: 1 << 30,
    };
    const SECOND: u64 = 1_000_000;

    fn id(number: u128) -> ClientId {
        ClientId::of(number)
    }

    fn digest(number: u64) -> KeysDigest {
        KeysDigest(*blake3::hash(&number.to_le_bytes()).as_bytes())
    }

    /// A client that completes its registration with these keys.
    fn complete(store: &Store, number: u128, keys: u64, now: u64) -> Completed {
        let row = ClientRow::new([1; 16], 10, Version([0; 8]), now, u64::MAX);
        store.add("a", id(number), &row, QUOTA, 0).unwrap();
        let change = |row: &mut ClientRow| row.stage = Stage::Registered;
        store
            .complete("a", id(number), digest(keys), now, change)
            .unwrap()
    }

    fn known(store: &Store, keys: u64, owner: u8, now: u64) -> KnownKeys {
        let repetition = Repetition {
            digest: digest(keys),
            owner: [owner; 16],
            now,
        };
        store.known_keys("a", repetition).unwrap()
    }

    #[test]
    fn keys_belong_to_the_first_client_even_after_its_removal() {
        for store in TestStore::of_each_kind() {
            assert_eq!(complete(&store, 1, 7, 10), Completed::Registered);
            assert_eq!(complete(&store, 2, 7, 11), Completed::Repeated);
            let refused = store.get("a", id(2)).unwrap().unwrap();
            assert_eq!(refused.stage, Stage::Uploading, "nothing was changed");
            assert_eq!(complete(&store, 3, 8, 12), Completed::Registered);

            assert!(store.remove("a", id(1)).unwrap());
            assert_eq!(complete(&store, 4, 7, 13), Completed::Repeated);
            assert_eq!(complete(&store, 3, 8, 14), Completed::Registered, "its own");

            let gone = store.complete("a", id(9), digest(9), 15, |_| {});
            assert_eq!(gone.unwrap(), Completed::Gone);
            assert!(matches!(known(&store, 9, 1, 15), KnownKeys::Unknown));
        }
    }

    #[test]
    fn a_registration_is_repeated_by_its_owner_before_its_first_query_only() {
        for store in TestStore::of_each_kind() {
            complete(&store, 1, 7, 10);
            assert!(matches!(
                known(&store, 7, 1, 100 * SECOND),
                KnownKeys::Unanswered(client, _) if client == id(1)
            ));
            assert!(matches!(
                known(&store, 7, 2, 100 * SECOND),
                KnownKeys::OfAnother
            ));
            assert!(matches!(
                known(&store, 7, 1, 121 * SECOND),
                KnownKeys::OfAnother
            ));

            store.change("a", id(1), |row| row.next_ticket = 1).unwrap();
            assert!(matches!(
                known(&store, 7, 1, 100 * SECOND),
                KnownKeys::OfAnother
            ));
        }
    }

    #[test]
    fn a_registration_that_failed_leaves_its_keys_to_the_next_attempt() {
        for store in TestStore::of_each_kind() {
            complete(&store, 1, 7, 10);
            complete(&store, 2, 7, 11);
            assert!(store.take_back("a", id(2), Some(digest(7))).unwrap());
            assert_eq!(complete(&store, 3, 7, 12), Completed::Repeated);

            assert!(store.take_back("a", id(1), Some(digest(7))).unwrap());
            assert!(!store.take_back("a", id(1), Some(digest(7))).unwrap());
            assert_eq!(complete(&store, 4, 7, 13), Completed::Registered);
        }
    }

    #[test]
    fn old_digests_are_forgotten_in_chunks() {
        for store in TestStore::of_each_kind() {
            let count = 2 * CHUNK + 10;
            let noted = store.write(|tables| {
                for number in 0..count {
                    let first = FirstUse {
                        client: id(number.into()),
                        time: number,
                    };
                    tables.note_keys(digest(number), first)?;
                }
                Ok(Some(()))
            });
            noted.unwrap();

            let late = 2 * CHUNK + 4;
            for (time, most, first_left) in [
                (0, count, 0),
                (late, count, late),
                (0, 2, count - 2),
                (u64::MAX >> 1, 2, count),
            ] {
                store.forget_keys_before(time, most).unwrap();
                for number in [0, CHUNK, late - 1, late, count - 2, count - 1] {
                    let is_known = !matches!(known(&store, number, 1, 0), KnownKeys::Unknown);
                    assert_eq!(is_known, number >= first_left, "{number}, {time}, {most}");
                }
            }
        }
    }
}
