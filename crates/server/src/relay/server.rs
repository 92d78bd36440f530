//! A relay: its listener, and its stop.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::config::RelayConfig;
use super::routes::{RelayState, routes};
use crate::admission::Ongoing;
use crate::error::Error;
use crate::http::Http;
use crate::listen::{self, Listen, Timeouts, Tls};
use crate::server::{finish, listener_at, not_listening, report};
use crate::service::{Hangup, State, StateObserver};

/// A listening relay. Stops when dropped.
pub struct BoundRelay {
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

impl BoundRelay {
    /// Listens, and forwards requests from then on. Connects to no gateway before a client asks.
    ///
    /// # Errors
    /// [`Error::Listen`], and [`Error::Tls`].
    pub async fn bind(config: RelayConfig) -> Result<Self, Error> {
        let tls = match &config.tls {
            Some(files) => Some(Arc::new(Tls::open(files)?)),
            None => None,
        };
        let state = Arc::new(RelayState::new(&config));

        let listener = listener_at(&config.listen, tls.is_some())
            .await
            .map_err(|source| not_listening(&config.listen, source))?;
        let address = listener
            .address()
            .map_err(|source| not_listening(&config.listen, source))?;
        // Before the relay is announced: without a handler, SIGHUP would end the process.
        let hangup = Hangup::new()?;

        let (stop, stopped) = watch::channel(());
        let timeouts = Timeouts {
            idle: config.header_timeout,
            sending: config.body_timeout,
        };
        let http = Http::new(routes(state), timeouts);
        let requests = http.ongoing();
        let most = config.max_connections;
        let serving = listen::serve(listener, tls.clone(), http, timeouts, most, stopped);

        Ok(Self {
            address,
            tls,
            hangup,
            stop,
            accepting: tokio::spawn(serving),
            requests,
            body_timeout: config.body_timeout,
            stop_timeout: config.stop_timeout,
            on_state: config.on_state,
        })
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
        match (&self.address, &self.tls) {
            (Listen::Unix(_), _) => self.address.to_string(),
            (_, Some(_)) => format!("https://{}", self.address),
            (_, None) => format!("http://{}", self.address),
        }
    }

    /// Forwards requests until `shutdown` completes. Then no new ones are accepted, and the running
    /// ones are finished, for at most the configured time. Each SIGHUP reads the certificate and
    /// its key again.
    ///
    /// # Errors
    /// [`Error::Io`] if the accepting task ended abnormally.
    pub async fn serve(mut self, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
        let observer = self.on_state.as_ref();
        report(observer, State::Ready);
        tracing::info!("relay started");

        // Only the shutdown completes.
        tokio::select! {
            () = shutdown => {}
            () = reload_on_hangup(&mut self.hangup, self.tls.as_deref()) => {}
        }

        report(observer, State::Stopping);
        tracing::info!("relay stopping");
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
async fn reload_on_hangup(hangup: &mut Hangup, tls: Option<&Tls>) {
    loop {
        hangup.wait().await;
        if let Some(tls) = tls {
            tls.reload();
        }
    }
}
