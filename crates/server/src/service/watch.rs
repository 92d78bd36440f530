//! Loads snapshot files that have been replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::app::App;
use super::reload::{Loads, load_with};
use crate::background::unless_cancelled;
use crate::catalog::{Files, Identity, LOADS_AT_ONCE};
use crate::error::Error;
use crate::psi::Psi;

/// Shortest interval between two checks.
const MIN_INTERVAL: Duration = Duration::from_millis(10);

/// Checks the snapshot files periodically.
///
/// A changed snapshot is loaded when two consecutive checks find it in the same state, or find two
/// files that were renamed to its name: a file that is still being written is not loaded. A changed
/// delta is loaded at the second check, even if it changes again and again. A file that fails to
/// load is tried once, and logged.
///
/// One task checks the files of all databases. The checks go on during loads, also during the first
/// ones: a file on a disk that hangs holds up no other.
pub(crate) struct Watch {
    interval: Option<Duration>,
    changed: Vec<(String, Files)>,
    /// The changed set for private intersection at the last check.
    changed_set: Option<Option<Identity>>,
    /// The loads that wait or run.
    loads: JoinSet<()>,
    /// The databases of these loads.
    loading: Arc<Mutex<BTreeSet<String>>>,
    /// Turns of loads.
    turns: Arc<Semaphore>,
}

/// The files that one load reads.
struct WantedLoad {
    name: String,
    /// Set if the database of this name is read.
    database: bool,
    /// Set if the set for private intersection is read, which has the name of its database.
    set: bool,
}

/// A database that waits for its load or is loaded, until dropped.
struct LoadingName {
    name: String,
    loading: Arc<Mutex<BTreeSet<String>>>,
}

impl LoadingName {
    /// Notes a load of this database.
    fn new(name: &str, loading: &Arc<Mutex<BTreeSet<String>>>) -> Self {
        let mut names = loading.lock().unwrap_or_else(PoisonError::into_inner);
        names.insert(name.to_owned());
        Self {
            name: name.to_owned(),
            loading: Arc::clone(loading),
        }
    }
}

impl Drop for LoadingName {
    fn drop(&mut self) {
        let mut names = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        names.remove(&self.name);
    }
}

impl Watch {
    /// Checks at this interval; never if `None`.
    pub(crate) fn every(interval: Option<Duration>) -> Self {
        let interval = interval.map(|interval| interval.max(MIN_INTERVAL));
        Self {
            interval,
            changed: Vec::new(),
            changed_set: None,
            loads: JoinSet::new(),
            loading: Arc::default(),
            turns: Arc::new(Semaphore::new(LOADS_AT_ONCE)),
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

    /// Checks once, and begins to load the files that have settled. Leaves out the databases that
    /// are being loaded: a later check finds those that have changed since.
    async fn check(&mut self, app: &Arc<App>) {
        // Before the files are looked at: a load that ends meanwhile has read what is seen there.
        let mut loading = self.loading();
        loading.extend(app.catalog.loading().map(str::to_owned));
        let checked = Arc::clone(app);
        let checking = tokio::task::spawn_blocking(move || {
            let mut changed = checked.catalog.changed();
            changed.retain(|(name, _)| !loading.contains(name));

            let psi = checked.psi.as_ref();
            let idle = psi.filter(|psi| !loading.contains(psi.name()));
            (changed, idle.and_then(Psi::changed))
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
        let set = app.psi.as_ref().filter(|_| set).map(Psi::name);
        self.begin_loads(app, names, set);
    }

    /// The databases that wait for their loads or are loaded by these checks.
    fn loading(&self) -> BTreeSet<String> {
        let names = self.loading.lock().unwrap_or_else(PoisonError::into_inner);
        names.clone()
    }

    /// Begins to load these databases and, if it is named, the set for private intersection.
    fn begin_loads(&mut self, app: &Arc<App>, names: Vec<String>, set: Option<&str>) {
        // Their outcomes are logged where they end.
        while self.loads.try_join_next().is_some() {}

        let mut with_set = set.map(|name| WantedLoad {
            name: name.to_owned(),
            database: false,
            set: true,
        });
        for name in names {
            match &mut with_set {
                Some(wanted) if wanted.name == name => wanted.database = true,
                _ => self.begin_load(
                    app,
                    WantedLoad {
                        name,
                        database: true,
                        set: false,
                    },
                ),
            }
        }
        if let Some(wanted) = with_set {
            self.begin_load(app, wanted);
        }
    }

    /// Begins one load, in its turn.
    fn begin_load(&mut self, app: &Arc<App>, wanted: WantedLoad) {
        let noted = LoadingName::new(&wanted.name, &self.loading);
        let turns = Arc::clone(&self.turns);
        let app = Arc::clone(app);

        self.loads.spawn(async move {
            let _noted = noted;
            // Never closed.
            let Ok(_turn) = turns.acquire_owned().await else {
                return;
            };
            if let Err(error) = load(&app, wanted).await
                && !error.is_cancelled()
            {
                tracing::error!(%error, "not loaded");
            }
        });
    }

    /// The names whose files had changed at the last check as well, and are not being written.
    fn settled(&mut self, changed: Vec<(String, Files)>) -> Vec<String> {
        let before: BTreeMap<String, Files> = std::mem::replace(&mut self.changed, changed)
            .into_iter()
            .collect();

        let mut names = Vec::new();
        for (name, files) in &self.changed {
            if before
                .get(name)
                .is_some_and(|before| files.are_settled(before))
            {
                names.push(name.clone());
            }
        }
        names
    }
}

/// Loads a database, the set of its name, or both.
async fn load(app: &Arc<App>, wanted: WantedLoad) -> Result<(), Error> {
    let loading = Arc::clone(app);
    let loaded = load_with(app, move |catalog| {
        let WantedLoad {
            name,
            database,
            set,
        } = wanted;
        let databases = match database {
            true => catalog.load_named(&[name]),
            false => Vec::new(),
        };

        let psi = loading.psi.as_ref().filter(|_| set);
        Loads {
            databases,
            set: psi.map(|psi| psi.reload(catalog)),
        }
    });
    loaded.await.map(drop)
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

    #[test]
    fn a_database_counts_as_loading_until_its_load_ends() {
        let watch = Watch::every(None);
        let words = LoadingName::new("words", &watch.loading);
        let other = LoadingName::new("other", &watch.loading);
        assert!(watch.loading().contains("words"));

        drop(words);
        assert_eq!(watch.loading(), BTreeSet::from(["other".to_owned()]));
        drop(other);
        assert!(watch.loading().is_empty());
    }
}
