//! Reload of snapshots, on request and on SIGHUP.

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use papir_core::Version;

use super::app::App;
use crate::catalog::{Catalog, Database, Reloaded, Unverified};
use crate::error::Error;

/// Replaces databases of a running service.
#[derive(Clone)]
pub struct ReloadHandle {
    app: Arc<App>,
}

impl ReloadHandle {
    pub(crate) fn new(app: &Arc<App>) -> Self {
        Self {
            app: Arc::clone(app),
        }
    }

    /// Reads the certificate, tokens, gateway keys and the keys of the issuer again, then all
    /// snapshot files and the set for private intersection. Each is swapped in once it is loaded.
    /// Running requests finish with the version they started with. If loading fails, the old
    /// version stays.
    ///
    /// # Errors
    /// [`Error::Io`] if the loading task ended abnormally.
    pub async fn reload(&self) -> Result<Vec<Reloaded>, Error> {
        let app = Arc::clone(&self.app);
        load_with(&self.app, move |catalog| {
            reload_secrets(&app);
            let databases = catalog.load();
            // The set after its database: it is served only if their versions agree.
            Loads {
                databases,
                set: app.psi.as_ref().map(|psi| psi.reload(catalog)),
            }
        })
        .await
    }

    /// Reads the certificate, tokens, gateway keys and the keys of the issuer again.
    pub(crate) async fn reload_secrets(&self) -> Result<(), Error> {
        let app = Arc::clone(&self.app);
        tokio::task::spawn_blocking(move || reload_secrets(&app))
            .await
            .map_err(|error| abnormal("reading certificates and tokens", error))
    }

    /// Loads all snapshot files and the set for private intersection, like
    /// [`ReloadHandle::reload`], except the ones that are being loaded: they are loaded again at
    /// the end of these loads, for which this call does not wait.
    pub(crate) async fn reload_idle(&self) -> Result<Vec<Reloaded>, Error> {
        let app = Arc::clone(&self.app);
        load_with(&self.app, move |catalog| {
            let databases = catalog.load_idle();
            // The set after its database, by whoever loads that.
            let psi = app.psi.as_ref().filter(|psi| {
                let has_loaded = databases.iter().any(|one| one.name == psi.name());
                has_loaded || psi.database().is_none()
            });
            let set = psi.map(|psi| psi.reload(catalog));
            Loads { databases, set }
        })
        .await
    }

    /// Loads the snapshot with this name, or its delta if that alone has changed.
    ///
    /// # Errors
    /// [`Error::Io`] if the loading task ended abnormally.
    pub async fn load(&self, name: &str) -> Result<Vec<Reloaded>, Error> {
        let name = name.to_owned();
        load_with(&self.app, move |catalog| Loads {
            databases: catalog.load_named(&[name]),
            set: None,
        })
        .await
    }

    /// Serves the delta that is now beside `file`, of the snapshot that is served under this name,
    /// for a database that the program replaces. Returns nothing if there is no delta, or if it was
    /// loaded before.
    ///
    /// # Errors
    /// [`Error::Io`] if the loading task ended abnormally.
    pub async fn load_delta(&self, name: &str, file: &Path) -> Result<Vec<Reloaded>, Error> {
        let name = name.to_owned();
        let file = file.to_owned();
        load_with(&self.app, move |catalog| Loads {
            databases: catalog.load_delta(&name, &file).into_iter().collect(),
            set: None,
        })
        .await
    }

    /// Reports that the database gets no new versions any more, as a failed load does.
    pub fn failed(&self, name: &str) {
        self.app.metrics.load_failing(name, true);
    }

    /// Serves `database` in place of the database with the same name.
    ///
    /// # Errors
    /// [`Error::UnknownDatabase`], [`Error::NeedsRegistry`], or [`Error::Load`] for a scheme
    /// without privacy unless it is allowed.
    pub fn replace(&self, database: Database) -> Result<Version, Error> {
        let name = database.name().to_owned();
        let outcome = self.app.catalog.replace(database);

        // Only names that the catalog knows may appear in metrics.
        if !matches!(outcome, Err(Error::UnknownDatabase { .. })) {
            self.app.metrics.loaded(&name, outcome.is_ok());
        }
        outcome
    }
}

