//! One database of the catalog: its versions and files.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use papir_core::Version;
use papir_store::delta_file;

use super::database::Database;
use super::identity::{Files, Identity};
use super::memory;
use super::pending_load::PendingLoads;
use super::unverified::Unverified;
use super::versions::{VersionView, Versions};
use crate::error::Error;

/// The database served under one name.
pub(super) struct DatabaseSlot {
    /// The snapshot file; `None` for a database in memory.
    pub(super) path: Option<PathBuf>,
    versions: RwLock<Versions>,
    /// See [`Self::body_limit`]. Noted at each change of the versions: sealed requests to any
    /// database ask all of them.
    body_limit: AtomicUsize,
    /// The files at the last load, successful or not.
    seen: Mutex<Files>,
    /// The snapshot that was taken out because it is damaged.
    damaged: Mutex<Option<Identity>>,
    /// Held while this database is loaded, so that an older load never overtakes a newer one.
    /// Lookups do not take it, nor do other databases.
    loading: Mutex<()>,
    /// The loads of the file that wait or run.
    pub(super) loads: PendingLoads,
}

impl DatabaseSlot {
    /// A place with these versions, of which no file was seen.
    pub(super) fn new(path: Option<PathBuf>, versions: Versions) -> Self {
        let loads = match path {
            Some(_) => PendingLoads::unread(),
            None => PendingLoads::default(),
        };
        Self {
            path,
            loads,
            body_limit: versions.body_limit().into(),
            versions: RwLock::new(versions),
            seen: Mutex::default(),
            damaged: Mutex::default(),
            loading: Mutex::default(),
        }
    }

    /// Waits for a running load of this database, and keeps others out until the result is dropped.
    pub(super) fn lock(&self) -> MutexGuard<'_, ()> {
        self.loading.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest version; `None` if none is loaded.
    pub(super) fn newest(&self) -> Option<Arc<Database>> {
        self.versions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .newest()
    }

    /// All answered versions, newest first.
    pub(super) fn views(&self) -> Vec<VersionView> {
        self.versions
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .views(Instant::now())
    }

    /// Length in bytes of the largest body of queries to one of the versions; 0 without any.
    pub(super) fn body_limit(&self) -> usize {
        self.body_limit.load(Ordering::Relaxed)
    }

    /// Changes the versions. Returns those that are gone, which the caller drops outside the lock:
    /// unmapping a large file takes time.
    fn change<T>(&self, change: impl FnOnce(&mut Versions) -> T) -> T {
        let mut versions = self
            .versions
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let gone = change(&mut versions);
        self.body_limit
            .store(versions.body_limit(), Ordering::Relaxed);
        gone
    }

    /// Serves a database that was opened. Returns its version, and the time since the first change
    /// of a new delta arrived.
    pub(super) fn put(
        &self,
        name: &str,
        opened: Result<Database, Error>,
    ) -> (Result<Version, Error>, Option<Duration>) {
        // Read before the swap: a delta that is served already has not waited.
        let before = self.newest().map(|newest| newest.version());
        let database = match opened {
            Ok(database) => database,
            Err(error) => return (Err(error), None),
        };

        let arrived = database
            .delta()
            .filter(|delta| Some(delta.version) != before);
        let waited = arrived.and_then(|delta| delta.arrived).map(since);

        let version = self.swap(database);
        tracing::info!(database = name, %version, "loaded");
        memory::report(name, &self.views());
        (Ok(version), waited)
    }

    /// Makes a database the newest version. Returns its number.
    pub(super) fn swap(&self, database: Database) -> Version {
        let version = database.version();
        self.change(|versions| versions.put(database, Instant::now()));
        version
    }

    /// Adds an earlier version. Returns its number, or `None` if it is not to be answered.
    pub(super) fn restore(&self, database: Database, since: SystemTime) -> Option<Version> {
        let version = database.version();
        let surplus = self.change(|versions| versions.restore(database, since, Instant::now()));
        surplus.is_none().then_some(version)
    }

    /// Drops old versions that have expired.
    pub(super) fn expire(&self, name: &str) {
        for database in self.change(|versions| versions.expire(Instant::now())) {
            tracing::info!(database = name, version = %database.version(), "old version dropped");
        }
    }

    /// Takes out all versions of a damaged snapshot.
    pub(super) fn retract(&self, damaged: &Unverified) {
        let gone = self.change(|versions| {
            versions.retract(|database| damaged.is(database.base()), Instant::now())
        });

        // Recorded before the file is loaded again, which then verifies all of it.
        let identity = gone
            .iter()
            .find(|old| damaged.is(old.base()))
            .and_then(|old| old.base().identity);
        *self.damaged.lock().unwrap_or_else(PoisonError::into_inner) = identity;

        // The delta of the version that is now the newest has another name, and is no change. A
        // snapshot that has replaced the damaged one meanwhile still is.
        if let Some(path) = &self.path {
            self.see(Files {
                snapshot: self.seen().snapshot,
                ..self.files(path)
            });
        }
    }

    /// The snapshot that was taken out because it is damaged.
    pub(super) fn damaged(&self) -> Option<Identity> {
        *self.damaged.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The files as they are now.
    pub(super) fn files(&self, path: &Path) -> Files {
        let delta = self
            .newest()
            .and_then(|newest| delta_file(path, newest.base_version()).ok());
        Files {
            snapshot: Identity::of(path),
            delta: delta.and_then(|delta| Identity::of(&delta)),
        }
    }

    /// The files at the last load, successful or not.
    pub(super) fn seen(&self) -> Files {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the files of a load.
    pub(super) fn see(&self, files: Files) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = files;
    }
}

/// The time since a moment in milliseconds since 1970; zero if it is in the future by this clock.
fn since(milliseconds: u64) -> Duration {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    now.saturating_sub(Duration::from_millis(milliseconds))
}
