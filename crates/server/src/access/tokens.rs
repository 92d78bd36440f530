//! Valid tokens, reloaded when their files change.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use subtle::ConstantTimeEq;

use super::grant::Grant;
use super::token_file::{TokenEntry, TokenFile};
use crate::background::unless_cancelled;
use crate::error::Error;

/// Interval between checks for changed files.
const CHECK_EVERY: Duration = Duration::from_secs(1);

/// A token file, for all databases or for one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenSource {
    /// The file, as `papir tokens` writes it.
    pub path: PathBuf,
    /// Restricts the tokens to this database, even if the file allows others.
    pub only: Option<String>,
}

impl TokenSource {
    /// A file for all databases that its tokens name.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            only: None,
        }
    }
}

/// All tokens of a service.
pub(crate) struct Tokens {
    sources: Vec<TokenSource>,
    /// File stamps at the last read. Locked while reading.
    seen: Mutex<Vec<Stamp>>,
    table: RwLock<Arc<Vec<Known>>>,
}

/// A known token.
struct Known {
    hash: blake3::Hash,
    entry: TokenEntry,
    grant: Grant,
}

/// Detects that a file was changed or replaced: modification time, length and inode.
type Stamp = Option<(SystemTime, u64, u64)>;

impl Tokens {
    /// Reads all files.
    pub(crate) fn open(sources: &[TokenSource]) -> Result<Self, Error> {
        let seen = sources.iter().map(|source| stamp(&source.path)).collect();
        let table = RwLock::new(Arc::new(read(sources)?));
        Ok(Self {
            sources: sources.to_vec(),
            seen: Mutex::new(seen),
            table,
        })
    }

    /// Permissions of a token; `None` if it is unknown or expired.
    ///
    /// Compares every hash in full, in constant time, so that timing reveals nothing about near
    /// matches.
    pub(crate) fn find(&self, token: &str) -> Option<Grant> {
        let hash = blake3::hash(token.as_bytes());
        let table = Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner));

        // To the end, also after a match: an early stop would reveal the token's place.
        let mut found = None;
        for known in table.iter() {
            if bool::from(known.hash.as_bytes().ct_eq(hash.as_bytes())) {
                found = Some(known);
            }
        }

        let known = found?;
        (!known.entry.has_expired(SystemTime::now())).then(|| known.grant.clone())
    }

    /// Time at which the next of the valid tokens expires; `None` if none of them expires.
    pub(crate) fn next_expiry(&self) -> Option<SystemTime> {
        let now = SystemTime::now();
        let table = Arc::clone(&self.table.read().unwrap_or_else(PoisonError::into_inner));

        table
            .iter()
            .filter_map(|known| known.entry.expiry())
            .filter(|time| *time > now)
            .min()
    }

    /// Reads all files again. If one is invalid, the previous tokens stay valid.
    pub(crate) fn reload(&self) {
        // Before the files are read: a change during the read is then seen at the next check.
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        *seen = self.stamps();

        match read(&self.sources) {
            Ok(table) => {
                tracing::info!(tokens = table.len(), "tokens loaded");
                *self.table.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(table);
            }
            Err(error) => tracing::error!(%error, "tokens not loaded: keeping the previous ones"),
        }
    }

    /// Checks the files once a second. Never completes.
    pub(crate) async fn watch(self: Arc<Self>) {
        loop {
            tokio::time::sleep(CHECK_EVERY).await;

            let tokens = Arc::clone(&self);
            let checking = tokio::task::spawn_blocking(move || {
                if tokens.have_changed() {
                    tokens.reload();
                }
            });
            let Some(ended) = unless_cancelled(checking.await) else {
                return std::future::pending().await;
            };
            if let Err(error) = ended {
                tracing::error!(%error, "token files not checked");
            }
        }
    }

    fn have_changed(&self) -> bool {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) != self.stamps()
    }

    fn stamps(&self) -> Vec<Stamp> {
        self.sources
            .iter()
            .map(|source| stamp(&source.path))
            .collect()
    }
}

fn read(sources: &[TokenSource]) -> Result<Vec<Known>, Error> {
    let mut table = Vec::new();
    for source in sources {
        for entry in TokenFile::read(&source.path)?.entries() {
            table.push(known(source, entry)?);
        }
    }
    Ok(table)
}

fn known(source: &TokenSource, entry: &TokenEntry) -> Result<Known, Error> {
    let hash = entry.hash().map_err(|reason| Error::Tokens {
        path: source.path.clone(),
        reason: reason.to_owned(),
    })?;

    // A file cannot add rights beyond `only`: a token for other databases gets none.
    let databases = match (&source.only, &entry.databases) {
        (None, own) => own.clone(),
        (Some(only), own) => {
            let fits = own.as_ref().is_none_or(|own| own.contains(only));
            Some(BTreeSet::from_iter(fits.then(|| only.clone())))
        }
    };

    let grant = Grant::new(&entry.name, entry.scopes.clone(), databases);
    Ok(Known {
        hash,
        entry: entry.clone(),
        grant,
    })
}

/// The stamp of a file; `None` if it is missing. A missing file thus differs from its last stamp:
/// the reload fails, and is logged once.
fn stamp(path: &Path) -> Stamp {
    let found = fs::metadata(path).ok()?;
    #[cfg(unix)]
    let number = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let number = 0;

    Some((found.modified().ok()?, found.len(), number))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::grant::Scope;
    use super::super::token_file::NewToken;
    use super::*;

    #[test]
    fn a_file_restricted_to_one_database_allows_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let add = |name: &str, databases: Option<&[&str]>| {
            let databases = databases.map(|all| all.iter().map(|one| (*one).to_owned()).collect());
            TokenFile::add(
                &path,
                NewToken {
                    databases,
                    ..NewToken::new(name, [Scope::Query])
                },
            )
            .unwrap()
        };
        let all = add("all", None);
        let words = add("words", Some(&["words"]));
        let other = add("other", Some(&["other"]));

        let open = |only: Option<&str>| {
            Tokens::open(&[TokenSource {
                only: only.map(str::to_owned),
                ..TokenSource::new(&path)
            }])
            .unwrap()
        };
        let allows =
            |tokens: &Tokens, token: &str, name: &str| tokens.find(token).unwrap().allows(name);
        let free = open(None);
        let bound = open(Some("words"));

        assert!(allows(&free, &all, "words") && allows(&free, &all, "other"));
        assert!(allows(&bound, &all, "words") && !allows(&bound, &all, "other"));
        assert!(allows(&bound, &words, "words"));
        assert!(!allows(&bound, &other, "words") && !allows(&bound, &other, "other"));
        assert!(free.find("papir_").is_none() && free.find("").is_none());
    }

    #[test]
    fn an_invalid_file_keeps_the_previous_tokens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let new = |name| NewToken::new(name, [Scope::Query]);
        let token = TokenFile::add(&path, new("a")).unwrap();
        let tokens = Tokens::open(&[TokenSource::new(&path)]).unwrap();
        assert!(!tokens.have_changed());

        fs::write(&path, "damaged").unwrap();
        assert!(tokens.have_changed());
        tokens.reload();
        assert!(tokens.find(&token).is_some() && !tokens.have_changed());

        fs::remove_file(&path).unwrap();
        let other = TokenFile::add(&path, new("b")).unwrap();
        tokens.reload();
        assert!(tokens.find(&token).is_none() && tokens.find(&other).is_some());
    }
}
