//! Progress bars on stderr, shown only on a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use papir_core::Progress;

/// A bar for the current stage of a long computation, removed when dropped.
pub(crate) struct Bars(ProgressBar);

impl Bars {
    /// A bar that appears with the first stage.
    pub(crate) fn new() -> Self {
        let bar = ProgressBar::no_length();

        // Without a valid template, the default style serves.
        if let Ok(style) =
            ProgressStyle::with_template("{msg:24} {wide_bar} {percent:>3}% {elapsed:>4}")
        {
            bar.set_style(style);
        }

        Self(bar)
    }
}

impl Progress for Bars {
    fn stage(&self, name: &str, total: u64) {
        self.0.set_message(name.to_owned());
        self.0.set_length(total);
        self.0.reset();
    }

    fn advance(&self, steps: u64) {
        self.0.inc(steps);
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}
