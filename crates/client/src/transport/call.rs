//! Time limits of calls.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use papir_core::without_passwords;
use papir_protocol::ErrorBody;

use super::options::Options;
use super::retry_observer::{RetryObserver, RetryPause};
use crate::core::{Address, Failure, Response};
use crate::error::{Error, Result};

/// Tolerance for timers of the system, which may fire this long before their time.
const EARLY: Duration = Duration::from_millis(5);

/// Time limits and reports of all calls to one service.
#[derive(Clone)]
pub(crate) struct CallRules {
    url: Arc<str>,
    timeout: Option<Duration>,
    deadline: Option<Instant>,
    observer: RetryObserver,
}

impl CallRules {
    pub(crate) fn new(address: &Address, options: &Options) -> Self {
        Self {
            url: address.base().into(),
            timeout: options.timeout,
            deadline: options.deadline,
            observer: options.retries.clone(),
        }
    }

    /// The time at which all calls end; `None` for no such time.
    #[cfg(feature = "aio")]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// The service's address, for errors.
    #[cfg(any(feature = "aio", feature = "blocking"))]
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Sets the time at which later calls end, in place of an earlier deadline.
    #[cfg(any(feature = "aio", feature = "blocking"))]
    pub(crate) fn end_by(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Reports no pauses of later calls.
    #[cfg(any(test, feature = "blocking"))]
    pub(crate) fn report_nothing(&mut self) {
        self.observer = RetryObserver::default();
    }

    /// A call that starts now, with the earlier one of its timeout and the deadline.
    pub(crate) fn start(&self) -> Call {
        let now = Instant::now();
        // A time that no clock reaches is no limit.
        let own = self.timeout.and_then(|timeout| now.checked_add(timeout));
        let end = match (own, self.deadline) {
            (Some(own), Some(deadline)) => Some(own.min(deadline)),
            (own, deadline) => own.or(deadline),
        };

        let limit = end.map(|end| CallLimit {
            end,
            timeout: self
                .timeout
                .unwrap_or_else(|| end.saturating_duration_since(now)),
        });
        Call {
            url: Arc::clone(&self.url),
            limit,
            observer: self.observer.clone(),
            trouble: Mutex::default(),
        }
    }
}

/// The end of a call, and the timeout to name in an error.
#[derive(Clone, Copy)]
struct CallLimit {
    end: Instant,
    timeout: Duration,
}

/// A call in progress: its end, and its last failure.
pub(crate) struct Call {
    url: Arc<str>,
    limit: Option<CallLimit>,
    observer: RetryObserver,
    /// The last failure or refusal; `None` after a successful response.
    trouble: Mutex<Option<Trouble>>,
}

struct Trouble {
    reason: String,
    since: Instant,
}

impl Call {
    /// The time at which the call ends; `None` without a limit.
    #[cfg(any(test, feature = "aio", feature = "blocking"))]
    pub(crate) fn end(&self) -> Option<Instant> {
        self.limit.map(|limit| limit.end)
    }

    /// The time left, which is more than [`EARLY`]; `None` without a limit.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if no time is left.
    pub(crate) fn left(&self) -> Result<Option<Duration>> {
        let Some(limit) = self.limit else {
            return Ok(None);
        };

        let left = limit.end.saturating_duration_since(Instant::now());
        if left <= EARLY {
            return Err(self.late());
        }
        Ok(Some(left))
    }

    /// Stores the outcome of a request, for reports and errors.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if the request failed because no time is left.
    pub(crate) fn note(&self, outcome: &Result<Response, Failure>) -> Result<()> {
        let is_complete = matches!(outcome, Ok(response) if response.body.is_ok());
        // The reason would only be that of the time limit.
        if !is_complete {
            self.left()?;
        }

        let reason = match outcome {
            Ok(response) => refusal(response),
            Err(failure) => Some(failure.to_string()),
        };
        let mut trouble = self.trouble();
        *trouble = reason.map(|reason| Trouble {
            reason,
            since: trouble
                .as_ref()
                .map_or_else(Instant::now, |first| first.since),
        });
        Ok(())
    }

    /// Checks that there is time for a pause before it starts, and reports the pause if it follows
    /// a failure.
    ///
    /// # Errors
    /// [`Error::TimedOut`] if the call would end during the pause.
    pub(crate) fn pause(&self, pause: Duration) -> Result<()> {
        let left = self.left()?;
        if left.is_some_and(|left| left <= pause) {
            return Err(self.late());
        }

        let report = self.trouble().as_ref().map(|trouble| RetryPause {
            url: without_passwords(&self.url),
            reason: without_passwords(&trouble.reason),
            since: trouble.since.elapsed(),
            pause,
        });
        // Without the lock: the application may take its time.
        if let Some(report) = report {
            self.observer.report(&report);
        }
        Ok(())
    }

    /// The error for a call without time left.
    pub(crate) fn late(&self) -> Error {
        Error::TimedOut {
            url: self.url.to_string(),
            timeout: self.limit.map(|limit| limit.timeout).unwrap_or_default(),
            reason: self
                .trouble()
                .as_ref()
                .map(|trouble| trouble.reason.clone()),
        }
    }

