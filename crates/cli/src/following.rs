//! Follows a source of changes: at most one version per interval, and merges in the background.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use papir_core::NoProgress;
use papir_store::{
    DeltaReport, Error, FollowOptions, Follower, MergeOptions, SkippedRow, Step, UpdateReport, Way,
    merge,
};

/// Pause between two looks at the source.
const POLL: Duration = Duration::from_millis(20);

/// Something that happened while a source was followed.
pub(crate) enum Event<'a> {
    /// A version was published, in this time.
    Published(&'a DeltaReport, Duration),
    /// A row was left out.
    Skipped(&'a SkippedRow),
    /// The delta was merged, in this time.
    Merged(&'a UpdateReport, Duration),
    /// The source could not be read, and is tried again.
    Trouble(&'a str),
}

/// Options of following a source.
pub(crate) struct Following {
    pub(crate) options: FollowOptions,
    /// Shortest time from one version to the next.
    pub(crate) every: Duration,
    /// The bytes of changes from which the delta is merged; `None` never merges.
    pub(crate) merge_at: Option<u64>,
    /// Ends once everything that is there has been published.
    pub(crate) once: bool,
}

type Merging = JoinHandle<(papir_store::Result<UpdateReport>, Duration)>;

impl Following {
    /// Follows until `stop` is set, until the source ends, or until an error.
    ///
    /// # Errors
    /// Errors of the source, of the database and of a merge.
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
        while !stop.load(Ordering::Relaxed) {
            if merging.as_ref().is_some_and(JoinHandle::is_finished) {
                finish(merging.take(), on_event)?;
            }
            if !self.once && last.is_some_and(|last| last.elapsed() < self.every) {
                thread::sleep(POLL);
                continue;
            }
            let begin = Instant::now();
            match follower.step(&mut papir::system_rng(), &NoProgress) {
                Ok(Step {
                    published,
                    skipped,
                    arrived,
                    trouble,
                }) => {
                    idle = false;
                    if let Some(reason) = trouble {
                        if self.once {
                            let source = std::io::Error::other(reason);
                            return Err(papir_core::Error::Io {
                                what: "following once".to_owned(),
                                source,
                            }
                            .into());
                        }
                        on_event(Event::Trouble(&reason));
                    }
                    skipped.iter().for_each(|row| on_event(Event::Skipped(row)));
                    if let Some(report) = &published {
                        last = Some(begin);
                        on_event(Event::Published(report, begin.elapsed()));
                        if merging.is_none() && self.is_full(report) {
                            merging = Some(self.start_merge());
                        }
                    }
                    if !arrived && (self.once || follower.has_ended()) {
                        break;
                    }
                    if !arrived {
                        thread::sleep(POLL);
                    }
                }
                // There is no room before a merge, so the next version waits for it.
                Err(error @ Error::DeltaFull { .. }) if self.merge_at.is_some() => {
                    let running = merging.take().unwrap_or_else(|| self.start_merge());
                    let unchanged = finish(Some(running), on_event)? == Some(Way::Unchanged);
                    // A first merge without a new version may have removed an idle delta, and so made room; a second one
                    // in a row has not.
                    if std::mem::replace(&mut idle, unchanged) && unchanged {
                        return Err(error);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        finish(merging, on_event).map(drop)
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
            (
                merge(&options, &mut papir::system_rng(), &NoProgress),
                begin.elapsed(),
            )
        })
    }
}

/// Waits for a merge, if one is running. Returns what it did.
fn finish(
    merging: Option<Merging>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> papir_store::Result<Option<Way>> {
    let Some(merging) = merging else {
        return Ok(None);
    };
    let (merged, time) = merging.join().map_err(|_| {
        let source = std::io::Error::other("it panicked");
        papir_core::Error::Io {
            what: "merging".to_owned(),
            source,
        }
    })?;
    let merged = merged?;
    on_event(Event::Merged(&merged, time));
    Ok(Some(merged.way))
}
