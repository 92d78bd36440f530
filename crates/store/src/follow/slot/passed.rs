//! The place up to which a slot was passed without a change.
//!
//! No version states such a place, since nothing changed. It is noted beside the snapshot before the slot
//! advances, so that a slot that has advanced for another reason, and may have lost changes, is told apart.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::publish::{split, sync_directory};

/// The note's place, beside a snapshot.
pub(in crate::follow) struct Passed {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct Note {
    /// Identity of the slot.
    slot: String,
    /// The place that the version states.
    stated: u64,
    /// The place up to which no change follows it.
    passed: u64,
}

impl Passed {
    /// The note of a snapshot.
    ///
    /// # Errors
    /// [`Error::Options`] for a path without a file name.
    pub(in crate::follow) fn beside(file: &Path) -> Result<Self> {
        let (directory, name) = split(file)?;
        Ok(Self {
            path: directory.join(format!(".{}.papir-passed", name.to_string_lossy())),
        })
    }

    /// The place up to which changes of a slot after `stated` are known: `stated` itself without a note.
    pub(super) fn after(&self, slot: &str, stated: u64) -> u64 {
        let note = fs::read(&self.path)
            .ok()
            .and_then(|json| serde_json::from_slice::<Note>(&json).ok());
        note.filter(|note| note.slot == slot && note.stated == stated)
            .map_or(stated, |note| note.passed)
    }

    /// Notes that no change lies between `stated` and `passed`.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(super) fn note(&self, slot: &str, stated: u64, passed: u64) -> Result<()> {
        let note = Note {
            slot: slot.to_owned(),
            stated,
            passed,
        };
        let new = self.path.with_extension("papir-passed.new");
        let write = || {
            let mut file = File::create(&new)?;
            file.write_all(&serde_json::to_vec(&note)?)?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        write().map_err(Error::io("writing", &self.path))?;
        sync_directory(self.path.parent().unwrap_or(Path::new(".")))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn notes_belong_to_a_slot_and_a_place() {
        let folder = tempfile::tempdir().unwrap();
        let passed = Passed::beside(&folder.path().join("a.papir")).unwrap();
        assert_eq!(passed.after("slot", 5), 5);
        passed.note("slot", 5, 90).unwrap();
        passed.note("slot", 5, 100).unwrap();
        assert_eq!(
            [
                passed.after("slot", 5),
                passed.after("slot", 6),
                passed.after("other", 5)
            ],
            [100, 6, 5]
        );
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
