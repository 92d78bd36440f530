//! Choice among several servers of a database.

use std::time::Duration;

use papir_checkpoint::Error as CheckpointError;

use super::checkpoints::CATCH_UP;
use super::retries::{MAX_BROKEN, jitter, pause};
use super::service::Service;
use super::task::Task;
use crate::error::{Error, Result, ServerFailure};

/// The search of one call for a server that can be used.
///
/// It tries the servers in the order of their addresses, from the one that was used last. After a
/// round in which all failed it pauses, and starts another one while a failure may pass in time.
/// Order and pauses depend on the outcomes of requests, and never on what is looked up.
pub(crate) struct ServerSearch {
    /// The servers; empty for a connection to a single one.
    services: Vec<Service>,
    /// The number of the server that is tried.
    current: usize,
    /// The failures of this round.
    failures: Vec<ServerFailure>,
    /// Number of complete rounds.
    rounds: u32,
    /// The platform's time at the start.
    start: Duration,
    /// Time after which no round starts because a server is away or busy.
    patience: Duration,
    /// Time after which no round starts because a server is behind.
    catch_up: Duration,
}

impl ServerSearch {
    /// Starts a search with the server of number `first`. `catch_up` is that of the settings.
    pub(crate) fn start(services: Vec<Service>, first: usize, catch_up: Option<Duration>) -> Self {
        let any = services.first();
        Self {
            start: any.map_or(Duration::ZERO, |one| one.platform.now()),
            patience: any.map_or(Duration::ZERO, |one| one.patience),
            catch_up: catch_up.unwrap_or(CATCH_UP),
            current: first,
            failures: Vec::new(),
            rounds: 0,
            services,
        }
    }

    /// The number of the server to try.
    pub(crate) fn current(&self) -> usize {
        self.current
    }

    /// The number of servers that this round has still to try, with the current one.
    pub(crate) fn left(&self) -> u32 {
        let left = self.services.len().saturating_sub(self.failures.len());
        u32::try_from(left).unwrap_or(u32::MAX).max(1)
    }

    /// Returns true if there is another server.
    pub(crate) fn has_others(&self) -> bool {
        self.services.len() > 1
    }

    /// The address of the current server, for messages; empty without a server.
    pub(crate) fn address(&self) -> String {
        let service = self.services.get(self.current);
        service.map_or_else(String::new, |one| one.address().shown())
    }

    /// The time since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        let any = self.services.first();
        any.map_or(Duration::ZERO, |one| {
            one.platform.now().saturating_sub(self.start)
        })
    }

    /// Goes on to the next server after a failure of the current one. Returns the pause before it,
    /// which is zero within a round.
    ///
    /// Fails with [`Error::NoServer`] if all servers have failed, and none may be usable in time.
    pub(crate) fn pass_over(&mut self, error: Error) -> Result<Duration> {
        self.failures.push(ServerFailure {
            url: self.address(),
            error,
        });
        self.current = (self.current + 1) % self.services.len().max(1);
        if self.failures.len() < self.services.len() {
            return Ok(Duration::ZERO);
        }

        self.rounds += 1;
        let failures = std::mem::take(&mut self.failures);
        let wait = self.pause();
        if self.may_pass(&failures, wait) {
            Ok(wait)
        } else {
            Err(Error::NoServer { failures })
        }
    }

    /// The pause before another round.
    fn pause(&self) -> Duration {
        let least = pause(self.rounds);
        match self.services.first() {
            Some(any) => least + jitter(&*any.platform, least / 2),
            None => least,
        }
    }

    /// Returns true if one of the failures of a round may have passed after a wait. The first one
    /// is of the current server.
    fn may_pass(&self, failures: &[ServerFailure], wait: Duration) -> bool {
        let spent = self.elapsed().saturating_add(wait);
        let from_current = self.services.iter().cycle().skip(self.current);

        for (service, failure) in from_current.zip(failures) {
            let most = match &failure.error {
                Error::Checkpoint {
                    error: CheckpointError::Rollback { .. } | CheckpointError::Sequence { .. },
                    ..
                } => self.catch_up,
                // Its address is probably wrong.
                _ if !service.has_responded() && self.rounds > MAX_BROKEN => Duration::ZERO,
                error if error.is_retryable() => self.patience,
                _ => Duration::ZERO,
            };
            if spent <= most {
                return true;
            }
        }
        false
    }
}

