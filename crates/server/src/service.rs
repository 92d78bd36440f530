//! Starts, reloads and stops a service.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use papir_core::Version;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::Error;
use crate::api::{App, router};
use crate::catalog::Catalog;
use crate::config::ServerConfig;
use crate::database::Database;
use crate::gate::Gate;
use crate::hangup::Hangup;

/// The way to a running service.
pub struct Server;

/// A service that is listening, with all databases loaded. Dropping it stops it.
pub struct BoundServer {
    app: Arc<App>,
    address: SocketAddr,
    hangup: Hangup,
    stop: oneshot::Sender<()>,
    accepting: JoinHandle<()>,
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
    /// [`Error::Threads`], [`Error::Load`] (also for schemes that hide nothing, unless allowed).
    pub async fn bind(config: ServerConfig) -> Result<BoundServer, Error> {
        config.check_names()?;
        if config.databases.is_empty() {
            return Err(Error::NoDatabases);
        }
        let catalog = Catalog::unloaded(&config.databases, config.allow_not_private);
        let bound = BoundServer::listen(&config, catalog).await?;
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
        let catalog = Catalog::of_loaded(databases, config.allow_not_private)?;
        BoundServer::listen(&config, catalog).await
    }
}

impl BoundServer {
    async fn listen(config: &ServerConfig, catalog: Catalog) -> Result<Self, Error> {
        let app = Arc::new(App {
            catalog,
            gate: Gate::new(config.threads, config.max_concurrent, config.max_queued)?,
            body_timeout: config.body_timeout,
            on_query: config.on_query.clone(),
        });
        let failed = |source| Error::Listen { address: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let hangup = Hangup::new()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = axum::serve(listener, router(Arc::clone(&app))).with_graceful_shutdown(async {
            // An error says that the sender was dropped, which means the same.
            let _ = stopped.await;
        });
        let accepting = tokio::spawn(async {
            if let Err(error) = serving.await {
                tracing::error!(%error, "stopped accepting");
            }
        });
        Ok(Self { app, address, hangup, stop, accepting })
    }

    /// The address that it listens on.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// A handle that replaces databases.
    pub fn reload_handle(&self) -> ReloadHandle {
        ReloadHandle { app: Arc::clone(&self.app) }
    }

    /// Serves until `shutdown` is done, then takes no new requests and finishes the running ones.
    /// Meanwhile each SIGHUP loads all snapshots again.
    ///
    /// A connection that neither ends nor has a request running is given up after the configuration's
    /// `body_timeout`.
    ///
    /// # Errors
    /// [`Error::Io`] when the accepting task ended abnormally.
    pub async fn serve(mut self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let handle = self.reload_handle();
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
        }
        drop(self.stop);
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

impl ReloadHandle {
    /// Loads every snapshot file again, each swapped in at once when it is whole; running requests
    /// finish with what they began with. Where loading fails, the old version stays.
    ///
    /// # Errors
    /// [`Error::Io`] when the loading task ended abnormally.
    pub async fn reload(&self) -> Result<Vec<Reloaded>, Error> {
        let app = Arc::clone(&self.app);
        let loading = tokio::task::spawn_blocking(move || app.catalog.load());
        loading.await.map_err(|error| abnormal("loading snapshots", error))
    }

    /// Serves `database` from now on in place of the one of its name.
    ///
    /// # Errors
    /// [`Error::UnknownDatabase`], or [`Error::Load`] for a scheme that hides nothing, unless allowed.
    pub fn replace(&self, database: Database) -> Result<Version, Error> {
        self.app.catalog.replace(database)
    }
}

fn abnormal(what: &'static str, error: tokio::task::JoinError) -> Error {
    Error::Io { what, source: std::io::Error::other(error) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::config::DatabaseConfig;

    fn status_of(url: String) -> u16 {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        agent.get(url).call().unwrap().status().as_u16()
    }

    #[tokio::test]
    async fn a_service_is_alive_before_it_is_ready() {
        let config = ServerConfig { listen: "127.0.0.1:0".parse().unwrap(), ..ServerConfig::default() };
        let unloaded = Catalog::unloaded(&[DatabaseConfig::new("/nowhere/words.papir", None)], false);
        let bound = BoundServer::listen(&config, unloaded).await.unwrap();
        let address = bound.local_addr();
        for (path, expected) in [
            ("/healthz", 200),
            ("/readyz", 503),
            ("/v1/databases", 503),
            ("/v1/databases/words", 503),
            ("/v1/databases/words/public", 503),
            ("/v1/databases/other", 404),
        ] {
            let url = format!("http://{address}{path}");
            let status = tokio::task::spawn_blocking(move || status_of(url)).await.unwrap();
            assert_eq!(status, expected, "{path}");
        }
        bound.serve(std::future::ready(())).await.unwrap();
    }
}
