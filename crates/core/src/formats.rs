//! Numbers of a file format: the one written, those read.

use crate::{Error, Result};

/// What to do about a file that is newer than this build.
const UPDATE: &str = "update papir";

/// The numbers of one format that this build handles. It reads `oldest` to `written`, and writes
/// `written` only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Formats {
    /// What has this format, with an article.
    pub what: &'static str,
    /// The oldest number that is read.
    pub oldest: u32,
    /// The number that is written, the newest that is read.
    pub written: u32,
    /// What to do about an older file, as an instruction.
    pub renew: &'static str,
}

impl Formats {
    /// Checks a number found in a file.
    ///
    /// # Errors
    /// [`Error::Format`] for a number that this build does not read.
    pub fn check(&self, found: u32) -> Result<()> {
        let Self { what, oldest, written, .. } = *self;
        if (oldest..=written).contains(&found) {
            return Ok(());
        }
        let remedy = if found < oldest { self.renew } else { UPDATE };
        Err(Error::Format { what, found, oldest, newest: written, remedy })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMATS: Formats =
        Formats { what: "a file", oldest: 2, written: 3, renew: "build it again: `papir build …`" };

    #[test]
    fn older_and_newer_files_are_refused_with_a_remedy() {
        let message = |found| FORMATS.check(found).err().map(|error| error.to_string());
        let older = "a file has format version 1: this papir reads versions 2 to 3; build it again: \
            `papir build …`";
        assert_eq!(message(1).as_deref(), Some(older));
        assert_eq!((message(2), message(3)), (None, None));
        let newer = "a file has format version 4: this papir reads versions 2 to 3; update papir";
        assert_eq!(message(4).as_deref(), Some(newer));
        let one = Formats { oldest: 3, ..FORMATS };
        let newer = "a file has format version 4: this papir reads version 3; update papir";
        assert_eq!(one.check(4).err().map(|error| error.to_string()).as_deref(), Some(newer));
    }
}
