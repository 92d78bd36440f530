//! Versions of one database: the newest and its recent predecessors.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use papir_core::Version;
use papir_core::envelope::{Kind, named_version};
use papir_core::short::{Binding, handle_of};

use super::database::Database;
use super::error::QueryError;

/// Maximum number of old snapshots that are kept. Beyond this the oldest is dropped, so that
/// frequent swaps do not exhaust memory.
pub(crate) const MAX_PREVIOUS: usize = 2;
/// Maximum number of old versions with a delta. Beyond this the oldest is dropped: each has labels
/// of its own in the metrics, and is listed in the description of the database.
const MAX_OLD_DELTAS: usize = 64;
/// Maximum total length of the files of old deltas, in bytes: 1 GiB. Beyond this the oldest is
/// dropped.
const MAX_OLD_DELTA_BYTES: u64 = 1 << 30;
/// Upper bound on how long an old version is kept: a year.
const MAX_KEEP: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The versions served under one name.
pub(crate) struct Versions {
    newest: Option<Served>,
    /// Newest first.
    previous: Vec<Previous>,
    keep: Duration,
}

struct Served {
    database: Arc<Database>,
    since: Instant,
}

struct Previous {
    served: Served,
    until: Instant,
}

/// One answered version at one point in time.
pub(crate) struct VersionView {
    pub(crate) database: Arc<Database>,
    /// Time since it was put in place.
    pub(crate) age: Duration,
    /// Time for which it is still answered; `None` for the newest.
    pub(crate) left: Option<Duration>,
}

impl Versions {
    /// Starts with an optional first version. Old versions are kept for `keep`.
    pub(crate) fn new(first: Option<Database>, keep: Duration) -> Self {
        let mut versions = Self {
            newest: None,
            previous: Vec::new(),
            keep: keep.min(MAX_KEEP),
        };

        if let Some(database) = first {
            versions.put(database, Instant::now());
        }
        versions
    }

    /// The newest version.
    pub(crate) fn newest(&self) -> Option<Arc<Database>> {
        self.newest
            .as_ref()
            .map(|served| Arc::clone(&served.database))
    }

    /// Makes `database` the newest version. Returns the versions that are no longer answered. The
    /// caller should drop them outside any lock, since unmapping a large file takes time.
    pub(crate) fn put(&mut self, database: Database, now: Instant) -> Vec<Arc<Database>> {
        let version = database.version();
        let base = database.base_version();
        let changed_base = database.delta().map(|_| base);

        let served = Served {
            database: Arc::new(database),
            since: now,
        };
        if let Some(served) = self.newest.replace(served) {
            // The log of the new version continues it. The newest version of another snapshot keeps
            // its log, since it becomes the newest again if this snapshot is damaged.
            if served.database.base_version() == base {
                served.database.drop_log();
            }
            let old = Previous {
                served,
                until: now + self.keep,
            };
            self.previous.insert(0, old);
        }

        // The same snapshot may be loaded again, or an old one restored: keep each version once.
        let mut gone = self.take(|old| old.served.database.version() == version);

        // A request for the snapshot's own version does not ask the delta, so it is refused now.
        gone.extend(self.take(|old| Some(old.served.database.version()) == changed_base));

        gone.extend(self.expire(now));
        gone.extend(self.drop_surplus());
        gone
    }

