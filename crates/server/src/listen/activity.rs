//! Activity and timeouts of one connection.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// Origin of all timestamps in this module.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Slowest rate at which a peer may receive a response, in bytes a second.
const MIN_RATE: u64 = 4096;

/// Time limits for a connection that waits for its peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Timeouts {
    /// For a request's headers, including the TLS handshake, and between two requests.
    pub(crate) idle: Duration,
    /// For the peer to receive more of a response; when connections are scarce, all of it.
    pub(crate) sending: Duration,
}

/// Concurrency of requests on a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchange {
    /// One request at a time. Bytes that the peer receives belong to the current response.
    Serial,
    /// Concurrent requests. Bytes that the peer receives may be replies to its pings.
    Multiplexed,
}

/// State of one connection, shared by its parts. Times are milliseconds since [`START`].
pub(crate) struct Activity {
    /// Requests whose response is being computed.
    answering: AtomicUsize,
    /// Responses being sent.
    sending: Mutex<Vec<Arc<Transfer>>>,
    /// Start of the current idle period.
    idle_since: AtomicU64,
    /// Time at which the peer last received bytes.
    wrote: AtomicU64,
    /// Set if the connection is [`Exchange::Serial`].
    serial: AtomicBool,
    /// Set when the connection must make room for another one.
    evicted: AtomicBool,
    wake: Notify,
}

/// Progress of one response, in milliseconds since [`START`].
struct Transfer {
    since: u64,
    /// Time at which the peer last accepted more of it.
    moved: AtomicU64,
    /// Bytes that were passed on.
    passed: AtomicU64,
}

impl Transfer {
    /// The time by which a peer that receives [`MIN_RATE`] has all bytes that were passed on.
    fn due(&self) -> u64 {
        self.since + self.passed.load(Ordering::Relaxed) * 1000 / MIN_RATE
    }
}

/// A request, from its headers to the last byte of its response.
pub(crate) struct RequestActivity {
    activity: Arc<Activity>,
    /// Set once the response is being sent.
    transfer: Option<Arc<Transfer>>,
}

impl Activity {
    /// An idle connection.
    pub(crate) fn new() -> Arc<Self> {
        let now = now();
        Arc::new(Self {
            answering: AtomicUsize::new(0),
            sending: Mutex::default(),
            idle_since: AtomicU64::new(now),
            wrote: AtomicU64::new(now),
            serial: AtomicBool::new(false),
            evicted: AtomicBool::new(false),
            wake: Notify::new(),
        })
    }

    /// Records that the peer received bytes.
    pub(crate) fn wrote(&self) {
        self.wrote.store(now(), Ordering::Relaxed);
    }

    /// Records the arrival of a request.
    pub(crate) fn begin(self: &Arc<Self>, exchange: Exchange) -> RequestActivity {
        self.answering.fetch_add(1, Ordering::SeqCst);
        self.serial
            .store(exchange == Exchange::Serial, Ordering::Relaxed);
        RequestActivity {
            activity: Arc::clone(self),
            transfer: None,
        }
    }

    fn sending(&self) -> MutexGuard<'_, Vec<Arc<Transfer>>> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_answering(&self) -> bool {
        self.answering.load(Ordering::SeqCst) > 0
    }

    /// Start of the current idle period; `None` while a request is running.
    pub(crate) fn idle_since(&self) -> Option<u64> {
        let busy = self.is_answering() || !self.sending().is_empty();
        (!busy).then(|| self.idle_since.load(Ordering::Relaxed))
    }

    /// Start of the oldest transfer, if the connection only sends responses and this one has taken
    /// longer than `limit`.
    pub(crate) fn sending_since(&self, limit: Duration) -> Option<u64> {
        let since = self.sending().iter().map(|transfer| transfer.since).min()?;
        let long = elapsed(since) > limit;
        (long && !self.is_answering()).then_some(since)
    }

    /// Returns whether one of its responses has taken longer than `limit`.
    pub(crate) fn is_slow(&self, limit: Duration) -> bool {
        let since = self.sending().iter().map(|transfer| transfer.since).min();
        since.is_some_and(|since| elapsed(since) > limit)
    }

    /// Asks the connection to close if one of its responses has taken longer than `limit`. Returns
    /// whether one has.
    pub(crate) fn evict_if_slow(&self, limit: Duration) -> bool {
        let slow = self.is_slow(limit);
        if slow {
            self.evict();
        }
        slow
    }

    /// Asks the connection to close as soon as possible.
    pub(crate) fn evict(&self) {
        self.evicted.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// Time until the connection expires; `None` while a response is being computed and none is
    /// sent.
    ///
    /// Bytes that the peer sends do not extend the time: a client that sends one header byte a
    /// second gains nothing.
    fn left(&self, timeouts: &Timeouts) -> Option<Duration> {
        // Under one lock, so that both times are of the same responses.
        let sending = self.sending();
        let slowest = sending
            .iter()
            .map(|transfer| transfer.moved.load(Ordering::Relaxed))
            .min();
        let due = sending.iter().map(|transfer| transfer.due()).min();
        drop(sending);

        if self.is_answering() {
            return due.map(|due| remaining(due, timeouts.sending));
        }

        let (since, allowed) = match slowest {
            Some(moved) => (moved, timeouts.sending),
            None => (self.idle_since.load(Ordering::Relaxed), timeouts.idle),
        };
        let wrote = self.wrote.load(Ordering::Relaxed);
        // Bytes on a multiplexed connection may be replies to pings, and show no progress.
        let since = if self.serial.load(Ordering::Relaxed) {
            since.max(wrote)
        } else {
            since
        };
        // A peer that takes a byte now and then would hold the response forever.
        let since = due.map_or(since, |due| since.min(due));

        Some(remaining(since, allowed))
    }

    /// Completes when the connection has expired or was evicted.
    pub(crate) async fn expired(&self, timeouts: &Timeouts) {
        while !self.evicted.load(Ordering::SeqCst) {
            let wait = match self.left(timeouts) {
                Some(Duration::ZERO) => return,
                Some(left) => left,
                // A computation has no deadline: check again later.
                None => timeouts.idle.min(timeouts.sending),
            };

            tokio::select! {
                () = tokio::time::sleep(wait.max(Duration::from_millis(1))) => {}
                () = self.wake.notified() => {}
            }
        }
    }
}

