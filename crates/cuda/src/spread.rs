//! Work that is spread over threads while the GPU is taken.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::thread;

/// Fewest items for which threads are started.
const FEW: usize = 4;

/// Calls `work` with all items, on threads of its own, and returns the results in order.
///
/// The threads are not those of a pool: a thread of a pool that waits for others may take up work
/// that waits for the GPU, which its own caller has.
pub(crate) fn spread<T: Send, U: Send>(items: Vec<T>, work: impl Fn(T) -> U + Sync) -> Vec<U> {
    if items.len() <= FEW {
        return items.into_iter().map(work).collect();
    }

    let threads = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let each = items.len().div_ceil(threads);
    let mut items = items.into_iter();
    let work = &work;

    thread::scope(|scope| {
        let mut started = Vec::new();
        loop {
            let share: Vec<T> = items.by_ref().take(each).collect();
            if share.is_empty() {
                break;
            }
            started.push(scope.spawn(move || share.into_iter().map(work).collect::<Vec<U>>()));
        }

        // Threads are joined in the order of their shares, which is the order of the items.
        started
            .into_iter()
            .flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for count in [0, 1, 4, 5, 17, 100] {
            let results = spread((0..count).collect(), |i| 2 * i);
            assert_eq!(results, (0..count).map(|i| 2 * i).collect::<Vec<usize>>());
        }
    }
}