    /// Removes and returns the versions beyond [`MAX_PREVIOUS`] snapshots, [`MAX_OLD_DELTAS`] and
    /// [`MAX_OLD_DELTA_BYTES`].
    fn drop_surplus(&mut self) -> Vec<Arc<Database>> {
        let mut bases: Vec<Version> = self
            .newest()
            .iter()
            .map(|newest| newest.base_version())
            .collect();
        let mut deltas = 0;
        let mut bytes = 0;

        // From the newest to the oldest, so that the newest find room.
        let mut surplus = Vec::new();
        for old in std::mem::take(&mut self.previous) {
            let database = &old.served.database;
            let base = database.base_version();
            let is_known = bases.contains(&base);
            let count = deltas + usize::from(database.delta().is_some());
            let total = bytes + database.delta().map_or(0, |delta| delta.snapshot);

            let has_room = is_known || bases.len() <= MAX_PREVIOUS;
            if !has_room || count > MAX_OLD_DELTAS || total > MAX_OLD_DELTA_BYTES {
                surplus.push(old.served.database);
                continue;
            }

            deltas = count;
            bytes = total;
            if !is_known {
                bases.push(base);
            }
            self.previous.push(old);
        }
        surplus
    }

    /// Adds a version that was replaced at `since`, before this service started, as the oldest one.
    /// Gives it back if it is expired or already there, or if there are enough old versions.
    pub(crate) fn restore(
        &mut self,
        database: Database,
        since: SystemTime,
        now: Instant,
    ) -> Option<Database> {
        // A time in the future, by another machine's clock, counts as now.
        let age = SystemTime::now().duration_since(since).unwrap_or_default();
        let left = self.keep.saturating_sub(age);

        let known = self
            .views(now)
            .iter()
            .any(|view| view.database.version() == database.version());
        if known || left.is_zero() || self.previous.len() >= MAX_PREVIOUS {
            return Some(database);
        }

        // Last, as the oldest: it was replaced before this service started.
        let served = Served {
            database: Arc::new(database),
            since: now,
        };
        self.previous.push(Previous {
            served,
            until: now + left,
        });
        None
    }

    /// Removes and returns the versions of a snapshot. The newest that is left becomes the newest
    /// again.
    pub(crate) fn retract(
        &mut self,
        is_of: impl Fn(&Database) -> bool,
        now: Instant,
    ) -> Vec<Arc<Database>> {
        // Removed first: neither an expired nor a damaged version may become the newest.
        let mut gone = self.expire(now);
        gone.extend(self.take(|old| is_of(&old.served.database)));

        if let Some(newest) = self.newest.take_if(|newest| is_of(&newest.database)) {
            gone.push(newest.database);
            if !self.previous.is_empty() {
                self.newest = Some(self.previous.remove(0).served);
            }
        }
        gone
    }

    /// Removes and returns the expired versions.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Arc<Database>> {
        self.take(|old| old.until <= now)
    }

    /// Removes and returns the old versions for which `gone` returns true.
    fn take(&mut self, gone: impl Fn(&Previous) -> bool) -> Vec<Arc<Database>> {
        self.previous
            .extract_if(.., |old| gone(old))
            .map(|old| old.served.database)
            .collect()
    }

    /// Length in bytes of the largest body of queries to one of the versions; 0 without any.
    pub(crate) fn body_limit(&self) -> usize {
        let newest = self.newest.iter();
        let previous = self.previous.iter().map(|old| &old.served);
        newest
            .chain(previous)
            .map(|served| served.database.body_limit())
            .max()
            .unwrap_or(0)
    }

    /// All versions answered at `now`, newest first.
    pub(crate) fn views(&self, now: Instant) -> Vec<VersionView> {
        let newest = self.newest.iter().map(|served| served.view(now, None));
        let previous = self.previous.iter().filter(|old| old.until > now);
        newest
            .chain(previous.map(|old| old.served.view(now, Some(old.until - now))))
            .collect()
    }
}

impl Served {
    fn view(&self, now: Instant, left: Option<Duration>) -> VersionView {
        let age = now.saturating_duration_since(self.since);
        VersionView {
            database: Arc::clone(&self.database),
            age,
            left,
        }
    }
}

/// The versions that may answer one request: at least one, newest first.
///
/// Taken when the request is admitted, so that a later swap does not affect it.
pub(crate) struct Candidates {
    newest: Version,
    databases: Vec<Arc<Database>>,
}

