//! State of one database, as entries of a storage.

use std::path::PathBuf;

use papir_core::Error as CoreError;
use papir_lookup::Root;
use zeroize::Zeroizing;

use super::sealed::{self, MAX_BYTES, OpenError, ParsedFile, Passphrase};
use super::storage::{StateEntry, StateStorage};
use crate::core::{
    PinnedOwner, SavedRegistration, SavedTokens, SavedVersion, StoreAction, StoreLock, Stored,
};
use crate::error::{Error, Result};

/// Maximum number of bytes read from the entry of a pinned root.
const ROOT_BYTES: u64 = 256;

/// Maximum number of bytes read from the entry of a pinned owner's key.
const OWNER_BYTES: u64 = 4096;

/// Maximum number of bytes read from the entry of a database's name.
const NAME_BYTES: u64 = 4096;

/// Maximum number of bytes read from the entry of tokens, of which a slot has at most 128.
const TOKENS_BYTES: u64 = 64 << 10;

/// The slot of one database. Callers must have its lock while they change it.
pub(super) struct StateSlot<'a> {
    storage: &'a dyn StateStorage,
    /// The database's identity, which a stored registration must contain.
    identity: String,
    name: String,
    passphrase: Option<&'a Passphrase>,
}

impl<'a> StateSlot<'a> {
    /// The slot of the database with this identity. Creates nothing. Its name is a hash, so that
    /// names do not reveal the services that a client uses. The contents of encrypted registrations
    /// do not reveal them either, but pinned roots, owner's keys and names may.
    pub(super) fn new(
        storage: &'a dyn StateStorage,
        identity: &str,
        passphrase: Option<&'a Passphrase>,
    ) -> Self {
        let mut name = blake3::hash(identity.as_bytes()).to_hex().to_string();
        name.truncate(32);
        Self {
            storage,
            identity: identity.to_owned(),
            name,
            passphrase,
        }
    }

    /// The location of the registration, which may not exist yet.
    #[cfg(feature = "transport")]
    pub(super) fn location(&self) -> PathBuf {
        self.storage.location(&self.name, StateEntry::Registration)
    }

    /// Performs an action of the protocol core. An entry that cannot be read stays unchanged.
    pub(super) fn perform(&self, action: StoreAction) -> Result<Stored> {
        match action {
            StoreAction::Lock => return Ok(Stored::Locked(self.lock()?)),
            StoreAction::Read => return Ok(Stored::Registration(self.registration()?)),
            StoreAction::Keys(length) => return Ok(Stored::Bytes(self.keys(length)?)),
            StoreAction::HasRoot => {
                let root = self.read(StateEntry::Root, ROOT_BYTES)?;
                return Ok(Stored::Found(root.is_some()));
            }
            StoreAction::Root => return Ok(Stored::Root(self.root()?)),
            StoreAction::Owner => return Ok(Stored::Owner(self.owner()?)),
            StoreAction::Name => return self.stored_bytes(StateEntry::Name, NAME_BYTES),
            StoreAction::Tokens => return Ok(Stored::Tokens(self.tokens()?)),
            StoreAction::Version => return Ok(Stored::Version(self.version()?)),
            StoreAction::Filter(limit) => return self.stored_bytes(StateEntry::Filter, limit),
            StoreAction::PublicPart(limit) => {
                return self.stored_bytes(StateEntry::PublicPart, limit);
            }

            StoreAction::Write(saved) => self.keep_registration(&saved)?,
            StoreAction::Forget => self.forget()?,
            StoreAction::KeepKeys(keys) => self.replace(StateEntry::Keys, &keys)?,
            StoreAction::DropKeys => self.storage.remove(&self.name, StateEntry::Keys)?,
            StoreAction::Pin(root) => {
                self.replace(StateEntry::Root, format!("{root}\n").as_bytes())?;
            }
            StoreAction::KeepOwner(owner) => {
                self.replace(StateEntry::Owner, owner.encode().as_bytes())?;
            }
            StoreAction::KeepName(name) => {
                self.replace(StateEntry::Name, format!("{name}\n").as_bytes())?;
            }
            StoreAction::KeepTokens(SavedTokens(record)) => {
                let file = sealed::seal(&record, &self.name, self.passphrase)?;
                self.replace(StateEntry::Tokens, &file)?;
            }
            StoreAction::KeepVersion(SavedVersion(record)) => {
                let file = sealed::seal(&record, &self.name, self.passphrase)?;
                self.replace(StateEntry::Version, &file)?;
            }
            StoreAction::KeepFilter(bytes) => {
                // Without the lock, two writers could share one partial file.
                let _lock = self.lock()?;
                self.replace(StateEntry::Filter, &bytes)?;
            }
            StoreAction::KeepPublicPart(bytes) => self.replace(StateEntry::PublicPart, &bytes)?,
        }

        Ok(Stored::Done)
    }

