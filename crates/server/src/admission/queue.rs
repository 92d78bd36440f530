//! Request queue and batch selection.

use std::collections::{HashMap, HashSet, VecDeque};

use super::limits::ClientKey;

/// Smallest limit on the requests of a batch. A batch of a few requests already gains most of what
/// batching saves.
const MIN_LIMIT: usize = 4;
/// Limit on the requests of one client in a batch, if others wait, too. A relay may have as many as
/// all direct clients together.
const CLIENT_LIMIT: usize = 3;

/// Decides which requests may form a batch.
pub(crate) trait Batchable: Sized {
    /// Requests with equal keys may be answered together.
    fn batch_key(&self) -> usize;

    /// Batches with this key that may be answered at the same time.
    fn batches_at_once(&self) -> usize {
        1
    }

    /// Returns whether this request fits into a nonempty batch of its key.
    fn fits<'a>(&'a self, batch: impl Iterator<Item = &'a Self>) -> bool;

    /// The client that the request is charged to.
    fn client(&self) -> &ClientKey;
}

/// Waiting requests.
///
/// Clients take turns: the first waiting request of every client comes before the second of any.
/// Within a turn, requests come first that arrived, and whose clients were served, longer ago.
/// Without the second, the oldest requests of a flood would each be a first one. Listed relays,
/// which have many clients, and all other clients have every second request each. A batch consists
/// of the next request that can start and following ones with its key. These may overtake requests
/// with other keys, but only by one batch at a time: [`Batchable::fits`] bounds a batch.
pub(super) struct Queue<W> {
    /// By number, ascending.
    waiting: VecDeque<QueuedRequest<W>>,
    next: u64,
    /// Waiting clients, and the numbers of the batches that last served them.
    served: HashMap<ClientKey, u64>,
    batches: u64,
    /// Set if the next batch begins with a relay's request.
    is_relays_turn: bool,
}

/// A waiting request.
struct QueuedRequest<W> {
    number: u64,
    work: W,
    /// Number of batches before it arrived.
    before: u64,
}

/// A waiting request that may be in the next batch. Ordered by turns.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// Number of earlier requests of its client.
    turn: usize,
    /// Number of batches until its client was last served or, if that is more, until it arrived.
    since: u64,
    /// Its position.
    index: usize,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self {
            waiting: VecDeque::new(),
            next: 0,
            served: HashMap::new(),
            batches: 0,
            is_relays_turn: false,
        }
    }
}

impl<W: Batchable> Queue<W> {
    /// Number of waiting requests.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Appends a request and returns its number.
    pub(super) fn push(&mut self, work: W) -> u64 {
        let number = self.next;
        self.next += 1;

        self.waiting.push_back(QueuedRequest {
            number,
            work,
            before: self.batches,
        });
        number
    }

    /// Removes a request by number; `None` if it has already left the queue.
    pub(super) fn remove(&mut self, number: u64) -> Option<W> {
        let index = self
            .waiting
            .binary_search_by_key(&number, |entry| entry.number)
            .ok()?;
        self.waiting.remove(index).map(|entry| entry.work)
    }

    /// Removes the newest request of a client; `None` if it has none.
    pub(super) fn remove_newest(&mut self, client: &ClientKey) -> Option<W> {
        let index = self
            .waiting
            .iter()
            .rposition(|entry| entry.work.client() == client)?;
        self.waiting.remove(index).map(|entry| entry.work)
    }

