//! Pins of a database, shown and removed by the user.

use papir_lookup::Root;

use super::options::Options;
use crate::core::{Address, PinnedOwner};
use crate::error::Result;
use crate::state::{ClientState, StateEntry};

/// The pins of a client for one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pins {
    /// The database's name.
    pub database: String,
    /// The owner's key, and the newest version that was seen under it.
    pub owner: Option<PinnedOwner>,
    /// The root of a verifiable database.
    pub root: Option<Root>,
    /// Set if the service's only database must have this name.
    pub named: bool,
}

/// Returns the pins of a database; `None` if nothing is pinned. The database is the named one, else
/// the one in the address, else the one whose name is pinned for the service. Connects to nothing.
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
/// Waits for the locks of the state. Damaged pins are removed too. An open connection does not pin
/// again what was removed.
///
/// # Errors
/// [`Error::BadUrl`](crate::Error::BadUrl), and errors of the client's state.
pub fn remove_pins(url: &str, options: &Options) -> Result<bool> {
    let address = Address::parse(url)?;
    let state = options.client_state();
    let Some(database) = database_of(&address, options, &state)? else {
        return Ok(false);
    };

    let pins = [StateEntry::Owner, StateEntry::Root];
    let mut found = state.remove(&address.identity(&database), &pins)?;

    // Last: without the name, an interrupted removal would not find the database again.
    for slot in slots_of_names(&address) {
        if state.name(&slot)?.as_ref() == Some(&database) {
            found |= state.remove(&slot, &[StateEntry::Name])?;
        }
    }
    Ok(found)
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

/// The slots that hold pinned names: of the service, and of its set.
fn slots_of_names(address: &Address) -> [String; 2] {
    let service = address.identity("");
    let set = service.clone() + " set";
    [service, set]
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use crate::core::{StoreAction, StoreRequest};

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