    fn lock(&self) -> Result<StoreLock> {
        self.storage.lock(&self.name)
    }

    fn registration(&self) -> Result<Option<SavedRegistration>> {
        let Some(bytes) = self.read(StateEntry::Registration, MAX_BYTES)? else {
            return Ok(None);
        };

        let path = self.storage.location(&self.name, StateEntry::Registration);
        let ParsedFile { saved, is_old } = match sealed::parse(&bytes, &self.name, self.passphrase)
        {
            Ok(parsed) => parsed,
            Err(error) => return Err(not_opened(path, error)),
        };

        // In schemes with numbers, a key that is used at two services reveals queries to both.
        if saved.address != self.identity {
            let source = CoreError::malformed(
                "a saved registration",
                format!("the address {}", saved.address),
                &self.identity,
            );
            return Err(Error::State { path, source });
        }

        // Callers hold the lock. An earlier format is not bound to its slot.
        if is_old {
            self.keep_registration(&saved)?;
        }
        Ok(Some(saved))
    }

    fn keep_registration(&self, saved: &SavedRegistration) -> Result<()> {
        self.replace(
            StateEntry::Registration,
            &sealed::write(saved, &self.name, self.passphrase)?,
        )
    }

    fn forget(&self) -> Result<()> {
        // The keys go first: keys without a registration would stay for ever.
        self.storage.remove(&self.name, StateEntry::Keys)?;
        self.storage.remove(&self.name, StateEntry::Registration)
    }

    /// Reads the client keys that are being uploaded; `None` unless they have exactly `length`
    /// bytes.
    fn keys(&self, length: u64) -> Result<Option<Vec<u8>>> {
        let keys = self.bytes(StateEntry::Keys, length.saturating_add(1))?;
        Ok(keys.filter(|keys| keys.len() as u64 == length))
    }

    pub(super) fn root(&self) -> Result<Option<Root>> {
        let Some(bytes) = self.read(StateEntry::Root, ROOT_BYTES)? else {
            return Ok(None);
        };
        let root = String::from_utf8_lossy(&bytes).trim().parse();
        root.map(Some)
            .map_err(|source| self.damaged(StateEntry::Root, source))
    }

    pub(super) fn owner(&self) -> Result<Option<PinnedOwner>> {
        let Some(bytes) = self.read(StateEntry::Owner, OWNER_BYTES)? else {
            return Ok(None);
        };
        PinnedOwner::decode(&bytes)
            .map(Some)
            .map_err(|source| self.damaged(StateEntry::Owner, source))
    }

    /// Reads the tokens, which are encrypted as registrations are.
    fn tokens(&self) -> Result<Option<SavedTokens>> {
        let Some(bytes) = self.read(StateEntry::Tokens, TOKENS_BYTES)? else {
            return Ok(None);
        };
        let path = self.storage.location(&self.name, StateEntry::Tokens);
        match sealed::open(&bytes, &self.name, self.passphrase) {
            Ok(opened) => Ok(Some(SavedTokens(opened.record))),
            Err(error) => Err(not_opened(path, error)),
        }
    }

