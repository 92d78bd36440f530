//! The versions of one database that are answered: the newest, and for a while those before it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use papir_core::Version;
use papir_core::envelope::{Kind, named_version};

use crate::database::Database;
use crate::problem::Problem;

/// Most versions besides the newest: quick swaps must not fill the memory. The oldest gives way.
pub(crate) const MAX_PREVIOUS: usize = 2;
/// Longest time that an old version is kept: a year.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// What a name stands for.
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

/// One version that is answered, as seen at one moment.
pub(crate) struct Standing {
    pub(crate) database: Arc<Database>,
    /// Since when it is served.
    pub(crate) age: Duration,
    /// How long it is still answered; `None` for the newest.
    pub(crate) left: Option<Duration>,
}

impl Versions {
    /// Nothing, or a first version; later ones push it out after `keep`.
    pub(crate) fn new(first: Option<Database>, keep: Duration) -> Self {
        let mut versions = Self { newest: None, previous: Vec::new(), keep: keep.min(LONGEST) };
        if let Some(database) = first {
            versions.put(database, Instant::now());
        }
        versions
    }

    pub(crate) fn newest(&self) -> Option<Arc<Database>> {
        self.newest.as_ref().map(|served| Arc::clone(&served.database))
    }

    /// Serves a database as the newest. Gives what is no longer answered, for the caller to drop
    /// outside of a lock: unmapping a large file takes time.
    pub(crate) fn put(&mut self, database: Database, now: Instant) -> Vec<Arc<Database>> {
        let version = database.version();
        let served = Served { database: Arc::new(database), since: now };
        if let Some(old) = self.newest.replace(served) {
            self.previous.insert(0, Previous { served: old, until: now + self.keep });
        }
        // The same file loaded again, or an old one put back: its version is the newest's now.
        let mut gone = self.take(|old| old.served.database.version() == version);
        gone.extend(self.expire(now));
        let surplus = self.previous.drain(self.previous.len().min(MAX_PREVIOUS)..);
        gone.extend(surplus.map(|old| old.served.database));
        gone
    }

    /// Takes out the versions whose time is over.
    pub(crate) fn expire(&mut self, now: Instant) -> Vec<Arc<Database>> {
        self.take(|old| old.until <= now)
    }

    fn take(&mut self, gone: impl Fn(&Previous) -> bool) -> Vec<Arc<Database>> {
        self.previous.extract_if(.., |old| gone(old)).map(|old| old.served.database).collect()
    }

    /// All versions that are answered at this moment, the newest first.
    pub(crate) fn standing(&self, now: Instant) -> Vec<Standing> {
        let stand = |served: &Served, left| {
            let age = now.saturating_duration_since(served.since);
            Standing { database: Arc::clone(&served.database), age, left }
        };
        let newest = self.newest.iter().map(|served| stand(served, None));
        let previous = self.previous.iter().filter(|old| old.until > now);
        newest.chain(previous.map(|old| stand(&old.served, Some(old.until - now)))).collect()
    }
}

/// The versions that one request may be answered from, at least one, the newest first. Held from the
/// request's admission on, so that no swap comes in between.
pub(crate) struct Answerable {
    newest: Version,
    databases: Vec<Arc<Database>>,
}

impl Answerable {
    /// `None` without any version.
    pub(crate) fn of(standing: Vec<Standing>) -> Option<Self> {
        let newest = standing.first()?.database.version();
        Some(Self { newest, databases: standing.into_iter().map(|one| one.database).collect() })
    }

    /// Only the version that the request's header names.
    pub(crate) fn only(mut self, version: Version) -> Result<Self, Problem> {
        self.databases.retain(|database| database.version() == version);
        if self.databases.is_empty() { Err(self.gone()) } else { Ok(self) }
    }

    /// The database's name.
    pub(crate) fn name(&self) -> &str {
        self.databases.first().map_or("", |database| database.name())
    }

