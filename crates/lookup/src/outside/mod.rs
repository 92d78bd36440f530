//! Keyword tables of more entries than fit in memory.
//!
//! Entries go to storage in runs, by the first bits of their ids, without their keys. Each run fits
//! in memory, is sorted there, and its duplicates are resolved. The chunks of all values go to
//! storage again, in runs by the first bits of the hash that chooses their region. That hash grows
//! with the region, so a run has the items of consecutive regions, which are placed and written
//! like a table in memory. The result has the same bytes as that of [`crate::build`].
//!
//! Each step frees the runs that it has read, so that storage holds the entries about once.
//!
//! | step | function |
//! |---|---|
//! | entry → run of ids | [`AddedEntries::add`], in one process or in several |
//! | runs → buckets and layout | [`build()`] |

mod build;
mod heap;
mod id_runs;
mod items;
mod rows;
mod varint;

use std::io::Write;

use papir_core::{Blob, Result as CoreResult};

use crate::error::Result;

pub use build::{BUCKETS, IDS, SpilledTable, build};
pub use heap::HeapRuns;
pub use rows::{AddedEntries, EntryPart, EntryRuns, IdSeed};

/// log₂ of the number of runs. For 10⁹ keys with values of 64 bytes, a run has about 200 MB.
const LOG_RUNS: u32 = 9;
/// Number of runs of one kind.
pub const RUNS: usize = 1 << LOG_RUNS;

/// [`RUNS`] runs of bytes in storage, for reading.
pub trait ReadRuns: Sync {
    /// Appends all bytes of a run to `out`, in the order in which they were written.
    ///
    /// # Errors
    /// Errors of the storage, and [`papir_core::Error::OutOfBounds`] if `out` would exceed the
    /// memory allowed.
    fn read(&mut self, run: usize, out: &mut Vec<u8>) -> CoreResult<()>;

    /// Frees the space of a run that is not read again, if the storage can.
    fn free(&mut self, _run: usize) {}

    /// Returns whether [`ReadRuns::free`] frees space at once, and not only with the last run.
    fn frees(&self) -> bool {
        false
    }
}

/// Runs that are first written, then read as a whole or by parts.
pub trait Runs: ReadRuns {
    /// Appends the concatenation of `parts` to a run.
    ///
    /// # Errors
    /// Errors of the storage, for example a full disk.
    fn append(&mut self, run: usize, parts: &[&[u8]]) -> CoreResult<()>;

    /// Ends the writing, after which parts can be copied.
    ///
    /// # Errors
    /// Errors of the storage.
    fn seal(&mut self) -> CoreResult<()>;

    /// Fills `out` with the bytes of a sealed run from the offset `at` on.
    ///
    /// # Panics
    /// If the run is not sealed, or ends before `out` is full.
    fn copy(&self, run: usize, at: u64, out: &mut [u8]);
}

/// Writes the bytes of a part.
pub type WritePart<'a> = dyn FnMut(&mut dyn Write) -> Result<()> + 'a;

/// A storage in which runs are made.
pub trait Storage {
    /// Makes empty runs. `kind` is their name.
    ///
    /// # Errors
    /// Errors of the storage.
    fn runs(&mut self, kind: &'static str) -> CoreResult<Box<dyn Runs>>;

    /// Keeps a part of which `write` writes the bytes from the first to the last, by default in
    /// memory. The part takes space only as it grows.
    ///
    /// # Errors
    /// Errors of the storage and of `write`.
    fn keep_written(&mut self, _name: &str, write: &mut WritePart<'_>) -> Result<Blob> {
        let mut bytes = Vec::new();
        write(&mut bytes)?;
        Ok(Blob::copy_of(&bytes))
    }

    /// Refuses the next step of a build if it needs more bytes of storage than are free. By
    /// default, accepts it.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`] if there is too little room.
    fn check_room(&self, _bytes: u64) -> CoreResult<()> {
        Ok(())
    }
}

/// The run for a 64-bit number: its first bits.
fn run_of(number: u64) -> usize {
    (number >> (u64::BITS - LOG_RUNS)) as usize
}

/// The smallest number that belongs to the next run; `None` after the last run.
fn end_of(run: usize) -> Option<u64> {
    (run + 1 < RUNS).then(|| (run as u64 + 1) << (u64::BITS - LOG_RUNS))
}
