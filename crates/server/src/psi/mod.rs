//! Private set intersection: serves one set.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock, TryLockError};
use std::time::Duration;

use bytes::Bytes;
use papir_core::Version;
use papir_lookup::oprf::{ELEMENT_BYTES, Key};
use papir_lookup::psi::Kind;
use papir_store::psi::{PsiSet, PsiSummary};
use rayon::ThreadPool;

use crate::admission::{ClientKey, WorkTurns, answer_pool};
use crate::catalog::{Catalog, DatabaseConfig, Identity, QueryError};
use crate::error::Error;

/// Retry delay advised when the service is at capacity.
const BUSY_ADVICE: Duration = Duration::from_secs(1);

/// The refusal of a request for which there is no room.
const BUSY: PsiError = PsiError::Busy {
    retry_after: BUSY_ADVICE,
};

/// A set for private intersection.
pub(crate) struct Psi {
    path: PathBuf,
    /// The file's name without its ending, which tokens allow like that of a database.
    name: String,
    set: RwLock<Arc<ServedSet>>,
    /// The file at the last load, successful or not.
    seen: Mutex<Option<Identity>>,
    pool: Arc<ThreadPool>,
    turns: Arc<WorkTurns>,
}

/// One loaded version of the set.
pub(crate) struct ServedSet {
    summary: PsiSummary,
    key: Key,
    /// Shared by all downloads.
    filter: Option<Bytes>,
}

/// Reason why elements are not evaluated.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PsiError {
    /// The service is at capacity.
    #[error("too many requests")]
    Busy { retry_after: Duration },
    /// The elements are invalid.
    #[error(transparent)]
    Query(#[from] QueryError),
    /// The evaluation was aborted.
    #[error("the evaluation was aborted")]
    Aborted,
}

impl ServedSet {
    fn new(set: PsiSet) -> Self {
        let filter = set
            .filter
            .as_ref()
            .map(|filter| Bytes::copy_from_slice(filter));
        Self {
            summary: set.summary,
            key: set.key,
            filter,
        }
    }

    /// Public facts of the set.
    pub(crate) fn summary(&self) -> &PsiSummary {
        &self.summary
    }

    /// Version of the filter or database.
    pub(crate) fn version(&self) -> Version {
        self.summary.version
    }

    /// The filter to download; `None` if elements are looked up in a database.
    pub(crate) fn filter(&self) -> Option<Bytes> {
        self.filter.clone()
    }
}

impl Psi {
    /// Opens the set at `path`. At most `concurrent` evaluations run and `queued` more wait, on
    /// `threads` threads (0 means one per core).
    pub(crate) fn open(
        path: &Path,
        threads: usize,
        concurrent: usize,
        queued: usize,
    ) -> Result<Self, Error> {
        // Identified before it is read: a file that replaces it meanwhile counts as changed.
        let seen = Mutex::new(Identity::of(path));
        let set = RwLock::new(Arc::new(ServedSet::new(load(path)?)));

        let pool = Arc::new(answer_pool(threads)?);
        let name = DatabaseConfig::new(path, None).name;
        let turns = WorkTurns::new(concurrent, queued);

        Ok(Self {
            path: path.to_owned(),
            name,
            set,
            seen,
            pool,
            turns,
        })
    }

    /// The set's name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The database in which receivers look elements up; `None` for a set with a filter.
    pub(crate) fn database(&self) -> Option<DatabaseConfig> {
        database_of(self.set().summary.kind, &self.path)
    }

    /// Reads the file again; its database must have been reloaded before.
    ///
    /// An invalid set, or one that does not match the database, is logged and the old one stays.
    /// Returns whether the set was loaded.
    pub(crate) fn reload(&self, catalog: &Catalog) -> bool {
        // Locked until the end, so that the later of two reloads wins.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = Identity::of(&self.path);

        match self.load_matching(catalog) {
            Ok(set) => {
                *self.set.write().unwrap_or_else(PoisonError::into_inner) =
                    Arc::new(ServedSet::new(set));
                true
            }
            Err(reason) => {
                tracing::error!(%reason, "set not loaded: keeping the previous one");
                false
            }
        }
    }

