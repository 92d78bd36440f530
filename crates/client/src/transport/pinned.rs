//! Listing and removal of a database's pins.

use std::time::{Duration, Instant};

use papir_lookup::Root;

use super::call::CallRules;
use super::options::Options;
use crate::core::{Address, PinnedOwner, StoreAction, StoreLock, StoreRequest, Stored};
use crate::error::{Error, Result};
use crate::state::{ClientState, StateEntry, lock_thread_ended};

/// Longest wait for the locks of the state without a timeout of the options. A connection holds one
/// for a lookup, or while it uploads keys.
const LOCK_TIME: Duration = Duration::from_secs(60);

/// The pins of a client for one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pins {
    /// The database's name.
    pub database: String,
    /// The pinned owner's key, and the newest version that the client has seen under it.
    pub owner: Option<PinnedOwner>,
    /// The pinned root of a verifiable database.
    pub root: Option<Root>,
    /// Set if the database's name is pinned as that of the service's only database.
    pub named: bool,
}

/// Reads the pins of a database; `None` if nothing is pinned. The database is the one named by the
/// options, else by `url`, else by the name that is pinned for the service. Connects to nothing.
///
/// # Errors
/// [`Error::BadUrl`](crate::Error::BadUrl), and errors of the client's state.
pub fn pins(url: &str, options: &Options) -> Result<Option<Pins>> {
    let address = Address::parse(url)?;
    let state = options.client_state();
    let Some(database) = database_of(&address, options, &state)? else {
        return Ok(None);
    };

    let slot = address.identity(&database);
    let owner = state.owner(&slot)?;
    let root = state.root(&slot)?;
    let named = state.name(&address.identity(""))?.as_ref() == Some(&database);

    let found = owner.is_some() || root.is_some() || named;
    Ok(found.then_some(Pins {
        database,
        owner,
        root,
        named,
    }))
}

/// Removes the pins of a database: the owner's key, the root, and the name if the service or its
/// set must have it. The database is found as by [`pins`]. Returns whether anything was pinned.
/// Waits for the locks of the state up to the timeout of the options, else for a minute. Damaged
/// pins are removed too. An open connection does not pin again what was removed.
///
/// # Errors
/// [`Error::BadUrl`](crate::Error::BadUrl), errors of the client's state, and
/// [`Error::TimedOut`](crate::Error::TimedOut) if another process or connection holds a lock.
pub fn remove_pins(url: &str, options: &Options) -> Result<bool> {
    let address = Address::parse(url)?;
    let state = options.client_state();
    let Some(database) = database_of(&address, options, &state)? else {
        return Ok(false);
    };

    let removal = Removal::start(&address, options, &state)?;
    let pins = [StateEntry::Owner, StateEntry::Root];
    let mut found = removal.remove(&address.identity(&database), &pins)?;

    // Last: without the name, an interrupted removal would not find the database again.
    for slot in slots_of_names(&address) {
        if state.name(&slot)?.as_ref() == Some(&database) {
            found |= removal.remove(&slot, &[StateEntry::Name])?;
        }
    }
    Ok(found)
}

/// A removal of entries of several slots, and the time for their locks.
struct Removal<'a> {
    state: &'a ClientState,
    address: &'a Address,
    /// The whole time, for errors.
    time: Duration,
    end: Instant,
}

impl<'a> Removal<'a> {
    fn start(address: &'a Address, options: &Options, state: &'a ClientState) -> Result<Self> {
        let limit = CallRules::new(address, options).start().left()?;
        let left = limit.unwrap_or(LOCK_TIME);
        // A time that no clock reaches is no limit.
        let given = options.timeout.filter(|_| limit.is_some());
        Ok(Self {
            state,
            address,
            time: given.unwrap_or(left),
            end: Instant::now() + left,
        })
    }

    /// Removes entries of a slot under its lock. Returns whether there were any.
    fn remove(&self, slot: &str, entries: &[StateEntry]) -> Result<bool> {
        // Before the lock, which would create the slot.
        if !self.state.has_any(slot, entries)? {
            return Ok(false);
        }

        let _lock = self.lock(slot)?;
        self.state.remove(slot, entries)
    }

    /// Waits for the lock of a slot.
    fn lock(&self, slot: &str) -> Result<StoreLock> {
        let location = self.state.location(slot);
        let request = StoreRequest {
            slot: slot.to_owned(),
            action: StoreAction::Lock,
        };

        let left = self.end.saturating_duration_since(Instant::now());
        match self.state.perform_within(request, left)? {
            Some(Stored::Locked(lock)) => Ok(lock),
            Some(_) => Err(lock_thread_ended(location)),
            None => {
                let holder = "another process or connection holds the lock of";
                Err(Error::TimedOut {
                    url: self.address.base().to_owned(),
                    timeout: self.time,
                    reason: Some(format!("{holder} {}", location.display())),
                })
            }
        }
    }
}

