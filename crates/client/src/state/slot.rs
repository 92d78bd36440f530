//! The state files of one database: locked while they change, replaced atomically, durable.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use papir_lookup::Root;

use super::disk::{create_folder, failed, private, read, replace, stem};
use super::place::{self, Host};
use super::sealed::{self, MAX_BYTES, OpenError, Passphrase};
use crate::core::{PinnedOwner, Place, SavedRegistration};
use crate::error::{Error, Result};

/// Longest accepted file of a pinned root, in bytes.
const ROOT_BYTES: u64 = 256;

/// Longest accepted file of a pinned owner's key, in bytes.
const OWNER_BYTES: u64 = 4096;

/// The state files of one database. Callers hold the lock while they change them.
pub(super) struct Slot {
    directory: PathBuf,
    /// The path of the files without their extensions: `.state`, `.lock`, `.root`, `.owner`,
    /// `.filter` and, during an upload, `.keys`.
    stem: PathBuf,
    passphrase: Option<Passphrase>,
}

/// A held lock: no other process or thread changes the slot. Closing the file releases it.
pub(super) struct Lock {
    file: File,
}

impl Lock {
    /// The place of the slot; `None` if the system cannot tell.
    pub(super) fn place(&self) -> Option<Place> {
        place::place(&self.file, &Host::this())
    }
}

impl Slot {
    /// The files in `directory` of the database with this identity. Creates nothing.
    pub(super) fn new(directory: &Path, identity: &str, passphrase: Option<Passphrase>) -> Self {
        Self { directory: directory.to_owned(), stem: stem(directory, identity), passphrase }
    }

    /// Returns whether a root is pinned.
    pub(super) fn has_root(&self) -> bool {
        self.path("root").exists()
    }

    /// The stored filter of a set, at most `limit` bytes of it.
    pub(super) fn filter(&self, limit: u64) -> Result<Option<Vec<u8>>> {
        Ok(read(&self.path("filter"), limit)?.map(|bytes| bytes.to_vec()))
    }

    /// Creates the directory, accessible to its owner only, and waits for the lock.
    pub(super) fn create_and_lock(&self) -> Result<Lock> {
        create_folder(&self.directory).map_err(|error| failed(&self.directory, error))?;
        let path = self.path("lock");
        let file = private(OpenOptions::new().create(true).write(true)).open(&path);
        let file = file.and_then(|file| file.lock().map(|()| file));
        Ok(Lock { file: file.map_err(|error| failed(&path, error))? })
    }

    /// The registration, if there is one.
    ///
    /// # Errors
    /// [`Error::Passphrase`]; [`Error::State`] for a file that is damaged or has another format. The
    /// file is left unchanged.
    pub(super) fn read(&self) -> Result<Option<SavedRegistration>> {
        let path = self.path("state");
        let Some(bytes) = read(&path, MAX_BYTES)? else {
            return Ok(None);
        };
        sealed::parse(&bytes, self.passphrase.as_ref()).map(Some).map_err(|error| match error {
            OpenError::NoPassphrase => Error::Passphrase { path, reason: "a passphrase is required" },
            OpenError::WrongPassphrase => {
                Error::Passphrase { path, reason: "the passphrase is wrong, or the file was modified" }
            }
            OpenError::Core(source) => Error::State { path, source },
        })
    }

    /// Replaces the registration. It is on disk on return.
    pub(super) fn write(&self, saved: &SavedRegistration) -> Result<()> {
        let bytes = sealed::write(saved, self.passphrase.as_ref())?;
        self.replace("state", &bytes)
    }

    /// The pinned root.
    ///
    /// # Errors
    /// [`Error::State`] for a damaged file. The file is left unchanged.
    pub(super) fn root(&self) -> Result<Option<Root>> {
        let path = self.path("root");
        let Some(bytes) = read(&path, ROOT_BYTES)? else {
            return Ok(None);
        };
        let root = String::from_utf8_lossy(&bytes).trim().parse();
        root.map(Some).map_err(|source| Error::State { path, source })
    }

    /// Pins a root. It is on disk on return.
    pub(super) fn pin(&self, root: &Root) -> Result<()> {
        self.replace("root", format!("{root}\n").as_bytes())
    }

    /// The pinned owner's key.
    ///
    /// # Errors
    /// [`Error::State`] for a damaged file. The file is left unchanged.
    pub(super) fn owner(&self) -> Result<Option<PinnedOwner>> {
        let path = self.path("owner");
        let Some(bytes) = read(&path, OWNER_BYTES)? else {
            return Ok(None);
        };
        PinnedOwner::decode(&bytes).map(Some).map_err(|source| Error::State { path, source })
    }

    /// Pins an owner's key. It is on disk on return.
    pub(super) fn keep_owner(&self, owner: &PinnedOwner) -> Result<()> {
        self.replace("owner", owner.encode().as_bytes())
    }

    /// Stores the filter of a set and replaces an earlier one.
    pub(super) fn keep_filter(&self, bytes: &[u8]) -> Result<()> {
        self.replace("filter", bytes)
    }

    /// Removes the registration and its keys.
    pub(super) fn forget(&self) -> Result<()> {
        self.remove("keys")?;
        self.remove("state")
    }

    /// Stores keys until they are uploaded. They are on disk on return.
    pub(super) fn keep_keys(&self, keys: &[u8]) -> Result<()> {
        self.replace("keys", keys)
    }

