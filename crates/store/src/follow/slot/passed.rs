//! The place up to which a slot was passed without a change.
//!
//! No version states such a place, since nothing changed. It is noted beside the snapshot before
//! the slot advances. A slot that has advanced without a note may have lost changes, and is
//! refused.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::file::{open_regular, open_regular_with};
use crate::publish::{split, sync_directory};

/// The note beside a snapshot.
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
    /// The note of a snapshot. A path without a file name is an error.
    pub(in crate::follow) fn beside(file: &Path) -> Result<Self> {
        let (directory, name) = split(file)?;
        Ok(Self {
            path: directory.join(format!(".{}.papir-passed", name.to_string_lossy())),
        })
    }

    /// The place up to which changes of a slot after `stated` are known: `stated` itself without a
    /// note.
    pub(super) fn after(&self, slot: &str, stated: u64) -> u64 {
        match self.read() {
            Some(note) if note.slot == slot && note.stated == stated => note.passed,
            _ => stated,
        }
    }

    fn read(&self) -> Option<Note> {
        let mut json = Vec::new();
        let mut file = open_regular(&self.path).ok()?;
        file.read_to_end(&mut json).ok()?;
        serde_json::from_slice(&json).ok()
    }

    /// Notes that no change lies between `stated` and `passed`.
    pub(super) fn note(&self, slot: &str, stated: u64, passed: u64) -> Result<()> {
        let note = Note {
            slot: slot.to_owned(),
            stated,
            passed,
        };

        self.replace(&note)
            .map_err(Error::io("writing", &self.path))?;
        sync_directory(self.path.parent().unwrap_or(Path::new(".")))
    }

    fn replace(&self, note: &Note) -> io::Result<()> {
        let new = self.path.with_extension("papir-passed.new");
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        let mut file = open_regular_with(&mut options, &new)?;
        file.write_all(&serde_json::to_vec(note)?)?;

        // Durable before it has its name: a crash leaves the old note or the new one.
        file.sync_all()?;
        fs::rename(&new, &self.path)
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
    #[cfg(unix)]
    #[test]
    fn pipes_in_the_place_of_notes_are_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let passed = Passed::beside(&folder.path().join("a.papir")).unwrap();
        for name in [".a.papir.papir-passed", ".a.papir.papir-passed.new"] {
            let fifo = folder.path().join(name);
            let made = std::process::Command::new("mkfifo").arg(fifo).status();
            assert!(made.unwrap().success());
        }

        assert_eq!(passed.after("slot", 5), 5);
        let error = passed.note("slot", 5, 90).unwrap_err().to_string();
        assert!(error.contains("a pipe, a device or a socket"), "{error}");
    }
}