    /// Takes the next batch, with its key. `running` has the key of each running batch. `None` if
    /// no request waits that may start.
    ///
    /// A batch takes half of the waiting requests with its key, or [`MIN_LIMIT`] if that is more,
    /// and stops at the first that does not fit. Taking half keeps batches of even size: if clients
    /// query in a loop and each batch took all of them, some clients would always share a large
    /// batch and others a small one. If several clients wait, each has at most [`CLIENT_LIMIT`]
    /// requests in a batch: a batch of a flood would hold up the others as long as the flood
    /// itself.
    pub(super) fn take_batch(&mut self, running: &[usize]) -> Option<(usize, Vec<W>)> {
        let mut candidates = self.candidates(running);
        let first = candidates.first()?.index;
        let key = self.work(first).batch_key();
        candidates.retain(|one| self.work(one.index).batch_key() == key);
        let most = candidates.len().div_ceil(2).max(MIN_LIMIT);

        let client = self.work(first).client();
        let is_alone = candidates
            .iter()
            .all(|one| self.work(one.index).client() == client);
        if !is_alone {
            let of_relay = self.relay_limit(&candidates);
            candidates.retain(|one| {
                let limit = match self.is_relayed(one) {
                    true => of_relay,
                    false => CLIENT_LIMIT,
                };
                one.turn < limit
            });
        }

        let mut chosen: Vec<usize> = Vec::new();
        for Candidate { index, .. } in candidates.into_iter().take(most) {
            let batch = chosen.iter().map(|&index| self.work(index));
            // The first is answered even if it alone is over the limits: no later batch has more
            // room.
            if !chosen.is_empty() && !self.work(index).fits(batch) {
                break;
            }
            chosen.push(index);
        }

        // Noted once they have left: clients without further requests are forgotten.
        let batch = self.extract(&chosen);
        self.note_served(&batch);
        Some((key, batch))
    }

    /// Limit on the requests of a relay in a batch of these.
    fn relay_limit(&self, candidates: &[Candidate]) -> usize {
        let direct = candidates.iter().filter(|one| !self.is_relayed(one));
        let admitted = direct.filter(|one| one.turn < CLIENT_LIMIT).count();
        admitted.max(CLIENT_LIMIT)
    }

    /// Returns whether a request came over a listed relay.
    fn is_relayed(&self, one: &Candidate) -> bool {
        self.work(one.index).client().is_relay()
    }

    /// The request at a position.
    fn work(&self, index: usize) -> &W {
        &self.waiting[index].work
    }

    /// Records that the clients of these requests are served, and forgets those that do not wait.
    fn note_served(&mut self, batch: &[W]) {
        self.batches += 1;
        let first = batch.first();
        self.is_relays_turn = !first.is_some_and(|work| work.client().is_relay());
        for work in batch {
            self.served.insert(work.client().clone(), self.batches);
        }

        // Forgotten with their last waiting request, so that the table is no larger than the queue.
        let waiting: HashSet<&ClientKey> = self
            .waiting
            .iter()
            .map(|entry| entry.work.client())
            .collect();
        self.served.retain(|client, _| waiting.contains(client));
    }

    /// The requests with whose keys a batch may start, in the order of their turns.
    fn candidates(&self, running: &[usize]) -> Vec<Candidate> {
        // Counted first: whether a further batch of a running key may start depends on all that
        // wait.
        let mut waiting: HashMap<usize, usize> = HashMap::new();
        for QueuedRequest { work, .. } in &self.waiting {
            *waiting.entry(work.batch_key()).or_default() += 1;
        }

        let mut turns: HashMap<&ClientKey, usize> = HashMap::new();
        let mut candidates = Vec::with_capacity(self.waiting.len());
        for (index, QueuedRequest { work, before, .. }) in self.waiting.iter().enumerate() {
            let key = work.batch_key();
            if !may_start(work, count(running, key), waiting[&key]) {
                continue;
            }

            // A client that was never served counts as served when its request came, so that
            // newcomers do not pass the clients that wait.
            let turn = turns.entry(work.client()).or_default();
            let served = self.served.get(work.client()).copied().unwrap_or(0);
            candidates.push(Candidate {
                turn: *turn,
                since: served.max(*before),
                index,
            });
            *turn += 1;
        }

        candidates.sort_unstable();
        self.alternated(candidates)
    }

