//! Request queue and batch selection.

use std::collections::VecDeque;

/// Smallest limit on the requests of a batch. A batch of a few requests already gains most of what
/// batching saves.
const MIN_LIMIT: usize = 4;

/// Decides which requests may form a batch.
pub(crate) trait Batchable: Sized {
    /// Requests with equal keys may be answered together.
    fn batch_key(&self) -> usize;

    /// Returns whether this request fits into a nonempty batch of its key.
    fn fits<'a>(&'a self, batch: impl Iterator<Item = &'a Self>) -> bool;
}

/// Waiting requests in order of arrival.
///
/// A batch consists of the oldest request that can start and later requests with its key. These may
/// overtake requests with other keys, but only by one batch at a time: [`Batchable::fits`] bounds a
/// batch, and the next batch starts with the oldest request that was overtaken.
pub(super) struct Queue<W> {
    waiting: VecDeque<(u64, W)>,
    next: u64,
}

impl<W> Default for Queue<W> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), next: 0 }
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
        self.waiting.push_back((number, work));
        number
    }

    /// Removes a request by number; `None` if it has already left the queue.
    pub(super) fn remove(&mut self, number: u64) -> Option<W> {
        let index = self.waiting.binary_search_by_key(&number, |(number, _)| *number).ok()?;
        self.waiting.remove(index).map(|(_, work)| work)
    }

    /// Takes the next batch, with its key, among the keys not in `running`. `None` if no such
    /// request waits.
    ///
    /// A batch takes half of the waiting requests with its key, or [`MIN_LIMIT`] if that is more,
    /// and stops at the first that does not fit. Taking half keeps batches of even size: if clients
    /// query in a loop and each batch took all of them, some clients would always share a large
    /// batch and others a small one.
    pub(super) fn take_batch(&mut self, running: &[usize]) -> Option<(usize, Vec<W>)> {
        let mut index = self.waiting.iter().position(|(_, work)| !running.contains(&work.batch_key()))?;
        let (_, first) = self.waiting.remove(index)?;
        let (key, mut batch) = (first.batch_key(), vec![first]);
        let others = self.waiting.range(index..).filter(|(_, work)| work.batch_key() == key).count();
        let most = (others + 1).div_ceil(2).max(MIN_LIMIT);
        while let Some((_, work)) = self.waiting.get(index).filter(|_| batch.len() < most) {
            if work.batch_key() != key {
                index += 1;
            } else if work.fits(batch.iter()) {
                batch.extend(self.waiting.remove(index).map(|(_, work)| work));
            } else {
                break;
            }
        }
        Some((key, batch))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A batch key and a size; a batch holds a total size of ten.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Item(char, usize);

    impl Batchable for Item {
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
        queue.take_batch(&running).map_or_else(Vec::new, |(_, batch)| batch)
    }

    #[test]
    fn a_batch_holds_requests_with_the_key_of_the_first() {
        let mut queue = queue(&[Item('a', 1), Item('b', 1), Item('a', 2), Item('b', 2), Item('a', 3)]);
        assert_eq!(take(&mut queue, &[]), [Item('a', 1), Item('a', 2), Item('a', 3)]);
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
        let mut queue = queue(&[Item('a', 4), Item('a', 4), Item('a', 4), Item('a', 1), Item('b', 1)]);
        assert_eq!(take(&mut queue, &[]), [Item('a', 4), Item('a', 4)]);
        assert_eq!(queue.push(Item('b', 8)), 5);
        assert_eq!(take(&mut queue, &[]), [Item('a', 4), Item('a', 1)]);
        assert_eq!(take(&mut queue, &[]), [Item('b', 1), Item('b', 8)]);
    }

    #[test]
    fn a_running_key_waits_and_does_not_block_others() {
        let mut queue = queue(&[Item('a', 1), Item('b', 1), Item('a', 2), Item('c', 1), Item('b', 2)]);
        assert_eq!(take(&mut queue, &['a']), [Item('b', 1), Item('b', 2)]);
        assert_eq!(take(&mut queue, &['a', 'b']), [Item('c', 1)]);
        assert_eq!(take(&mut queue, &['a']), []);
        assert_eq!(take(&mut queue, &[]), [Item('a', 1), Item('a', 2)]);
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
}
