//! What one connection is doing, and until when it may.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Patience;

/// The moment that times are counted from.
static START: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The state of a connection, shared by its parts.
pub(crate) struct Activity {
    /// Requests whose answer is being made.
    answering: AtomicUsize,
    /// Answers that are being sent.
    sending: AtomicUsize,
    /// Since when nothing of both is so, in milliseconds.
    idle_since: AtomicU64,
    /// When the peer last took bytes.
    wrote: AtomicU64,
    /// Set when the place is needed for somebody else.
    evicted: AtomicBool,
    wake: Notify,
}

/// A request from its headers to the last byte of its answer.
pub(crate) struct Request {
    activity: Arc<Activity>,
    sending: bool,
}

impl Activity {
    pub(crate) fn new() -> Arc<Self> {
        let now = now();
        Arc::new(Self {
            answering: AtomicUsize::new(0),
            sending: AtomicUsize::new(0),
            idle_since: AtomicU64::new(now),
            wrote: AtomicU64::new(now),
            evicted: AtomicBool::new(false),
            wake: Notify::new(),
        })
    }

    /// The peer took bytes.
    pub(crate) fn wrote(&self) {
        self.wrote.store(now(), Ordering::Relaxed);
    }

    /// A request has arrived.
    pub(crate) fn begin(self: &Arc<Self>) -> Request {
        self.answering.fetch_add(1, Ordering::SeqCst);
        Request { activity: Arc::clone(self), sending: false }
    }

    /// Since when it has had no request, in milliseconds; `None` while it has one.
    pub(crate) fn idle_since(&self) -> Option<u64> {
        let busy = self.answering.load(Ordering::SeqCst) + self.sending.load(Ordering::SeqCst) > 0;
        (!busy).then(|| self.idle_since.load(Ordering::Relaxed))
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
        if self.answering.load(Ordering::SeqCst) > 0 {
            return None;
        }
        let idle = self.idle_since();
        let (since, allowed) = match idle {
            Some(since) => (since, patience.idle),
            None => (0, patience.sending),
        };
        let since = since.max(self.wrote.load(Ordering::Relaxed));
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
        self.activity.wrote();
        self.activity.sending.fetch_add(1, Ordering::SeqCst);
        self.activity.answering.fetch_sub(1, Ordering::SeqCst);
        self.sending = true;
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.activity.idle_since.store(now(), Ordering::SeqCst);
        let count = if self.sending { &self.activity.sending } else { &self.activity.answering };
        count.fetch_sub(1, Ordering::SeqCst);
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
        assert!(left(19) && !left(21) && activity.idle_since().is_some());
        let mut request = activity.begin();
        assert_eq!((activity.left(&PATIENCE), activity.idle_since()), (None, None));
        request.send();
        assert!(left(59) && activity.idle_since().is_none());
        drop(request);
        assert!(left(19) && !left(21) && activity.idle_since().is_some());
    }

    #[tokio::test]
    async fn a_connection_expires_by_time_and_by_eviction() {
        let brief = Patience { idle: Duration::from_millis(20), sending: Duration::from_millis(20) };
        let activity = Activity::new();
        let request = activity.begin();
        let waiting = tokio::time::timeout(Duration::from_millis(100), activity.expired(&brief));
        assert!(waiting.await.is_err(), "an answer in the making was cut off");
        drop(request);
        activity.expired(&brief).await;
        let other = Activity::new();
        other.evict();
        tokio::time::timeout(Duration::from_secs(5), other.expired(&PATIENCE)).await.unwrap();
    }
}
