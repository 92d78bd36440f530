//! One database's state file: locked while it changes, replaced as a whole, on disk before it counts.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use papir_lookup::Root;
use zeroize::Zeroizing;

use super::sealed::{MAX_BYTES, Passphrase, Unopened};
use super::{Record, default_state_directory};
use crate::{Error, Options, Result};

/// The longest file of a pinned root that is read, in bytes.
const ROOT_BYTES: u64 = 256;

/// Where the state of one database of one service is kept.
#[derive(Clone)]
pub(crate) struct Slot {
    /// The path without extension: `.state`, `.lock` and, while they are uploaded, `.keys` stand there.
    stem: PathBuf,
    passphrase: Option<Passphrase>,
}

/// The right to change a slot; no other process or thread has it.
pub(crate) struct Lock<'s> {
    slot: &'s Slot,
    /// Unlocks when closed.
    _file: File,
}

impl Slot {
    /// The slot of the database at `address`. Makes the directory, for its owner alone.
    pub(crate) fn open(options: &Options, address: &str) -> Result<Self> {
        let directory = directory(options).ok_or(Error::NoStateDirectory)?;
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&directory).map_err(|error| failed(&directory, error))?;
        Ok(Self { stem: stem(&directory, address), passphrase: options.passphrase.clone() })
    }

    /// Whether a root is pinned for the database at `address`. Makes nothing.
    pub(crate) fn has_root(options: &Options, address: &str) -> bool {
        directory(options).is_some_and(|directory| stem(&directory, address).with_extension("root").exists())
    }

    /// The filter of a set that is kept, at most `limit` bytes of it.
    pub(crate) fn filter(&self, limit: u64) -> Result<Option<Vec<u8>>> {
        Ok(read(&self.path("filter"), limit)?.map(|bytes| bytes.to_vec()))
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.stem.with_extension(extension)
    }

    /// Waits until nobody else changes the slot.
    pub(crate) fn lock(&self) -> Result<Lock<'_>> {
        let path = self.path("lock");
        let file = private(OpenOptions::new().create(true).write(true)).open(&path);
        let file = file.and_then(|file| file.lock().map(|()| file));
        Ok(Lock { slot: self, _file: file.map_err(|error| failed(&path, error))? })
    }
}

impl Lock<'_> {
    /// What is kept, if anything.
    ///
    /// # Errors
    /// [`Error::Passphrase`], [`Error::State`] for a damaged file: it stays as it is.
    pub(crate) fn read(&self) -> Result<Option<Record>> {
        let path = self.slot.path("state");
        let Some(bytes) = read(&path, MAX_BYTES)? else {
            return Ok(None);
        };
        super::parse(&bytes, self.slot.passphrase.as_ref()).map(Some).map_err(|error| match error {
            Unopened::NoPassphrase => Error::Passphrase { path, reason: "it wants a passphrase" },
            Unopened::WrongPassphrase => {
                Error::Passphrase { path, reason: "the passphrase is wrong, or the file was changed" }
            }
            Unopened::Core(source) => Error::State { path, source },
        })
    }

    /// Replaces what is kept; on disk when this returns.
    pub(crate) fn write(&self, record: &Record) -> Result<()> {
        let bytes = super::write(record, self.slot.passphrase.as_ref())?;
        self.replace("state", &bytes)
    }

    /// The root that is pinned.
    ///
    /// # Errors
    /// [`Error::State`] for a damaged file: it stays as it is.
    pub(crate) fn root(&self) -> Result<Option<Root>> {
        let path = self.slot.path("root");
        let Some(bytes) = read(&path, ROOT_BYTES)? else {
            return Ok(None);
        };
        let root = String::from_utf8_lossy(&bytes).trim().parse();
        root.map(Some).map_err(|source| Error::State { path, source })
    }

    /// Pins a root; on disk when this returns.
    pub(crate) fn pin(&self, root: &Root) -> Result<()> {
        self.replace("root", format!("{root}\n").as_bytes())
    }

    /// Keeps the filter of a set in place of another.
    pub(crate) fn keep_filter(&self, bytes: &[u8]) -> Result<()> {
        self.replace("filter", bytes)
    }

    /// Forgets everything but the lock and the pinned root.
    pub(crate) fn forget(&self) -> Result<()> {
        self.remove("keys")?;
        self.remove("state")
    }

    /// Keeps keys until they are uploaded; on disk when this returns.
    pub(crate) fn keep_keys(&self, keys: &[u8]) -> Result<()> {
        self.replace("keys", keys)
    }

    /// The keys that are being uploaded, if they are all there.
    pub(crate) fn keys(&self, length: u64) -> Result<Option<Vec<u8>>> {
        let keys = read(&self.slot.path("keys"), length)?.map(|keys| keys.to_vec());
        Ok(keys.filter(|keys| keys.len() as u64 == length))
    }

    /// Forgets the keys: the service has them.
    pub(crate) fn drop_keys(&self) -> Result<()> {
        self.remove("keys")
    }

    fn remove(&self, extension: &str) -> Result<()> {
        let path = self.slot.path(extension);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(&path, error)),
            _ => Ok(()),
        }
    }

    fn replace(&self, extension: &str, bytes: &[u8]) -> Result<()> {
        let (path, partial) = (self.slot.path(extension), self.slot.path("partial"));
        let write = || {
            // What a killed process left may have other rights.
            let _ = fs::remove_file(&partial);
            let mut file = private(OpenOptions::new().create_new(true).write(true)).open(&partial)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&partial, &path)?;
            sync_directory(&path)
        };
        write().map_err(|error| failed(&path, error))
    }
}

