//! A server: the service, its HTTP interface and its listener.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use crate::admission::Ongoing;
use crate::catalog::{Catalog, Database, Reloaded};
use crate::clients::Worker;
use crate::error::Error;
use crate::http::{Http, router};
use crate::listen::{self, Listen, Listener, Timeouts};
use crate::psi::Psi;
use crate::service::{
    App, Hangup, ReloadHandle, Running, ServerConfig, State, StateObserver, Watch, abnormal,
};

/// Starts servers.
pub struct Server;

/// A listening server with all databases loaded. Stops when dropped.
pub struct BoundServer {
    app: Arc<App>,
    address: Listen,
    hangup: Hangup,
    /// The loads on SIGHUP that run.
    reloads: JoinSet<()>,
    watch: Watch,
    /// Dropped to stop accepting connections.
    stop: watch::Sender<()>,
    accepting: JoinHandle<()>,
    /// The requests whose responses have not been sent whole.
    requests: Ongoing,
    watching: JoinSet<()>,
    /// Prepares tickets until dropped.
    worker: Option<Worker>,
    times: StopTimes,
    on_state: Option<StateObserver>,
}

/// Times of the stop.
#[derive(Clone, Copy)]
struct StopTimes {
    lame_duck: Duration,
    stop_timeout: Duration,
}

impl Server {
    /// Listens, then loads all snapshots. Meanwhile `/healthz` responds, `/readyz` returns 503, the
    /// databases that are loaded are served, and their files are loaded again when they change, or
    /// on SIGHUP, as later. If a store cannot be reached, the last copy of its snapshot is served.
    /// Without a copy, and if `watch` is configured, the service is not ready until the store can
    /// be reached.
    ///
    /// # Errors
    /// [`Error::NoDatabases`], [`Error::BadName`], [`Error::DuplicateName`], [`Error::Listen`],
    /// [`Error::Threads`], [`Error::TooManyThreads`], [`Error::Tls`], [`Error::Tokens`],
    /// [`Error::GatewayKeys`], [`Error::Registry`], [`Error::NeedsRegistry`], and [`Error::Load`],
    /// also for schemes without privacy unless they are allowed.
    pub async fn bind(mut config: ServerConfig) -> Result<BoundServer, Error> {
        // Before the set is opened, which starts threads.
        config.check_numbers()?;
        let psi = open_psi(&config)?;
        config
            .databases
            .extend(psi.as_ref().and_then(Psi::database));
        config.check_names()?;
        if config.databases.is_empty() && psi.is_none() {
            return Err(Error::NoDatabases);
        }

        // Listens first: loading may take long, and `/healthz` responds meanwhile.
        let catalog = Catalog::unloaded(&config.databases, config.catalog_options());
        let mut bound = BoundServer::listen(&config, catalog, psi).await?;

        for loaded in bound.first_load().await? {
            let is_served = bound.app.catalog.get(&loaded.name).is_ok();
            match loaded.outcome {
                // Another file has taken the place of this one since.
                Err(error) if is_served => {
                    tracing::warn!(database = loaded.name, %error, "not loaded at first");
                }
                // The watch tries again. Until then, `/readyz` returns 503.
                Err(error) if config.watch.is_some() && error.is_temporary() => {
                    tracing::error!(database = loaded.name, %error, "not loaded, and tried again");
                }
                outcome => drop(outcome?),
            }
        }
        Ok(bound)
    }

    /// Listens and serves databases that are in memory. Ignores `config.databases`; a reload does
    /// not affect the databases.
    ///
    /// # Errors
    /// See [`Server::bind`].
    pub async fn bind_loaded(
        config: ServerConfig,
        databases: Vec<Database>,
    ) -> Result<BoundServer, Error> {
        config.check_numbers()?;
        if databases.is_empty() {
            return Err(Error::NoDatabases);
        }
        let catalog = Catalog::of_loaded(databases, config.catalog_options())?;
        BoundServer::listen(&config, catalog, open_psi(&config)?).await
    }
}

/// Opens the set for private intersection; `None` if none is configured.
fn open_psi(config: &ServerConfig) -> Result<Option<Psi>, Error> {
    let Some(path) = &config.psi else {
        return Ok(None);
    };
    Psi::open(
        path,
        config.threads,
        config.max_concurrent,
        config.max_queued,
    )
    .map(Some)
}

