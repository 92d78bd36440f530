//! Password files of PostgreSQL's clients.
//!
//! They have lines `HOST:PORT:DATABASE:USER:PASSWORD`.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::error::{Error, Result};
use crate::file::open_regular;

/// Longest file that is read.
const MAX_BYTES: u64 = 1 << 20;

/// Finds the password of the first line that matches host, port, database and user. A field may be
/// `*`, which matches everything; a backslash escapes `:` and itself. Refuses a file that others
/// can read, and one of more than [`MAX_BYTES`].
pub(crate) fn find(path: &Path, wanted: [&str; 4]) -> Result<Option<String>> {
    let file = open_regular(path).map_err(|error| failed(path, error))?;
    #[cfg(unix)]
    check_mode(&file, path)?;

    let mut text = String::new();
    file.take(MAX_BYTES + 1)
        .read_to_string(&mut text)
        .map_err(|error| failed(path, error))?;
    // Not cut off: the last line that is read could end in the middle of its password.
    if text.len() as u64 > MAX_BYTES {
        return Err(failed(path, format!("longer than {MAX_BYTES} bytes")));
    }
    Ok(text.lines().find_map(|line| password(line, wanted)))
}

/// Refuses a file that others can read.
#[cfg(unix)]
fn check_mode(file: &File, path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;

    // Of the open file: the path may name another one by now.
    let metadata = file.metadata().map_err(|error| failed(path, error))?;
    let mode = metadata.permissions().mode();
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let shown = mode & 0o777;
    let reason = format!("others can read it (mode {shown:o}): expected 600");
    Err(failed(path, reason))
}

fn failed(path: &Path, reason: impl Display) -> Error {
    Error::new(format!("the password file {}: {reason}", path.display()))
}

/// The password of a line; `None` if the line does not match.
fn password(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }

    let fields = fields(line);
    let [host, port, database, user, password] = fields.as_slice() else {
        return None;
    };

    let found = [host, port, database, user];
    let matches = found
        .into_iter()
        .zip(wanted)
        .all(|(field, wanted)| field == "*" || field == wanted);
    matches.then(|| password.clone())
}

/// The fields of a line, without their backslashes.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();

    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        match character {
            ':' => fields.push(String::new()),
            '\\' => fields[last].extend(characters.next()),
            other => fields[last].push(other),
        }
    }
    fields
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_matches_counts() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text =
            "# comment:*:*:*:no\nshort\nother:*:*:*:a\ndb:5432:papir:user:b\\:\\\\c\n*:*:*:*:d\n";
        std::fs::write(file.path(), text).unwrap();

        let find = |host, port| find(file.path(), [host, port, "papir", "user"]).unwrap();
        assert_eq!(find("db", "5432").as_deref(), Some("b:\\c"));
        assert_eq!(find("db", "5433").as_deref(), Some("d"));
        assert_eq!(find("other", "1").as_deref(), Some("a"));
    }

    #[test]
    fn a_file_that_is_too_long_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = "*:*:*:*:secret";
        let padding = MAX_BYTES as usize - line.len();
        let longest = format!("{}\n{line}", "#".repeat(padding - 1));
        let find = |text: &str| {
            std::fs::write(file.path(), text).unwrap();
            find(file.path(), ["db", "5432", "papir", "user"])
        };

        assert_eq!(find(&longest).unwrap().as_deref(), Some("secret"));
        let error = find(&format!("{longest}s")).unwrap_err().to_string();
        assert!(error.contains("longer than"), "{error}");
    }

    #[test]
    #[cfg(unix)]
    fn a_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file()
            .set_permissions(std::fs::Permissions::from_mode(0o640))
            .unwrap();
        let error = find(file.path(), ["", "", "", ""]).unwrap_err().to_string();
        assert!(error.contains("mode 640"), "{error}");
    }
}
