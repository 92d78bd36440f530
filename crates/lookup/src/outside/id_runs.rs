//! Ids in runs by their first bits.

use std::io::Write;

use papir_core::Error as CoreError;
use rayon::prelude::*;

use super::rows::run_of_id;
use super::{RUNS, Runs, Storage};
use crate::error::Result;
use crate::ids::{ID_BYTES, KeyId};

/// The ids of all entries, in any order within a run.
pub(super) struct IdRuns(Box<dyn Runs>);

impl IdRuns {
    pub(super) fn new(storage: &mut dyn Storage) -> Result<Self> {
        Ok(Self(storage.runs("ids")?))
    }

    pub(super) fn add(&mut self, id: &KeyId) -> Result<()> {
        Ok(self.0.append(run_of_id(id), &[&id.0])?)
    }

    /// Writes all ids, ascending, and frees their runs.
    pub(super) fn write(&mut self, out: &mut dyn Write) -> Result<()> {
        for run in 0..RUNS {
            let mut bytes = Vec::new();
            self.0.read(run, &mut bytes)?;
            let (ids, _) = bytes.as_chunks_mut::<ID_BYTES>();
            ids.par_sort_unstable();

            // Freed first, so that storage has each id once.
            self.0.free(run);
            out.write_all(&bytes).map_err(|source| CoreError::Io {
                what: "writing the ids of keys".to_owned(),
                source,
            })?;
        }
        Ok(())
    }
}
