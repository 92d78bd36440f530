//! Storage of the scripted peer's client.

use std::sync::{Arc, Mutex};

use papir_client::core::{SavedRegistration, StoreAction, StoreLock, StoreRequest, Stored};

use super::{Event, Peer};

/// State that a client stores for one relay.
#[derive(Default)]
pub(super) struct RelayedState {
    saved: Option<SavedRegistration>,
    copy: Option<Vec<u8>>,
}

impl Peer {
    pub fn store(&mut self, request: StoreRequest) -> Stored {
        if request.slot.trim_end_matches(" set") == "https://papir.example/v1/databases/" {
            return self.store_name(request.action);
        }
        let database = format!("https://papir.example/v1/databases/{}", self.name);
        let relayed = format!("{database} through ");
        if let Some(relay) = request.slot.strip_prefix(&relayed) {
            return self.store_relayed(relay, request.action);
        }
        if request.slot == "https://papir.example/v1/databases/absent" {
            return self.store_absent(request.action);
        }
        assert_eq!(request.slot, database);
        let (name, stored) = match request.action {
            StoreAction::Lock => {
                let lock = StoreLock::new(Unlock(Arc::clone(&self.events))).at(self.place);
                ("lock", Stored::Locked(lock))
            }
            StoreAction::Read => ("read", Stored::Registration(self.saved.clone())),
            StoreAction::Write(saved) => {
                self.saved = Some(saved);
                ("write", Stored::Done)
            }
            StoreAction::Forget => {
                (self.saved, self.kept) = (None, None);
                ("forget", Stored::Done)
            }
            StoreAction::KeepKeys(keys) => {
                self.kept = Some(keys.to_vec());
                ("keep keys", Stored::Done)
            }
            StoreAction::Keys(length) => {
                let kept = self.kept.clone().filter(|keys| keys.len() as u64 == length);
                ("read keys", Stored::Bytes(kept))
            }
            StoreAction::DropKeys => {
                self.kept = None;
                ("drop keys", Stored::Done)
            }
            StoreAction::KeepOwner(pin) => {
                self.pin = Some(pin);
                ("pin", Stored::Done)
            }
            StoreAction::Pin(root) => {
                self.root = Some(root);
                ("pin root", Stored::Done)
            }
            // Reading a pin is no event.
            StoreAction::Owner => return Stored::Owner(self.pin.clone()),
            // Neither is a copy of the public part.
            StoreAction::PublicPart(limit) => {
                return Stored::Bytes(self.copy.clone().filter(|copy| copy.len() as u64 <= limit));
            }
            StoreAction::KeepPublicPart(copy) => {
                self.copy = Some(self.overwriting.take().unwrap_or(copy));
                return Stored::Done;
            }
            StoreAction::HasRoot => return Stored::Found(self.root.is_some()),
            StoreAction::Root => return Stored::Root(self.root),
            other => panic!("{other:?}"),
        };
        self.record(Event::Stored(name));
        stored
    }

    /// The slot of a database that the service does not have, of which nothing is stored.
    fn store_absent(&self, action: StoreAction) -> Stored {
        match action {
            StoreAction::Lock => Stored::Locked(StoreLock::new(()).at(self.place)),
            StoreAction::Read => Stored::Registration(None),
            StoreAction::Owner => Stored::Owner(None),
            StoreAction::HasRoot => Stored::Found(false),
            StoreAction::Root => Stored::Root(None),
            StoreAction::PublicPart(_) => Stored::Bytes(None),
            other => panic!("{other:?}"),
        }
    }

    /// The slot of the database behind a relay. Nothing of it is an event.
    fn store_relayed(&mut self, relay: &str, action: StoreAction) -> Stored {
        let state = self.relayed.entry(relay.to_owned()).or_default();
        match action {
            StoreAction::Lock => return Stored::Locked(StoreLock::new(()).at(self.place)),
            StoreAction::Read => return Stored::Registration(state.saved.clone()),
            StoreAction::Write(saved) => state.saved = Some(saved),
            StoreAction::Forget => state.saved = None,
            StoreAction::PublicPart(_) => return Stored::Bytes(state.copy.clone()),
            StoreAction::KeepPublicPart(copy) => state.copy = Some(copy),
            other => panic!("{other:?}"),
        }
        Stored::Done
    }

    /// The slot of the service, or of its set. Its lock is no event.
    fn store_name(&mut self, action: StoreAction) -> Stored {
        match action {
            StoreAction::Lock => Stored::Locked(StoreLock::new(())),
            // Kept for the service, if the client names no database.
            StoreAction::Version => Stored::Version(self.version.clone()),
            StoreAction::KeepVersion(version) => {
                self.version = Some(version);
                Stored::Done
            }
            StoreAction::Name => Stored::Bytes(self.pinned_name.clone().map(String::into_bytes)),
            StoreAction::KeepName(name) => {
                self.pinned_name = Some(name);
                self.record(Event::Stored("pin name"));
                Stored::Done
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Guard that logs the release of the lock.
struct Unlock(Arc<Mutex<Vec<Event>>>);

impl Drop for Unlock {
    fn drop(&mut self) {
        self.0.lock().unwrap().push(Event::Stored("unlock"));
    }
}
