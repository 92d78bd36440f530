//! Runs in memory.

use papir_core::Result as CoreResult;

use super::{RUNS, ReadRuns, Runs};

/// [`Runs`] in memory, for entries that fit there.
pub struct HeapRuns(Vec<Vec<u8>>);

impl Default for HeapRuns {
    fn default() -> Self {
        Self(vec![Vec::new(); RUNS])
    }
}

impl ReadRuns for HeapRuns {
    fn read(&mut self, run: usize, out: &mut Vec<u8>) -> CoreResult<()> {
        out.extend_from_slice(&self.0[run]);
        Ok(())
    }

    fn free(&mut self, run: usize) {
        self.0[run] = Vec::new();
    }
}

impl Runs for HeapRuns {
    fn append(&mut self, run: usize, parts: &[&[u8]]) -> CoreResult<()> {
        for part in parts {
            self.0[run].extend_from_slice(part);
        }
        Ok(())
    }

    fn seal(&mut self) -> CoreResult<()> {
        Ok(())
    }

    fn copy(&self, run: usize, at: u64, out: &mut [u8]) {
        out.copy_from_slice(&self.0[run][at as usize..][..out.len()]);
    }
}
