//! Per-client rate and concurrency accounting.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::limits::{ClientKey, ClientLimits};

/// Most clients that are tracked: about 10 MiB.
const MAX_CLIENTS: usize = 1 << 16;
/// Interval between sweeps of a full table.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Retry delay for a client at its concurrency limit, in seconds.
const BUSY_ADVICE: u64 = 1;
/// Upper bound on the advised retry delay, in seconds.
const MAX_ADVICE: u64 = 3600;

/// Tracks recent usage of each client and enforces its limits.
pub(crate) struct ClientLimiter {
    limits: ClientLimits,
    capacity: usize,
    table: Mutex<UsageTable>,
}

/// The usage of all clients, and when idle ones were last removed.
struct UsageTable {
    clients: HashMap<ClientKey, Usage>,
    swept: Instant,
}

/// One client's token bucket and running requests.
struct Usage {
    /// Requests left; negative after a batch larger than what was left.
    level: f64,
    filled: Instant,
    running: usize,
}

/// A running request of a client. Counted until dropped.
pub(crate) struct ActiveRequest {
    limiter: Arc<ClientLimiter>,
    key: ClientKey,
}

/// Shared hold on a client's [`ActiveRequest`], for work that outlives the connection.
#[derive(Clone)]
pub(crate) struct ClientSlot {
    _active: Option<Arc<ActiveRequest>>,
}

impl ClientSlot {
    /// A slot for a request that is not limited.
    pub(crate) fn unlimited() -> Self {
        Self { _active: None }
    }
}

impl From<Option<ActiveRequest>> for ClientSlot {
    fn from(active: Option<ActiveRequest>) -> Self {
        Self {
            _active: active.map(Arc::new),
        }
    }
}

impl ClientLimiter {
    pub(crate) fn new(limits: ClientLimits) -> Arc<Self> {
        Self::with_capacity(limits, MAX_CLIENTS)
    }

    fn with_capacity(limits: ClientLimits, capacity: usize) -> Arc<Self> {
        let table = UsageTable {
            clients: HashMap::new(),
            swept: Instant::now(),
        };
        Arc::new(Self {
            limits,
            capacity,
            table: Mutex::new(table),
        })
    }

    /// Charges `cost` requests to a client, or returns the advised retry delay. `None` if no limit
    /// is set. A request that costs nothing is not limited in its rate.
    ///
    /// A client with at least one request left may send a batch that costs more; its balance
    /// becomes negative. Otherwise a client whose burst is smaller than a batch could never send
    /// one.
    pub(crate) fn admit(
        self: &Arc<Self>,
        key: ClientKey,
        cost: u64,
        now: Instant,
    ) -> Result<Option<ActiveRequest>, Duration> {
        if self.limits.are_none() {
            return Ok(None);
        }

        let mut table = self.lock();
        let key = table.key(key, self.capacity, &self.limits, now);
        let usage = table
            .clients
            .entry(key.clone())
            .or_insert_with(|| Usage::new(&self.limits, now));
        usage.charge(&self.limits, cost, now)?;

        Ok(Some(ActiveRequest {
            limiter: Arc::clone(self),
            key,
        }))
    }

    fn lock(&self) -> MutexGuard<'_, UsageTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UsageTable {
    /// The key to account a client under: its own if there is room, else the shared one.
    fn key(
        &mut self,
        key: ClientKey,
        capacity: usize,
        limits: &ClientLimits,
        now: Instant,
    ) -> ClientKey {
        if self.clients.contains_key(&key) {
            return key;
        }

        // Not at every request: a sweep of a full table visits all clients.
        if self.clients.len() >= capacity && now.duration_since(self.swept) >= SWEEP_EVERY {
            self.swept = now;
            self.clients.retain(|_, usage| !usage.is_fresh(limits, now));
        }

        if self.clients.len() < capacity {
            key
        } else {
            ClientKey::Others
        }
    }
}

impl Usage {
    fn new(limits: &ClientLimits, now: Instant) -> Self {
        Self {
            level: limits.full(),
            filled: now,
            running: 0,
        }
    }

    fn fill(&mut self, limits: &ClientLimits, now: Instant) {
        let seconds = now.saturating_duration_since(self.filled).as_secs_f64();
        let rate = limits.rate.map_or(0.0, |rate| rate.per_second());
        // At most the burst: a client that was away must not have saved up for a flood.
        self.level = (self.level + seconds * rate).min(limits.full());
        self.filled = now;
    }

