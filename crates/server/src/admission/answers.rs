//! Memory for answers until their clients have received them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::limits::ClientKey;
use super::memory::{HeldBytes, Memory, Relief};

/// A response until its client has received it.
pub(crate) trait PendingResponse: Send + Sync {
    /// Returns whether it takes long.
    fn takes_long(&self) -> bool;

    /// Ends it, if it still takes long.
    fn end(&self);
}

/// Bounds the memory of answers.
pub(crate) struct Answers {
    memory: Arc<Memory>,
    table: Mutex<AnswerTable>,
}

/// Answers by number, and the last number used.
#[derive(Default)]
struct AnswerTable {
    next: u64,
    answers: HashMap<u64, PendingAnswer>,
}

/// An answer that is computed or sent.
struct PendingAnswer {
    client: ClientKey,
    response: Box<dyn PendingResponse>,
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
            table: Mutex::default(),
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
        response: Box<dyn PendingResponse>,
    ) -> Option<HeldAnswer> {
        let mut held = self.memory.begin(client.clone());
        if !held.grow(bytes) && !held.grow_alone(bytes) {
            self.end_one();
            return None;
        }

        let entry = PendingAnswer {
            client: client.clone(),
            response,
        };
        let mut table = self.table();
        table.next += 1;
        let number = table.next;
        table.answers.insert(number, entry);

        Some(HeldAnswer {
            answers: Arc::clone(self),
            number,
            _bytes: held,
        })
    }

    /// Ends one response that takes long, of the client that holds the most.
    fn end_one(&self) {
        let table = self.table();

        // One pass without a list of the entries: all responses that begin or end wait for this
        // lock, and many are held when the memory is full.
        let mut most = 0;
        let mut heaviest: Option<&PendingAnswer> = None;
        for entry in table.answers.values() {
            if !entry.response.takes_long() {
                continue;
            }

            let bytes = self.memory.bytes_of(&entry.client);
            if heaviest.is_none() || bytes > most {
                most = bytes;
                heaviest = Some(entry);
            }
        }

        if let Some(entry) = heaviest {
            entry.response.end();
        }
    }

    fn table(&self) -> MutexGuard<'_, AnswerTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.memory.bytes()
    }
}

impl Drop for HeldAnswer {
    fn drop(&mut self) {
        let entry = self.answers.table().answers.remove(&self.number);
        // Dropped outside the lock.
        drop(entry);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(number: u32) -> ClientKey {
        ClientKey::Address(std::net::Ipv4Addr::from(number).into())
    }

    /// The calls that responses get, by client.
    #[derive(Default)]
    struct Calls {
        looks: Mutex<Vec<u32>>,
        ends: Mutex<Vec<u32>>,
    }

    impl Calls {
        fn looks(&self) -> Vec<u32> {
            self.looks.lock().unwrap().clone()
        }

        fn ends(&self) -> Vec<u32> {
            self.ends.lock().unwrap().clone()
        }
    }

    /// A response that notes its calls.
    struct Noted {
        client: u32,
        is_long: bool,
        calls: Arc<Calls>,
    }

    impl PendingResponse for Noted {
        fn takes_long(&self) -> bool {
            self.calls.looks.lock().unwrap().push(self.client);
            self.is_long
        }

        fn end(&self) {
            self.calls.ends.lock().unwrap().push(self.client);
        }
    }

    #[test]
    fn a_full_memory_ends_a_long_response_of_the_client_with_the_most() {
        let answers = Answers::new(1000);
        let calls = Arc::<Calls>::default();
        let hold = |client: u32, bytes: usize, is_long: bool| {
            let calls = Arc::clone(&calls);
            let response = Noted {
                client,
                is_long,
                calls,
            };
            answers.hold(&key(client), bytes, Box::new(response))
        };

        let _brief = hold(1, 250, false).unwrap();
        let _long = [hold(2, 240, true).unwrap(), hold(3, 200, true).unwrap()];
        let large = hold(4, 300, false).unwrap();

        assert!(hold(5, 100, true).is_none(), "the memory is full");
        assert_eq!(
            calls.ends(),
            [2],
            "of those that take long, the client with the most"
        );

        drop(large);
        assert!(hold(5, 100, true).is_some());
        assert_eq!(answers.bytes(), 690);
        assert_eq!(answers.table().answers.len(), 3);
    }

    #[test]
    fn a_full_memory_looks_at_each_response_once_and_ends_one() {
        const RESPONSES: u32 = 40;
        let answers = Answers::new(RESPONSES as usize);
        let calls = Arc::<Calls>::default();
        let hold = |number: u32| {
            let response = Noted {
                client: number,
                is_long: true,
                calls: Arc::clone(&calls),
            };
            answers.hold(&key(number), 1, Box::new(response))
        };
        let held: Vec<HeldAnswer> = (0..RESPONSES).map(|number| hold(number).unwrap()).collect();

        assert!(hold(RESPONSES).is_none(), "the memory is full");
        let mut looks = calls.looks();
        looks.sort_unstable();
        assert_eq!(looks, Vec::from_iter(0..RESPONSES));
        assert_eq!(calls.ends().len(), 1);
        drop(held);
    }

    #[test]
    fn one_answer_may_be_longer_than_the_limit() {
        let answers = Answers::new(10);
        let calls = Arc::<Calls>::default();
        let hold = || {
            let response = Noted {
                client: 0,
                is_long: false,
                calls: Arc::clone(&calls),
            };
            answers.hold(&ClientKey::Local, 50, Box::new(response))
        };
        let only = hold().unwrap();
        assert!(hold().is_none());

        drop(only);
        assert!(hold().is_some());
    }
}