/// The version chosen to answer a request.
#[derive(Clone)]
pub(crate) struct ChosenVersion {
    pub(crate) database: Arc<Database>,
    /// The newest version, reported to queries for a different one.
    pub(crate) newest: Version,
}

/// The queries of a short message.
pub(crate) struct BoundQueries {
    /// The client and the version to which the message and its answers are bound.
    pub(crate) binding: Binding,
    /// Concatenated queries in their envelopes.
    pub(crate) queries: Vec<u8>,
}

impl Candidates {
    /// The candidates among these versions; `None` if there are no versions.
    pub(crate) fn new(views: Vec<VersionView>) -> Option<Self> {
        let newest = views.first()?.database.version();
        Some(Self {
            newest,
            databases: views.into_iter().map(|view| view.database).collect(),
        })
    }

    /// Keeps only the version that the request names.
    pub(crate) fn only(mut self, version: Version) -> Result<Self, QueryError> {
        self.databases
            .retain(|database| database.version() == version);
        if self.databases.is_empty() {
            Err(self.gone())
        } else {
            Ok(self)
        }
    }

    /// The database's name.
    pub(crate) fn name(&self) -> &str {
        self.databases
            .first()
            .map_or("", |database| database.name())
    }

    /// Length in bytes of the largest acceptable body.
    pub(crate) fn body_limit(&self) -> usize {
        self.databases
            .iter()
            .map(|database| database.body_limit())
            .max()
            .unwrap_or(0)
    }

    /// Chooses the version that the envelopes of the queries name, or else the first candidate, and
    /// checks that the body is a whole number of its queries.
    pub(crate) fn choose(self, body: &[u8]) -> Result<ChosenVersion, QueryError> {
        let named = named_version(body, Kind::Query);
        let found = self
            .databases
            .iter()
            .find(|database| database.is_named_by(body));
        let Some(database) = found.or(self.databases.first()) else {
            return Err(self.gone());
        };

        match database.check_length(body) {
            Ok(()) => Ok(ChosenVersion {
                database: Arc::clone(database),
                newest: self.newest,
            }),
            // Queries for an expired version may differ in length from those for the newest.
            Err(_) if found.is_none() && named.is_some() => Err(self.gone()),
            Err(error) => Err(error),
        }
    }

    /// The queries of a client's short message, for the version that it is bound to. Fails with
    /// [`QueryError::WrongVersion`] if it is bound to none of these versions.
    pub(crate) fn restore(&self, client: &str, message: &[u8]) -> Result<BoundQueries, QueryError> {
        let handle = handle_of(message).map_err(rejected)?;
        for database in &self.databases {
            let bound = database.binding(client);
            if let Some(binding) = bound.filter(|binding| binding.handle() == handle) {
                let each = database.payload_bytes();
                let queries = binding.restore_queries(message, each).map_err(rejected)?;
                return Ok(BoundQueries { binding, queries });
            }
        }
        Err(self.gone())
    }

    fn gone(&self) -> QueryError {
        QueryError::WrongVersion {
            current: self.newest,
        }
    }
}