    /// Returns whether a new entry would be identical.
    fn is_fresh(&mut self, limits: &ClientLimits, now: Instant) -> bool {
        self.fill(limits, now);
        self.running == 0 && (limits.rate.is_none() || self.level >= limits.full())
    }

    fn charge(&mut self, limits: &ClientLimits, cost: u64, now: Instant) -> Result<(), Duration> {
        if limits.per_client > 0 && self.running >= limits.per_client {
            return Err(Duration::from_secs(BUSY_ADVICE));
        }

        if let Some(rate) = limits.rate.filter(|_| cost > 0) {
            self.fill(limits, now);
            if self.level < 1.0 {
                let wait = ((1.0 - self.level) / rate.per_second()).ceil() as u64;
                return Err(Duration::from_secs(wait.clamp(1, MAX_ADVICE)));
            }
            // May become negative: the rest of a batch is paid off before the next request.
            self.level -= cost as f64;
        }

        // Counted last: a request that is refused does not run.
        self.running += 1;
        Ok(())
    }
}

impl ClientLimits {
    /// Capacity of a bucket.
    fn full(&self) -> f64 {
        f64::from(self.burst.max(1))
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        if let Some(usage) = self.limiter.lock().clients.get_mut(&self.key) {
            usage.running = usage.running.saturating_sub(1);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn key(number: u32) -> ClientKey {
        ClientKey::Address(std::net::Ipv4Addr::from(number).into())
    }

    fn limits(rate: Option<&str>, burst: u32, per_client: usize) -> ClientLimits {
        ClientLimits {
            rate: rate.map(|text| text.parse().unwrap()),
            burst,
            per_client,
        }
    }

    #[test]
    fn a_burst_is_followed_by_the_rate() {
        let limiter = ClientLimiter::new(limits(Some("2/s"), 3, 0));
        let start = Instant::now();
        let ask = |milliseconds: u64, cost: u64| {
            limiter
                .admit(key(1), cost, start + Duration::from_millis(milliseconds))
                .map(drop)
        };

        for _ in 0..3 {
            assert_eq!(ask(0, 1), Ok(()));
        }
        assert_eq!(ask(0, 1), Err(Duration::from_secs(1)));
        assert_eq!(ask(400, 1), Err(Duration::from_secs(1)));
        assert_eq!(ask(500, 1), Ok(()));

        assert!(limiter.admit(key(2), 1, start).is_ok(), "another client");

        // A long pause refills only up to the burst; a large batch goes into debt.
        assert_eq!(ask(60_000, 23), Ok(()));
        assert_eq!(ask(60_000, 1), Err(Duration::from_secs(11)));
        assert_eq!(ask(70_400, 1), Err(Duration::from_secs(1)));
        assert_eq!(ask(70_500, 1), Ok(()));
    }

    #[test]
    fn concurrent_requests_are_limited() {
        let limiter = ClientLimiter::new(limits(None, 0, 2));
        let ask = || limiter.admit(key(1), 1, Instant::now());

        let first = ask().unwrap();
        let _second = ask().unwrap();
        assert_eq!(ask().map(drop), Err(Duration::from_secs(1)));

        drop(first);
        assert!(ask().is_ok());
    }

    #[test]
    fn the_table_is_bounded_and_idle_clients_are_removed() {
        let limiter = ClientLimiter::with_capacity(limits(Some("1/s"), 1, 0), 100);
        let start = Instant::now();

        for number in 0..10_000 {
            let _ = limiter.admit(key(number), 1, start);
        }

        assert!(limiter.lock().clients.len() <= 101);
        assert_eq!(
            limiter.admit(key(7), 1, start).map(drop),
            Err(Duration::from_secs(1)),
            "kept"
        );

        let late = start + Duration::from_secs(10);
        assert!(limiter.admit(key(20_000), 1, late).is_ok());
        assert_eq!(
            limiter.lock().clients.len(),
            1,
            "all idle clients were removed"
        );
    }

    #[test]
    fn without_limits_no_client_is_tracked() {
        let limiter = ClientLimiter::new(ClientLimits::default());
        assert!(limiter.admit(key(1), 1, Instant::now()).unwrap().is_none());
        assert!(limiter.lock().clients.is_empty());
    }
}