impl BoundServer {
    /// Listens and serves, while the databases may still be loading.
    async fn listen(
        config: &ServerConfig,
        catalog: Catalog,
        psi: Option<Psi>,
    ) -> Result<Self, Error> {
        let Running {
            app,
            watching,
            worker,
        } = Running::start(config, catalog, psi)?;

        let tls = app.guard.tls.clone();
        let listener = listener_at(&config.listen, tls.is_some())
            .await
            .map_err(|source| not_listening(&config.listen, source))?;
        let address = listener
            .address()
            .map_err(|source| not_listening(&config.listen, source))?;
        // Before the service is announced: without a handler, SIGHUP would end the process.
        let hangup = Hangup::new()?;

        let (stop, stopped) = watch::channel(());
        let timeouts = Timeouts {
            idle: config.protection.header_timeout,
            sending: config.body_timeout,
        };
        let http = Http::new(router(&app), timeouts);
        let requests = http.ongoing();
        let most = config.protection.max_connections;
        let accepting = tokio::spawn(listen::serve(listener, tls, http, timeouts, most, stopped));

        Ok(Self {
            app,
            address,
            hangup,
            reloads: JoinSet::new(),
            watch: Watch::every(config.watch),
            stop,
            accepting,
            requests,
            watching,
            worker,
            times: StopTimes {
                lame_duck: config.lame_duck,
                stop_timeout: config.stop_timeout,
            },
            on_state: config.on_state.clone(),
        })
    }

    /// Loads all databases. Meanwhile those that are loaded are loaded again when their files
    /// change, or on SIGHUP: one whose storage hangs holds up no other.
    async fn first_load(&mut self) -> Result<Vec<Reloaded>, Error> {
        let handle = self.reload_handle();

        // Only the load completes. The observer is told nothing before the service is ready.
        tokio::select! {
            loaded = handle.reload() => loaded,
            () = reload_on_hangup(&mut self.hangup, &mut self.reloads, &handle, None) => {
                Ok(Vec::new())
            }
            () = self.watch.run(&self.app) => Ok(Vec::new()),
        }
    }

    /// The bound address and port; `None` for a Unix socket.
    pub fn local_addr(&self) -> Option<SocketAddr> {
        match &self.address {
            Listen::Tcp(address) => Some(*address),
            Listen::Unix(_) => None,
        }
    }

    /// The URL for clients: `http://…`, `https://…` or `unix:…`.
    pub fn url(&self) -> String {
        match (&self.address, &self.app.guard.tls) {
            (Listen::Unix(_), _) => self.address.to_string(),
            (_, Some(_)) => format!("https://{}", self.address),
            (_, None) => format!("http://{}", self.address),
        }
    }

    /// A handle to replace databases.
    pub fn reload_handle(&self) -> ReloadHandle {
        ReloadHandle::new(&self.app)
    }

    /// Serves until `shutdown` completes. Then `/readyz` returns 503 for `lame_duck`, while
    /// requests are still answered. After that no new requests are accepted, and the running ones
    /// are finished, for at most `stop_timeout`.
    ///
    /// Each SIGHUP reloads all snapshots. `on_state` is told when that begins, and when all of it
    /// has ended. If `watch` is configured, a replaced snapshot file is loaded automatically. After
    /// `shutdown`, connections without a running request are closed after the configured
    /// `body_timeout`.
    ///
    /// # Errors
    /// [`Error::Io`] if the accepting task ended abnormally.
    pub async fn serve(mut self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let handle = self.reload_handle();
        let observer = self.on_state.as_ref();

        report(observer, State::Ready);
        // Only the shutdown completes.
        tokio::select! {
            () = shutdown => {}
            () = reload_on_hangup(&mut self.hangup, &mut self.reloads, &handle, observer) => {}
            () = self.watch.run(&self.app) => {}
        }

        report(observer, State::Stopping);
        // Before connections are refused: balancers see 503 from `/readyz`, and send no more.
        self.app.stopping.store(true, Ordering::Relaxed);
        sleep(self.times.lame_duck).await;
        drop(self.stop);
        drop(self.watching);
        drop(self.worker);

        let finished = finish(&self.requests, self.accepting, self.app.body_timeout);
        let Ok(ended) = timeout(self.times.stop_timeout, finished).await else {
            tracing::warn!("stopped before all requests were finished: the time for it is over");
            return Ok(());
        };
        ended
    }
}

/// Binds the listen address.
pub(crate) async fn listener_at(listen: &Listen, with_tls: bool) -> std::io::Result<Listener> {
    if matches!(listen, Listen::Unix(_)) && with_tls {
        return Err(std::io::Error::other(
            "TLS is not supported on Unix sockets",
        ));
    }
    Listener::bind(listen).await
}

/// The error of an address that cannot be bound.
pub(crate) fn not_listening(listen: &Listen, source: std::io::Error) -> Error {
    Error::Listen {
        address: listen.to_string(),
        source,
    }
}

/// Tells the observer about a state.
pub(crate) fn report(observer: Option<&StateObserver>, state: State) {
    if let Some(observer) = observer {
        observer(state);
    }
}

