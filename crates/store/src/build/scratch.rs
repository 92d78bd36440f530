//! Parts of a long preparation as mapped files.
//!
//! There is one file per part, in the format of a snapshot with its checksums. An interrupted
//! preparation continues with the first missing part. Checksums detect accidental damage, not
//! tampering: anyone who can write to the folder controls the contents of the parts.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use papir_core::scratch::Scratch;
use papir_core::sections::SectionSink;
use papir_core::{AlignedBytes, Blob, Result as CoreResult};

use crate::error::{Error, io};
use crate::file::{Sections, free_memory, map};
use crate::publish::{Readers, publish};

const NAME: &str = "name";
const PART: &str = "part";

/// Checks that this machine has enough free memory for the parts of a preparation: for all of them
/// or, if a folder keeps them, for the longest.
///
/// # Errors
/// [`papir_core::Error::OutOfBounds`].
pub fn check_memory(lengths: &[u64], kept: bool) -> CoreResult<()> {
    let needed = if kept {
        lengths.iter().copied().max().unwrap_or(0)
    } else {
        lengths.iter().sum()
    };

    let Some(free) = free_memory().filter(|&free| needed > free) else {
        return Ok(());
    };
    let expected = format!(
        "at most {free}, the free memory, for all tables or, with a folder to keep them, for the longest"
    );
    Err(papir_core::Error::out_of_bounds(
        "the number of bytes of tables",
        needed,
        expected,
    ))
}

/// A folder of parts.
pub struct ScratchFolder {
    folder: PathBuf,
}

impl ScratchFolder {
    /// Opens a folder, creating it if necessary.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub fn open(folder: &Path) -> CoreResult<Self> {
        std::fs::create_dir_all(folder).map_err(|source| io("creating", folder, source))?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// The path of the file of a part.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.papir-part"))
    }

    /// Reads the part of a name; `None` if its file is missing or belongs to another part. An
    /// error means that its file is damaged.
    fn read(&self, name: &str) -> CoreResult<Option<Blob>> {
        let Ok(map) = map(&self.path(name)) else {
            return Ok(None);
        };

        let sections = Sections::read(map)?;
        sections.verify()?;
        if *sections.blob(NAME)? != *name.as_bytes() {
            return Ok(None);
        }
        sections.blob(PART).map(Some)
    }
}

/// Damaged parts stay until they are replaced. The folder has no lock: another build may have
/// replaced one meanwhile, and to remove it then would remove a whole part.
impl Scratch for ScratchFolder {
    fn find(&self, name: &str) -> CoreResult<Option<Blob>> {
        self.read(name)
    }

    fn keep(&mut self, name: &str, part: AlignedBytes) -> CoreResult<Blob> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let path = self.path(name);
        // Process id and counter: unique among processes, and among the threads of one process.
        let nonce = u64::from(std::process::id()) << 32 | NEXT.fetch_add(1, Ordering::Relaxed);

        let published = publish(&path, nonce, Readers::Kept, |writer| {
            writer.put(NAME, &[name.as_bytes()])?;
            Ok(writer.put(PART, &[part.as_ref()])?)
        });
        match published {
            Ok(_) => {}
            Err(Error::Core(error)) => return Err(error),
            Err(error) => {
                let source = std::io::Error::other(error.to_string());
                return Err(io("writing", &path, source));
            }
        }

        // Freed before the file is read: only one copy of a part is in memory.
        drop(part);
        self.read(name)?.ok_or_else(|| papir_core::Error::Checksum {
            what: path.display().to_string(),
        })
    }
}

/// Removes the file of a part, if it exists.
pub(super) fn remove_part(path: &Path) -> CoreResult<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(|source| io("removing", path, source)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::NoProgress;
    use papir_core::scratch::find_usable;

    use super::*;

    fn part(byte: u8) -> AlignedBytes {
        AlignedBytes::copy_of(&[byte; 1000])
    }

    #[test]
    fn parts_longer_than_the_memory_are_refused() {
        assert!(check_memory(&[1 << 10; 3], false).is_ok());

        let Some(free) = free_memory() else { return };
        let error = check_memory(&[free, free], false).unwrap_err().to_string();
        assert!(error.contains("the free memory"), "{error}");
        assert!(check_memory(&[free / 4; 16], false).is_err());
        assert!(check_memory(&[free / 4; 16], true).is_ok());
    }

    #[test]
    fn parts_are_found_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut scratch = ScratchFolder::open(folder.path()).unwrap();
        assert!(scratch.find("a").unwrap().is_none());
        assert_eq!(*scratch.keep("a", part(1)).unwrap(), [1; 1000]);
        assert_eq!(*scratch.keep("b", part(2)).unwrap(), [2; 1000]);

        let again = ScratchFolder::open(folder.path()).unwrap();
        assert_eq!(*again.find("a").unwrap().unwrap(), [1; 1000]);
        assert!(again.find("c").unwrap().is_none());
    }

    #[test]
    fn damaged_torn_and_foreign_files_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let mut scratch = ScratchFolder::open(folder.path()).unwrap();
        scratch.keep("a", part(1)).unwrap();

        let path = scratch.path("a");
        let bytes = std::fs::read(&path).unwrap();
        let mut damaged = bytes.clone();
        *damaged.last_mut().unwrap() ^= 1;

        for wrong in [&damaged[..], &bytes[..bytes.len() / 2], b"half", b""] {
            std::fs::write(&path, wrong).unwrap();
            let found = find_usable(&mut scratch, "a", &NoProgress, Ok).unwrap();
            assert!(found.is_none(), "{} bytes", wrong.len());
            assert!(path.exists(), "another build may have replaced it");
        }

        std::fs::write(scratch.path("b"), &bytes).unwrap();
        assert!(
            scratch.find("b").unwrap().is_none(),
            "the file of another part"
        );

        scratch.keep("a", part(1)).unwrap();
        assert!(scratch.find("a").unwrap().is_some());
    }
}
