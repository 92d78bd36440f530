//! Atomic publication of files.
//!
//! | file | contents |
//! |---|---|
//! | `mod` | writes, copies and locks files; each appears under its name complete or not at all |
//! | `output` | checks of output files, and the files that paths name |
//! | `save` | writes a prepared database to a snapshot file |
//! | `version_names` | names of the files of versions next to a snapshot |

mod output;
mod save;
mod version_names;

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use papir_core::FileLock;

use crate::error::{Error, Result};
use crate::file::{SnapshotWriter, check_disk, open_regular};

pub use output::check_output;
pub(crate) use output::{check_special, resolved, same_file, split};
pub(crate) use save::{
    Keyword, PrefilterContents, SchemeSections, SnapshotContents, SnapshotFile, put, save, sign,
};
pub(crate) use version_names::{
    DELTA_SUFFIX, VersionFile, belongs_to, delta_of, files_of_versions, kept_path,
};

/// Suffix of the name of an unfinished file.
const PARTIAL: &str = ".papir-partial";

/// The readers of a new file. Other systems than Unix keep their default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers<'a> {
    /// The readers of the file that it replaces, or the system's default if it replaces none.
    Kept,
    /// The readers of this file.
    Of(&'a Path),
    /// Only its owner, since it holds a secret.
    Owner,
}

/// Writes a snapshot to a temporary file in the directory of `path`, makes it durable, and renames
/// it. A link at `path` stays, and its file is replaced. `nonce` distinguishes the temporary files
/// of different builds. Returns the snapshot's length in bytes. On error the temporary file is
/// removed, and an existing file at `path` stays unchanged.
pub(crate) fn publish(
    path: &Path,
    nonce: u64,
    readers: Readers<'_>,
    write: impl FnOnce(&mut SnapshotWriter<File>) -> Result<()>,
) -> Result<u64> {
    // A rename would replace a device or a pipe by a file.
    check_special(path)?;
    let (directory, name) = split(path)?;
    let target = directory.join(&name);
    remove_stale(&directory, &name);
    let partial = Partial::create(directory.join(partial_name(&name, nonce)), &target, readers)?;
    let file = partial
        .file
        .try_clone()
        .map_err(Error::io("writing", path))?;

    let mut writer = SnapshotWriter::new(file, path.display().to_string())?;
    write(&mut writer)?;
    let (file, length) = writer.finish()?;

    // Synced before the rename: after a power loss the name must not stand for missing bytes.
    file.sync_all().map_err(Error::io("writing", path))?;
    fs::rename(&partial.path, &target).map_err(Error::io("naming", path))?;
    sync_directory(&directory)?;
    Ok(length)
}

/// Refuses a file of more bytes than are free in its directory. Removes the temporary files of
/// killed builds of its name first, whose space it may take.
pub(crate) fn check_room(path: &Path, bytes: u64) -> Result<()> {
    let (directory, name) = split(path)?;
    remove_stale(&directory, &name);
    check_disk(path, &directory, bytes)
}

/// Copies a file. The copy appears under its name once it is complete and durable. `nonce`
/// distinguishes the temporary files of different copies. On error the temporary file is removed,
/// and an existing file at `to` stays unchanged.
pub(crate) fn copy(from: &Path, to: &Path, nonce: u64) -> Result<()> {
    let (directory, name) = split(to)?;
    remove_stale(&directory, &name);
    let mut partial = Partial::create(
        directory.join(partial_name(&name, nonce)),
        to,
        Readers::Of(from),
    )?;

    let copied = open_regular(from)
        .and_then(|mut from| std::io::copy(&mut from, &mut partial.file))
        .and_then(|_| partial.file.sync_all());
    copied.map_err(Error::io("copying to", to))?;

    fs::rename(&partial.path, to).map_err(Error::io("naming", to))?;
    sync_directory(&directory)
}

/// Gives a new file the mode of an old one, and its owner and group as far as the system allows it.
/// Does nothing without an old file. A snapshot contains all records: an update must neither expose
/// them to other users nor make them unreadable to the service.
#[cfg(unix)]
pub(crate) fn keep_access(old: &Path, new: &Path) -> Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    let Ok(found) = fs::metadata(old) else {
        return Ok(());
    };

    // Only root may give a file away; others may choose among their groups.
    if chown(new, Some(found.uid()), Some(found.gid())).is_err() {
        let _ = chown(new, None, Some(found.gid()));
    }

    let mut permissions = found.permissions();
    let own = fs::metadata(new).map_err(Error::io("reading", new))?;
    if own.gid() != found.gid() {
        // Another group would get the rights of this one.
        permissions.set_mode(found.mode() & !0o070);
    }
    fs::set_permissions(new, permissions).map_err(Error::io("setting the permissions of", new))
}

#[cfg(not(unix))]
pub(crate) fn keep_access(_: &Path, _: &Path) -> Result<()> {
    Ok(())
}

