//! Starts, reloads and stops a service.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use papir_core::Version;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use crate::Error;
use crate::api::{App, router};
use crate::catalog::Catalog;
use crate::config::ServerConfig;
use crate::connections::{self, Patience};
use crate::database::Database;
use crate::gate::Gate;
use crate::hangup::Hangup;
use crate::identify::RequestIds;
use crate::listen::{Listen, Listener};
use crate::metrics::Metrics;
use crate::protection::Guard;
use crate::psi::Psi;
use crate::registry::{Registry, Worker};
use crate::versions::MAX_PREVIOUS;
use crate::watch::Watch;
use crate::{housekeeping, memory};

/// The way to a running service.
pub struct Server;

/// A service that is listening, with all databases loaded. Dropping it stops it.
pub struct BoundServer {
    app: Arc<App>,
    address: Listen,
    hangup: Hangup,
    watch: Watch,
    stop: watch::Sender<()>,
    accepting: JoinHandle<()>,
    watching: JoinSet<()>,
    /// Prepares tickets as long as the service lives.
    worker: Option<Worker>,
}

/// Replaces databases of a running service.
#[derive(Clone)]
pub struct ReloadHandle {
    app: Arc<App>,
}

/// What became of one database at a reload.
#[derive(Debug)]
pub struct Reloaded {
    /// The database's name.
    pub name: String,
    /// The version that is served from now on, or why the old one stays.
    pub outcome: Result<Version, Error>,
}

impl Server {
    /// Listens, then loads every snapshot. While they load, `/healthz` answers and `/readyz` says 503.
    ///
    /// # Errors
    /// [`Error::NoDatabases`], [`Error::BadName`], [`Error::DuplicateName`], [`Error::Listen`],
    /// [`Error::Threads`], [`Error::Tls`], [`Error::Tokens`], [`Error::Registry`],
    /// [`Error::NeedsRegistry`], [`Error::Load`] (also for schemes that hide nothing, unless allowed).
    pub async fn bind(mut config: ServerConfig) -> Result<BoundServer, Error> {
        let psi = Psi::open(&config)?;
        config.databases.extend(psi.as_ref().and_then(Psi::database));
        config.check_names()?;
        if config.databases.is_empty() && psi.is_none() {
            return Err(Error::NoDatabases);
        }
        let catalog = Catalog::unloaded(&config);
        let bound = BoundServer::listen(&config, catalog, psi).await?;
        for loaded in bound.reload_handle().reload().await? {
            loaded.outcome?;
        }
        Ok(bound)
    }

    /// Listens and serves databases that are in memory; `config.databases` is not looked at, and a
    /// reload leaves them as they are.
    ///
    /// # Errors
    /// As [`Server::bind`].
    pub async fn bind_loaded(config: ServerConfig, databases: Vec<Database>) -> Result<BoundServer, Error> {
        if databases.is_empty() {
            return Err(Error::NoDatabases);
        }
        let catalog = Catalog::of_loaded(databases, &config)?;
        BoundServer::listen(&config, catalog, Psi::open(&config)?).await
    }
}

impl BoundServer {
    async fn listen(config: &ServerConfig, catalog: Catalog, psi: Option<Psi>) -> Result<Self, Error> {
        let registry = config.registry.as_ref().map(Registry::open).transpose()?.map(Arc::new);
        let families = catalog.names().count().saturating_mul(1 + MAX_PREVIOUS);
        let app = Arc::new(App {
            metrics: Metrics::new(catalog.names())?,
            catalog: catalog.taking_clients(registry.is_some())?,
            registry: registry.clone(),
            psi,
            gate: Gate::new(config.threads, (config.max_concurrent, families), config.max_queued)?,
            guard: Guard::new(&config.protection)?,
            body_timeout: config.body_timeout,
            on_query: config.on_query.clone(),
            show_metrics: config.metrics,
            request_ids: RequestIds::default(),
        });
        housekeeping::start(&app);
        let failed = |source| Error::Listen { address: config.listen.clone(), source };
        if matches!((&config.listen, &app.guard.tls), (Listen::Unix(_), Some(_))) {
            return Err(failed(std::io::Error::other("a Unix socket takes no TLS")));
        }
        let listener = Listener::bind(&config.listen).await.map_err(failed)?;
        let address = listener.address().map_err(failed)?;
        let hangup = Hangup::new()?;
        let (stop, stopped) = watch::channel(());
        let patience = Patience { idle: config.protection.header_timeout, sending: config.body_timeout };
        let bounds = (patience, config.protection.max_connections);
        let (tls, routes) = (app.guard.tls.clone(), router(Arc::clone(&app)));
        let accepting = tokio::spawn(connections::serve(listener, tls, routes, bounds, stopped));
        let mut watching = JoinSet::new();
        if let Some(tokens) = &app.guard.tokens {
            watching.spawn(Arc::clone(tokens).watch());
        }
        let watch = Watch::every(config.watch);
        let worker = registry.map(|registry| Worker::start(&app, &registry, config.threads)).transpose()?;
        Ok(Self { app, address, hangup, watch, stop, accepting, watching, worker })
    }

