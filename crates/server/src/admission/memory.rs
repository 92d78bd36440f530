//! Bounded memory for bodies or answers, shared between clients.

use std::sync::{Arc, OnceLock};

use super::limits::ClientKey;
use super::semaphore::{FairSemaphore, TakenAmount};

/// Part of the memory that one client may hold with several bodies: a quarter.
const CLIENT_SHARE: usize = 4;

/// Counts the bytes of the bodies that are arriving or waiting, or of the answers that are computed
/// or sent.
///
/// Bytes of a body count when they arrive, not when they are announced: a client that sends little
/// holds little.
pub(crate) struct Memory {
    held: Arc<FairSemaphore>,
    relief: OnceLock<Relief>,
}

/// Refuses a waiting request of a client, and so frees its memory. Returns false if none waits.
pub(crate) type Relief = Box<dyn Fn(&ClientKey) -> bool + Send + Sync>;

/// The bytes of one body or answer. Counted until dropped.
pub(crate) struct HeldBytes {
    memory: Arc<Memory>,
    taken: TakenAmount,
}

impl Memory {
    /// Holds at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            held: FairSemaphore::with_share(limit, limit / CLIENT_SHARE),
            relief: OnceLock::new(),
        })
    }

    /// Once the memory is full, clients that hold more give up waiting requests to clients that
    /// hold less.
    pub(crate) fn relieved_by(&self, relief: Relief) {
        let _ = self.relief.set(relief);
    }

    /// Begins to count a body or an answer. No bytes are held yet.
    pub(crate) fn begin(self: &Arc<Self>, client: ClientKey) -> HeldBytes {
        HeldBytes {
            memory: Arc::clone(self),
            taken: self.held.begin(client),
        }
    }

    /// Number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.held.taken()
    }

    /// Number of bytes that a client holds.
    pub(super) fn bytes_of(&self, client: &ClientKey) -> usize {
        self.held.taken_by(client)
    }
}

impl HeldBytes {
    /// Counts further bytes. Returns false, and counts nothing, if the memory is full and no client
    /// that holds more gives any up, or if the client holds its share of it with other bodies.
    pub(crate) fn grow(&mut self, bytes: usize) -> bool {
        let relief = self.memory.relief.get();
        self.taken
            .grow_or(bytes, |client| relief.is_some_and(|relief| relief(client)))
    }

    /// Counts the same bytes for another client, as if it had sent them. Returns `None`, and counts
    /// nothing any more, if that client has no room for them.
    pub(crate) fn charged_to(self, client: &ClientKey) -> Option<Self> {
        if self.taken.client() == client {
            return Some(self);
        }

        let bytes = self.taken.amount();
        let memory = Arc::clone(&self.memory);
        // Given back first: the memory may be too full for the same bytes twice.
        drop(self);
        let mut held = memory.begin(client.clone());
        held.grow(bytes).then_some(held)
    }

    /// Counts any number of bytes if nothing else is held. Otherwise returns false, and counts
    /// nothing.
    pub(super) fn grow_alone(&mut self, bytes: usize) -> bool {
        self.taken.grow_alone(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

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
        assert!(uploads.held.is_empty());
    }

    #[test]
    fn bytes_are_charged_to_another_client_in_place_of_the_first() {
        let uploads = Memory::new(1000);
        let hold = |client: u32, bytes: usize| {
            let mut held = uploads.begin(key(client));
            held.grow(bytes).then_some(held)
        };
        let of = |client: u32| uploads.bytes_of(&key(client));

        let first = hold(1, 200).and_then(|held| held.charged_to(&key(2)));
        assert_eq!((of(1), of(2)), (0, 200));
        let same = hold(2, 40).and_then(|held| held.charged_to(&key(2)));
        assert_eq!((of(2), same.is_some()), (240, true));

        let refused = hold(1, 20).and_then(|held| held.charged_to(&key(2)));
        assert!(refused.is_none(), "the share of the second is used up");
        assert_eq!((of(1), of(2)), (0, 240));
        drop((first, same));
        assert!(uploads.held.is_empty());
    }

    #[test]
    fn clients_that_hold_more_give_up_what_waits() {
        let uploads = Memory::new(1000);
        let waiting: Arc<Mutex<Vec<(ClientKey, HeldBytes)>>> = Arc::default();
        let of = Arc::clone(&waiting);
        let last_of = move |client: &ClientKey| {
            let mut waiting = of.lock().unwrap_or_else(PoisonError::into_inner);
            let newest = waiting.iter().rposition(|(owner, _)| owner == client);
            newest.map(|newest| waiting.remove(newest)).is_some()
        };
        uploads.relieved_by(Box::new(last_of));

        for client in [1, 1, 2, 2, 3, 3, 4, 4] {
            let mut held = uploads.begin(key(client));
            assert!(held.grow(125));
            waiting
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push((key(client), held));
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