impl RequestActivity {
    /// Records that the response is ready and only needs to be sent.
    pub(crate) fn send(&mut self) {
        let now = now();
        let transfer = Arc::new(Transfer {
            since: now,
            moved: AtomicU64::new(now),
            passed: AtomicU64::new(0),
        });

        // Added before `answering` falls, so that the connection never looks idle in between.
        self.activity.sending().push(Arc::clone(&transfer));
        self.activity.answering.fetch_sub(1, Ordering::SeqCst);
        self.transfer = Some(transfer);
    }

    /// Records that bytes of the response were passed on.
    pub(crate) fn passed(&self, bytes: usize) {
        if let Some(transfer) = &self.transfer {
            transfer.passed.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Records that the peer accepted more of the response.
    pub(crate) fn moved(&self) {
        if let Some(transfer) = &self.transfer {
            transfer.moved.store(now(), Ordering::Relaxed);
        }
    }
}

impl Drop for RequestActivity {
    fn drop(&mut self) {
        // Stored first: the connection must not look idle since before this request.
        self.activity.idle_since.store(now(), Ordering::SeqCst);

        match &self.transfer {
            Some(own) => self
                .activity
                .sending()
                .retain(|transfer| !Arc::ptr_eq(transfer, own)),
            None => {
                self.activity.answering.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

/// Milliseconds since [`START`].
fn now() -> u64 {
    START.elapsed().as_millis() as u64
}

/// Time that has passed since `since`, which is in milliseconds since [`START`].
fn elapsed(since: u64) -> Duration {
    Duration::from_millis(now().saturating_sub(since))
}

/// The part of `allowed` that is left since `since`.
fn remaining(since: u64, allowed: Duration) -> Duration {
    allowed.saturating_sub(elapsed(since))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Hours, so that no stall of this machine comes near them.
    const TIMEOUTS: Timeouts = Timeouts {
        idle: Duration::from_secs(20_000),
        sending: Duration::from_secs(60_000),
    };

    #[test]
    fn a_computation_has_no_deadline_but_its_transfer_has() {
        let activity = Activity::new();
        let left = |least: u64| {
            activity
                .left(&TIMEOUTS)
                .is_some_and(|left| left.as_secs() >= least)
        };
        assert!(left(10_000) && !left(20_001) && activity.idle_since().is_some());

        let mut request = activity.begin(Exchange::Serial);
        assert_eq!(
            (activity.left(&TIMEOUTS), activity.idle_since()),
            (None, None)
        );

        request.send();
        assert!(left(50_000) && activity.idle_since().is_none());

        drop(request);
        assert!(left(10_000) && !left(20_001) && activity.idle_since().is_some());
    }

    #[test]
    fn a_multiplexed_connection_expires_by_its_slowest_transfer() {
        let activity = Activity::new();
        let [mut slow, mut other] = [(); 2].map(|()| activity.begin(Exchange::Multiplexed));
        slow.send();
        other.send();

        std::thread::sleep(Duration::from_millis(5));
        other.moved();
        activity.wrote();

        let left = activity.left(&TIMEOUTS).unwrap();
        assert!(
            left <= TIMEOUTS.sending - Duration::from_millis(5),
            "{left:?}"
        );
        assert!(activity.sending_since(Duration::from_millis(4)).is_some());
        assert!(activity.sending_since(TIMEOUTS.sending).is_none());

        let _answering = activity.begin(Exchange::Multiplexed);
        assert!(activity.sending_since(Duration::ZERO).is_none());
    }

    #[test]
    fn a_response_that_trickles_expires() {
        let brief = Timeouts {
            sending: Duration::from_millis(20),
            ..TIMEOUTS
        };
        let activity = Activity::new();
        let mut request = activity.begin(Exchange::Serial);
        request.send();

        std::thread::sleep(Duration::from_millis(30));
        request.moved();
        activity.wrote();
        assert_eq!(
            activity.left(&brief),
            Some(Duration::ZERO),
            "it moves, but has hardly begun"
        );

        request.passed(MIN_RATE as usize * 60_000);
        request.moved();
        activity.wrote();
        assert!(
            activity
                .left(&TIMEOUTS)
                .is_some_and(|left| left.as_secs() >= 30_000),
            "fast enough"
        );

        assert!(activity.evict_if_slow(Duration::from_millis(20)));
        assert!(!activity.evict_if_slow(TIMEOUTS.sending));
    }

    #[tokio::test]
    async fn a_connection_expires_by_timeout_and_by_eviction() {
        let brief = Timeouts {
            idle: Duration::from_millis(20),
            sending: Duration::from_millis(20),
        };
        let activity = Activity::new();
        let request = activity.begin(Exchange::Serial);

        let waiting = tokio::time::timeout(Duration::from_millis(100), activity.expired(&brief));
        assert!(waiting.await.is_err(), "a computation was cut off");
        drop(request);
        activity.expired(&brief).await;

        let other = Activity::new();
        other.evict();
        tokio::time::timeout(Duration::from_secs(60), other.expired(&TIMEOUTS))
            .await
            .unwrap();
    }
}