    fn trouble(&self) -> MutexGuard<'_, Option<Trouble>> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns true if no time is left until `end`; false without a limit.
#[cfg(any(feature = "aio", feature = "blocking"))]
pub(crate) fn is_over(end: Option<Instant>) -> bool {
    end.is_some_and(|end| end.saturating_duration_since(Instant::now()) <= EARLY)
}

/// The end of the next one of `attempts` attempts that share the time until `end` equally; `None`
/// without a limit. A silent server thus leaves time for the others.
#[cfg(any(feature = "aio", feature = "blocking"))]
pub(crate) fn share(end: Option<Instant>, attempts: u32) -> Option<Instant> {
    let now = Instant::now();
    let left = end?.saturating_duration_since(now);
    now.checked_add(left / attempts.max(1))
}

/// The reason of a refusal, for messages; `None` for a status below 400.
fn refusal(response: &Response) -> Option<String> {
    let status = response.status;
    if status < 400 {
        return None;
    }

    let body = response.body.as_deref().unwrap_or_default();
    Some(match ErrorBody::parse(body) {
        Some(problem) => format!("HTTP {status} ({}): {}", problem.code, problem.detail),
        None => format!("HTTP {status}"),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Longer than any test takes.
    const LONG: Duration = Duration::from_secs(24 * 3600);

    fn rules(options: &Options) -> CallRules {
        CallRules::new(&Address::parse("http://h").unwrap(), options)
    }

    fn refused() -> Result<Response, Failure> {
        Err("connection refused".into())
    }

    fn response(status: u16) -> Result<Response, Failure> {
        Ok(Response {
            status,
            headers: Vec::new(),
            body: Ok(Vec::new()),
        })
    }

    #[test]
    fn a_call_without_limits_never_ends() {
        let call = rules(&Options::default()).start();
        assert_eq!((call.end(), call.left().unwrap()), (None, None));
        call.pause(Duration::MAX).unwrap();

        let unreachable = Options {
            timeout: Some(Duration::MAX),
            ..Options::default()
        };
        assert_eq!(rules(&unreachable).start().end(), None);
    }

    #[test]
    fn the_earlier_of_both_limits_ends_a_call() {
        let now = Instant::now();
        let both = |timeout, deadline| Options {
            timeout: Some(timeout),
            deadline: Some(now + deadline),
            ..Options::default()
        };

        let shared = rules(&both(LONG * 2, LONG)).start();
        assert_eq!(shared.end(), Some(now + LONG));
        let own = rules(&both(LONG, LONG * 3)).start();
        assert!(own.end().unwrap() < now + LONG * 2);
        assert!(own.left().unwrap().unwrap() > LONG / 2);
    }

    #[test]
    fn a_pause_that_is_too_long_ends_the_call_with_the_last_failure() {
        let options = Options {
            timeout: Some(LONG),
            ..Options::default()
        };
        let call = rules(&options).start();
        call.note(&refused()).unwrap();
        call.pause(Duration::ZERO).unwrap();

        let error = call.pause(LONG * 2).unwrap_err();
        assert_eq!(error.code(), "timed_out");
        assert!(error.is_retryable());
        assert_eq!(
            error.to_string(),
            "http://h: no result within 86400s: connection refused"
        );

        call.note(&response(200)).unwrap();
        let error = call.pause(LONG * 2).unwrap_err();
        assert_eq!(error.to_string(), "http://h: no result within 86400s");
    }

    #[test]
    fn no_time_left_is_an_error_and_not_a_time_of_zero() {
        let options = Options {
            timeout: Some(Duration::ZERO),
            ..Options::default()
        };
        let call = rules(&options).start();
        assert_eq!(call.left().unwrap_err().code(), "timed_out");
        assert_eq!(call.note(&refused()).unwrap_err().code(), "timed_out");
        // A response that has arrived is used.
        call.note(&response(200)).unwrap();
        assert_eq!(call.pause(Duration::ZERO).unwrap_err().code(), "timed_out");
    }

    #[test]
    fn pauses_after_failures_are_reported() {
        let seen = Arc::new(Mutex::new(Vec::<RetryPause>::new()));
        let reports = Arc::clone(&seen);
        let options = Options {
            retries: RetryObserver::new(move |pause| reports.lock().unwrap().push(pause.clone())),
            ..Options::default()
        };

        let call = rules(&options).start();
        call.pause(LONG).unwrap();
        call.note(&refused()).unwrap();
        call.pause(LONG).unwrap();
        call.note(&response(503)).unwrap();
        call.pause(LONG).unwrap();

        let seen = seen.lock().unwrap();
        let reasons: Vec<&str> = seen.iter().map(|pause| pause.reason.as_str()).collect();
        assert_eq!(reasons, ["connection refused", "HTTP 503"]);
        assert!(
            seen.iter()
                .all(|one| one.url == "http://h" && one.pause == LONG)
        );
        assert!(seen[0].since <= seen[1].since, "since the first failure");
    }

    #[test]
    fn calls_that_nobody_waits_for_report_nothing() {
        let seen = Arc::new(Mutex::new(0));
        let reports = Arc::clone(&seen);
        let options = Options {
            retries: RetryObserver::new(move |_| *reports.lock().unwrap() += 1),
            ..Options::default()
        };

        let mut silent = rules(&options);
        silent.report_nothing();
        for (calls, expected) in [(silent, 0), (rules(&options), 1)] {
            let call = calls.start();
            call.note(&refused()).unwrap();
            call.pause(LONG).unwrap();
            assert_eq!(*seen.lock().unwrap(), expected);
        }
    }

    #[test]
    fn reports_have_no_passwords() {
        let seen = Arc::new(Mutex::new(Vec::<RetryPause>::new()));
        let reports = Arc::clone(&seen);
        let options = Options {
            retries: RetryObserver::new(move |pause| reports.lock().unwrap().push(pause.clone())),
            ..Options::default()
        };

        let address = Address::parse("http://user:secret@h").unwrap();
        let call = CallRules::new(&address, &options).start();
        call.note(&Err("http://user:secret@h refuses".into()))
            .unwrap();
        call.pause(LONG).unwrap();

        let seen = seen.lock().unwrap();
        assert_eq!(seen[0].url, "http://user:***@h");
        assert_eq!(seen[0].reason, "http://user:***@h refuses");
    }
}