fn partial_prefix(name: &OsString) -> OsString {
    let mut prefix = OsString::from(".");
    prefix.push(name);
    prefix.push(".");
    prefix
}

fn partial_name(name: &OsString, nonce: u64) -> OsString {
    let mut partial = partial_prefix(name);
    partial.push(format!("{nonce:016x}{PARTIAL}"));
    partial
}

/// An unfinished file, locked during its build and removed unless the build renames it.
struct Partial {
    path: PathBuf,
    file: File,
    _lock: Option<FileLock>,
}

impl Partial {
    /// Creates a file that will replace `replaced`.
    fn create(path: PathBuf, replaced: &Path, readers: Readers<'_>) -> Result<Self> {
        let model = match readers {
            Readers::Kept => Some(replaced),
            Readers::Of(other) => Some(other),
            Readers::Owner => None,
        };
        let model = model.filter(|model| model.exists());

        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        if readers == Readers::Owner || model.is_some() {
            // Others could open it before it has its readers.
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        }
        let file = options.open(&path).map_err(Error::io("creating", &path))?;

        // The lock keeps a second build of the same name from removing this file as stale. On a
        // file system without locks it may be removed: then the rename fails, and nothing else is
        // lost.
        let lock = file
            .try_clone()
            .ok()
            .and_then(|file| FileLock::try_new(file).ok());
        let partial = Self {
            path,
            file,
            _lock: lock,
        };

        if let Some(model) = model {
            keep_access(model, &partial.path)?;
        }
        Ok(partial)
    }
}

impl Drop for Partial {
    fn drop(&mut self) {
        // After a rename the path no longer exists, so the error is ignored.
        let _ = fs::remove_file(&self.path);
    }
}

/// Removes the temporary files of killed builds of this name. Failures are ignored.
fn remove_stale(directory: &Path, name: &OsString) {
    let prefix = partial_prefix(name);
    let Ok(files) = fs::read_dir(directory) else {
        return;
    };

    for file in files.flatten() {
        let found = file.file_name();
        let found = found.as_encoded_bytes();
        let ours = found.starts_with(prefix.as_encoded_bytes())
            && found.len() == prefix.len() + 16 + PARTIAL.len()
            && found.ends_with(PARTIAL.as_bytes());
        if ours && abandoned(&file.path()) {
            let _ = fs::remove_file(file.path());
        }
    }
}

/// Returns whether no running build holds the file's lock.
fn abandoned(path: &Path) -> bool {
    open_regular(path)
        .is_ok_and(|file| !matches!(FileLock::try_new(file), Err(TryLockError::WouldBlock)))
}

/// Locks the file against other updates until the result is dropped. Without the lock, the later of
/// two updates would undo the earlier. On a file system without locks, an update detects most
/// conflicts before it renames its file.
pub(crate) fn lock(file: &Path) -> Result<Option<FileLock>> {
    let opened = open_regular(file).map_err(Error::io("opening", file))?;
    only_one("update", file, opened)
}

/// Locks `lock`. Refuses a second work (`update`, `build`) on `file` while it is locked. Returns
/// `None` on a file system without locks, where nothing is refused.
pub(crate) fn only_one(work: &str, file: &Path, lock: File) -> Result<Option<FileLock>> {
    match FileLock::try_new(lock) {
        Err(TryLockError::WouldBlock) => {
            let found = format!("another {work} of {} is running", file.display());
            Err(Error::options(
                found,
                format!("one {work} at a time; try again when it has ended"),
            ))
        }
        locked => Ok(locked.ok()),
    }
}

