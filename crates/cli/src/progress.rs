//! Progress on stderr: bars, shown only on a terminal, and a line about retries.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use papir_client::{RetryObserver, RetryPause};
use papir_core::Progress;

use crate::failure::Failure;

/// Longest retries that are not worth a line.
const MOMENT: Duration = Duration::from_secs(1);

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

    fn notice(&self, line: &str) {
        // Suspended: bar and line would overwrite each other.
        self.0.suspend(|| {
            // Nobody may read it.
            let _ = writeln!(std::io::stderr(), "papir: {line}");
        });
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Prints one line, once requests are tried again for more than a moment.
pub(crate) fn retry_line() -> RetryObserver {
    let is_printed = AtomicBool::new(false);
    RetryObserver::new(move |pause| {
        if is_long(pause) && !is_printed.swap(true, Ordering::Relaxed) {
            let RetryPause { url, reason, .. } = pause;
            let line = Failure::new(format!("waiting for {url}: {reason}"));
            // Nobody may read it.
            let _ = writeln!(std::io::stderr(), "papir: {line}");
        }
    })
}

/// Returns whether the retries have taken more than a moment at the end of this pause.
fn is_long(pause: &RetryPause) -> bool {
    pause.since.saturating_add(pause.pause) > MOMENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_of_a_moment_are_not_worth_a_line() {
        let pause = |since, pause| RetryPause {
            url: String::new(),
            reason: String::new(),
            since: Duration::from_millis(since),
            pause: Duration::from_millis(pause),
        };
        assert!(!is_long(&pause(0, 50)) && !is_long(&pause(600, 400)));
        assert!(is_long(&pause(0, 1001)) && is_long(&pause(900, 200)));
    }
}
