//! Merges the deltas that another program publishes, once they are long enough.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use papir_core::NoProgress;
use papir_store::{MergeOptions, UpdateReport, Way, delta_bytes, merge};

/// Time between two looks at the delta.
const POLL: Duration = Duration::from_secs(1);

/// Options of merging.
pub(crate) struct Merging {
    pub(crate) options: MergeOptions,
    /// The bytes of changes from which the delta is merged.
    pub(crate) at: u64,
}

impl Merging {
    /// Merges whenever there are enough changes, until `stop` is set or until an error.
    ///
    /// # Errors
    /// Errors of the database, of its delta and of a merge.
    pub(crate) fn run(
        &self,
        stop: &AtomicBool,
        on_merged: &mut dyn FnMut(&UpdateReport, Duration),
    ) -> papir_store::Result<()> {
        // The length of a delta whose changes the base has already. It stays if it states a place or a leaf.
        let mut idle = None;
        while !stop.load(Ordering::Relaxed) {
            let bytes = delta_bytes(&self.options.file)?;
            if bytes < self.at.max(1) || idle == Some(bytes) {
                thread::sleep(POLL);
                continue;
            }
            let begin = Instant::now();
            let report = merge(&self.options, &mut papir::system_rng(), &NoProgress)?;
            idle = (report.way == Way::Unchanged).then_some(bytes);
            on_merged(&report, begin.elapsed());
        }
        Ok(())
    }
}