    /// The longest body that can be a batch of queries.
    pub(crate) fn body_limit(&self) -> usize {
        self.databases.iter().map(|database| database.body_limit()).max().unwrap_or(0)
    }

    /// The database that a body is for: the one that its first query names in its envelope, else the
    /// first; with the newest version. The body is a whole number of its queries.
    pub(crate) fn choose(self, body: &[u8]) -> Result<(Arc<Database>, Version), Problem> {
        let named = named_version(body, Kind::Query);
        let found = self.databases.iter().find(|database| Some(database.version()) == named);
        let Some(database) = found.or(self.databases.first()) else { return Err(self.gone()) };
        match database.check_length(body.len()) {
            Ok(()) => Ok((Arc::clone(database), self.newest)),
            // Queries of a version that is gone need not have the length of those of the newest.
            Err(_) if found.is_none() && named.is_some() => Err(self.gone()),
            Err(problem) => Err(problem),
        }
    }

    fn gone(&self) -> Problem {
        Problem::WrongVersion { current: self.newest }
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
        let plain = registry::by_name("plain").unwrap();
        Database::new("t", plain.setup(&records, Goal::default(), &mut rng, &NoProgress).unwrap(), None)
    }

    fn names(versions: &Versions, now: Instant) -> Vec<Version> {
        versions.standing(now).iter().map(|one| one.database.version()).collect()
    }

    #[test]
    fn old_versions_stay_for_their_time_and_are_few() {
        let (start, mut versions) = (Instant::now(), Versions::new(None, KEEP));
        assert!(Answerable::of(versions.standing(start)).is_none());
        let databases: Vec<_> = (0..5).map(|_| database()).collect();
        let names_put: Vec<_> = databases.iter().map(Database::version).collect();
        for (step, database) in zip(0.., databases) {
            let gone = versions.put(database, start + Duration::from_secs(step));
            assert_eq!(gone.len(), usize::from(step as usize > MAX_PREVIOUS), "at most {MAX_PREVIOUS}");
        }
        let newest_first: Vec<_> = names_put.iter().rev().take(MAX_PREVIOUS + 1).copied().collect();
        let end = start + Duration::from_secs(4) + KEEP;
        assert_eq!(names(&versions, start + Duration::from_secs(5)), newest_first);
        // The last swap was at second 4, the one before at second 3.
        assert_eq!(names(&versions, end - Duration::from_secs(1)), newest_first[..2]);
        assert_eq!(names(&versions, end), newest_first[..1], "refused at once, before they are dropped");
        assert_eq!(versions.expire(end).len(), 2);
        assert!(versions.previous.is_empty());
    }

    #[test]
    fn nothing_is_kept_for_no_time() {
        let mut versions = Versions::new(Some(database()), Duration::ZERO);
        assert_eq!(versions.put(database(), Instant::now()).len(), 1);
        assert_eq!(versions.standing(Instant::now()).len(), 1);
    }

    #[test]
    fn a_request_is_for_the_version_that_it_names() {
        let mut versions = Versions::new(Some(database()), KEEP);
        let old = versions.newest().unwrap().version();
        versions.put(database(), Instant::now());
        let newest = versions.newest().unwrap().version();
        let answerable = || Answerable::of(versions.standing(Instant::now())).unwrap();
        for version in [old, newest] {
            let header = papir_core::envelope::Header { kind: Kind::Query, scheme: 0, version };
            let length = answerable().body_limit() / answerable().databases[0].info().max_batch;
            let query = papir_core::envelope::seal(&header, &vec![0; length - 32]);
            let (chosen, told) = answerable().choose(&query).map_err(|_| "refused").unwrap();
            assert_eq!((chosen.version(), told), (version, newest));
            assert!(answerable().only(version).is_ok());
        }
        let gone = answerable().only(Version([7; 8])).map(drop);
        assert!(matches!(gone, Err(Problem::WrongVersion { current }) if current == newest));
    }
}
