//! What one connection is doing, and until when it may.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::http::Version;
use tokio::sync::Notify;

use super::Patience;

/// The moment that times are counted from.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The state of a connection, shared by its parts.
pub(crate) struct Activity {
    /// Requests whose answer is being made.
    answering: AtomicUsize,
    /// Answers that are being sent.
    sending: Mutex<Vec<Arc<Sent>>>,
    /// Since when nothing of both is so, in milliseconds.
    idle_since: AtomicU64,
    /// When the peer last took bytes.
    wrote: AtomicU64,
    /// Whether it has one answer at a time, so that bytes that the peer takes are bytes of that. Over
    /// HTTP/2 they may be the echoes of its pings.
    serial: AtomicBool,
    /// Set when the place is needed for somebody else.
    evicted: AtomicBool,
    wake: Notify,
}

/// How an answer is being sent, in milliseconds.
struct Sent {
    /// Since when.
    since: u64,
    /// When the peer last made room for more of it.
    moved: AtomicU64,
}

/// A request from its headers to the last byte of its answer.
pub(crate) struct Request {
    activity: Arc<Activity>,
    /// Once the answer is made.
    sent: Option<Arc<Sent>>,
}

impl Activity {
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

    /// The peer took bytes.
    pub(crate) fn wrote(&self) {
        self.wrote.store(now(), Ordering::Relaxed);
    }

    /// A request has arrived, in this version of HTTP.
    pub(crate) fn begin(self: &Arc<Self>, version: Version) -> Request {
        self.answering.fetch_add(1, Ordering::SeqCst);
        self.serial.store(version < Version::HTTP_2, Ordering::Relaxed);
        Request { activity: Arc::clone(self), sent: None }
    }

    fn sending(&self) -> MutexGuard<'_, Vec<Arc<Sent>>> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_answering(&self) -> bool {
        self.answering.load(Ordering::SeqCst) > 0
    }

    /// Since when it has had no request, in milliseconds; `None` while it has one.
    pub(crate) fn idle_since(&self) -> Option<u64> {
        let busy = self.is_answering() || !self.sending().is_empty();
        (!busy).then(|| self.idle_since.load(Ordering::Relaxed))
    }

    /// Since when it has done nothing but send an answer, in milliseconds, where that is longer than this.
    pub(crate) fn sending_since(&self, longer: Duration) -> Option<u64> {
        let since = self.sending().iter().map(|sent| sent.since).min()?;
        let long = Duration::from_millis(now().saturating_sub(since)) > longer;
        (long && !self.is_answering()).then_some(since)
    }

    /// Ends it as soon as possible.
    pub(crate) fn evict(&self) {
        self.evicted.store(true, Ordering::SeqCst);
        self.wake.notify_one();
    }

    /// How much longer it may go on as it is; `None` while an answer is being made.
    ///
    /// Bytes that the peer sends do not count: one header byte a second wins no time.
    fn left(&self, patience: &Patience) -> Option<Duration> {
        if self.is_answering() {
            return None;
        }
        let slowest = self.sending().iter().map(|sent| sent.moved.load(Ordering::Relaxed)).min();
        let (since, allowed) = match slowest {
            Some(moved) => (moved, patience.sending),
            None => (self.idle_since.load(Ordering::Relaxed), patience.idle),
        };
        let wrote = self.wrote.load(Ordering::Relaxed);
        let since = if self.serial.load(Ordering::Relaxed) { since.max(wrote) } else { since };
        Some(allowed.saturating_sub(Duration::from_millis(now().saturating_sub(since))))
    }

    /// Done when the connection has had its time.
    pub(crate) async fn expired(&self, patience: &Patience) {
        while !self.evicted.load(Ordering::SeqCst) {
            let wait = match self.left(patience) {
                Some(Duration::ZERO) => return,
                Some(left) => left,
                // An answer ends when it ends: look again.
                None => patience.idle.min(patience.sending),
            };
            tokio::select! {
                () = tokio::time::sleep(wait.max(Duration::from_millis(1))) => {}
                () = self.wake.notified() => {}
            }
        }
    }
}

impl Request {
    /// The answer is made; what is left is sending it.
    pub(crate) fn send(&mut self) {
        let now = now();
        let sent = Arc::new(Sent { since: now, moved: AtomicU64::new(now) });
        self.activity.sending().push(Arc::clone(&sent));
        self.activity.answering.fetch_sub(1, Ordering::SeqCst);
        self.sent = Some(sent);
    }

    /// The peer made room for more of the answer.
    pub(crate) fn moved(&self) {
        if let Some(sent) = &self.sent {
            sent.moved.store(now(), Ordering::Relaxed);
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.activity.idle_since.store(now(), Ordering::SeqCst);
        match &self.sent {
            Some(own) => self.activity.sending().retain(|sent| !Arc::ptr_eq(sent, own)),
            None => {
                self.activity.answering.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }
}

/// Milliseconds since the first call.
fn now() -> u64 {
    START.elapsed().as_millis() as u64
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience { idle: Duration::from_secs(20), sending: Duration::from_secs(60) };

    #[test]
    fn a_request_has_no_deadline_and_its_sending_has_one() {
        let activity = Activity::new();
        let left = |least: u64| activity.left(&PATIENCE).is_some_and(|left| left.as_secs() >= least);
        assert!(left(10) && !left(21) && activity.idle_since().is_some());
        let mut request = activity.begin(Version::HTTP_11);
        assert_eq!((activity.left(&PATIENCE), activity.idle_since()), (None, None));
        request.send();
        assert!(left(50) && activity.idle_since().is_none());
        drop(request);
        assert!(left(10) && !left(21) && activity.idle_since().is_some());
    }

    #[test]
    fn over_http_2_the_slowest_answer_counts_and_no_other_bytes() {
        let activity = Activity::new();
        let [mut slow, mut other] = [(); 2].map(|()| activity.begin(Version::HTTP_2));
        slow.send();
        other.send();
        std::thread::sleep(Duration::from_millis(5));
        other.moved();
        activity.wrote();
        let left = activity.left(&PATIENCE).unwrap();
        assert!(left <= PATIENCE.sending - Duration::from_millis(5), "{left:?}");
        assert!(activity.sending_since(Duration::from_millis(4)).is_some());
        assert!(activity.sending_since(Duration::from_secs(600)).is_none());
        let _answering = activity.begin(Version::HTTP_2);
        assert!(activity.sending_since(Duration::ZERO).is_none());
    }

    #[tokio::test]
    async fn a_connection_expires_by_time_and_by_eviction() {
        let brief = Patience { idle: Duration::from_millis(20), sending: Duration::from_millis(20) };
        let activity = Activity::new();
        let request = activity.begin(Version::HTTP_11);
        let waiting = tokio::time::timeout(Duration::from_millis(100), activity.expired(&brief));
        assert!(waiting.await.is_err(), "an answer in the making was cut off");
        drop(request);
        activity.expired(&brief).await;
        let other = Activity::new();
        other.evict();
        tokio::time::timeout(Duration::from_secs(60), other.expired(&PATIENCE)).await.unwrap();
    }
}
