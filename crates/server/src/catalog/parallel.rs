//! Work on several databases at the same time.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{Builder, scope};

/// Databases that are loaded, and stores that are polled, at the same time. One on a disk or in a
/// store that hangs holds up its own thread only.
pub(crate) const LOADS_AT_ONCE: usize = 4;

/// A result, and the place of its item.
struct Done<T> {
    index: usize,
    result: T,
}

/// Does `work` on all items, on at most `most` threads. Returns the results in the order of the
/// items. An item that takes long holds up its own thread only. Threads that the system refuses are
/// done without.
pub(super) fn in_parallel<I: Sync, T: Send>(
    items: &[I],
    most: usize,
    work: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let more = most.min(items.len()).saturating_sub(1);

    let mut done = scope(|scope| {
        let mut threads = Vec::with_capacity(more);
        for _ in 0..more {
            let builder = Builder::new().name("papir-load".to_owned());
            threads.extend(builder.spawn_scoped(scope, || take_all(items, &next, &work)));
        }

        // This thread works as well: it would only wait otherwise.
        let mut done = take_all(items, &next, &work);
        for thread in threads {
            done.extend(thread.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });

    done.sort_by_key(|one| one.index);
    done.into_iter().map(|one| one.result).collect()
}

/// Does `work` on the items from `next` on, one after the other.
fn take_all<I, T>(items: &[I], next: &AtomicUsize, work: &impl Fn(&I) -> T) -> Vec<Done<T>> {
    let mut done = Vec::new();
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(item) = items.get(index) else {
            return done;
        };

        let result = work(item);
        done.push(Done { index, result });
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;
    use std::sync::{Barrier, Mutex};
    use std::thread::current;

    use super::*;

    #[test]
    fn results_are_in_order_and_threads_are_few() {
        let items: Vec<usize> = (0..100).collect();
        for most in [0, 1, 3, 200] {
            let threads = Mutex::new(HashSet::new());
            let doubled = in_parallel(&items, most, |&item| {
                threads.lock().unwrap().insert(current().id());
                2 * item
            });

            let expected: Vec<usize> = items.iter().map(|item| 2 * item).collect();
            assert_eq!(doubled, expected);
            assert!(threads.lock().unwrap().len() <= most.max(1));
        }
        assert!(in_parallel(&[0; 0], 4, |&item: &usize| item).is_empty());
    }

    /// The first item ends only once all others are done.
    #[test]
    fn an_item_that_hangs_holds_up_no_other() {
        let items: Vec<usize> = (0..20).collect();
        let begun = Barrier::new(2);
        let others = AtomicUsize::new(0);
        let done = in_parallel(&items, 2, |&item| {
            // Only the others are counted.
            if item == 0 || others.fetch_add(1, Ordering::SeqCst) + 2 == items.len() {
                begun.wait();
            }
            item
        });
        assert_eq!(done, items);
    }
}