/// The error of a short message that is no message of queries.
fn rejected(source: papir_core::Error) -> QueryError {
    QueryError::Rejected {
        index: 0,
        count: 1,
        source,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::iter::zip;

    use papir_core::scheme::Goal;
    use papir_core::{NoProgress, RecordBuffer};
    use papir_schemes::registry;

    use super::*;

    const KEEP: Duration = Duration::from_secs(600);

    fn database() -> Database {
        let records = RecordBuffer::from_records((0..3u8).map(|i| vec![i; 8])).unwrap();
        let mut rng = papir_client::system_rng();
        let simple = registry::by_name("simple").unwrap();
        Database::new(
            "t",
            simple
                .setup(&records, Goal::default(), &mut rng, &NoProgress)
                .unwrap(),
            None,
        )
    }

    fn names(versions: &Versions, now: Instant) -> Vec<Version> {
        versions
            .views(now)
            .iter()
            .map(|view| view.database.version())
            .collect()
    }

    #[test]
    fn old_versions_are_kept_for_a_time_up_to_a_limit() {
        let start = Instant::now();
        let mut versions = Versions::new(None, KEEP);
        assert!(Candidates::new(versions.views(start)).is_none());

        let databases: Vec<_> = (0..5).map(|_| database()).collect();
        let names_put: Vec<_> = databases.iter().map(Database::version).collect();
        for (step, database) in zip(0.., databases) {
            let gone = versions.put(database, start + Duration::from_secs(step));
            assert_eq!(
                gone.len(),
                usize::from(step as usize > MAX_PREVIOUS),
                "at most {MAX_PREVIOUS}"
            );
        }

        let newest_first: Vec<_> = names_put
            .iter()
            .rev()
            .take(MAX_PREVIOUS + 1)
            .copied()
            .collect();
        let end = start + Duration::from_secs(4) + KEEP;

        assert_eq!(
            names(&versions, start + Duration::from_secs(5)),
            newest_first
        );
        // The last swap was at second 4, the one before at second 3.
        assert_eq!(
            names(&versions, end - Duration::from_secs(1)),
            newest_first[..2]
        );
        assert_eq!(
            names(&versions, end),
            newest_first[..1],
            "not answered once expired, even before they are dropped"
        );

        assert_eq!(versions.expire(end).len(), 2);
        assert!(versions.previous.is_empty());
    }

    #[test]
    fn versions_from_before_the_start_are_answered_for_the_rest_of_their_time() {
        let (now, wall) = (Instant::now(), SystemTime::now());
        let mut versions = Versions::new(Some(database()), KEEP);
        let since = |seconds| wall - Duration::from_secs(seconds);

        assert!(
            versions.restore(database(), since(601), now).is_some(),
            "expired"
        );

        let [first, second] = [database(), database()];
        let expected = [
            versions.newest().unwrap().version(),
            first.version(),
            second.version(),
        ];

        assert!(versions.restore(first, since(200), now).is_none());
        // By a clock that runs ahead.
        assert!(versions.restore(second, wall + KEEP, now).is_none());

        assert_eq!(names(&versions, now), expected);
        assert!(
            versions.restore(database(), since(0), now).is_some(),
            "at most {MAX_PREVIOUS}"
        );
        assert_eq!(
            names(&versions, now + Duration::from_secs(401)),
            [expected[0], expected[2]]
        );
        assert_eq!(names(&versions, now + KEEP), expected[..1]);
    }

    #[test]
    fn no_old_version_is_kept_for_zero_time() {
        let mut versions = Versions::new(Some(database()), Duration::ZERO);
        assert_eq!(versions.put(database(), Instant::now()).len(), 1);
        assert_eq!(versions.views(Instant::now()).len(), 1);
    }

    #[test]
    fn a_request_is_answered_by_the_version_it_names() {
        let mut versions = Versions::new(Some(database()), KEEP);
        let old = versions.newest().unwrap().version();
        versions.put(database(), Instant::now());
        let newest = versions.newest().unwrap().version();
        let candidates = || Candidates::new(versions.views(Instant::now())).unwrap();

        for version in [old, newest] {
            let header = papir_core::envelope::Header {
                kind: Kind::Query,
                scheme: 0,
                version,
            };

            let length = candidates().body_limit() / candidates().databases[0].max_batch();
            let query = papir_core::envelope::seal(&header, &vec![0; length - 32]);

            let target = candidates().choose(&query).map_err(|_| "rejected").unwrap();
            assert_eq!(
                (target.database.version(), target.newest),
                (version, newest)
            );
            assert!(candidates().only(version).is_ok());
        }

        let gone = candidates().only(Version([7; 8])).map(drop);
        assert!(matches!(gone, Err(QueryError::WrongVersion { current }) if current == newest));
    }
}