/// Reads the certificate, tokens, gateway keys and the keys of the issuer again.
fn reload_secrets(app: &App) {
    app.guard.reload();
    app.gateway.iter().for_each(|gateway| gateway.reload());
    app.passes.iter().for_each(|passes| passes.reload());
}

/// Waits for SIGHUP. Never completes on systems without it.
pub(crate) struct Hangup {
    #[cfg(unix)]
    signal: tokio::signal::unix::Signal,
}

impl Hangup {
    /// Installs the handler. From then on SIGHUP no longer terminates the process.
    pub(crate) fn new() -> Result<Self, Error> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};

            let signal = signal(SignalKind::hangup()).map_err(|source| Error::Io {
                what: "watching for SIGHUP",
                source,
            })?;
            Ok(Self { signal })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    /// Waits for the next SIGHUP. Signals that arrive between two calls count once.
    pub(crate) async fn wait(&mut self) {
        #[cfg(unix)]
        if self.signal.recv().await.is_some() {
            return;
        }
        std::future::pending().await
    }
}

/// Outcomes of a load.
pub(super) struct Loads {
    pub(super) databases: Vec<Reloaded>,
    /// True if the set for private intersection was loaded; `None` if it was not read.
    pub(super) set: Option<bool>,
}

/// Loads snapshots on a blocking thread and counts them.
pub(super) async fn load_with(
    app: &Arc<App>,
    load: impl FnOnce(&Catalog) -> Loads + Send + 'static,
) -> Result<Vec<Reloaded>, Error> {
    let app = Arc::clone(app);
    let loading = tokio::task::spawn_blocking(move || {
        let loads = load(&app.catalog);
        count_databases(&app, &loads);
        verify_later(&app);
        count_set(&app, &loads);
        loads.databases
    });

    loading
        .await
        .map_err(|error| abnormal("loading snapshots", error))
}

/// Counts the databases that were loaded.
fn count_databases(app: &App, loads: &Loads) {
    for one in &loads.databases {
        app.metrics.loaded(&one.name, one.outcome.is_ok());
        if let Some(waited) = one.waited {
            app.metrics.changed(&one.name, waited);
        }
        // A copy from earlier is loaded, too, when the store cannot be reached.
        if one.outcome.is_ok() {
            app.metrics.polled(&one.name, one.unreachable.is_none());
        }
    }
}

/// Counts the set for private intersection, if it was read.
fn count_set(app: &App, loads: &Loads) {
    let (Some(psi), Some(loaded)) = (&app.psi, loads.set) else {
        return;
    };

    // The set has the name of its database, which fails as long as either of them does.
    let failed = loads
        .databases
        .iter()
        .any(|one| one.name == psi.name() && one.outcome.is_err());
    app.metrics.loaded(psi.name(), loaded && !failed);
}

/// Verifies the snapshots that were opened without verification, on a thread of its own.
fn verify_later(app: &Arc<App>) {
    let unverified = app.catalog.take_unverified();
    if unverified.is_empty() {
        return;
    }

    // A weak reference: the task must not keep the service alive.
    let app = Arc::downgrade(app);
    tokio::task::spawn_blocking(move || verify_all(&app, unverified));
}

/// Verifies snapshots one after the other, and takes out the damaged ones.
fn verify_all(app: &Weak<App>, unverified: Vec<Unverified>) {
    for one in unverified {
        match one.verify(&|| goes_on(app)) {
            Ok(true) => tracing::info!(database = one.name, "snapshot verified"),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(database = one.name, %error, "snapshot damaged: no longer served");
                let Some(app) = app.upgrade() else { return };
                app.catalog.retract(&one);
                app.metrics.load_failing(&one.name, true);
            }
        }
    }
}

/// Returns whether a service exists and is not about to stop.
fn goes_on(app: &Weak<App>) -> bool {
    app.upgrade()
        .is_some_and(|app| !app.stopping.load(Ordering::Relaxed))
}

/// The error for a task that panicked or was cancelled.
pub(crate) fn abnormal(what: &'static str, error: tokio::task::JoinError) -> Error {
    Error::Io {
        what,
        source: std::io::Error::other(error),
    }
}
