//! Progress bar on stderr, shown only on a terminal.

use indicatif::ProgressBar;
use papir_core::Progress;

/// A bar for the current stage of a measurement, removed when dropped.
pub(crate) struct StageBar(ProgressBar);

impl StageBar {
    /// A bar that appears with the first stage.
    pub(crate) fn new() -> Self {
        Self(ProgressBar::no_length())
    }
}

impl Progress for StageBar {
    fn stage(&self, name: &str, total: u64) {
        self.0.set_message(name.to_owned());
        self.0.set_length(total);
        self.0.reset();
    }

    fn advance(&self, steps: u64) {
        self.0.inc(steps);
    }
}

impl Drop for StageBar {
    fn drop(&mut self) {
        // A result that follows on a terminal would otherwise start behind the bar.
        self.0.finish_and_clear();
    }
}
