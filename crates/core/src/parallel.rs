//! Parallel loops over ordinary iterators.
//!
//! Each item is work of at least a microsecond: a column, a pack, a query. Idle threads steal
//! items, so that all finish at about the same time. Little code is compiled for each use: rayon's
//! own iterators were a third of the schemes' code.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

/// Calls `work` for every item, in parallel.
pub fn for_each<T: Send>(items: impl IntoIterator<Item = T>, work: impl Fn(T) + Sync) {
    map(items, work);
}

/// Calls `work` for every item in parallel, and returns the results in the items' order.
pub fn map<T: Send, R: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let slots: Vec<Mutex<WorkItem<T, R>>> = items
        .into_iter()
        .map(|item| Mutex::new(WorkItem::Item(item)))
        .collect();

    share(slots.len(), &|place| {
        // Never contended: each place is visited once. A thread that waits in `work` may visit
        // another place meanwhile, with another lock.
        let mut slot = slots[place].lock().unwrap_or_else(PoisonError::into_inner);
        if let WorkItem::Item(item) = std::mem::replace(&mut *slot, WorkItem::Taken) {
            *slot = WorkItem::Result(work(item));
        }
    });

    slots.into_iter().filter_map(WorkItem::result).collect()
}

/// Calls `work` for every item in parallel, and returns the results in the items' order. Begins no
/// more work after an error.
///
/// # Errors
/// The first error, in the items' order, of the work that was done.
pub fn try_map<T: Send, R: Send, E: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let failed = AtomicBool::new(false);

    let results = map(items, |item| {
        // Relaxed: a thread that misses the mark begins one more item, which does no harm.
        if failed.load(Ordering::Relaxed) {
            return None;
        }
        let result = work(item);
        if result.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        Some(result)
    });

    // Items that were not begun are `None`. Of the others, the first error in order is returned.
    results.into_iter().flatten().collect()
}

/// Calls `work` for every item in parallel, and begins no more work after an error.
///
/// # Errors
/// The errors of [`try_map`].
pub fn try_for_each<T: Send, E: Send>(
    items: impl IntoIterator<Item = T>,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    try_map(items, work).map(drop)
}

/// An item before its work, and its result afterwards.
enum WorkItem<T, R> {
    Item(T),
    Taken,
    Result(R),
}

impl<T, R> WorkItem<T, R> {
    fn result(slot: Mutex<Self>) -> Option<R> {
        match slot.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Self::Result(result) => Some(result),
            Self::Item(_) | Self::Taken => None,
        }
    }
}

/// Calls `work` once for each number below `count`, in parallel.
fn share(count: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..count).into_par_iter().for_each(work);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        let squares = map(0..1_000u64, |x| x * x);
        assert_eq!(squares, (0..1_000).map(|x| x * x).collect::<Vec<_>>());
        assert_eq!(map(Vec::<u8>::new(), |x| x), Vec::new());
    }

    #[test]
    fn every_part_of_a_slice_is_written_once() {
        let mut words = vec![0u32; 1_000];
        for_each(words.chunks_mut(7).enumerate(), |(part, words)| {
            words.iter_mut().for_each(|word| *word += part as u32 + 1);
        });
        assert_eq!(
            words,
            (0..1_000).map(|place| place / 7 + 1).collect::<Vec<_>>()
        );
    }

    #[test]
    fn work_may_share_work_in_turn() {
        let sums = map(0..40u64, |x| map(0..40, |y| x * y).into_iter().sum::<u64>());
        assert_eq!(sums, (0..40).map(|x| x * 780).collect::<Vec<_>>());
    }

    #[test]
    fn the_first_error_in_order_is_returned() {
        let even = |x: u32| {
            if x.is_multiple_of(2) {
                Ok(x / 2)
            } else {
                Err(x)
            }
        };
        assert_eq!(try_map([0, 2, 4], even), Ok(vec![0, 1, 2]));
        assert_eq!(try_map([0, 3, 4], even), Err(3));
        assert_eq!(try_for_each([2, 5], |x| even(x).map(drop)), Err(5));
    }

    #[test]
    fn nothing_is_begun_after_an_error() {
        let begun = AtomicUsize::new(0);
        let one = rayon::ThreadPoolBuilder::new()
            .num_threads(1)
            .build()
            .unwrap();
        let failed = one.install(|| {
            try_for_each(0..100, |_| {
                begun.fetch_add(1, Ordering::Relaxed);
                Err(())
            })
        });
        assert_eq!((failed, begun.into_inner()), (Err(()), 1));
    }

    #[test]
    #[should_panic(expected = "the fifth")]
    fn a_panic_reaches_the_caller() {
        for_each(0..10, |x| assert_ne!(x, 5, "the fifth"));
    }
}
