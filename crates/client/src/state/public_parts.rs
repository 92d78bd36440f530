//! Stored copies of public parts, of bounded total size.
//!
//! ```text
//! "papir-public-1\n" (15 bytes); BLAKE3 hash of the rest (32); the version (16); the public part
//! ```
//! A file may be lost, damaged or removed at any time. Its public part is then fetched again.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use super::disk::{create_folder, write};

/// Name of the folder in the directory of client state.
const FOLDER: &str = "public";
/// The magic at the start of a file.
const MAGIC: &[u8] = b"papir-public-1\n";
/// Length of a file's hash in bytes.
const HASH: usize = blake3::OUT_LEN;
/// Maximum number of files.
const MAX_FILES: usize = 32;
/// Maximum size of all files in bytes: 1 GiB.
const MAX_BYTES: u64 = 1 << 30;

/// A file of the folder, ordered by its time of last use.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct StoredFile {
    modified: SystemTime,
    length: u64,
    path: PathBuf,
}

/// The stored copies in one directory of client state.
pub(super) struct PublicParts {
    folder: PathBuf,
    most_files: usize,
    most_bytes: u64,
}

impl PublicParts {
    /// The stored copies in `directory`. Creates nothing yet.
    pub(super) fn new(directory: &Path) -> Self {
        Self {
            folder: directory.join(FOLDER),
            most_files: MAX_FILES,
            most_bytes: MAX_BYTES,
        }
    }

    /// Reads the copy of this slot: version and public part; `None` if it is missing, damaged or
    /// longer than `limit` bytes.
    pub(super) fn read(&self, slot: &str, limit: u64) -> Option<Vec<u8>> {
        let file = File::open(self.path(slot)).ok()?;
        let mut head = [0; MAGIC.len() + HASH];
        (&file).read_exact(&mut head).ok()?;
        let (magic, hash) = head.split_at(MAGIC.len());
        let mut bytes = Vec::new();
        (&file).take(limit).read_to_end(&mut bytes).ok()?;

        if magic != MAGIC || blake3::hash(&bytes) != *hash {
            return None;
        }

        // The copies that were not used for longest are removed first.
        let _ = file.set_modified(SystemTime::now());
        Some(bytes)
    }

    /// Stores a copy in place of an earlier one, and removes the least recently used copies until
    /// the others fit. Does not store a copy that exceeds the maximum of all files.
    pub(super) fn keep(&self, slot: &str, bytes: &[u8]) -> io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);

        if bytes.len() as u64 > self.most_bytes {
            return Ok(());
        }
        create_folder(&self.folder)?;

        // No lock: a copy is whole under each name, and the last one written stays.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let partial = self
            .folder
            .join(format!("{}-{number}.partial", process::id()));
        let hash = blake3::hash(bytes);

        // Without waiting for the disk: a copy that is not whole after a crash is ignored.
        let written = write(&partial, &[MAGIC, hash.as_bytes(), bytes]);
        let replaced = written.and_then(|_| fs::rename(&partial, self.path(slot)));
        if replaced.is_err() {
            let _ = fs::remove_file(&partial);
        }

        self.trim()?;
        replaced
    }

    /// Removes the least recently used files until the others fit, including files that a killed
    /// process left.
    fn trim(&self) -> io::Result<()> {
        let mut files = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            // Another process may have removed it meanwhile.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            files.push(StoredFile {
                modified: metadata.modified()?,
                length: metadata.len(),
                path: entry.path(),
            });
        }

        files.sort_unstable();
        let mut bytes: u64 = files.iter().map(|file| file.length).sum();
        let mut count = files.len();
        for file in files {
            if count <= self.most_files && bytes <= self.most_bytes {
                break;
            }
            let _ = fs::remove_file(file.path);
            count -= 1;
            bytes -= file.length;
        }
        Ok(())
    }

    pub(super) fn path(&self, slot: &str) -> PathBuf {
        self.folder.join(slot).with_extension("part")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The number of files.
    fn count(parts: &PublicParts) -> usize {
        fs::read_dir(&parts.folder).unwrap().count()
    }

    /// Makes all files an hour older, so that the next use is later even where times on disk are
    /// coarse.
    fn age(parts: &PublicParts) {
        for entry in fs::read_dir(&parts.folder).into_iter().flatten() {
            let file = File::open(entry.unwrap().path()).unwrap();
            let earlier = file.metadata().unwrap().modified().unwrap() - Duration::from_secs(3600);
            file.set_modified(earlier).unwrap();
        }
    }

    #[test]
    fn a_copy_is_read_as_stored_and_not_if_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let parts = PublicParts::new(folder.path());
        assert_eq!(parts.read("a", 9), None);

        parts.keep("a", b"first").unwrap();
        parts.keep("a", b"second").unwrap();
        assert_eq!(
            (parts.read("a", 6), parts.read("a", 99)),
            (Some(b"second".into()), Some(b"second".into()))
        );
        assert_eq!(
            (parts.read("a", 5), parts.read("b", 6)),
            (None, None),
            "longer than the limit; another"
        );
        assert_eq!(count(&parts), 1);

        let path = parts.path("a");
        let whole = fs::read(&path).unwrap();
        for position in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[position] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert_eq!(parts.read("a", 6), None, "{position}");
            fs::write(&path, &whole[..position]).unwrap();
            assert_eq!(parts.read("a", 6), None, "{position}");
        }

        parts.keep("a", b"third").unwrap();
        assert_eq!(parts.read("a", 5), Some(b"third".into()));
    }

    #[cfg(unix)]
    #[test]
    fn only_the_owner_may_read_the_files() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let parts = PublicParts::new(&folder.path().join("state"));
        parts.keep("a", b"part").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&parts.folder), mode(&parts.path("a"))),
            (0o700, 0o600)
        );
    }

    #[test]
    fn the_copies_that_were_not_used_for_longest_go_first() {
        let folder = tempfile::tempdir().unwrap();
        let head = (MAGIC.len() + HASH) as u64;
        let parts = PublicParts {
            most_files: 3,
            most_bytes: 3 * (head + 8),
            ..PublicParts::new(folder.path())
        };
        let keep = |name: &str, length: usize| {
            age(&parts);
            parts.keep(name, &vec![1; length]).unwrap();
        };
        let is_found = |name: &&str| {
            age(&parts);
            parts.read(name, 999).is_some()
        };
        let found = |names: &[&str]| names.iter().map(is_found).collect::<Vec<_>>();

        ["a", "b", "c"].iter().for_each(|name| keep(name, 8));
        assert_eq!(found(&["a"]), [true]);
        keep("d", 8);
        assert_eq!(found(&["b", "c", "d", "a"]), [false, true, true, true]);

        // A long copy takes the place of two.
        keep("e", 50);
        assert_eq!(found(&["c", "d", "a", "e"]), [false, false, true, true]);
        keep("f", 1000);
        assert_eq!(
            found(&["a", "e", "f"]),
            [true, true, false],
            "longer than all may be"
        );

        // A file that a killed process left.
        fs::write(parts.folder.join("1-0.partial"), [0; 500]).unwrap();
        keep("g", 8);
        assert!(!parts.folder.join("1-0.partial").exists() || count(&parts) <= 3);
        assert_eq!(found(&["g"]), [true]);
    }
}
