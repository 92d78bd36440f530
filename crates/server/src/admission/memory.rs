//! Bounded memory for bodies or answers, shared between clients.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use super::limits::ClientKey;
use crate::shares::Shares;

/// Part of the memory that one client may hold with several bodies: a quarter.
const CLIENT_SHARE: usize = 4;

/// Counts the bytes of the bodies that are arriving or waiting, or of the answers that are computed
/// or sent.
///
/// Bytes of a body count when they arrive, not when they are announced: a client that sends little
/// holds little.
pub(crate) struct Memory {
    limit: usize,
    held: Mutex<Shares<ClientKey>>,
    relief: OnceLock<Relief>,
}

/// Refuses a waiting request of a client, and so frees its memory. Returns false if none waits.
pub(crate) type Relief = Box<dyn Fn(&ClientKey) -> bool + Send + Sync>;

/// The bytes of one body or answer. Counted until dropped.
pub(crate) struct HeldBytes {
    memory: Arc<Memory>,
    client: ClientKey,
    bytes: usize,
}

impl Memory {
    /// Holds at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            limit,
            held: Mutex::default(),
            relief: OnceLock::new(),
        })
    }

    /// Once the memory is full, clients that hold more give up waiting requests to clients that
    /// hold less.
    pub(crate) fn relieved_by(&self, relief: Relief) {
        let _ = self.relief.set(relief);
    }

    /// Refuses a waiting request of a client with more bytes than `client` would have with `bytes`
    /// more. The client with the most bytes comes first. Returns false if none has one waiting.
    fn relieve(&self, client: &ClientKey, bytes: usize) -> bool {
        let Some(relief) = self.relief.get() else {
            return false;
        };

        let held = self.held();
        let heavier = held.above(held.of(client).saturating_add(bytes));

        // Unlocked first: the refused request locks it to free its bytes.
        drop(held);
        heavier.iter().any(|holding| relief(&holding.holder))
    }

    /// Begins to count a body or an answer. No bytes are held yet.
    pub(crate) fn begin(self: &Arc<Self>, client: ClientKey) -> HeldBytes {
        HeldBytes {
            memory: Arc::clone(self),
            client,
            bytes: 0,
        }
    }

    fn held(&self) -> MutexGuard<'_, Shares<ClientKey>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.held().total()
    }

    /// Number of bytes that a client holds.
    pub(super) fn bytes_of(&self, client: &ClientKey) -> usize {
        self.held().of(client)
    }
}

impl HeldBytes {
    /// Counts further bytes. Returns false, and counts nothing, if the memory is full and no client
    /// that holds more gives any up, or if the client holds its share of it with other bodies.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let limit = self.memory.limit;
        let memory = Arc::clone(&self.memory);

        // Again after each relief: one refused request may not free enough.
        loop {
            let mut held = memory.held();
            let client = held.of(&self.client);
            let is_only_one = client == self.bytes;
            let in_share = client.saturating_add(bytes) <= limit / CLIENT_SHARE;
            if bytes > limit || !(in_share || is_only_one) {
                return false;
            }

            if held.total().saturating_add(bytes) <= limit {
                self.count(&mut held, bytes);
                return true;
            }

            // Unlocked first: the refused request locks it to free its bytes.
            drop(held);
            if !memory.relieve(&self.client, bytes) {
                return false;
            }
        }
    }

    /// Counts any number of bytes if nothing else is held. Otherwise returns false, and counts
    /// nothing.
    pub(super) fn grow_alone(&mut self, bytes: usize) -> bool {
        let memory = Arc::clone(&self.memory);
        let mut held = memory.held();
        let alone = held.total() == 0;
        if alone {
            self.count(&mut held, bytes);
        }
        alone
    }

    fn count(&mut self, held: &mut Shares<ClientKey>, bytes: usize) {
        held.take(&self.client, bytes);
        self.bytes += bytes;
    }
}

impl Drop for HeldBytes {
    fn drop(&mut self) {
        self.memory.held().give_back(&self.client, self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: u32) -> ClientKey {
        ClientKey::Address(std::net::Ipv4Addr::from(number).into())
    }

    #[test]
    fn one_client_holds_a_quarter_unless_it_sends_one_body() {
        let uploads = Memory::new(1000);
        let mut large = uploads.begin(key(1));
        assert!(large.grow(600));

        let mut second = uploads.begin(key(1));
        assert!(!second.grow(1), "its share is used up");

        let mut other = uploads.begin(key(2));
        assert!(
            other.grow(250) && other.grow(150) && !other.grow(1),
            "the memory is full"
        );

        drop(large);
        assert!(second.grow(250));
        let mut third = uploads.begin(key(1));
        assert!(!third.grow(1));

        drop((second, other, third));
        assert_eq!(uploads.bytes(), 0);
        assert!(uploads.held().is_empty());
    }

    #[test]
    fn clients_that_hold_more_give_up_what_waits() {
        let uploads = Memory::new(1000);
        let waiting: Arc<Mutex<Vec<HeldBytes>>> = Arc::default();
        let of = Arc::clone(&waiting);
        let last_of = move |client: &ClientKey| {
            let mut waiting = of.lock().unwrap_or_else(PoisonError::into_inner);
            let newest = waiting.iter().rposition(|held| held.client == *client);
            newest.is_some_and(|newest| waiting.remove(newest).bytes > 0)
        };
        uploads.relieved_by(Box::new(last_of));

        for client in [1, 1, 2, 2, 3, 3, 4, 4] {
            let mut held = uploads.begin(key(client));
            assert!(held.grow(125));
            waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(held);
        }

        let mut other = uploads.begin(key(5));
        assert!(other.grow(200), "two requests give way");
        assert_eq!(uploads.bytes(), 950);

        // One with more has none that waits.
        let mut arriving = uploads.begin(key(7));
        assert!(arriving.grow(50) && arriving.grow(190));
        assert!(uploads.begin(key(8)).grow(100), "of another one");
        drop(arriving);

        let mut first = uploads.begin(key(5));
        assert!(!first.grow(51), "the share of a client stays");
        drop((other, first));
        assert!(!uploads.begin(key(6)).grow(1001));
    }
}
