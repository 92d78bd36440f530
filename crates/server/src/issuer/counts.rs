//! Tokens issued to each client today, in a file.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use redb::{Database, ReadableTable, TableDefinition};

use super::problem::IssuerProblem;
use crate::admission::catch_panic;
use crate::error::Error;

/// Client → the day of its last request, the tokens issued on that day, and the hash of that
/// request.
const COUNTS: TableDefinition<'_, &str, (u64, u32, [u8; 32])> =
    TableDefinition::new("issued tokens v1");
/// Number of times for which a client's last request is signed again without a charge. Signatures
/// take time, so that repeats are bounded like new requests.
const FREE_REPEATS: u32 = 8;
/// Length of a day in seconds.
const DAY_SECONDS: u64 = 24 * 60 * 60;

/// The numbers of issued tokens. Only one process can have the file open.
pub(super) struct IssuedCounts {
    path: PathBuf,
    /// Tokens of each client in a day.
    daily: u32,
    state: Mutex<CountsState>,
}

/// The open file, and what is not in it.
struct CountsState {
    /// `None` after a failure: redb refuses everything until the file is opened again.
    file: Option<Database>,
    /// The number of times that each client has repeated its last request without a charge. A
    /// restart forgets it, and gives nobody a token.
    repeats: HashMap<String, u32>,
}

/// The charge of an order to its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Charge {
    /// Its tokens.
    Counted,
    /// Nothing: it is the last order again.
    Repeated,
    /// Too many tokens. It is refused.
    OverQuota,
}

/// The rules by which an order is charged.
#[derive(Clone, Copy)]
struct ChargeRules {
    /// Tokens of each client in a day.
    daily: u32,
    /// The number of the day.
    today: u64,
    /// Set if the last order costs nothing now.
    may_repeat: bool,
}

/// The tokens that a client asks for.
pub(super) struct TokenOrder<'a> {
    /// The name of the client's bearer token.
    pub(super) client: &'a str,
    /// The number of tokens.
    pub(super) count: u32,
    /// The hash of the request.
    pub(super) digest: [u8; 32],
}

impl IssuedCounts {
    /// Opens or creates the file.
    ///
    /// # Errors
    /// [`Error::IssuedCounts`].
    pub(super) fn open(path: &Path, daily: u32) -> Result<Self, Error> {
        let file = open(path).map_err(|reason| Error::IssuedCounts {
            path: path.to_owned(),
            reason,
        })?;
        Ok(Self {
            path: path.to_owned(),
            daily,
            state: Mutex::new(CountsState {
                file: Some(file),
                repeats: HashMap::new(),
            }),
        })
    }

    /// Charges an order to its client. The charge is on disk on return, so that a crash gives
    /// nobody more tokens.
    ///
    /// The client's last request is not charged again, [`FREE_REPEATS`] times: its response may
    /// have been lost, and a signature of the same blinded token is no other token.
    pub(super) fn charge(
        &self,
        order: &TokenOrder<'_>,
        now: SystemTime,
    ) -> Result<(), IssuerProblem> {
        // Held to the end: of two orders at the same time, each counts the other.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match state.file.take() {
            Some(file) => file,
            None => open(&self.path).map_err(|reason| failed(&reason))?,
        };

        let repeats = state.repeats.get(order.client).copied().unwrap_or(0);
        let rules = ChargeRules {
            daily: self.daily,
            today: day(now),
            may_repeat: repeats < FREE_REPEATS,
        };
        let charge = record(&file, order, rules).map_err(|error| {
            // The file stays closed, and the next order opens it again.
            failed(&error.to_string())
        })?;
        state.file = Some(file);

        match charge {
            Charge::Counted => {
                state.repeats.remove(order.client);
                Ok(())
            }
            Charge::Repeated => {
                state.repeats.insert(order.client.to_owned(), repeats + 1);
                Ok(())
            }
            Charge::OverQuota => Err(IssuerProblem::OverQuota {
                daily: self.daily,
                after: until_next_day(now),
            }),
        }
    }
}

/// Records an order, unless it costs nothing or the client would have too many tokens.
fn record(
    file: &Database,
    order: &TokenOrder<'_>,
    rules: ChargeRules,
) -> Result<Charge, redb::Error> {
    let ChargeRules {
        daily,
        today,
        may_repeat,
    } = rules;
    let transaction = file.begin_write()?;
    let charge = {
        let mut counts = transaction.open_table(COUNTS)?;
        let last = counts.get(order.client)?.map(|found| found.value());
        let (day, issued, digest) = last.unwrap_or((today, 0, [0; 32]));
        if may_repeat && digest == order.digest {
            return Ok(Charge::Repeated);
        }

        // A clock that was set back gives no tokens again.
        let issued = if day < today { 0 } else { issued };
        let total = issued.saturating_add(order.count);
        let is_over = total > daily;
        if is_over && day <= today {
            return Ok(Charge::OverQuota);
        }

        // Dated today even if the last day is to come, and the order refused: a clock that was far
        // ahead keeps nobody out for longer than today. Each time that a clock is set back and goes
        // on, a client receives the tokens of one day more, at most.
        let row = match is_over {
            true => (today, issued, digest),
            false => (today, total, order.digest),
        };
        counts.insert(order.client, row)?;
        match is_over {
            true => Charge::OverQuota,
            false => Charge::Counted,
        }
    };
    transaction.commit()?;
    Ok(charge)
}