    /// The new file's identity, if it differs from the file at the last load. A set that is being
    /// loaded has not changed: its file may be on a disk that hangs.
    pub(crate) fn changed(&self) -> Option<Option<Identity>> {
        let seen = match self.seen.try_lock() {
            Ok(seen) => *seen,
            Err(TryLockError::Poisoned(seen)) => *seen.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let found = Identity::of(&self.path);
        (found != seen).then_some(found)
    }

    /// Loads the set and checks that it can replace the current one.
    fn load_matching(&self, catalog: &Catalog) -> Result<PsiSet, String> {
        let set = load(&self.path).map_err(|error| error.to_string())?;
        let old = self.set().summary;
        let new = set.summary;
        if old.kind != new.kind {
            return Err(format!(
                "a set of kind {}: expected {}",
                new.kind.name(),
                old.kind.name()
            ));
        }

        // A receiver masks with the key of the set and then queries the database: both must be of
        // one version.
        let database = self
            .database()
            .and_then(|config| catalog.get(&config.name).ok());
        match database.map(|database| database.version()) {
            Some(served) if served != new.version => Err(format!(
                "set version {} does not match database version {served}",
                new.version
            )),
            _ => Ok(set),
        }
    }

    /// The current set.
    pub(crate) fn set(&self) -> Arc<ServedSet> {
        Arc::clone(&self.set.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Fails if a request of this client would be refused now, so that it need not upload its body.
    pub(crate) fn expect_room(&self, client: &ClientKey) -> Result<(), PsiError> {
        match self.turns.has_room(client) {
            true => Ok(()),
            false => Err(BUSY),
        }
    }

    /// Evaluates concatenated blinded elements of a client with the key of `set`, in its turn.
    pub(crate) async fn evaluate(
        &self,
        client: &ClientKey,
        set: Arc<ServedSet>,
        blinded: Vec<u8>,
    ) -> Result<Vec<u8>, PsiError> {
        // Before a turn is waited for: a refusal needs none.
        let current = set.version();
        check_elements(&blinded).map_err(|error| QueryError::from_scheme(error, 0, 1, current))?;

        let permit = self.turns.admit(client).ok_or(BUSY)?;
        let turn = self.turns.enter(client, permit).await.map_err(|_| BUSY)?;

        let pool = Arc::clone(&self.pool);
        let evaluating = tokio::task::spawn_blocking(move || {
            // Held until the work is done, even if the client disconnects.
            let _turn = turn;
            pool.install(|| set.key.evaluate(&blinded))
        });
        let evaluated = evaluating.await.map_err(|_| PsiError::Aborted)?;
        evaluated.map_err(|error| QueryError::from_scheme(error, 0, 1, current).into())
    }
}

/// Checks that a body has one or more whole elements.
fn check_elements(blinded: &[u8]) -> papir_core::Result<()> {
    let found = blinded.len();
    let whole = found.max(1).next_multiple_of(ELEMENT_BYTES);
    papir_core::Error::check_length("blinded elements", found, whole)
}

/// Opens the set at `path` without serving it, and starts no threads. Returns its database, if it
/// has one.
pub(crate) fn check(path: &Path) -> Result<Option<DatabaseConfig>, Error> {
    let set = load(path)?;
    Ok(database_of(set.summary.kind, path))
}

/// The database in the file of a set; `None` for a set with a filter.
fn database_of(kind: Kind, path: &Path) -> Option<DatabaseConfig> {
    (kind == Kind::Retrieval).then(|| DatabaseConfig::new(path, None))
}

fn load(path: &Path) -> Result<PsiSet, Error> {
    let name = DatabaseConfig::new(path, None).name;
    PsiSet::open(path).map_err(|source| Error::Load {
        name,
        path: path.to_owned(),
        source: Box::new(source),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_has_one_or_more_whole_elements() {
        for length in [ELEMENT_BYTES, 2 * ELEMENT_BYTES] {
            assert!(check_elements(&vec![7; length]).is_ok());
        }
        for length in [0, 1, ELEMENT_BYTES - 1, ELEMENT_BYTES + 1] {
            let refused = check_elements(&vec![7; length]);
            assert!(refused.is_err_and(|error| error.code() == "wrong_length"));
        }
    }
}