    /// The keys that are being uploaded; `None` unless the file has exactly `length` bytes.
    pub(super) fn keys(&self, length: u64) -> Result<Option<Vec<u8>>> {
        let keys = read(&self.path("keys"), length)?.map(|keys| keys.to_vec());
        Ok(keys.filter(|keys| keys.len() as u64 == length))
    }

    /// Removes the keys once the service has them.
    pub(super) fn drop_keys(&self) -> Result<()> {
        self.remove("keys")
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.stem.with_extension(extension)
    }

    fn remove(&self, extension: &str) -> Result<()> {
        let path = self.path(extension);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, error)),
            _ => Ok(()),
        }
    }

    fn replace(&self, extension: &str, bytes: &[u8]) -> Result<()> {
        let path = self.path(extension);
        replace(&path, &self.path("partial"), &[bytes]).map_err(|error| failed(&path, error))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use zeroize::Zeroizing;

    use super::*;

    const IDENTITY: &str = "http://h/a";

    fn registration(state: &[u8]) -> SavedRegistration {
        SavedRegistration {
            address: "http://h/v1/databases/a".into(),
            client: "0".repeat(32),
            uploading: false,
            keys_bytes: 3,
            registered: 0,
            queries: 0,
            place: None,
            state: Zeroizing::new(state.to_vec()),
        }
    }

    /// The slot in `folder`, with this passphrase.
    fn slot(folder: &Path, passphrase: Option<&str>) -> Slot {
        Slot::new(&folder.join("state"), IDENTITY, passphrase.map(Passphrase::new))
    }

    #[test]
    fn files_are_private_and_replaced_atomically() {
        let folder = tempfile::tempdir().unwrap();
        let slot = slot(folder.path(), None);
        let _lock = slot.create_and_lock().unwrap();
        assert!(slot.read().unwrap().is_none());
        slot.write(&registration(b"one")).unwrap();
        slot.write(&registration(b"two")).unwrap();
        slot.keep_keys(b"keys").unwrap();
        assert_eq!(*slot.read().unwrap().unwrap().state, b"two");
        assert_eq!((slot.keys(4).unwrap(), slot.keys(5).unwrap()), (Some(b"keys".to_vec()), None));
        let mut names = Vec::new();
        for file in fs::read_dir(folder.path().join("state")).unwrap() {
            let file = file.unwrap();
            #[cfg(unix)]
            assert_eq!(
                std::os::unix::fs::PermissionsExt::mode(&file.metadata().unwrap().permissions()) & 0o777,
                0o600
            );
            names.push(file.path().extension().unwrap().to_owned());
        }
        names.sort();
        assert_eq!(names, ["keys", "lock", "state"]);
        #[cfg(unix)]
        {
            let rights = fs::metadata(folder.path().join("state")).unwrap().permissions();
            assert_eq!(std::os::unix::fs::PermissionsExt::mode(&rights) & 0o777, 0o700);
        }
        slot.forget().unwrap();
        assert!(slot.read().unwrap().is_none() && slot.keys(4).unwrap().is_none());
        let other = Slot::new(&folder.path().join("state"), "http://h/b", None);
        assert_ne!(other.stem, slot.stem);
    }

    #[test]
    fn a_damaged_pin_of_an_owner_is_an_error_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let slot = slot(folder.path(), None);
        assert_eq!(slot.owner().unwrap(), None);
        let _lock = slot.create_and_lock().unwrap();
        let key = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        let text = format!("papir-owner-pin-1\n{key}\n{key}\n7\n");
        let pin = PinnedOwner::decode(format!("{text}{}\n", "1f".repeat(32)).as_bytes()).unwrap();
        slot.keep_owner(&pin).unwrap();
        assert_eq!(slot.owner().unwrap(), Some(pin));
        fs::write(slot.path("owner"), &text).unwrap();
        assert_eq!(slot.owner().err().unwrap().code(), "state");
        assert_eq!(fs::read(slot.path("owner")).unwrap(), text.as_bytes());
    }

    #[test]
    fn a_wrong_passphrase_overwrites_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let open = |passphrase| slot(folder.path(), passphrase);
        let lock = || open(None).create_and_lock().unwrap();
        let held = lock();
        open(Some("right")).write(&registration(b"one")).unwrap();
        let path = open(None).path("state");
        let before = fs::read(&path).unwrap();
        drop(held);
        for passphrase in [None, Some("wrong")] {
            let _held = lock();
            let refused = open(passphrase).read().err().unwrap();
            assert_eq!(refused.code(), "passphrase", "{refused}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(*open(Some("right")).read().unwrap().unwrap().state, b"one");
        fs::write(&path, &before[..9]).unwrap();
        assert_eq!(open(Some("right")).read().err().unwrap().code(), "state");
    }

    #[test]
    fn one_thread_at_a_time_changes_a_slot() {
        let folder = tempfile::tempdir().unwrap();
        let first = slot(folder.path(), None);
        let held = first.create_and_lock().unwrap();
        first.write(&registration(&[0])).unwrap();
        drop(held);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let slot = slot(folder.path(), None);
                    let _lock = slot.create_and_lock().unwrap();
                    let count = slot.read().unwrap().unwrap().state[0];
                    slot.write(&registration(&[count + 1])).unwrap();
                });
            }
        });
        assert_eq!(*first.read().unwrap().unwrap().state, [8]);
    }
}
