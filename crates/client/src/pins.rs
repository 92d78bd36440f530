//! The root of a verifiable database is pinned when it is first used.

use papir_lookup::Root;

use crate::state::Slot;
use crate::{Error, Options, Result};

/// Holds the root `found` at a database against the one that is pinned for it, or pins it; one that
/// the options name is pinned in place of another. Gives the root to demand from now on.
///
/// # Errors
/// [`Error::Root`] where another one is pinned, also when the database has none any more; those of
/// client state.
pub(crate) fn hold(
    options: &Options,
    (url, identity): (&str, &str),
    found: Option<Root>,
) -> Result<Option<Root>> {
    if found.is_none() && !Slot::has_root(options, identity) {
        return Ok(None);
    }
    let slot = Slot::open(options, identity)?;
    let lock = slot.lock()?;
    let trusted = options.root.map_or_else(|| lock.root(), |root| Ok(Some(root)))?.or(found);
    match trusted {
        Some(expected) if found != Some(expected) => Err(wrong(url, found, expected)),
        Some(root) if lock.root()? != Some(root) => lock.pin(&root).map(|()| Some(root)),
        trusted => Ok(trusted),
    }
}

/// A database with another root than the one that is trusted.
pub(crate) fn wrong(url: &str, found: Option<Root>, expected: Root) -> Error {
    let found = found.map_or("none: it is not verifiable".to_owned(), |root| root.to_string());
    Error::Root { url: url.to_owned(), found, expected }
}
