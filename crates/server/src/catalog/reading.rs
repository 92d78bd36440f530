//! Memory for snapshots that are read at the same time.

use std::sync::{Condvar, Mutex, PoisonError};

/// The bytes of the snapshots that are being read into memory.
///
/// The free memory is asked before a snapshot is read. Several that are read at the same time could
/// each find room in the same memory, so those that need much of it wait for each other.
#[derive(Default)]
pub(super) struct ReadingMemory {
    bytes: Mutex<u64>,
    freed: Condvar,
}

/// The memory of one snapshot, until it is read.
pub(super) struct ReadingTurn<'a> {
    memory: &'a ReadingMemory,
    bytes: u64,
}

impl ReadingMemory {
    /// Waits until a snapshot of this length is the only one that is read, or until all of them
    /// together have at most half of the memory that is `free`: part of it may be used by those
    /// that have begun. A snapshot on a disk that hangs holds up only those that need more.
    pub(super) fn enter(&self, bytes: u64, free: impl Fn() -> Option<u64>) -> ReadingTurn<'_> {
        let mut reading = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let together = reading.saturating_add(bytes);
            if *reading == 0 || free().is_none_or(|free| together <= free / 2) {
                *reading = together;
                return ReadingTurn {
                    memory: self,
                    bytes,
                };
            }
            reading = self
                .freed
                .wait(reading)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for ReadingTurn<'_> {
    fn drop(&mut self) {
        let memory = self.memory;
        let mut reading = memory.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        *reading = reading.saturating_sub(self.bytes);
        drop(reading);

        memory.freed.notify_all();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread::scope;

    use super::*;

    #[test]
    fn snapshots_are_read_side_by_side_while_there_is_room_for_all() {
        let memory = ReadingMemory::default();
        let first = memory.enter(1000, || Some(0));
        drop(first);

        let first = memory.enter(10, || Some(100));
        let second = memory.enter(40, || Some(100));
        let unknown = memory.enter(1, || None);
        drop((second, unknown));

        scope(|scope| {
            let (send, entered) = channel();
            scope.spawn({
                let memory = &memory;
                move || {
                    let _turn = memory.enter(50, || Some(100));
                    send.send(()).unwrap();
                }
            });

            // It cannot enter before the first has left.
            assert!(entered.try_recv().is_err());
            drop(first);
            entered.recv().unwrap();
        });
        assert_eq!(*memory.bytes.lock().unwrap(), 0);
    }
}
