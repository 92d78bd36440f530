//! Progress reports of long computations.

/// Receives progress reports, possibly from several threads.
pub trait Progress: Sync {
    /// Reports the start of a new stage with `total` steps.
    fn stage(&self, name: &str, total: u64);
    /// Reports that `steps` more steps of the current stage are done.
    fn advance(&self, steps: u64);

    /// Reports an event that a person should know about, in one line without its end. Ignored by
    /// default.
    fn notice(&self, _line: &str) {}
}

/// A [`Progress`] that ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn stage(&self, _name: &str, _total: u64) {}
    fn advance(&self, _steps: u64) {}
}
