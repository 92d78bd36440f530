//! The listener of a relay or an issuer, from its start to its stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::admission::Ongoing;
use crate::error::Error;
use crate::http::Http;
use crate::listen::{self, Listen, Timeouts, Tls, TlsFiles};
use crate::server::{finish, listener_at, not_listening, report};
use crate::service::{Hangup, State, StateObserver};

/// Settings of a listener.
pub(crate) struct StandaloneSettings {
    /// Name of the server in the log.
    pub(crate) name: &'static str,
    pub(crate) listen: Listen,
    /// Certificate and key; `None` for plain HTTP.
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) max_connections: usize,
    /// Time limit for the headers of a request, and between two requests.
    pub(crate) header_timeout: Duration,
    /// Time limit for a client to read more of a response.
    pub(crate) body_timeout: Duration,
    /// Time for which running requests are finished after the stop.
    pub(crate) stop_timeout: Duration,
    pub(crate) on_state: Option<StateObserver>,
}

/// A listener that serves its routes. Stops when dropped.
pub(crate) struct StandaloneServer {
    name: &'static str,
    address: Listen,
    tls: Option<Arc<Tls>>,
    hangup: Hangup,
    /// Dropped to stop accepting connections.
    stop: watch::Sender<()>,
    accepting: JoinHandle<()>,
    /// The requests whose responses have not been sent whole.
    requests: Ongoing,
    body_timeout: Duration,
    stop_timeout: Duration,
    on_state: Option<StateObserver>,
}

impl StandaloneServer {
    /// Listens, and serves the routes from then on.
    ///
    /// # Errors
    /// [`Error::Listen`], and [`Error::Tls`].
    pub(crate) async fn bind(routes: Router, settings: StandaloneSettings) -> Result<Self, Error> {
        let tls = match &settings.tls {
            Some(files) => Some(Arc::new(Tls::open(files)?)),
            None => None,
        };

        let listener = listener_at(&settings.listen, tls.is_some())
            .await
            .map_err(|source| not_listening(&settings.listen, source))?;
        let address = listener
            .address()
            .map_err(|source| not_listening(&settings.listen, source))?;
        // Before the address is announced: without a handler, SIGHUP would end the process.
        let hangup = Hangup::new()?;

        let (stop, stopped) = watch::channel(());
        let timeouts = Timeouts {
            idle: settings.header_timeout,
            sending: settings.body_timeout,
        };
        let http = Http::new(routes, timeouts);
        let requests = http.ongoing();
        let most = settings.max_connections;
        let serving = listen::serve(listener, tls.clone(), http, timeouts, most, stopped);

        Ok(Self {
            name: settings.name,
            address,
            tls,
            hangup,
            stop,
            accepting: tokio::spawn(serving),
            requests,
            body_timeout: settings.body_timeout,
            stop_timeout: settings.stop_timeout,
            on_state: settings.on_state,
        })
    }

    /// The bound address and port; `None` for a Unix socket.
    pub(crate) fn local_addr(&self) -> Option<SocketAddr> {
        match &self.address {
            Listen::Tcp(address) => Some(*address),
            Listen::Unix(_) => None,
        }
    }

    /// The URL for clients: `http://…`, `https://…` or `unix:…`.
    pub(crate) fn url(&self) -> String {
        match (&self.address, &self.tls) {
            (Listen::Unix(_), _) => self.address.to_string(),
            (_, Some(_)) => format!("https://{}", self.address),
            (_, None) => format!("http://{}", self.address),
        }
    }

    /// Serves until `shutdown` completes. Then no new requests are accepted, and the running ones
    /// are finished, for at most the configured time. Each SIGHUP reads the certificate and its key
    /// again, and calls `on_hangup`.
    ///
    /// # Errors
    /// [`Error::Io`] if the accepting task ended abnormally.
    pub(crate) async fn serve(
        mut self,
        shutdown: impl Future<Output = ()>,
        on_hangup: impl Fn(),
    ) -> Result<(), Error> {
        let observer = self.on_state.as_ref();
        report(observer, State::Ready);
        tracing::info!("{} started", self.name);

        // Only the shutdown completes.
        tokio::select! {
            () = shutdown => {}
            () = reload_on_hangup(&mut self.hangup, self.tls.as_deref(), on_hangup) => {}
        }

        report(observer, State::Stopping);
        tracing::info!("{} stopping", self.name);
        drop(self.stop);

        let finished = finish(&self.requests, self.accepting, self.body_timeout);
        let Ok(ended) = timeout(self.stop_timeout, finished).await else {
            tracing::warn!("stopped before all requests were finished: the time for it is over");
            return Ok(());
        };
        ended
    }
}

/// Reads the certificate again at each SIGHUP. Never completes.
async fn reload_on_hangup(hangup: &mut Hangup, tls: Option<&Tls>, on_hangup: impl Fn()) {
    loop {
        hangup.wait().await;
        if let Some(tls) = tls {
            tls.reload();
        }
        on_hangup();
    }
}