    /// The address and port that it listens on; `None` for a Unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match &self.address {
            Listen::Tcp(address) => Some(*address),
            Listen::Unix(_) => None,
        }
    }

    /// What clients are given: `http://…`, `https://…` or `unix:…`.
    pub fn url(&self) -> String {
        match (&self.address, &self.app.guard.tls) {
            (Listen::Unix(_), _) => self.address.to_string(),
            (_, Some(_)) => format!("https://{}", self.address),
            (_, None) => format!("http://{}", self.address),
        }
    }

    /// A handle that replaces databases.
    pub fn reload_handle(&self) -> ReloadHandle {
        ReloadHandle { app: Arc::clone(&self.app) }
    }

    /// Serves until `shutdown` is done, then takes no new requests and finishes the running ones.
    /// Meanwhile each SIGHUP loads all snapshots again, and with the configuration's `watch` a
    /// snapshot is loaded when it takes another's place.
    ///
    /// A connection that neither ends nor has a request running is given up after the configuration's
    /// `body_timeout`.
    ///
    /// # Errors
    /// [`Error::Io`] when the accepting task ended abnormally.
    pub async fn serve(mut self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let handle = self.reload_handle();
        self.app.report();
        let reload_forever = async {
            loop {
                self.hangup.wait().await;
                tracing::info!("hangup: loading all snapshots again");
                if let Err(error) = handle.reload().await {
                    tracing::error!(%error, "not reloaded");
                }
            }
        };
        tokio::select! {
            () = shutdown => {}
            () = reload_forever => {}
            () = self.watch.run(&self.app) => {}
        }
        drop(self.stop);
        drop(self.watching);
        drop(self.worker);
        finish(&self.app, self.accepting).await
    }
}

/// Waits until all connections are closed, or only idle ones are left for a whole `body_timeout`.
async fn finish(app: &App, mut accepting: JoinHandle<()>) -> Result<(), Error> {
    let patience = app.body_timeout.max(Duration::from_millis(100));
    loop {
        match timeout(patience, &mut accepting).await {
            Ok(ended) => return ended.map_err(|error| abnormal("serving", error)),
            Err(_) if app.gate.is_idle() => {
                tracing::warn!("stopped with connections open that had no request running");
                accepting.abort();
                return Ok(());
            }
            Err(_) => {}
        }
    }
}

impl App {
    /// Tells the operator what each database holds.
    fn report(&self) {
        for name in self.catalog.names() {
            memory::report(&self.catalog, name);
        }
    }
}

impl ReloadHandle {
    /// Reads certificate and tokens again, then loads every snapshot file and the set for private intersection
    /// again, each swapped in at once
    /// when it is whole; running requests finish with what they began with. Where loading fails, the old version stays.
    ///
    /// # Errors
    /// [`Error::Io`] when the loading task ended abnormally.
    pub async fn reload(&self) -> Result<Vec<Reloaded>, Error> {
        let app = Arc::clone(&self.app);
        load_in(&self.app, move |catalog| {
            app.guard.reload();
            let loaded = catalog.load();
            app.psi.iter().for_each(|psi| psi.reload(catalog));
            loaded
        })
        .await
    }

    /// Serves `database` from now on in place of the one of its name.
    ///
    /// # Errors
    /// [`Error::UnknownDatabase`], or [`Error::Load`] for a scheme that hides nothing, unless allowed.
    pub fn replace(&self, database: Database) -> Result<Version, Error> {
        let name = database.name().to_owned();
        let outcome = self.app.catalog.replace(database);
        if !matches!(outcome, Err(Error::UnknownDatabase { .. })) {
            self.app.metrics.loaded(&name, outcome.is_ok());
        }
        outcome
    }
}

/// Loads snapshots on a thread of its own, and counts them.
pub(crate) async fn load_in(
    app: &Arc<App>,
    load: impl FnOnce(&Catalog) -> Vec<Reloaded> + Send + 'static,
) -> Result<Vec<Reloaded>, Error> {
    let app = Arc::clone(app);
    let loading = tokio::task::spawn_blocking(move || {
        let loaded = load(&app.catalog);
        loaded.iter().for_each(|one| app.metrics.loaded(&one.name, one.outcome.is_ok()));
        loaded
    });
    loading.await.map_err(|error| abnormal("loading snapshots", error))
}

fn abnormal(what: &'static str, error: tokio::task::JoinError) -> Error {
    Error::Io { what, source: std::io::Error::other(error) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::DatabaseConfig;

    /// The status, and whether it says when to come again.
    fn status_of(url: String) -> (u16, bool) {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let response = agent.get(url).call().unwrap();
        (response.status().as_u16(), response.headers().contains_key("retry-after"))
    }

    #[tokio::test]
    async fn a_service_is_alive_before_it_is_ready() {
        let config = ServerConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            databases: vec![DatabaseConfig::new("/nowhere/words.papir", None)],
            ..ServerConfig::default()
        };
        let unloaded = Catalog::unloaded(&config);
        let bound = BoundServer::listen(&config, unloaded, None).await.unwrap();
        let url = bound.url();
        for (path, expected) in [
            ("/healthz", 200),
            ("/readyz", 503),
            ("/v1/databases", 503),
            ("/v1/databases/words", 503),
            ("/v1/databases/words/public", 503),
            ("/v1/databases/other", 404),
            ("/metrics", 200),
            ("/openapi.json", 200),
        ] {
            let url = format!("{url}{path}");
            let found = tokio::task::spawn_blocking(move || status_of(url)).await.unwrap();
            assert_eq!(found, (expected, expected == 503), "{path}");
        }
        bound.serve(std::future::ready(())).await.unwrap();
    }
}
