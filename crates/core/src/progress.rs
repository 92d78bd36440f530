//! Progress reports of long computations.

/// Receives progress reports; may be called from several threads.
pub trait Progress: Sync {
    /// A new stage of `total` steps begins.
    fn stage(&self, name: &str, total: u64);
    /// `steps` more steps of the current stage are done.
    fn advance(&self, steps: u64);
}

/// Ignores all reports.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn stage(&self, _name: &str, _total: u64) {}
    fn advance(&self, _steps: u64) {}
}