/// Opens or creates the file, which only its owner may use. The error is a reason for messages.
fn open(path: &Path) -> Result<Database, String> {
    make_private(path).map_err(|error| error.to_string())?;
    // redb panics at some damage.
    let opened = catch_panic(|| Database::create(path));
    let opened = opened.map_err(|_| "its tables contradict each other".to_owned())?;
    opened.map_err(|error| error.to_string())
}

/// Creates the file if it is missing. redb would create one that all users may read.
fn make_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}

/// Logs a failure of the file.
fn failed(reason: &str) -> IssuerProblem {
    tracing::error!(%reason, "issued tokens not counted: none are issued");
    IssuerProblem::Internal
}

/// The number of a day, UTC.
fn day(now: SystemTime) -> u64 {
    seconds(now) / DAY_SECONDS
}

/// The time until the next day begins.
fn until_next_day(now: SystemTime) -> Duration {
    Duration::from_secs(DAY_SECONDS - seconds(now) % DAY_SECONDS)
}

fn seconds(now: SystemTime) -> u64 {
    now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::thread;

    use super::*;

    const DAY: Duration = Duration::from_secs(DAY_SECONDS);

    /// A time of a day.
    fn at(day: u32, seconds: u64) -> SystemTime {
        UNIX_EPOCH + DAY * (20_000 + day) + Duration::from_secs(seconds)
    }

    fn order(client: &str, count: u32, request: u8) -> TokenOrder<'_> {
        TokenOrder {
            client,
            count,
            digest: [request; 32],
        }
    }

    #[test]
    fn each_client_has_its_tokens_of_a_day_also_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts.redb");
        let counts = IssuedCounts::open(&path, 64).unwrap();
        counts.charge(&order("a", 32, 1), at(0, 0)).unwrap();
        counts.charge(&order("a", 32, 2), at(0, 9)).unwrap();

        drop(counts);
        let counts = IssuedCounts::open(&path, 64).unwrap();
        let refused = counts.charge(&order("a", 1, 3), at(0, 86_390)).unwrap_err();
        let expected = IssuerProblem::OverQuota {
            daily: 64,
            after: Duration::from_secs(10),
        };
        assert_eq!(refused, expected);

        counts.charge(&order("b", 64, 4), at(0, 9)).unwrap();
        counts.charge(&order("a", 64, 5), at(1, 0)).unwrap();
        assert!(counts.charge(&order("a", 1, 6), at(1, 1)).is_err());
        // A clock that was set back, and one that goes on from there.
        assert!(counts.charge(&order("a", 1, 7), at(0, 0)).is_err());
        counts.charge(&order("b", 64, 8), at(3, 0)).unwrap();
        assert!(counts.charge(&order("b", 1, 9), at(2, 0)).is_err());
    }

    #[test]
    fn the_last_request_is_charged_once() {
        let folder = tempfile::tempdir().unwrap();
        let counts = IssuedCounts::open(&folder.path().join("counts.redb"), 64).unwrap();
        for _ in 0..5 {
            counts.charge(&order("a", 64, 1), at(0, 0)).unwrap();
        }
        assert!(counts.charge(&order("a", 1, 2), at(0, 0)).is_err());
        assert!(counts.charge(&order("b", 65, 1), at(0, 0)).is_err());
    }

    #[test]
    fn repeats_beyond_a_few_are_charged() {
        let folder = tempfile::tempdir().unwrap();
        let counts = IssuedCounts::open(&folder.path().join("counts.redb"), 64).unwrap();
        for _ in 0..2 * (1 + FREE_REPEATS) {
            counts.charge(&order("a", 32, 1), at(0, 0)).unwrap();
        }
        assert!(counts.charge(&order("a", 32, 1), at(0, 0)).is_err());
        counts.charge(&order("b", 32, 1), at(0, 0)).unwrap();
        counts.charge(&order("a", 32, 1), at(1, 0)).unwrap();
    }

    #[test]
    fn a_clock_that_was_far_ahead_keeps_nobody_out_for_longer_than_a_day() {
        let folder = tempfile::tempdir().unwrap();
        let counts = IssuedCounts::open(&folder.path().join("counts.redb"), 64).unwrap();
        counts.charge(&order("a", 64, 1), at(3000, 0)).unwrap();
        counts.charge(&order("b", 32, 2), at(3000, 0)).unwrap();

        // The tokens of that day count today.
        assert!(counts.charge(&order("a", 1, 3), at(0, 0)).is_err());
        counts.charge(&order("b", 32, 4), at(0, 0)).unwrap();
        assert!(counts.charge(&order("b", 1, 5), at(0, 0)).is_err());
        for client in ["a", "b"] {
            counts.charge(&order(client, 64, 6), at(1, 0)).unwrap();
        }
    }

    #[test]
    fn orders_at_the_same_time_count_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let counts = IssuedCounts::open(&folder.path().join("counts.redb"), 100).unwrap();
        let counts = &counts;
        let admitted: usize = thread::scope(|scope| {
            let charged = (1..=8).map(|number| {
                scope.spawn(move || counts.charge(&order("a", 32, number), at(0, 0)).is_ok())
            });
            let running: Vec<_> = charged.collect();
            let ended = running.into_iter().map(|thread| thread.join().unwrap());
            ended.map(usize::from).sum()
        });
        assert_eq!(admitted, 3);
    }

    #[test]
    fn the_file_is_private_and_a_damaged_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts.redb");
        drop(IssuedCounts::open(&path, 64).unwrap());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }

        std::fs::write(&path, "damaged").unwrap();
        let refused = IssuedCounts::open(&path, 64).map(drop).unwrap_err();
        assert!(refused.to_string().contains("counts.redb"), "{refused}");
    }
}
