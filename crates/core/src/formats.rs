//! Supported versions of a file format.

use crate::{Error, Result};

/// Remedy for a file that is newer than this build.
const UPDATE: &str = "update papir";

/// The versions of one file format that this build handles. It reads `oldest` to `written`, and
/// writes only `written`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// The kind of file, with an article.
    pub what: &'static str,
    /// The oldest version that is read.
    pub oldest: u32,
    /// The version that is written, and the newest version that is read.
    pub written: u32,
    /// Remedy for an older file, as an instruction.
    pub renew: &'static str,
}

impl Formats {
    /// Checks the version found in a file.
    ///
    /// # Errors
    /// [`Error::Format`] for a version that this build does not read.
    pub fn check(&self, found: u32) -> Result<()> {
        let Self {
            what,
            oldest,
            written,
            ..
        } = *self;

        if (oldest..=written).contains(&found) {
            return Ok(());
        }

        let remedy = if found < oldest { self.renew } else { UPDATE };
        Err(Error::Format {
            what,
            found,
            oldest,
            newest: written,
            remedy,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: Formats = Formats {
        what: "a file",
        oldest: 2,
        written: 3,
        renew: "build it again: `papir build …`",
    };

    #[test]
    fn older_and_newer_files_are_refused_with_a_remedy() {
        let message = |found| FORMATS.check(found).err().map(|error| error.to_string());
        let older = "a file has format version 1: this papir reads versions 2 to 3; build it again: \
            `papir build …`";
        assert_eq!(message(1).as_deref(), Some(older));
        assert_eq!((message(2), message(3)), (None, None));
        let newer = "a file has format version 4: this papir reads versions 2 to 3; update papir";
        assert_eq!(message(4).as_deref(), Some(newer));
        let one = Formats {
            oldest: 3,
            ..FORMATS
        };
        let newer = "a file has format version 4: this papir reads version 3; update papir";
        assert_eq!(
            one.check(4).err().map(|error| error.to_string()).as_deref(),
            Some(newer)
        );
    }
}
