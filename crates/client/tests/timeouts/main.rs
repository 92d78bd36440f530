//! Every call ends within its timeout, for any behaviour of the service.
#![cfg(feature = "blocking")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(unreachable_pub)]
mod services;
#[cfg(target_os = "linux")]
mod sockets;

use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use papir_client::{Connection, Error, Options, Registrations, Result, RetryObserver, psi};

use services::Service;

/// Time after which a call counts as hanging. It is far longer than any timeout here, even on a
/// busy machine.
const HANGS: Duration = Duration::from_secs(300);
/// Timeout of the calls.
const TIMEOUT: Duration = Duration::from_millis(400);
/// A timeout within which any service responds, and which is shorter than the pause that a busy one
/// asks for.
const LONG_TIMEOUT: Duration = Duration::from_secs(19);

fn options() -> Options {
    within(TIMEOUT)
}

fn within(timeout: Duration) -> Options {
    Options {
        timeout: Some(timeout),
        ..Options::default()
    }
}

/// A kind of call.
type Call = fn(&str, &Options) -> Result<()>;

const CALLS: [(&str, Call); 6] = [
    ("open", |url, options| {
        Connection::open_with(url, options).map(drop)
    }),
    ("ready", |url, options| papir_client::ready(url, options)),
    ("detail", |url, options| {
        papir_client::detail(url, options).map(drop)
    }),
    ("probe", |url, options| {
        papir_client::probe(url, options).map(drop)
    }),
    ("clients", |url, options| {
        Registrations::open(url, options).map(drop)
    }),
    ("psi", |url, options| psi::describe(url, options).map(drop)),
];

/// Runs work that must end. Returns its outcome.
fn ends<T: Send + 'static>(what: &str, work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, outcome) = mpsc::channel();
    thread::spawn(move || done.send(work()));
    outcome.recv_timeout(HANGS).expect(what)
}

/// Returns the error of a call.
fn error(what: &str, call: Call, url: &str, options: Options) -> Error {
    let url = url.to_owned();
    ends(what, move || call(&url, &options)).unwrap_err()
}

fn assert_timed_out(what: &str, error: &Error) {
    assert!(
        matches!(error, Error::TimedOut { timeout, .. } if *timeout == TIMEOUT),
        "{what}: {error}"
    );
    assert_eq!((error.code(), error.is_retryable()), ("timed_out", true));
}

#[test]
fn a_silent_service_is_not_waited_for() {
    let service = Service::silent();
    for (what, call) in CALLS {
        assert_timed_out(what, &error(what, call, &service.url, options()));
    }
}

#[test]
fn a_service_that_sends_byte_by_byte_is_not_waited_for() {
    for service in [Service::slow_head(), Service::slow_body()] {
        let (what, call) = CALLS[0];
        assert_timed_out(what, &error(what, call, &service.url, options()));
    }
}

#[test]
fn a_busy_service_is_the_error_and_not_the_timeout() {
    let service = Service::busy();
    let (what, call) = CALLS[0];
    let error = error(what, call, &service.url, within(LONG_TIMEOUT));
    assert!(matches!(error, Error::Http { status: 503, .. }), "{error}");
}

#[test]
fn a_deadline_bounds_several_calls_together() {
    let service = Service::silent();
    let options = Options {
        timeout: Some(HANGS * 2),
        deadline: Some(Instant::now() + TIMEOUT),
        ..Options::default()
    };
    for (what, call) in CALLS {
        let error = error(what, call, &service.url, options.clone());
        assert_eq!(error.code(), "timed_out", "{what}: {error}");
    }
}

#[test]
fn the_pauses_of_a_busy_service_are_reported() {
    let service = Service::busy();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (reported, report) = mpsc::channel();
    let reports = Arc::clone(&seen);
    let options = Options {
        // Longer than the pause that the service asks for.
        timeout: Some(HANGS),
        retries: RetryObserver::new(move |pause| {
            reports.lock().unwrap().push(pause.clone());
            let _ = reported.send(());
        }),
        ..Options::default()
    };

    // The pause itself is not waited for: the thread ends with the test.
    let url = service.url.clone();
    thread::spawn(move || drop(Connection::open_with(&url, &options)));
    report.recv_timeout(HANGS).unwrap();

    let seen = seen.lock().unwrap();
    assert_eq!(
        (seen[0].url.as_str(), seen[0].reason.as_str()),
        (service.url.as_str(), "HTTP 503")
    );
    assert!(seen[0].pause >= Duration::from_secs(20));
}

#[cfg(feature = "aio")]
mod asynchronous {
    use papir_client::aio;
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    /// Runtimes of one thread: computations on other threads, or in place.
    const PLACES: [bool; 2] = [false, true];

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_all().build().unwrap()
    }

    fn open(url: &str, options: &Options, in_place: bool) -> Error {
        let url = url.to_owned();
        let options = options.clone();
        let opened = ends("open", move || {
            let opening = aio::Connection::open_with(&url, &options);
            match in_place {
                true => runtime().block_on(aio::in_place(opening)),
                false => runtime().block_on(opening),
            }
        });
        opened.map(drop).unwrap_err()
    }

    #[test]
    fn silent_and_slow_services_are_not_waited_for() {
        let services = [
            Service::silent(),
            Service::slow_head(),
            Service::slow_body(),
        ];
        for service in services {
            for in_place in PLACES {
                assert_timed_out("open", &open(&service.url, &options(), in_place));
            }
        }
    }

    #[test]
    fn a_busy_service_is_the_error_and_not_the_timeout() {
        let service = Service::busy();
        for in_place in PLACES {
            let error = open(&service.url, &within(LONG_TIMEOUT), in_place);
            assert!(matches!(error, Error::Http { status: 503, .. }), "{error}");
        }
    }
}
