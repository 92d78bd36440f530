//! Pinning of a verifiable database's root on first use.

use papir_lookup::Root;

use super::storage::Storage;
use crate::error::{Error, Result};

/// Checks a database's root against the pinned one, or pins it on first use. A `given` root
/// replaces the pinned one. Returns the root that the database must have from now on.
///
/// # Errors
/// [`Error::Root`] if another root is pinned, or one is pinned and the database has none. Errors of
/// the storage.
pub(crate) async fn check_or_pin(
    storage: Storage<'_>,
    url: &str,
    given: Option<Root>,
    found: Option<Root>,
) -> Result<Option<Root>> {
    if found.is_none() && !storage.has_root().await? {
        return Ok(None);
    }
    let lock = storage.lock().await?;
    let pinned = match given {
        Some(root) => Some(root),
        None => lock.root().await?,
    };
    match pinned.or(found) {
        Some(expected) if found != Some(expected) => Err(wrong_root(url, found, expected)),
        Some(root) if lock.root().await? != Some(root) => lock.pin(root).await.map(|()| Some(root)),
        trusted => Ok(trusted),
    }
}

/// The error for a database with another root than the trusted one.
pub(crate) fn wrong_root(url: &str, found: Option<Root>, expected: Root) -> Error {
    let found = found.map_or("none: it is not verifiable".to_owned(), |root| root.to_string());
    Error::Root { url: url.to_owned(), found, expected }
}
