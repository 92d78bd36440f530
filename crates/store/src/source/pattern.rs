//! Expands patterns of file names.

use std::ffi::OsStr;
use std::fs::read_dir;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// The files that a pattern names, in the order of their paths. In a name, `*` stands for any
/// characters, and `?` for one; a hidden name needs a dot in the pattern. A path without them, and
/// that of a file that exists, stands for itself.
///
/// # Errors
/// [`Error::Unreadable`] if no file matches, and [`papir_core::Error::Io`].
pub fn expand(path: &Path) -> Result<Vec<PathBuf>> {
    if !is_pattern(path.as_os_str()) || path.symlink_metadata().is_ok() {
        return Ok(vec![path.to_owned()]);
    }

    let mut found = vec![PathBuf::new()];
    for part in path.components() {
        found = joined(&found, part.as_os_str())?;
    }
    if found.is_empty() {
        let reason = "no file matches: expected one or more";
        return Err(Error::unreadable(path, reason));
    }

    found.sort_unstable();
    Ok(found)
}

fn is_pattern(name: &OsStr) -> bool {
    name.as_encoded_bytes()
        .iter()
        .any(|byte| matches!(byte, b'*' | b'?'))
}

/// The paths below `folders` whose last part matches.
fn joined(folders: &[PathBuf], part: &OsStr) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for folder in folders {
        if is_pattern(part) {
            found.extend(matching(folder, part)?);
            continue;
        }

        let path = folder.join(part);
        // The path of a pattern may go on below folders that lack this part.
        if path.symlink_metadata().is_ok() {
            found.push(path);
        }
    }
    Ok(found)
}

/// The entries of a folder whose names match; none if it is no folder.
fn matching(folder: &Path, pattern: &OsStr) -> Result<Vec<PathBuf>> {
    let here = Path::new(".");
    let listed = if folder.as_os_str().is_empty() {
        here
    } else {
        folder
    };
    let entries = match read_dir(listed) {
        Ok(entries) => entries,
        Err(error) if is_absent(error.kind()) => return Ok(Vec::new()),
        Err(error) => return Err(Error::io("reading", listed)(error)),
    };

    let pattern: Vec<char> = pattern.to_string_lossy().chars().collect();
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.map_err(Error::io("reading", listed))?.file_name();
        let text: Vec<char> = name.to_string_lossy().chars().collect();
        let is_hidden = text.first() == Some(&'.') && pattern.first() != Some(&'.');
        if !is_hidden && matches_pattern(&text, &pattern) {
            found.push(folder.join(name));
        }
    }
    Ok(found)
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A `*` of a pattern, to which a match may return.
struct Star {
    /// The place after it in the pattern.
    after: usize,
    /// The first character of the name that it does not stand for.
    end: usize,
}

/// Returns whether a name matches a pattern.
fn matches_pattern(name: &[char], pattern: &[char]) -> bool {
    let mut read = 0;
    let mut at = 0;
    let mut last_star: Option<Star> = None;

    while read < name.len() {
        match pattern.get(at) {
            Some('*') => {
                at += 1;
                last_star = Some(Star {
                    after: at,
                    end: read,
                });
            }
            Some(wanted) if *wanted == '?' || *wanted == name[read] => {
                at += 1;
                read += 1;
            }
            // Only the last star is tried again: what an earlier one stands for may stay short.
            _ => match &mut last_star {
                Some(star) => {
                    star.end += 1;
                    read = star.end;
                    at = star.after;
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|rest| *rest == '*')
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{create_dir, write};

    use super::*;

    #[test]
    fn stars_and_question_marks_stand_for_characters() {
        for (name, pattern, expected) in [
            ("a.csv", "*.csv", true),
            ("a.csv", "a.csv", true),
            ("a.csv.gz", "*.csv", false),
            ("part-é.csv", "part-?.csv", true),
            ("part-10.csv", "part-?.csv", false),
            ("aXbXc", "a*X*c", true),
            ("aXbXc", "a*X*d", false),
            ("", "*", true),
            ("a", "", false),
        ] {
            let [name_chars, pattern_chars] =
                [name, pattern].map(|text| text.chars().collect::<Vec<char>>());
            let found = matches_pattern(&name_chars, &pattern_chars);
            assert_eq!(found, expected, "{name} {pattern}");
        }
    }

    #[test]
    fn patterns_give_the_files_that_match_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for day in ["2", "1", ".hidden"] {
            create_dir(path(day)).unwrap();
            write(path(day).join("b.csv"), "").unwrap();
            write(path(day).join("a.csv"), "").unwrap();
        }
        write(path("2/c.txt"), "").unwrap();
        write(path("file"), "").unwrap();

        let expected = ["1/a.csv", "1/b.csv", "2/a.csv", "2/b.csv"].map(path);
        assert_eq!(expand(&path("*/*.csv")).unwrap(), expected);
        let expected = ["1/a.csv", "2/a.csv"].map(path);
        assert_eq!(expand(&path("?/a.csv")).unwrap(), expected);
        assert_eq!(expand(&path("file")).unwrap(), [path("file")]);
        assert_eq!(expand(&path("absent")).unwrap(), [path("absent")]);

        let error = expand(&path("*.parquet")).unwrap_err().to_string();
        let expected = "*.parquet: no file matches: expected one or more";
        assert!(error.ends_with(expected), "{error}");

        // A file may have a star in its name.
        write(path("*.csv"), "").unwrap();
        assert_eq!(expand(&path("*.csv")).unwrap(), [path("*.csv")]);
    }
}
