//! Memory for answers until their clients have received them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::ClientKey;
use super::memory::{HeldBytes, Memory, Relief};

/// Ends a response that takes long. Returns false if it does not.
pub(crate) type End = Box<dyn Fn() -> bool + Send + Sync>;

/// Bounds the memory of answers.
pub(crate) struct Answers {
    memory: Arc<Memory>,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    next: u64,
    answers: HashMap<u64, Entry>,
}

/// An answer that is computed or sent.
struct Entry {
    client: ClientKey,
    end: End,
}

/// The memory of one answer. Counted until dropped.
pub(crate) struct HeldAnswer {
    answers: Arc<Answers>,
    number: u64,
    _bytes: HeldBytes,
}

impl Answers {
    /// Holds at most `limit` bytes, or one answer.
    pub(crate) fn new(limit: usize) -> Arc<Self> {
        Arc::new(Self {
            memory: Memory::new(limit),
            held: Mutex::default(),
        })
    }

    /// Once the memory is full, clients that hold more give up waiting requests to clients that
    /// hold less.
    pub(crate) fn relieved_by(&self, relief: Relief) {
        self.memory.relieved_by(relief);
    }

    /// Counts an answer of a client. Returns `None` if there is no room for it. In that case it
    /// ends a response that takes long, of the client that holds the most, which makes room for a
    /// later attempt.
    pub(crate) fn hold(
        self: &Arc<Self>,
        client: &ClientKey,
        bytes: usize,
        end: End,
    ) -> Option<HeldAnswer> {
        let mut held = self.memory.begin(client.clone());
        if !held.grow(bytes) && !held.grow_alone(bytes) {
            self.end_one();
            return None;
        }

        let entry = Entry {
            client: client.clone(),
            end,
        };
        let mut all = self.held();
        all.next += 1;
        let number = all.next;
        all.answers.insert(number, entry);

        Some(HeldAnswer {
            answers: Arc::clone(self),
            number,
            _bytes: held,
        })
    }

    /// Ends one response that takes long. Clients that hold more come first.
    fn end_one(&self) {
        let held = self.held();
        let mut entries: Vec<&Entry> = held.answers.values().collect();
        // Each client is asked once: what it holds may change meanwhile.
        entries.sort_by_cached_key(|entry| Reverse(self.memory.bytes_of(&entry.client)));
        let _ = entries.into_iter().any(|entry| (entry.end)());
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.bytes()
    }
}

impl Drop for HeldAnswer {
    fn drop(&mut self) {
        let entry = self.answers.held().answers.remove(&self.number);
        // Dropped outside the lock.
        drop(entry);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[test]
    fn a_full_memory_ends_a_long_response_of_the_client_with_the_most() {
        let key = |number: u32| ClientKey::Address(std::net::Ipv4Addr::from(number).into());
        let answers = Answers::new(1000);
        let ended = Arc::new(AtomicU32::new(0));
        let hold = |client: u32, bytes: usize, is_long: bool| {
            let ended = Arc::clone(&ended);
            let end = move || is_long && ended.swap(client, Ordering::Relaxed) != client;
            answers.hold(&key(client), bytes, Box::new(end))
        };

        let _brief = hold(1, 250, false).unwrap();
        let _long = [hold(2, 240, true).unwrap(), hold(3, 200, true).unwrap()];
        let large = hold(4, 300, false).unwrap();

        assert!(hold(5, 100, true).is_none(), "the memory is full");
        assert_eq!(
            ended.load(Ordering::Relaxed),
            2,
            "of those that take long, the client with the most"
        );

        drop(large);
        assert!(hold(5, 100, true).is_some());
        assert_eq!(answers.bytes(), 690);
        assert_eq!(answers.held().answers.len(), 3);
    }

    #[test]
    fn one_answer_may_be_longer_than_the_limit() {
        let answers = Answers::new(10);
        let hold = || answers.hold(&ClientKey::Local, 50, Box::new(|| false));
        let only = hold().unwrap();
        assert!(hold().is_none());

        drop(only);
        assert!(hold().is_some());
    }
}