/// A task that waits.
pub(crate) fn wait_for(duration: Duration) -> Task<'static, Result<()>> {
    Task::new(move |io| async move {
        io.wait(duration).await;
        Ok(())
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::{Arc, Mutex};

    use rand_core::CryptoRng;

    use super::*;
    use crate::core::platform::Platform;
    use crate::rng::system_rng;

    /// A clock that a test sets.
    #[derive(Default)]
    struct SetClock(Mutex<Duration>);

    impl Platform for SetClock {
        fn now(&self) -> Duration {
            *self.0.lock().unwrap()
        }

        fn unix_time(&self) -> u64 {
            0
        }

        fn rng(&self) -> Box<dyn CryptoRng + '_> {
            Box::new(system_rng())
        }
    }

    const PATIENCE: Duration = Duration::from_secs(20);

    fn search(clock: &Arc<SetClock>, first: usize) -> ServerSearch {
        let services = ["http://a", "http://b", "http://c"].map(|url| {
            let platform: Arc<dyn Platform> = Arc::<SetClock>::clone(clock);
            let service = Service::new(url, None, false, platform).unwrap();
            service.with_patience(PATIENCE)
        });
        ServerSearch::start(services.into(), first, None)
    }

    fn away() -> Error {
        Error::of_failure("http://x".to_owned(), "connection refused".into())
    }

    fn busy() -> Error {
        Error::Http {
            url: "http://x".to_owned(),
            status: 503,
            code: "not_ready".to_owned(),
            message: String::new(),
            current: None,
        }
    }

    fn behind() -> Error {
        Error::Checkpoint {
            url: "http://x".to_owned(),
            error: CheckpointError::Rollback {
                found: 1,
                highest: 2,
            },
        }
    }

    fn different() -> Error {
        Error::NoCheckpoint {
            url: "http://x".to_owned(),
        }
    }

    /// Fails at all servers of a round, at the last one with this error.
    fn fail_all(search: &mut ServerSearch, error: fn() -> Error) -> Result<Duration> {
        assert_eq!(search.pass_over(different()).unwrap(), Duration::ZERO);
        assert_eq!(search.pass_over(different()).unwrap(), Duration::ZERO);
        search.pass_over(error())
    }

    #[test]
    fn servers_are_tried_in_a_fixed_rotation() {
        let clock = Arc::default();
        let mut search = search(&clock, 1);
        let mut tried = Vec::new();
        for left in [3, 2, 1] {
            assert_eq!(search.left(), left);
            tried.push(search.address());
            search.pass_over(away()).unwrap();
        }
        assert_eq!(tried, ["http://b", "http://c", "http://a"]);
        assert_eq!((search.current(), search.left()), (1, 3));
    }

    #[test]
    fn the_error_names_every_server_and_its_reason() {
        let clock = Arc::default();
        let error = fail_all(&mut search(&clock, 2), different).unwrap_err();
        let text = error.to_string();
        for part in [
            "3 servers",
            "http://a",
            "http://b",
            "http://c",
            "no checkpoint",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!error.is_retryable());
        assert_eq!(error.code(), "no_server");
    }

    #[test]
    fn rounds_end_with_the_patience() {
        let limits: [(fn() -> Error, u64); 2] = [(busy, 20), (behind, 30)];
        for (error, seconds) in limits {
            let clock = Arc::new(SetClock::default());
            let mut search = search(&clock, 0);
            search.services[2].note_response();
            *clock.0.lock().unwrap() = Duration::from_secs(seconds - 1);
            assert!(!fail_all(&mut search, error).unwrap().is_zero());

            *clock.0.lock().unwrap() = Duration::from_secs(seconds);
            assert_eq!(
                fail_all(&mut search, error).unwrap_err().code(),
                "no_server"
            );
        }
    }

    #[test]
    fn addresses_that_never_responded_get_a_few_rounds() {
        let clock = Arc::default();
        let mut unknown = search(&clock, 0);
        for _ in 0..MAX_BROKEN {
            fail_all(&mut unknown, away).unwrap();
        }
        let error = fail_all(&mut unknown, away).unwrap_err();
        assert!(error.is_retryable(), "{error}");

        let mut known = search(&clock, 0);
        known.services[2].note_response();
        for _ in 0..2 * MAX_BROKEN {
            fail_all(&mut known, away).unwrap();
        }
    }
}