    /// The same candidates, of which those of relays and all others alternate.
    fn alternated(&self, candidates: Vec<Candidate>) -> Vec<Candidate> {
        let mut relayed = Vec::new();
        let mut direct = Vec::new();
        for one in candidates {
            match self.is_relayed(&one) {
                true => relayed.push(one),
                false => direct.push(one),
            }
        }

        match self.is_relays_turn {
            true => interleaved(relayed, direct),
            false => interleaved(direct, relayed),
        }
    }

    /// Removes the requests at these positions, in this order.
    fn extract(&mut self, positions: &[usize]) -> Vec<W> {
        // By number: each removal shifts the positions after it.
        let numbers: Vec<u64> = positions
            .iter()
            .map(|&index| self.waiting[index].number)
            .collect();

        numbers
            .into_iter()
            .filter_map(|number| self.remove(number))
            .collect()
    }
}

/// Elements of both in turn, and then what is left of one.
fn interleaved(first: Vec<Candidate>, second: Vec<Candidate>) -> Vec<Candidate> {
    let mut merged = Vec::with_capacity(first.len() + second.len());
    let mut second = second.into_iter();
    for one in first {
        merged.push(one);
        merged.extend(second.next());
    }
    merged.extend(second);
    merged
}

/// Number of running batches with a key.
fn count(running: &[usize], key: usize) -> usize {
    running.iter().filter(|&&running| running == key).count()
}