/// The name of the database to look at; `None` if none is given, and none is pinned for the
/// service.
fn database_of(
    address: &Address,
    options: &Options,
    state: &ClientState,
) -> Result<Option<String>> {
    if let Some(name) = options.database.as_ref().or(address.database.as_ref()) {
        return Ok(Some(name.clone()));
    }

    for slot in slots_of_names(address) {
        if let Some(name) = state.name(&slot)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The slots with pinned names: of the service's only database, and of its set's database.
fn slots_of_names(address: &Address) -> [String; 2] {
    let service = address.identity("");
    let set = service.clone() + " set";
    [service, set]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    const SERVICE: &str = "http://h";
    const DATABASE: &str = "http://h/v1/databases/words";
    const KEY: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";

    fn owner() -> PinnedOwner {
        let text = format!("papir-owner-pin-1\n{KEY}\n{KEY}\n7\n{}\n", "1f".repeat(32));
        PinnedOwner::decode(text.as_bytes()).unwrap()
    }

    /// Options whose state is in `folder`, with the pins of a database `words`.
    fn pinned(folder: &tempfile::TempDir) -> Options {
        let options = Options {
            state: Some(folder.path().join("state")),
            ..Options::default()
        };
        let state = options.client_state();
        let perform = |slot: &str, action| {
            let slot = slot.to_owned();
            drop(state.perform(StoreRequest { slot, action }).unwrap());
        };
        for slot in [DATABASE, "http://h/v1/databases/"] {
            perform(slot, StoreAction::Lock);
        }
        perform(DATABASE, StoreAction::KeepOwner(owner()));
        perform(DATABASE, StoreAction::Pin(Root([5; 32])));
        perform(
            "http://h/v1/databases/",
            StoreAction::KeepName("words".to_owned()),
        );
        options
    }

    #[test]
    fn pins_are_shown_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let options = pinned(&folder);
        let expected = Pins {
            database: "words".to_owned(),
            owner: Some(owner()),
            root: Some(Root([5; 32])),
            named: true,
        };

        assert_eq!(pins(SERVICE, &options).unwrap(), Some(expected.clone()));
        assert_eq!(pins(DATABASE, &options).unwrap(), Some(expected));
        let other = Options {
            database: Some("other".to_owned()),
            ..options.clone()
        };
        assert_eq!(pins(SERVICE, &other).unwrap(), None);
        assert!(!remove_pins(SERVICE, &other).unwrap());

        assert!(remove_pins(SERVICE, &options).unwrap());
        for url in [SERVICE, DATABASE] {
            assert_eq!(pins(url, &options).unwrap(), None);
            assert!(!remove_pins(url, &options).unwrap());
        }
    }

    #[test]
    fn a_removal_that_was_interrupted_is_completed_by_the_next() {
        let folder = tempfile::tempdir().unwrap();
        let options = pinned(&folder);
        let state = options.client_state();
        let pins_of_database = [StateEntry::Owner, StateEntry::Root];
        assert!(state.remove(DATABASE, &pins_of_database).unwrap());

        let left = pins(SERVICE, &options).unwrap().unwrap();
        assert_eq!((left.owner, left.root, left.named), (None, None, true));
        assert!(remove_pins(SERVICE, &options).unwrap());
        assert_eq!(pins(SERVICE, &options).unwrap(), None);
    }

    #[test]
    fn a_lock_that_another_holds_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let options = pinned(&folder);
        let held = options.client_state().perform(StoreRequest {
            slot: DATABASE.to_owned(),
            action: StoreAction::Lock,
        });
        let before = pins(SERVICE, &options).unwrap();

        // Long enough for a machine that stalls to begin the wait.
        let impatient = Options {
            timeout: Some(Duration::from_secs(1)),
            ..options.clone()
        };
        let error = remove_pins(SERVICE, &impatient).unwrap_err();
        assert_eq!(error.code(), "timed_out");
        let text = error.to_string();
        assert!(text.contains("no result within 1s: "), "{text}");
        assert!(text.contains("holds the lock of"), "{text}");
        assert_eq!(pins(SERVICE, &options).unwrap(), before);

        drop(held.unwrap());
        assert!(remove_pins(SERVICE, &options).unwrap());
        assert_eq!(pins(SERVICE, &options).unwrap(), None);
    }

    #[test]
    fn a_damaged_pin_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let options = pinned(&folder);
        let files = fs::read_dir(folder.path().join("state")).unwrap();
        let file = files
            .map(|file| file.unwrap().path())
            .find(|path| path.extension().is_some_and(|end| end == "owner"));
        fs::write(file.unwrap(), "papir-owner-pin-1\n").unwrap();

        assert_eq!(pins(SERVICE, &options).unwrap_err().code(), "state");
        assert!(remove_pins(SERVICE, &options).unwrap());
        assert_eq!(pins(SERVICE, &options).unwrap(), None);
    }

    #[test]
    fn without_state_nothing_is_created() {
        let folder = tempfile::tempdir().unwrap();
        let options = Options {
            state: Some(folder.path().join("state")),
            ..Options::default()
        };

        for url in [SERVICE, DATABASE] {
            assert_eq!(pins(url, &options).unwrap(), None);
            assert!(!remove_pins(url, &options).unwrap());
        }
        assert!(!folder.path().join("state").exists());
    }
}
