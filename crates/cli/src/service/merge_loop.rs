//! Merges long deltas that another program publishes.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use papir_core::{NoProgress, Run};
use papir_store::{MergeOptions, Result, UpdateReport, Way, delta_bytes, merge};

/// Time between two looks at the delta.
const POLL: Duration = Duration::from_secs(1);
/// Time from a failed merge to the next attempt.
const RETRY: Duration = Duration::from_secs(60);

/// Options of merging.
pub(crate) struct Merging {
    pub(crate) options: MergeOptions,
    /// The bytes of changes from which the delta is merged.
    pub(crate) at: u64,
}

impl Merging {
    /// Merges whenever there are enough changes, until `stop` is set. `on_outcome` receives each
    /// merge, and each failure, after which the merge is tried again.
    pub(crate) fn run(&self, stop: &AtomicBool, on_outcome: &mut dyn FnMut(Result<UpdateReport>)) {
        let mut failed: Option<Instant> = None;

        while !stop.load(Ordering::Relaxed) {
            if failed.is_none_or(|since| since.elapsed() >= RETRY) {
                let merged = self.merge_if_full();
                failed = merged.is_err().then(Instant::now);
                match merged {
                    Ok(Some(report)) => {
                        on_outcome(Ok(report));
                        continue;
                    }
                    Ok(None) => {}
                    Err(error) => on_outcome(Err(error)),
                }
            }
            thread::sleep(POLL);
        }
    }

    /// Merges if there are enough changes. Returns the report of a new version; `None` if there is
    /// none.
    fn merge_if_full(&self) -> Result<Option<UpdateReport>> {
        if delta_bytes(&self.options.file)? < self.at.max(1) {
            return Ok(None);
        }

        let report = merge(
            &self.options,
            &mut Run::new(&mut papir::system_rng(), &NoProgress),
        )?;
        Ok((report.way != Way::Unchanged).then_some(report))
    }
}
