//! Key configurations of the gateways, the same for all clients.
//!
//! A gateway that gave each client a key of its own would know its requests by them. Between two
//! fetches, all clients of a relay receive the same bytes, and a relay fetches once a minute at
//! most, whatever the gateway says and clients do. So a gateway with other keys at each fetch tells
//! apart in which minute its clients asked for them, and no more. Each change is in the log: an
//! honest gateway has a few in a month.
//!
//! When a gateway refuses a request, its keys may have changed. They are then fetched a minute
//! after the last fetch instead of at the end of their life, so that the clients of a gateway that
//! lost its keys wait for a minute and not for an hour.

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
    fetched: Instant,
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
                Ok(fresh) => {
                    if state.learn(fresh) {
                        tracing::info!(gateway = &*self.authority, "keys changed");
                    }
                }
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

    /// Notes that the gateway refused a request: it may have other keys.
    pub(super) fn doubt(&self) {
        // Locked during a fetch, whose keys are new.
        if let Ok(mut state) = self.state.try_lock() {
            state.doubt();
        }
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
    /// Stores fetched keys. Returns true if they differ from those before.
    fn learn(&mut self, fresh: FreshKeys) -> bool {
        let now = Instant::now();
        let fresh_until = now + fresh.life;
        let keys = LastKeys {
            bytes: fresh.bytes,
            fetched: now,
            fresh_until,
        };

        let has_changed = self
            .keys
            .as_ref()
            .is_some_and(|old| old.bytes != keys.bytes);
        self.keys = Some(keys);
        self.next = Some(fresh_until);
        has_changed
    }

    /// Ends the life of the keys early. After a failed fetch the pause stays as it is.
    fn doubt(&mut self) {
        let Some(keys) = &mut self.keys else { return };
        if self.next != Some(keys.fresh_until) {
            return;
        }

        keys.fresh_until = keys.fresh_until.min(keys.fetched + SHORTEST_LIFE);
        self.next = Some(keys.fresh_until);
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
#[allow(clippy::unwrap_used)]
mod tests {
    use std::future::ready;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use axum::body::Body;
    use axum::http::Response;
    use tokio::time::advance;

    use super::*;
    use crate::relay::config::RelayExchange;

    /// A gateway with other keys at each fetch, which it would have kept for an hour. Its keys are
    /// the number of the fetch.
    #[derive(Default)]
    struct ChangingGateway {
        fetches: AtomicUsize,
        is_away: AtomicBool,
    }

    impl RelayTransport for ChangingGateway {
        fn send(&self, _: Request<RelayUpload>) -> RelayExchange {
            let number = self.fetches.fetch_add(1, Ordering::SeqCst);
            let response = Response::builder()
                .header(header::CONTENT_TYPE, media::OHTTP_KEYS)
                .header(header::CACHE_CONTROL, "max-age=3600")
                .body(Body::from(number.to_string()));

            let outcome = if self.is_away.load(Ordering::SeqCst) {
                Err(GatewayFailure::from("connection refused"))
            } else {
                Ok(response.unwrap())
            };
            Box::pin(ready(outcome))
        }
    }

    fn cache(gateway: &Arc<ChangingGateway>) -> RelayKeyCache {
        let transport = Arc::clone(gateway) as Arc<dyn RelayTransport>;
        RelayKeyCache::new("gateway.example".into(), transport)
    }

    async fn bytes(cache: &RelayKeyCache) -> Bytes {
        cache.current().await.unwrap().bytes
    }

    #[tokio::test(start_paused = true)]
    async fn keys_that_change_are_the_same_for_all_clients_of_their_time() {
        let gateway = Arc::<ChangingGateway>::default();
        let cache = cache(&gateway);
        let second = Duration::from_secs(1);

        for _ in 0..60 {
            assert_eq!(bytes(&cache).await, "0");
            advance(second * 59).await;
        }
        advance(LONGEST_LIFE).await;
        assert_eq!(bytes(&cache).await, "1");

        // Refusals end their life after a minute, and not before.
        for _ in 0..59 {
            cache.doubt();
            assert_eq!(bytes(&cache).await, "1");
            advance(second).await;
        }
        advance(second).await;
        assert_eq!(bytes(&cache).await, "2");
        cache.doubt();
        assert_eq!(bytes(&cache).await, "2");
    }

    #[tokio::test(start_paused = true)]
    async fn refusals_do_not_shorten_the_pause_after_a_failed_fetch() {
        let gateway = Arc::<ChangingGateway>::default();
        let cache = cache(&gateway);
        assert_eq!(bytes(&cache).await, "0");

        cache.doubt();
        advance(SHORTEST_LIFE).await;
        gateway.is_away.store(true, Ordering::SeqCst);
        for _ in 0..5 {
            cache.doubt();
            assert_eq!(bytes(&cache).await, "0", "stale keys are served");
        }
        assert_eq!(gateway.fetches.load(Ordering::SeqCst), 2);

        advance(RETRY).await;
        gateway.is_away.store(false, Ordering::SeqCst);
        assert_eq!(bytes(&cache).await, "2");
    }

    #[test]
    fn a_change_of_keys_is_noticed() {
        let mut state = FetchedKeys::default();
        let mut learn = |bytes: &'static str| {
            let bytes = Bytes::from_static(bytes.as_bytes());
            let life = SHORTEST_LIFE;
            state.learn(FreshKeys { bytes, life })
        };
        assert_eq!(
            ["a", "a", "b", "a"].map(&mut learn),
            [false, false, true, true]
        );
    }

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
