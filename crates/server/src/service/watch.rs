//! Loads snapshot files that have been replaced.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

use super::app::App;
use super::reload::{Loads, load_with};
use crate::background::unless_cancelled;
use crate::catalog::{Files, Identity};
use crate::psi::Psi;

/// Shortest interval between two checks.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// Checks the snapshot files periodically.
///
/// A changed snapshot is loaded when two consecutive checks find it in the same state, or find two
/// files that were renamed to its name: a file that is still being written is not loaded. A changed
/// delta is loaded at the second check, even if it changes again and again. A file that fails to
/// load is tried once, and logged.
pub(crate) struct Watch {
    interval: Option<Duration>,
    changed: Vec<(String, Files)>,
    /// The changed set for private intersection at the last check.
    changed_set: Option<Option<Identity>>,
}

impl Watch {
    /// Checks at this interval; never if `None`.
    pub(crate) fn every(interval: Option<Duration>) -> Self {
        let interval = interval.map(|interval| interval.max(MIN_INTERVAL));
        Self {
            interval,
            changed: Vec::new(),
            changed_set: None,
        }
    }

    /// Runs the checks. Never completes.
    pub(crate) async fn run(&mut self, app: &Arc<App>) {
        let Some(every) = self.interval else {
            return std::future::pending().await;
        };

        // Apart from the checks of files: a slow store must not hold them up.
        tokio::select! {
            () = poll_stores(app, every) => {}
            () = self.check_files(app, every) => {}
        }
    }

    async fn check_files(&mut self, app: &Arc<App>, every: Duration) {
        let mut ticks = ticks(every);
        loop {
            ticks.tick().await;
            self.check(app).await;
        }
    }

    /// Checks once, and loads the files that have settled.
    async fn check(&mut self, app: &Arc<App>) {
        let checked = Arc::clone(app);
        let checking = tokio::task::spawn_blocking(move || {
            let changed = checked.catalog.changed();
            let changed_set = checked.psi.as_ref().and_then(Psi::changed);
            (changed, changed_set)
        });
        let Some(checked) = unless_cancelled(checking.await) else {
            return std::future::pending().await;
        };
        let (changed, changed_set) = checked.unwrap_or_else(|error| {
            tracing::error!(%error, "snapshots not checked");
            Default::default()
        });

        let names = self.settled(changed);
        let before = std::mem::replace(&mut self.changed_set, changed_set);
        // A set is loaded together with its database, and after it.
        let set = self.changed_set.is_some() && (before == self.changed_set || !names.is_empty());
        if names.is_empty() && !set {
            return;
        }

        tracing::info!(?names, set, "snapshots changed: loading them");
        let loading = Arc::clone(app);
        let loaded = load_with(app, move |catalog| {
            let databases = catalog.load_named(&names);
            let psi = loading.psi.as_ref().filter(|_| set);
            Loads {
                databases,
                set: psi.map(|psi| psi.reload(catalog)),
            }
        });

        if let Err(error) = loaded.await
            && !error.is_cancelled()
        {
            tracing::error!(%error, "not loaded");
        }
    }

    /// The names whose files had changed at the last check as well, and are not being written.
    fn settled(&mut self, changed: Vec<(String, Files)>) -> Vec<String> {
        let before: BTreeMap<String, Files> = std::mem::replace(&mut self.changed, changed)
            .into_iter()
            .collect();

        let mut names = Vec::new();
        for (name, files) in &self.changed {
            if before.get(name).is_some_and(|before| files.are_settled(before)) {
                names.push(name.clone());
            }
        }
        names
    }
}

/// Polls the stores of remote snapshots periodically. Never completes.
async fn poll_stores(app: &Arc<App>, every: Duration) {
    let mut ticks = ticks(every);
    loop {
        ticks.tick().await;
        let polled = Arc::clone(app);
        let polling = tokio::task::spawn_blocking(move || {
            for (name, reached) in polled.catalog.poll() {
                polled.metrics.polled(name, reached);
            }
        });

        let Some(ended) = unless_cancelled(polling.await) else {
            return std::future::pending().await;
        };
        if let Err(error) = ended {
            tracing::error!(%error, "stores not polled");
        }
    }
}

fn ticks(every: Duration) -> Interval {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_settles_at_the_second_check() {
        let mut watch = Watch::every(None);
        let [words, gone] = ["Cargo.toml", "no such file"].map(|file| {
            (
                "words".to_owned(),
                Files {
                    snapshot: Identity::of(file.as_ref()),
                    delta: None,
                },
            )
        });

        assert!(watch.settled(vec![words.clone()]).is_empty());
        assert!(
            watch.settled(vec![gone.clone()]).is_empty(),
            "a different file again"
        );

        assert_eq!(watch.settled(vec![gone]), ["words"]);
        assert!(watch.settled(vec![]).is_empty());
        assert!(watch.settled(vec![words]).is_empty());
    }

    #[test]
    fn a_delta_that_is_published_at_every_check_is_loaded() {
        let mut watch = Watch::every(None);
        let snapshot = Identity::of("Cargo.toml".as_ref());
        let deltas = ["src/lib.rs", "src/error.rs", "src/server.rs"];
        let [first, second, third] = deltas.map(|delta| {
            let delta = Identity::of(delta.as_ref());
            vec![("words".to_owned(), Files { snapshot, delta })]
        });

        assert!(watch.settled(first).is_empty());
        assert_eq!(watch.settled(second), ["words"]);
        assert_eq!(watch.settled(third), ["words"]);
    }
}
