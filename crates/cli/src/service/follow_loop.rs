//! Follows a source of changes, and merges in the background.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use papir_core::{NoProgress, Run};
use papir_store::{
    DeltaReport, Error, FollowOptions, Follower, MergeOptions, SkippedRow, Step, TornRow,
    UpdateReport, Way, merge,
};

/// Pause between two looks at the source.
const POLL: Duration = Duration::from_millis(20);
/// Time after which a row whose end has not arrived is reported.
const QUIET: Duration = Duration::from_secs(5);

/// An event while a source is followed.
pub(crate) enum Event<'a> {
    /// A version was published, in this time.
    Published(&'a DeltaReport, Duration),
    /// A row was left out.
    Skipped(&'a SkippedRow),
    /// The delta was merged, in this time.
    Merged(&'a UpdateReport, Duration),
    /// The source could not be read, and is tried again.
    Trouble(&'a str),
    /// The source ends in the beginning of a row, which is not published.
    Waiting(TornRow),
}

/// Options of following a source.
pub(crate) struct Following {
    pub(crate) options: FollowOptions,
    /// Shortest time from one version to the next.
    pub(crate) every: Duration,
    /// The bytes of changes from which the delta is merged; `None` never merges.
    pub(crate) merge_at: Option<u64>,
    /// Ends once everything that is there has been published; standard input is read to its end.
    pub(crate) once: bool,
}

/// The beginning of a row that waits for its end.
#[derive(Default)]
struct Unfinished {
    /// Its line; `None` if no row waits.
    line: Option<u64>,
    /// The time at which it was seen first.
    since: Option<Instant>,
    reported: bool,
}

impl Unfinished {
    /// Notes the row that waits at the time `now`. Returns it once if it has waited for [`QUIET`].
    fn look(&mut self, waiting: Option<TornRow>, now: Instant) -> Option<TornRow> {
        // Compared by line and not by length: after a quote that is not closed, every later row
        // makes the waiting one longer.
        let line = waiting.map(|row| row.line);
        if line != self.line {
            *self = Self {
                line,
                since: Some(now),
                reported: false,
            };
        }

        let is_quiet = self.since.is_some_and(|since| now - since >= QUIET);
        if self.reported || !is_quiet {
            return None;
        }
        self.reported = true;
        waiting
    }
}

/// A merge in the background.
type Merging = JoinHandle<Merged>;

/// The outcome of a merge, and its duration.
struct Merged {
    outcome: papir_store::Result<UpdateReport>,
    time: Duration,
}

impl Following {
    /// Follows until `stop` is set, until the source ends, or until an error of the source, of the
    /// database or of a merge.
    pub(crate) fn run(
        &self,
        stop: &AtomicBool,
        on_event: &mut dyn FnMut(Event<'_>),
    ) -> papir_store::Result<()> {
        let mut follower = Follower::new(self.options.clone())?;
        let mut merging: Option<Merging> = None;
        let mut last: Option<Instant> = None;
        // Set if the last merge made no new version, and nothing was published since.
        let mut idle = false;
        let mut unfinished = Unfinished::default();

        while !stop.load(Ordering::Relaxed) {
            if merging.as_ref().is_some_and(JoinHandle::is_finished) {
                finish(merging.take(), on_event)?;
            }
            if !self.once && last.is_some_and(|last| last.elapsed() < self.every) {
                thread::sleep(POLL);
                continue;
            }

            let begin = Instant::now();
            let step = match follower.step(&mut Run::new(&mut papir::system_rng(), &NoProgress)) {
                Ok(step) => step,
                // There is no room before a merge, so the next version waits for it.
                Err(error @ Error::DeltaFull { .. }) if self.merge_at.is_some() => {
                    let running = merging.take().unwrap_or_else(|| self.start_merge());
                    let unchanged = finish(Some(running), on_event)? == Some(Way::Unchanged);
                    // A first merge without a new version may have removed an idle delta, and so
                    // made room; a second one in a row has not.
                    if std::mem::replace(&mut idle, unchanged) && unchanged {
                        return Err(error);
                    }
                    continue;
                }
                Err(error) => return Err(error),
            };
            idle = false;

            self.report(&step, on_event)?;
            if let Some(report) = &step.published {
                last = Some(begin);
                on_event(Event::Published(report, begin.elapsed()));
                // One merge at a time: the next version starts it if this one cannot.
                if merging.is_none() && self.is_full(report) {
                    merging = Some(self.start_merge());
                }
            }

            if step.arrived {
                continue;
            }
            // A stream that has not ended may still hold the rest of its last row.
            if follower.has_ended() || (self.once && !follower.is_stream()) {
                if let Some(waiting) = follower.waiting() {
                    on_event(Event::Waiting(waiting));
                }
                break;
            }
            if let Some(waiting) = unfinished.look(follower.waiting(), Instant::now()) {
                on_event(Event::Waiting(waiting));
            }
            thread::sleep(POLL);
        }

        finish(merging, on_event).map(drop)
    }

    /// Reports trouble and skipped rows of a step. If the source is followed once, trouble is an
    /// error.
    fn report(&self, step: &Step, on_event: &mut dyn FnMut(Event<'_>)) -> papir_store::Result<()> {
        if let Some(reason) = &step.trouble {
            if self.once {
                let error = papir_core::Error::Io {
                    what: "following once".to_owned(),
                    source: std::io::Error::other(reason.clone()),
                };
                return Err(error.into());
            }
            on_event(Event::Trouble(reason));
        }

        for row in &step.skipped {
            on_event(Event::Skipped(row));
        }
        Ok(())
    }

    fn is_full(&self, report: &DeltaReport) -> bool {
        self.merge_at.is_some_and(|bytes| report.bytes >= bytes)
    }

    fn start_merge(&self) -> Merging {
        let update = &self.options.update;
        let options = MergeOptions {
            keep: update.keep,
            rates: update.rates.clone(),
            sign: update.sign.clone(),
            ..MergeOptions::new(&update.file)
        };

        thread::spawn(move || {
            let begin = Instant::now();
            let outcome = merge(
                &options,
                &mut Run::new(&mut papir::system_rng(), &NoProgress),
            );
            Merged {
                outcome,
                time: begin.elapsed(),
            }
        })
    }
}

/// Waits for a merge, if one is running. Returns the way in which it made the version.
fn finish(
    merging: Option<Merging>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> papir_store::Result<Option<Way>> {
    let Some(merging) = merging else {
        return Ok(None);
    };

    let Merged { outcome, time } = merging.join().map_err(|_| papir_core::Error::Io {
        what: "merging".to_owned(),
        source: std::io::Error::other("it panicked"),
    })?;
    let report = outcome?;

    on_event(Event::Merged(&report, time));
    Ok(Some(report.way))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_grows_without_end_is_reported_once() {
        let mut unfinished = Unfinished::default();
        let begin = Instant::now();
        let row = |line, bytes| Some(TornRow { line, bytes });

        assert_eq!(unfinished.look(row(3, 5), begin), None);
        assert_eq!(unfinished.look(row(3, 12), begin + QUIET / 2), None);
        assert_eq!(unfinished.look(row(3, 19), begin + QUIET), row(3, 19));
        assert_eq!(unfinished.look(row(3, 26), begin + 2 * QUIET), None);

        // Another row waits from now on, and then none.
        assert_eq!(unfinished.look(row(7, 5), begin + 2 * QUIET), None);
        assert_eq!(unfinished.look(None, begin + 3 * QUIET), None);
        assert_eq!(unfinished.look(None, begin + 4 * QUIET), None);
        assert_eq!(unfinished.look(row(7, 5), begin + 4 * QUIET), None);
        assert_eq!(unfinished.look(row(7, 5), begin + 5 * QUIET), row(7, 5));
    }
}