/// Reloads all snapshots at each SIGHUP. Never completes.
async fn reload_on_hangup(
    hangup: &mut Hangup,
    reloads: &mut JoinSet<()>,
    handle: &ReloadHandle,
    observer: Option<&StateObserver>,
) {
    loop {
        tokio::select! {
            () = hangup.wait() => {
                report(observer, State::Reloading);
                tracing::info!("SIGHUP: reloading all snapshots");

                // One after the other: an older token file must not take the place of a newer one.
                log_reload(handle.reload_secrets().await);
                // The next signal does not wait for a database whose storage hangs.
                let handle = handle.clone();
                reloads.spawn(async move { log_reload(handle.reload_idle().await) });
            }
            Some(_) = reloads.join_next() => {
                if reloads.is_empty() {
                    report(observer, State::Ready);
                }
            }
        }
    }
}

/// Logs why a reload has not run to its end.
fn log_reload<T>(ended: Result<T, Error>) {
    if let Err(error) = ended
        && !error.is_cancelled()
    {
        tracing::error!(%error, "not reloaded");
    }
}

/// Waits until all connections are closed, or no request is running at the end of an `interval`.
pub(crate) async fn finish(
    requests: &Ongoing,
    mut accepting: JoinHandle<()>,
    interval: Duration,
) -> Result<(), Error> {
    // An interval of zero would check without a pause.
    let interval = interval.max(Duration::from_millis(100));

    loop {
        match timeout(interval, &mut accepting).await {
            Ok(ended) => return ended.map_err(|error| abnormal("serving", error)),
            Err(_) if !requests.is_active() => {
                tracing::warn!("stopped with open connections that had no running request");
                accepting.abort();
                return Ok(());
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod hanging;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::access::{NewToken, Scope, TokenFile, TokenSource};
    use crate::catalog::DatabaseConfig;
    use crate::service::Protection;

    /// The status, and true if the response has a `Retry-After` header.
    fn status_of(url: String) -> (u16, bool) {
        // No proxy of the environment carries requests to this machine.
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .build();
        let agent = config.new_agent();
        let response = agent.get(url).call().unwrap();

        (
            response.status().as_u16(),
            response.headers().contains_key("retry-after"),
        )
    }

    /// Requests these paths of a service whose database is not loaded. Those that are refused for
    /// a while have the header.
    async fn assert_statuses(config: ServerConfig, expected: &[(&str, u16)]) {
        let config = ServerConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            databases: vec![DatabaseConfig::new("/nowhere/words.papir", None)],
            ..config
        };
        let unloaded = Catalog::unloaded(&config.databases, config.catalog_options());
        let bound = BoundServer::listen(&config, unloaded, None).await.unwrap();
        let url = bound.url();

        for &(path, status) in expected {
            let url = format!("{url}{path}");
            let found = tokio::task::spawn_blocking(move || status_of(url))
                .await
                .unwrap();
            assert_eq!(found, (status, status == 503), "{path}");
        }
        bound.serve(std::future::ready(())).await.unwrap();
    }

    #[tokio::test]
    async fn a_service_is_alive_before_it_is_ready() {
        let expected = [
            ("/healthz", 200),
            ("/readyz", 503),
            ("/v1/databases", 503),
            ("/v1/databases/words", 503),
            ("/v1/databases/words/public", 503),
            ("/v1/databases/words/public/0707070707070707/hashes", 503),
            ("/v1/databases/other", 404),
            ("/metrics", 200),
            ("/openapi.json", 200),
        ];
        assert_statuses(ServerConfig::default(), &expected).await;
    }

    #[tokio::test]
    async fn strangers_do_not_learn_which_databases_are_loading() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = folder.path().join("tokens.toml");
        TokenFile::add(&tokens, NewToken::new("all", [Scope::Query])).unwrap();
        let config = ServerConfig {
            ohttp: Some(folder.path().join("ohttp.toml")),
            protection: Protection {
                tokens: vec![TokenSource::new(&tokens)],
                ..Protection::default()
            },
            ..ServerConfig::default()
        };

        let expected = [
            ("/v1/databases/words/checkpoint/proof", 503),
            ("/v1/databases/other/checkpoint/proof", 503),
            ("/v1/databases/words/checkpoint", 401),
            ("/v1/databases/other/checkpoint", 401),
        ];
        assert_statuses(config, &expected).await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_stop_waits_for_running_requests_and_not_for_open_connections() {
        let owner = Arc::new(());
        let running = Arc::clone(&owner);
        let requests = Ongoing::of(&owner);
        let open = tokio::spawn(std::future::pending::<()>());
        let interval = Duration::from_secs(1);
        let stopping = tokio::spawn(async move { finish(&requests, open, interval).await });

        sleep(interval * 100).await;
        assert!(!stopping.is_finished(), "a request was cut off");

        drop(running);
        timeout(interval * 2, stopping)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
    }
}