fn directory(options: &Options) -> Option<PathBuf> {
    options.state.clone().or_else(default_state_directory)
}

/// The name does not show to whom it belongs; under a passphrase no file but a pinned root does.
fn stem(directory: &Path, address: &str) -> PathBuf {
    let name = blake3::hash(address.as_bytes()).to_hex();
    directory.join(&name[..32])
}

/// At most `limit` bytes of a file, erased when dropped; `None` where there is none.
fn read(path: &Path, limit: u64) -> Result<Option<Zeroizing<Vec<u8>>>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(path, error)),
    };
    let length = file.metadata().map_err(|error| failed(path, error))?.len().min(limit);
    let mut bytes = Zeroizing::new(Vec::with_capacity(length as usize + 1));
    file.take(limit).read_to_end(&mut bytes).map_err(|error| failed(path, error))?;
    Ok(Some(bytes))
}

/// For its owner alone, where there are such rights.
fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

/// Makes a rename durable. Only Unix has directories that can be synced.
fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) if cfg!(unix) => File::open(directory)?.sync_all(),
        _ => Ok(()),
    }
}

fn failed(path: &Path, source: io::Error) -> Error {
    Error::StateFile { path: path.to_owned(), source }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn record(state: &[u8]) -> Record {
        Record {
            address: "http://h/v1/databases/a".into(),
            client: "0".repeat(32),
            uploading: false,
            keys_bytes: 3,
            state: Zeroizing::new(state.to_vec()),
        }
    }

    fn options(directory: &Path, passphrase: Option<&str>) -> Options {
        Options {
            state: Some(directory.join("state")),
            passphrase: passphrase.map(Passphrase::new),
            ..Options::default()
        }
    }

    #[test]
    fn files_are_for_their_owner_and_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let slot = Slot::open(&options(folder.path(), None), "http://h/a").unwrap();
        let lock = slot.lock().unwrap();
        assert!(lock.read().unwrap().is_none());
        lock.write(&record(b"one")).unwrap();
        lock.write(&record(b"two")).unwrap();
        lock.keep_keys(b"keys").unwrap();
        assert_eq!(*lock.read().unwrap().unwrap().state, b"two");
        assert_eq!((lock.keys(4).unwrap(), lock.keys(5).unwrap()), (Some(b"keys".to_vec()), None));
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
        lock.forget().unwrap();
        assert!(lock.read().unwrap().is_none() && lock.keys(4).unwrap().is_none());
        let other = Slot::open(&options(folder.path(), None), "http://h/b").unwrap();
        assert_ne!(other.stem, slot.stem);
    }

    #[test]
    fn a_wrong_passphrase_overwrites_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let open = |passphrase| Slot::open(&options(folder.path(), passphrase), "http://h/a").unwrap();
        open(Some("right")).lock().unwrap().write(&record(b"one")).unwrap();
        let path = open(None).path("state");
        let before = fs::read(&path).unwrap();
        for passphrase in [None, Some("wrong")] {
            let refused = open(passphrase).lock().unwrap().read().err().unwrap();
            assert_eq!(refused.code(), "passphrase", "{refused}");
        }
        assert_eq!(fs::read(&path).unwrap(), before);
        assert_eq!(*open(Some("right")).lock().unwrap().read().unwrap().unwrap().state, b"one");
        fs::write(&path, &before[..9]).unwrap();
        assert_eq!(open(Some("right")).lock().unwrap().read().err().unwrap().code(), "state");
    }

    #[test]
    fn one_at_a_time_changes_a_slot() {
        let folder = tempfile::tempdir().unwrap();
        let slot = Slot::open(&options(folder.path(), None), "http://h/a").unwrap();
        slot.lock().unwrap().write(&record(&[0])).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let slot = Slot::open(&options(folder.path(), None), "http://h/a").unwrap();
                    let lock = slot.lock().unwrap();
                    let count = lock.read().unwrap().unwrap().state[0];
                    lock.write(&record(&[count + 1])).unwrap();
                });
            }
        });
        assert_eq!(*slot.lock().unwrap().read().unwrap().unwrap().state, [8]);
    }
}