/// Returns whether a batch with the key of a request may start, of which `running` batches run and
/// `waiting` requests wait.
fn may_start(work: &impl Batchable, running: usize, waiting: usize) -> bool {
    if running == 0 {
        return true;
    }

    // Of few requests, two small batches take longer than one after the other.
    running < work.batches_at_once() && waiting >= 2 * MIN_LIMIT
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::listen::Peer;

    /// A batch key and a size; a batch holds a total size of ten.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Item(char, usize);

    /// A request, two batches of which are answered at the same time.
    struct Twice;

    /// A request of a client that is answered alone.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct One(ClientKey);

    /// A client, and the number of its request.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Turn(ClientKey, usize);

    impl Batchable for Twice {
        fn batch_key(&self) -> usize {
            3
        }

        fn batches_at_once(&self) -> usize {
            2
        }

        fn fits<'a>(&'a self, _batch: impl Iterator<Item = &'a Self>) -> bool {
            false
        }

        fn client(&self) -> &ClientKey {
            &ClientKey::Local
        }
    }

    impl Batchable for One {
        fn batch_key(&self) -> usize {
            0
        }

        fn fits<'a>(&'a self, _batch: impl Iterator<Item = &'a Self>) -> bool {
            false
        }

        fn client(&self) -> &ClientKey {
            &self.0
        }
    }

    impl Batchable for Turn {
        fn batch_key(&self) -> usize {
            0
        }

        fn fits<'a>(&'a self, batch: impl Iterator<Item = &'a Self>) -> bool {
            batch.count() < 20
        }

        fn client(&self) -> &ClientKey {
            &self.0
        }
    }

    impl Batchable for Item {
        fn client(&self) -> &ClientKey {
            &ClientKey::Local
        }

        fn batch_key(&self) -> usize {
            self.0 as usize
        }

        fn fits<'a>(&'a self, batch: impl Iterator<Item = &'a Self>) -> bool {
            batch.map(|one| one.1).sum::<usize>() + self.1 <= 10
        }
    }

    fn queue(all: &[Item]) -> Queue<Item> {
        let mut queue = Queue::default();
        for &one in all {
            queue.push(one);
        }
        queue
    }

    fn take(queue: &mut Queue<Item>, running: &[char]) -> Vec<Item> {
        let running: Vec<usize> = running.iter().map(|&key| key as usize).collect();
        queue
            .take_batch(&running)
            .map_or_else(Vec::new, |(_, batch)| batch)
    }

    #[test]
    fn a_batch_holds_requests_with_the_key_of_the_first() {
        let mut queue = queue(&[
            Item('a', 1),
            Item('b', 1),
            Item('a', 2),
            Item('b', 2),
            Item('a', 3),
        ]);

        assert_eq!(
            take(&mut queue, &[]),
            [Item('a', 1), Item('a', 2), Item('a', 3)]
        );
        assert_eq!(take(&mut queue, &[]), [Item('b', 1), Item('b', 2)]);
        assert_eq!(take(&mut queue, &[]), []);
    }

    #[test]
    fn a_batch_takes_half_of_many_requests() {
        let mut queue = queue(&[Item('a', 1); 14]);

        let sizes: Vec<usize> = (0..4).map(|_| take(&mut queue, &[]).len()).collect();
        assert_eq!(sizes, [7, 4, 3, 0]);
    }

    #[test]
    fn a_batch_is_bounded_and_keeps_the_order_within_a_key() {
        let mut queue = queue(&[
            Item('a', 4),
            Item('a', 4),
            Item('a', 4),
            Item('a', 1),
            Item('b', 1),
        ]);

        assert_eq!(take(&mut queue, &[]), [Item('a', 4), Item('a', 4)]);
        assert_eq!(queue.push(Item('b', 8)), 5);
        assert_eq!(take(&mut queue, &[]), [Item('a', 4), Item('a', 1)]);
        assert_eq!(take(&mut queue, &[]), [Item('b', 1), Item('b', 8)]);
    }

    #[test]
    fn a_running_key_waits_and_does_not_block_others() {
        let mut queue = queue(&[
            Item('a', 1),
            Item('b', 1),
            Item('a', 2),
            Item('c', 1),
            Item('b', 2),
        ]);

        assert_eq!(take(&mut queue, &['a']), [Item('b', 1), Item('b', 2)]);
        assert_eq!(take(&mut queue, &['a', 'b']), [Item('c', 1)]);
        assert_eq!(take(&mut queue, &['a']), []);
        assert_eq!(take(&mut queue, &[]), [Item('a', 1), Item('a', 2)]);
    }

    #[test]
    fn two_batches_of_a_key_run_at_the_same_time_if_it_allows() {
        let mut queue = Queue::default();
        for _ in 0..2 * MIN_LIMIT {
            queue.push(Twice);
        }

        assert!(queue.take_batch(&[3, 3]).is_none());
        let (key, batch) = queue.take_batch(&[3, 7]).unwrap();
        assert_eq!((key, batch.len()), (3, 1));
        assert!(queue.take_batch(&[3, 7]).is_none(), "too few wait");
        assert!(queue.take_batch(&[7]).is_some());
    }

    #[test]
    fn a_single_request_may_have_any_size() {
        let mut queue = queue(&[Item('a', 11), Item('a', 1)]);
        assert_eq!(take(&mut queue, &[]), [Item('a', 11)]);
        assert_eq!(take(&mut queue, &[]), [Item('a', 1)]);
    }

    #[test]
    fn a_removed_request_is_not_answered() {
        let mut queue = queue(&[Item('a', 1), Item('a', 2), Item('a', 3)]);
        assert_eq!(queue.remove(1), Some(Item('a', 2)));
        assert_eq!(queue.remove(1), None);
        assert_eq!(take(&mut queue, &[]), [Item('a', 1), Item('a', 3)]);
        assert_eq!(queue.remove(2), None, "already taken");
    }

    #[test]
    fn clients_take_turns() {
        let client = |number: u32| ClientKey::Address(std::net::Ipv4Addr::from(number).into());
        let mut queue = Queue::default();
        for number in 0..9 {
            queue.push(Turn(client(1), number));
        }
        queue.push(Turn(client(2), 0));
        queue.push(Turn(client(3), 0));

        let batch = |queue: &mut Queue<Turn>| {
            let (_, batch) = queue.take_batch(&[]).unwrap_or_default();
            batch
                .into_iter()
                .map(|Turn(client, number)| (client, number))
                .collect::<Vec<_>>()
        };

        let first =
            [(1, 0), (2, 0), (3, 0), (1, 1), (1, 2)].map(|(one, number)| (client(one), number));

        assert_eq!(batch(&mut queue), first, "at most three of a client");
        assert_eq!(queue.remove_newest(&client(1)), Some(Turn(client(1), 8)));
        assert_eq!(queue.remove_newest(&client(2)), None);

        let numbers: Vec<usize> = batch(&mut queue)
            .into_iter()
            .map(|(_, number)| number)
            .collect();
        assert_eq!(numbers, [3, 4, 5, 6]);
    }

    /// Requests that are answered alone, of which each client sends the next when one is answered.
    #[test]
    fn clients_take_turns_between_batches_of_one() {
        let mut queue = Queue::default();
        let item = |client: u32| One(ClientKey::Address(std::net::Ipv4Addr::from(client).into()));

        for _ in 0..100 {
            queue.push(item(1));
        }
        queue.push(item(2));
        queue.push(item(3));

        let mut counts: HashMap<ClientKey, usize> = HashMap::new();
        for _ in 0..30 {
            let (_, batch) = queue.take_batch(&[]).unwrap();
            let [one] = &batch[..] else {
                unreachable!("a batch of one")
            };
            *counts.entry(one.0.clone()).or_default() += 1;
            queue.push(one.clone());
        }

        assert!(counts.values().all(|count| *count == 10), "{counts:?}");
    }

    #[test]
    fn relays_and_other_clients_have_every_second_request() {
        let relay = ClientKey::Relay(Peer::Local);
        let client = |number: u32| ClientKey::Address(std::net::Ipv4Addr::from(number).into());
        let mut queue = Queue::default();
        for _ in 0..100 {
            queue.push(One(relay.clone()));
        }
        for number in 1..=4 {
            queue.push(One(client(number)));
        }

        let mut counts: HashMap<ClientKey, usize> = HashMap::new();
        for _ in 0..40 {
            let (_, batch) = queue.take_batch(&[]).unwrap();
            for one in batch {
                *counts.entry(one.0.clone()).or_default() += 1;
                queue.push(one);
            }
        }
        assert_eq!(counts[&relay], 20);
        assert!((1..=4).all(|number| counts[&client(number)] == 5));
    }

    #[test]
    fn a_relay_has_as_many_requests_in_a_batch_as_all_other_clients() {
        let relay = ClientKey::Relay(Peer::Local);
        let client = |number: u32| ClientKey::Address(std::net::Ipv4Addr::from(number).into());
        let mut queue = Queue::default();
        for number in 0..20 {
            queue.push(Turn(relay.clone(), number));
        }
        for number in 1..=5 {
            queue.push(Turn(client(number), 0));
        }

        let (_, batch) = queue.take_batch(&[]).unwrap();
        let relayed = batch.iter().filter(|one| one.0 == relay).count();
        assert_eq!((batch.len(), relayed), (10, 5));
        let (_, batch) = queue.take_batch(&[]).unwrap();
        assert!(batch.iter().all(|one| one.0 == relay), "nobody else waits");
        assert_eq!(batch.len(), 8);
    }

    /// One request, and clients that each come once, as fast as they are answered.
    #[test]
    fn newcomers_do_not_hold_up_those_that_wait() {
        let item = |client: u32| One(ClientKey::Address(std::net::Ipv4Addr::from(client).into()));
        let mut queue = Queue::default();
        queue.push(item(0));
        queue.take_batch(&[]).unwrap();

        (1..10).for_each(|client| _ = queue.push(item(client)));
        queue.push(item(0));

        for newcomer in 10..19 {
            let (_, batch) = queue.take_batch(&[]).unwrap();
            assert_eq!(batch, [item(newcomer - 9)]);
            queue.push(item(newcomer));
        }

        assert_eq!(queue.take_batch(&[]).unwrap().1, [item(0)]);
        while queue.take_batch(&[]).is_some() {}
        assert!(queue.served.is_empty());
    }
}