/// Makes a rename durable. Only Unix can sync directories.
pub(crate) fn sync_directory(directory: &Path) -> Result<()> {
    if cfg!(unix) {
        let opened = File::open(directory).map_err(Error::io("opening", directory))?;
        opened.sync_all().map_err(Error::io("syncing", directory))?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::process::{Command, Stdio};

    use papir_core::Error as CoreError;
    use papir_core::sections::SectionSink;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(folder)
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn put(sink: &mut SnapshotWriter<File>) -> Result<()> {
        Ok(sink.put("section", &[b"bytes"])?)
    }

    #[test]
    fn a_failed_build_keeps_the_existing_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pir");
        fs::write(&path, "old").unwrap();

        let failed = publish(&path, 1, Readers::Kept, |sink| {
            put(sink)?;
            assert_eq!(
                names(folder.path()),
                [".a.pir.0000000000000001.papir-partial", "a.pir"]
            );
            Err(CoreError::NotDecodable.into())
        });

        assert_eq!(failed.unwrap_err().code(), "not_decodable");
        assert_eq!(names(folder.path()), ["a.pir"]);
        assert_eq!(fs::read(&path).unwrap(), b"old");

        assert_eq!(
            publish(&path, 2, Readers::Kept, put).unwrap(),
            fs::metadata(&path).unwrap().len()
        );
        assert_eq!(names(folder.path()), ["a.pir"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_the_readers_of_the_one_before() {
        use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

        let folder = tempfile::tempdir().unwrap();
        let [path, beside, secret] =
            ["a.pir", "a.delta", "a.psi"].map(|name| folder.path().join(name));
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;

        publish(&path, 1, Readers::Kept, put).unwrap();
        for wanted in [0o640, 0o600] {
            fs::set_permissions(&path, fs::Permissions::from_mode(wanted)).unwrap();
            let given = chown(&path, Some(12), Some(34)).is_ok();
            publish(&path, 2, Readers::Kept, |sink| {
                assert_eq!(
                    mode(&folder.path().join(".a.pir.0000000000000002.papir-partial")),
                    wanted
                );
                put(sink)
            })
            .unwrap();

            publish(&beside, 3, Readers::Of(&path), put).unwrap();
            for path in [&path, &beside] {
                let found = fs::metadata(path).unwrap();
                assert_eq!(mode(path), wanted);
                assert!(!given || (found.uid(), found.gid()) == (12, 34));
            }
        }

        publish(&secret, 4, Readers::Owner, put).unwrap();
        assert_eq!(mode(&secret), 0o600);
    }

    #[test]
    fn repeated_sections_and_invalid_paths_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pir");
        let twice = publish(&path, 1, Readers::Kept, |sink| {
            put(sink).and_then(|()| put(sink))
        });
        assert_eq!(twice.unwrap_err().code(), "malformed");

        assert_eq!(
            publish(Path::new("/"), 1, Readers::Kept, put)
                .unwrap_err()
                .code(),
            "options"
        );

        let nowhere = publish(&folder.path().join("no/such/a.pir"), 1, Readers::Kept, put);
        assert_eq!(nowhere.unwrap_err().code(), "io");
    }

    #[test]
    fn a_copy_is_complete_or_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let from = folder.path().join("a.pir");
        let to = folder.path().join("a.pir.0123456789abcdef");
        fs::write(&from, "version").unwrap();
        // Left by a copy that was killed.
        fs::write(
            folder
                .path()
                .join(".a.pir.0123456789abcdef.0000000000000007.papir-partial"),
            "ver",
        )
        .unwrap();

        copy(&from, &to, 7).unwrap();
        assert_eq!(fs::read(&to).unwrap(), b"version");
        // A file that can be opened, but not read.
        #[cfg(target_os = "linux")]
        for name in ["a.pir.0123456789abcdef", "b.pir"] {
            let failed = copy(Path::new("/proc/self/mem"), &folder.path().join(name), 8);
            assert_eq!(failed.unwrap_err().code(), "io");
        }

        assert_eq!(names(folder.path()), ["a.pir", "a.pir.0123456789abcdef"]);
        assert_eq!(fs::read(&to).unwrap(), b"version");
    }

    #[cfg(unix)]
    #[test]
    fn room_is_asked_for_without_files_of_killed_builds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pir");
        let stale = folder.path().join(".a.pir.0000000000000007.papir-partial");
        fs::write(&stale, "half").unwrap();

        check_room(&path, 1).unwrap();
        assert!(!stale.exists());
        let error = check_room(&path, u64::MAX).unwrap_err();
        assert_eq!(error.code(), "disk");
        assert!(error.to_string().contains(&u64::MAX.to_string()), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let error = SnapshotWriter::new(full, "a.pir".to_owned()).err().unwrap();
        assert_eq!(
            error.to_string(),
            "writing a.pir: No space left on device (os error 28)"
        );
    }

    /// Path of the file that the killed build writes. Set only in that build's process.
    const KILLED: &str = "PAPIR_STORE_TEST_KILLED_BUILD";

    fn abort_during_build(path: &Path) {
        let _ = publish(path, 7, Readers::Kept, |sink| {
            put(sink)?;
            std::process::abort()
        });
    }

    #[test]
    fn a_killed_build_leaves_no_snapshot_and_the_next_one_cleans_up() {
        if let Some(path) = std::env::var_os(KILLED) {
            return abort_during_build(Path::new(&path));
        }

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pir");
        let killed = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "publish::tests::a_killed_build_leaves_no_snapshot_and_the_next_one_cleans_up",
            ])
            .env(KILLED, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();

        assert!(!killed.unwrap().success());
        let stale = ".a.pir.0000000000000007.papir-partial";
        assert_eq!(names(folder.path()), [stale]);
        assert!(crate::Snapshot::open(&folder.path().join(stale)).is_err());

        // A build of another file does not remove it, and a running build keeps its own.
        publish(&folder.path().join("b.pir"), 8, Readers::Kept, put).unwrap();
        assert_eq!(names(folder.path()), [stale, "b.pir"]);

        publish(&path, 9, Readers::Kept, |sink| {
            publish(&path, 10, Readers::Kept, put)?;
            put(sink)
        })
        .unwrap();
        assert_eq!(names(folder.path()), ["a.pir", "b.pir"]);
    }
}
