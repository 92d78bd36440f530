//! Key configurations of the gateways, the same for all clients.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Uri, header};
use papir_protocol::{media, path};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::config::{GatewayFailure, RelayTransport};
use super::content_type;
use super::problem::RelayProblem;
use super::upload::RelayUpload;

/// Shortest and longest time for which fetched keys are fresh, whatever the gateway says.
const SHORTEST_LIFE: Duration = Duration::from_secs(60);
const LONGEST_LIFE: Duration = Duration::from_secs(3600);
/// Time for which keys are served after that, if the gateway is away.
const STALE: Duration = Duration::from_secs(600);
/// Pause after a failed fetch.
const RETRY: Duration = Duration::from_secs(10);
/// Time limit for a fetch.
const FETCH_TIME: Duration = Duration::from_secs(10);
/// Most bytes of keys: a key has about 50.
const MAX_KEYS: usize = 64 << 10;

/// The keys of one gateway. They are fetched when a client asks, but no more often than their
/// lifetime and the pause after a failure allow, however many clients ask.
pub(super) struct RelayKeyCache {
    authority: Arc<str>,
    transport: Arc<dyn RelayTransport>,
    /// Locked during a fetch, so that all others wait for its result.
    state: Mutex<FetchedKeys>,
}

/// The last result of a fetch.
#[derive(Default)]
struct FetchedKeys {
    keys: Option<LastKeys>,
    /// Earliest time of the next fetch.
    next: Option<Instant>,
}

/// Keys of a fetch, and the time for which they are fresh.
struct FreshKeys {
    bytes: Bytes,
    life: Duration,
}

/// Keys as the gateway sent them.
struct LastKeys {
    bytes: Bytes,
    fresh_until: Instant,
}

/// Keys for a client, and the time for which it may keep them.
#[derive(Debug)]
pub(super) struct RelayedKeys {
    pub(super) bytes: Bytes,
    pub(super) seconds: u64,
}

impl RelayKeyCache {
    pub(super) fn new(authority: Arc<str>, transport: Arc<dyn RelayTransport>) -> Self {
        Self {
            authority,
            transport,
            state: Mutex::default(),
        }
    }

    /// The keys, fetched before if they are due. A caller that may be dropped must run this in a
    /// task of its own: otherwise clients that leave would make the relay fetch again.
    pub(super) async fn current(&self) -> Result<RelayedKeys, RelayProblem> {
        let mut state = self.state.lock().await;

        if state.next.is_none_or(|next| Instant::now() >= next) {
            match self.fetch().await {
                Ok(fresh) => state.learn(fresh),
                Err(failure) => {
                    tracing::warn!(gateway = &*self.authority, %failure, "keys not fetched");
                    state.next = Some(Instant::now() + RETRY);
                }
            }
        }

        state.served(Instant::now()).ok_or(RelayProblem::Away {
            authority: Arc::clone(&self.authority),
        })
    }

    /// Fetches the keys and their lifetime.
    async fn fetch(&self) -> Result<FreshKeys, KeyFailure> {
        timeout(FETCH_TIME, self.exchange())
            .await
            .unwrap_or(Err(KeyFailure::Late))
    }

    async fn exchange(&self) -> Result<FreshKeys, KeyFailure> {
        let mut request = Request::new(RelayUpload::empty());
        *request.uri_mut() = Uri::from_static(path::OHTTP_GATEWAY);
        request
            .headers_mut()
            .insert(header::ACCEPT, HeaderValue::from_static(media::OHTTP_KEYS));

        let response = self
            .transport
            .send(request)
            .await
            .map_err(KeyFailure::Exchange)?;
        if response.status() != StatusCode::OK {
            return Err(KeyFailure::Status(response.status()));
        }
        if !content_type::is(response.headers(), media::OHTTP_KEYS) {
            return Err(KeyFailure::Content);
        }

        let life = lifetime(response.headers());
        let bytes = to_bytes(response.into_body(), MAX_KEYS)
            .await
            .map_err(|error| KeyFailure::Exchange(error.into()))?;
        if bytes.is_empty() {
            return Err(KeyFailure::Content);
        }
        Ok(FreshKeys { bytes, life })
    }
}

impl FetchedKeys {
    /// Stores fetched keys.
    fn learn(&mut self, fresh: FreshKeys) {
        let fresh_until = Instant::now() + fresh.life;
        self.keys = Some(LastKeys {
            bytes: fresh.bytes,
            fresh_until,
        });
        self.next = Some(fresh_until);
    }

    /// The keys for a client; `None` if there are none, or if they are too old.
    fn served(&self, now: Instant) -> Option<RelayedKeys> {
        let known = self.keys.as_ref()?;
        if now >= known.fresh_until + STALE {
            return None;
        }

        // Stale keys may be kept until the next attempt.
        let left = self.next?.saturating_duration_since(now);
        Some(RelayedKeys {
            bytes: known.bytes.clone(),
            seconds: left.as_secs().max(1),
        })
    }
}

/// The lifetime that a response names, within the relay's own limits.
fn lifetime(headers: &HeaderMap) -> Duration {
    let named = headers
        .get_all(header::CACHE_CONTROL)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .find_map(|part| part.trim().strip_prefix("max-age=")?.parse().ok());

    Duration::from_secs(named.unwrap_or_default()).clamp(SHORTEST_LIFE, LONGEST_LIFE)
}

/// Reason why keys were not fetched.
#[derive(Debug)]
enum KeyFailure {
    Late,
    Exchange(GatewayFailure),
    Status(StatusCode),
    Content,
}

impl fmt::Display for KeyFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late => write!(f, "no response within {FETCH_TIME:?}"),
            Self::Exchange(failure) => failure.fmt(f),
            Self::Status(status) => write!(f, "status {}", status.as_u16()),
            Self::Content => f.write_str("the response holds no key configurations"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn life(value: &'static str) -> u64 {
        let mut headers = HeaderMap::new();
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static(value));
        lifetime(&headers).as_secs()
    }

    #[test]
    fn lifetimes_are_from_a_minute_to_an_hour() {
        assert_eq!(life("public, max-age=600"), 600);
        assert_eq!(life("max-age=5"), 60);
        assert_eq!(life("no-store"), 60);
        assert_eq!(life("max-age=86400"), 3600);
        assert_eq!(life("max-age=999999999999999999999"), 60);
        assert_eq!(lifetime(&HeaderMap::new()).as_secs(), 60);
    }
}
