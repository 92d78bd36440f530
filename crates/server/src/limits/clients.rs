//! What each client has taken lately.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::{ClientKey, ClientLimits};

/// Most clients that are remembered: some 10 MiB.
const MOST: usize = 1 << 16;
/// How often a full table is searched for clients that can be forgotten.
const SWEEP_EVERY: Duration = Duration::from_secs(1);
/// Wait that a client is advised to take whose other requests are still running, in seconds.
const RUNNING_ADVICE: u64 = 1;
/// Longest wait that is advised, in seconds.
const LONGEST_ADVICE: u64 = 3600;

/// All clients that have asked lately.
pub(crate) struct Clients {
    limits: ClientLimits,
    most: usize,
    table: Mutex<Table>,
}

struct Table {
    clients: HashMap<ClientKey, Client>,
    swept: Instant,
}

/// A bucket that fills at the client's rate up to its burst, and the requests under way.
struct Client {
    level: f64,
    filled: Instant,
    running: usize,
}

/// A request of a client: over when dropped.
pub(crate) struct Held {
    clients: Arc<Clients>,
    key: ClientKey,
}

impl Clients {
    pub(crate) fn new(limits: ClientLimits) -> Arc<Self> {
        Self::with_capacity(limits, MOST)
    }

    fn with_capacity(limits: ClientLimits, most: usize) -> Arc<Self> {
        let table = Table { clients: HashMap::new(), swept: Instant::now() };
        Arc::new(Self { limits, most, table: Mutex::new(table) })
    }

    /// Takes `cost` requests on a client's account, or says after how long to come again. `None`
    /// where nothing is limited.
    ///
    /// A batch larger than what is left is let in and owed: a burst smaller than a batch must not
    /// shut it out for ever.
    pub(crate) fn admit(
        self: &Arc<Self>,
        key: ClientKey,
        cost: u64,
        now: Instant,
    ) -> Result<Option<Held>, Duration> {
        if self.limits.are_none() {
            return Ok(None);
        }
        let mut table = self.lock();
        let key = table.key(key, self.most, &self.limits, now);
        let client = table.clients.entry(key.clone()).or_insert_with(|| Client::new(&self.limits, now));
        client.take(&self.limits, cost, now)?;
        Ok(Some(Held { clients: Arc::clone(self), key }))
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    /// The key under which a client is kept: its own where there is a place for it.
    fn key(&mut self, key: ClientKey, most: usize, limits: &ClientLimits, now: Instant) -> ClientKey {
        if self.clients.contains_key(&key) {
            return key;
        }
        if self.clients.len() >= most && now.duration_since(self.swept) >= SWEEP_EVERY {
            self.swept = now;
            self.clients.retain(|_, client| !client.is_fresh(limits, now));
        }
        if self.clients.len() < most { key } else { ClientKey::Others }
    }
}

impl Client {
    fn new(limits: &ClientLimits, now: Instant) -> Self {
        Self { level: limits.full(), filled: now, running: 0 }
    }

    fn fill(&mut self, limits: &ClientLimits, now: Instant) {
        let seconds = now.saturating_duration_since(self.filled).as_secs_f64();
        let rate = limits.rate.map_or(0.0, |rate| rate.per_second());
        self.level = (self.level + seconds * rate).min(limits.full());
        self.filled = now;
    }

    /// Whether forgetting it changes nothing.
    fn is_fresh(&mut self, limits: &ClientLimits, now: Instant) -> bool {
        self.fill(limits, now);
        self.running == 0 && (limits.rate.is_none() || self.level >= limits.full())
    }

    fn take(&mut self, limits: &ClientLimits, cost: u64, now: Instant) -> Result<(), Duration> {
        if limits.per_client > 0 && self.running >= limits.per_client {
            return Err(Duration::from_secs(RUNNING_ADVICE));
        }
        if let Some(rate) = limits.rate {
            self.fill(limits, now);
            if self.level < 1.0 {
                let wait = ((1.0 - self.level) / rate.per_second()).ceil() as u64;
                return Err(Duration::from_secs(wait.clamp(1, LONGEST_ADVICE)));
            }
            self.level -= cost as f64;
        }
        self.running += 1;
        Ok(())
    }
}

impl ClientLimits {
    /// What a bucket holds.
    fn full(&self) -> f64 {
        f64::from(self.burst.max(1))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(client) = self.clients.lock().clients.get_mut(&self.key) {
            client.running = client.running.saturating_sub(1);
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
        ClientLimits { rate: rate.map(|text| text.parse().unwrap()), burst, per_client }
    }

    #[test]
    fn a_burst_and_then_the_rate() {
        let clients = Clients::new(limits(Some("2/s"), 3, 0));
        let start = Instant::now();
        let ask = |milliseconds: u64, cost: u64| {
            clients.admit(key(1), cost, start + Duration::from_millis(milliseconds)).map(drop)
        };
        for _ in 0..3 {
            assert_eq!(ask(0, 1), Ok(()));
        }
        assert_eq!(ask(0, 1), Err(Duration::from_secs(1)));
        assert_eq!(ask(400, 1), Err(Duration::from_secs(1)));
        assert_eq!(ask(500, 1), Ok(()));
        assert!(clients.admit(key(2), 1, start).is_ok(), "another client");
        // A long pause fills no more than the burst; a large batch is owed.
        assert_eq!(ask(60_000, 23), Ok(()));
        assert_eq!(ask(60_000, 1), Err(Duration::from_secs(11)));
        assert_eq!(ask(70_400, 1), Err(Duration::from_secs(1)));
        assert_eq!(ask(70_500, 1), Ok(()));
    }

    #[test]
    fn requests_at_the_same_time() {
        let clients = Clients::new(limits(None, 0, 2));
        let ask = || clients.admit(key(1), 1, Instant::now());
        let (first, _second) = (ask().unwrap(), ask().unwrap());
        assert_eq!(ask().map(drop), Err(Duration::from_secs(1)));
        drop(first);
        assert!(ask().is_ok());
    }

    #[test]
    fn many_addresses_do_not_fill_the_memory_and_the_fresh_are_forgotten() {
        let clients = Clients::with_capacity(limits(Some("1/s"), 1, 0), 100);
        let start = Instant::now();
        for number in 0..10_000 {
            let _ = clients.admit(key(number), 1, start);
        }
        assert!(clients.lock().clients.len() <= 101);
        assert_eq!(clients.admit(key(7), 1, start).map(drop), Err(Duration::from_secs(1)), "kept");
        let late = start + Duration::from_secs(10);
        assert!(clients.admit(key(20_000), 1, late).is_ok());
        assert_eq!(clients.lock().clients.len(), 1, "all others are as if they had never asked");
    }

    #[test]
    fn nothing_is_kept_where_nothing_is_limited() {
        let clients = Clients::new(ClientLimits::default());
        assert!(clients.admit(key(1), 1, Instant::now()).unwrap().is_none());
        assert!(clients.lock().clients.is_empty());
    }
}