    /// Reads the kept version, which is encrypted as registrations are.
    fn version(&self) -> Result<Option<SavedVersion>> {
        let Some(bytes) = self.read(StateEntry::Version, MAX_BYTES)? else {
            return Ok(None);
        };
        let path = self.storage.location(&self.name, StateEntry::Version);
        match sealed::open(&bytes, &self.name, self.passphrase) {
            Ok(opened) => Ok(Some(SavedVersion(opened.record))),
            Err(error) => Err(not_opened(path, error)),
        }
    }

    fn damaged(&self, entry: StateEntry, source: papir_core::Error) -> Error {
        Error::State {
            path: self.storage.location(&self.name, entry),
            source,
        }
    }

    fn stored_bytes(&self, entry: StateEntry, limit: u64) -> Result<Stored> {
        Ok(Stored::Bytes(self.bytes(entry, limit)?))
    }

    fn bytes(&self, entry: StateEntry, limit: u64) -> Result<Option<Vec<u8>>> {
        Ok(self
            .read(entry, limit)?
            .map(|mut bytes| std::mem::take(&mut *bytes)))
    }

    fn read(&self, entry: StateEntry, limit: u64) -> Result<Option<Zeroizing<Vec<u8>>>> {
        self.storage.read(&self.name, entry, limit)
    }

    fn replace(&self, entry: StateEntry, bytes: &[u8]) -> Result<()> {
        self.storage.replace(&self.name, entry, bytes)
    }
}

