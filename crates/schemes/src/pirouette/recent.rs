//! Values that were used last, up to a number of bytes.
//!
//! The expanded keys of a client are several times larger than the keys that it sends. A server
//! keeps the sent keys of all clients, and the expanded keys of the clients that queried last.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

/// The values that were used last.
pub(super) struct Recent<T> {
    most_bytes: usize,
    /// Kept values with their bytes. The value that was used last is at the end.
    kept: Mutex<VecDeque<(Arc<T>, usize)>>,
}

impl<T> Recent<T> {
    /// Creates a store that keeps values of at most `most_bytes` bytes together, and always the
    /// last value.
    pub(super) const fn new(most_bytes: usize) -> Self {
        Self {
            most_bytes,
            kept: Mutex::new(VecDeque::new()),
        }
    }

    /// Returns the number of values of `bytes` bytes that are kept together, at least one.
    pub(super) fn room(&self, bytes: usize) -> usize {
        (self.most_bytes / bytes.max(1)).max(1)
    }

    /// Records a use of a value of `bytes` bytes, and drops the values that were used longest ago.
    pub(super) fn touch(&self, value: &Arc<T>, bytes: usize) {
        let mut dropped = Vec::new();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(other, _)| !Arc::ptr_eq(other, value));
        kept.push_back((Arc::clone(value), bytes));

        while kept.len() > 1 && kept.iter().map(|(_, bytes)| bytes).sum::<usize>() > self.most_bytes
        {
            dropped.extend(kept.pop_front());
        }

        // Large values are freed without the lock.
        drop(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_values_used_last_are_kept() {
        let recent = Recent::new(100);
        let values: Vec<Arc<u32>> = (0..4).map(Arc::new).collect();

        let kept = || {
            values
                .iter()
                .map(|value| Arc::strong_count(value) == 2)
                .collect::<Vec<_>>()
        };

        for value in &values[..2] {
            recent.touch(value, 40);
        }
        assert_eq!(kept(), [true, true, false, false]);

        recent.touch(&values[0], 40);
        recent.touch(&values[2], 40);
        assert_eq!(kept(), [true, false, true, false]);

        recent.touch(&values[3], 1000);
        assert_eq!(
            kept(),
            [false, false, false, true],
            "one is kept however large it is"
        );

        assert_eq!([recent.room(30), recent.room(1000)], [3, 1]);
    }
}