#[cfg(feature = "transport")]
impl StateSlot<'_> {
    /// Reads the pinned name of the service's database; `None` if no name is pinned.
    pub(super) fn pinned_name(&self) -> Result<Option<String>> {
        let name = self.read(StateEntry::Name, NAME_BYTES)?;
        Ok(name.map(|name| {
            String::from_utf8_lossy(&name)
                .trim_end_matches('\n')
                .to_owned()
        }))
    }

    /// Removes entries. Called with the lock held. Returns whether there were any.
    pub(super) fn remove(&self, entries: &[StateEntry]) -> Result<bool> {
        let found = self.has_any(entries)?;
        for entry in entries {
            self.storage.remove(&self.name, *entry)?;
        }
        Ok(found)
    }

    /// Returns whether there is any of these entries. Neither creates the slot nor takes its lock.
    pub(super) fn has_any(&self, entries: &[StateEntry]) -> Result<bool> {
        for entry in entries {
            if self.read(*entry, 1)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The error for a registration at `path` that cannot be opened.
fn not_opened(path: PathBuf, error: OpenError) -> Error {
    let reason = match error {
        OpenError::NoPassphrase => "a passphrase is required",
        OpenError::WrongPassphrase => {
            "the passphrase is wrong, or the state was modified or is another database's"
        }
        OpenError::NotEncrypted => {
            "the state is not encrypted, and anyone could have written it: \
             remove it to register again"
        }
        OpenError::Core(source) => return Error::State { path, source },
    };
    Error::Passphrase { path, reason }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::Arc;

    use super::super::folder::Folder;
    use super::*;

    const IDENTITY: &str = "http://h/a";

    fn registration(state: &[u8]) -> SavedRegistration {
        SavedRegistration {
            address: IDENTITY.into(),
            client: "0".repeat(32),
            uploading: false,
            keys_bytes: 3,
            registered: 0,
            queries: 0,
            place: None,
            state: Zeroizing::new(state.to_vec()),
        }
    }

    fn storage(folder: &Path) -> Folder {
        Folder::new(Some(folder.join("state")))
    }

    /// The state of the slot's registration.
    fn state(slot: &StateSlot<'_>) -> Option<Vec<u8>> {
        slot.registration()
            .unwrap()
            .map(|saved| saved.state.to_vec())
    }

    /// The path of an entry's file.
    fn path(slot: &StateSlot<'_>, entry: StateEntry) -> PathBuf {
        slot.storage.location(&slot.name, entry)
    }

    #[test]
    fn files_are_private_and_replaced_atomically() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path());
        let slot = StateSlot::new(&storage, IDENTITY, None);
        let _lock = slot.lock().unwrap();
        assert_eq!(state(&slot), None);

        slot.keep_registration(&registration(b"one")).unwrap();
        slot.keep_registration(&registration(b"two")).unwrap();
        slot.perform(StoreAction::KeepKeys(Arc::new(b"keys".to_vec())))
            .unwrap();
        assert_eq!(state(&slot).unwrap(), b"two");
        assert_eq!(
            [3, 4, 5].map(|length| slot.keys(length).unwrap()),
            [None, Some(b"keys".to_vec()), None]
        );

        let mut names = Vec::new();
        for file in fs::read_dir(folder.path().join("state")).unwrap() {
            let file = file.unwrap();
            #[cfg(unix)]
            assert_eq!(
                std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions())
                    & 0o777,
                0o600
            );
            names.push(file.path().extension().unwrap().to_owned());
        }
        names.sort();
        assert_eq!(names, ["keys", "lock", "state"]);
        #[cfg(unix)]
        {
            let rights = fs::metadata(folder.path().join("state"))
                .unwrap()
                .permissions();
            assert_eq!(
                std::os::unix::fs::PermissionsExt::mode(&rights) & 0o777,
                0o700
            );
        }

        slot.forget().unwrap();
        assert!(state(&slot).is_none() && slot.keys(4).unwrap().is_none());
        assert_ne!(StateSlot::new(&storage, "http://h/b", None).name, slot.name);
    }

    #[test]
    fn exchanged_registrations_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path());
        let passphrase = Passphrase::new("right");
        for passphrase in [None, Some(&passphrase)] {
            let slots = [IDENTITY, "http://h/b"].map(|identity| {
                let slot = StateSlot::new(&storage, identity, passphrase);
                let _lock = slot.lock().unwrap();
                let saved = SavedRegistration {
                    address: identity.to_owned(),
                    ..registration(identity.as_bytes())
                };
                slot.keep_registration(&saved).unwrap();
                slot
            });
            let paths = slots
                .each_ref()
                .map(|slot| path(slot, StateEntry::Registration));
            let files = paths.each_ref().map(|path| fs::read(path).unwrap());
            for (path, file) in paths.iter().zip(files.iter().rev()) {
                fs::write(path, file).unwrap();
            }

            for (slot, file) in slots.iter().zip(files.iter().rev()) {
                let refused = slot.registration().err().unwrap();
                let expected = if passphrase.is_some() {
                    "passphrase"
                } else {
                    "state"
                };
                assert_eq!(refused.code(), expected, "{refused}");
                let left = fs::read(path(slot, StateEntry::Registration)).unwrap();
                assert_eq!(left, *file, "it is left unchanged");
            }
        }
    }

    #[test]
    fn a_kept_version_is_sealed_as_registrations_are() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path());
        let passphrase = Passphrase::new("right");
        let [own, other] = [IDENTITY, "http://h/b"]
            .map(|identity| StateSlot::new(&storage, identity, Some(&passphrase)));
        let _lock = own.lock().unwrap();
        assert!(own.version().unwrap().is_none());

        let record = Zeroizing::new(b"a key that waits".to_vec());
        own.perform(StoreAction::KeepVersion(SavedVersion(record.clone())))
            .unwrap();
        assert_eq!(own.version().unwrap().unwrap().0, record);

        let file = fs::read(path(&own, StateEntry::Version)).unwrap();
        assert!(!file.windows(4).any(|part| part == b"that"));
        fs::write(path(&other, StateEntry::Version), &file).unwrap();
        for slot in [&other, &StateSlot::new(&storage, IDENTITY, None)] {
            assert_eq!(slot.version().err().unwrap().code(), "passphrase");
        }

        // A registration that is forgotten leaves the lookups that wait.
        own.forget().unwrap();
        assert!(own.version().unwrap().is_some());
    }

    /// A file of format 1 of this record, without a passphrase.
    fn old_file(saved: &SavedRegistration) -> Vec<u8> {
        let file = [b"PIRSTATE\x01\x00".as_slice(), &saved.encode()].concat();
        let sum = blake3::hash(&file);
        [file, sum.as_bytes()[..8].to_vec()].concat()
    }

    #[test]
    fn a_registration_of_format_1_is_read_and_written_anew() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path());
        let slot = StateSlot::new(&storage, IDENTITY, None);
        let _lock = slot.lock().unwrap();
        let path = path(&slot, StateEntry::Registration);

        fs::write(&path, old_file(&registration(b"one"))).unwrap();
        assert_eq!(state(&slot).unwrap(), b"one");
        assert_eq!(fs::read(&path).unwrap()[8], 2);
        assert_eq!(state(&slot).unwrap(), b"one");

        let foreign = SavedRegistration {
            address: "http://h/b".to_owned(),
            ..registration(b"one")
        };
        let old = old_file(&foreign);
        fs::write(&path, &old).unwrap();
        let refused = slot.registration().err().unwrap();
        assert_eq!(refused.code(), "state");
        for part in ["http://h/a", "http://h/b", "register again"] {
            assert!(refused.to_string().contains(part), "{refused}");
        }
        assert_eq!(fs::read(&path).unwrap(), old, "it is left unchanged");
    }

    #[test]
    fn a_damaged_pin_of_an_owner_is_an_error_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path());
        let slot = StateSlot::new(&storage, IDENTITY, None);
        assert_eq!(slot.owner().unwrap(), None);

        let _lock = slot.lock().unwrap();
        let key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let text = format!("papir-owner-pin-1\n{key}\n{key}\n7\n");
        let pin = PinnedOwner::decode(format!("{text}{}\n", "1f".repeat(32)).as_bytes()).unwrap();
        slot.perform(StoreAction::KeepOwner(pin.clone())).unwrap();
        assert_eq!(slot.owner().unwrap(), Some(pin));

        let path = path(&slot, StateEntry::Owner);
        fs::write(&path, &text).unwrap();
        assert_eq!(slot.owner().err().unwrap().code(), "state");
        assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
    }

    #[test]
    fn golden_name() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path());
        let slot = StateSlot::new(&storage, "http://h/v1/databases/", None);
        let _lock = slot.lock().unwrap();
        slot.perform(StoreAction::KeepName("words".to_owned()))
            .unwrap();

        let file = folder
            .path()
            .join("state/c6ea1f714556fb50dc4b4d987addd207.name");
        assert_eq!(path(&slot, StateEntry::Name), file);
        assert_eq!(fs::read(&file).unwrap(), b"words\n");
        let read = slot.perform(StoreAction::Name).unwrap();
        assert!(matches!(read, Stored::Bytes(Some(name)) if name == b"words\n"));
    }

    #[test]
    fn a_wrong_passphrase_overwrites_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path());
        let right = Passphrase::new("right");
        let wrong = Passphrase::new("wrong");
        let open = |passphrase| StateSlot::new(&storage, IDENTITY, passphrase);
        let held = open(None).lock().unwrap();
        open(Some(&right))
            .keep_registration(&registration(b"one"))
            .unwrap();
        let path = path(&open(None), StateEntry::Registration);
        let before = fs::read(&path).unwrap();
        drop(held);

        for passphrase in [None, Some(&wrong)] {
            let slot = open(passphrase);
            let _held = slot.lock().unwrap();
            let refused = slot.registration().err().unwrap();
            assert_eq!(refused.code(), "passphrase", "{refused}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(state(&open(Some(&right))).unwrap(), b"one");

        fs::write(&path, &before[..9]).unwrap();
        assert_eq!(
            open(Some(&right)).registration().err().unwrap().code(),
            "state"
        );
    }

    #[test]
    fn one_thread_at_a_time_changes_a_slot() {
        let folder = tempfile::tempdir().unwrap();
        let storage = storage(folder.path());
        let first = StateSlot::new(&storage, IDENTITY, None);
        let held = first.lock().unwrap();
        first.keep_registration(&registration(&[0])).unwrap();
        drop(held);

        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let slot = StateSlot::new(&storage, IDENTITY, None);
                    let _lock = slot.lock().unwrap();
                    let count = state(&slot).unwrap()[0];
                    slot.keep_registration(&registration(&[count + 1])).unwrap();
                });
            }
        });
        assert_eq!(state(&first).unwrap(), [8]);
    }
}
