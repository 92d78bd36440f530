//! Advisories of a package as text, and the versions that they affect.
//!
//! A value of the database has an advisory on each line: its id, then intervals and single
//! versions, with spaces between them.
//!
//! | text | versions |
//! |---|---|
//! | `1.0.0..1.2.3` | from 1.0.0 on, before 1.2.3 |
//! | `1.0.0..=1.2.3` | from 1.0.0 up to 1.2.3 |
//! | `..1.2.3` | all before 1.2.3 |
//! | `1.0.0..` | from 1.0.0 on |
//! | `=1.2.3` | 1.2.3 alone |

use std::cmp::Ordering;
use std::fmt;

use crate::Result;
use crate::ecosystem::{Ecosystem, Version};

/// An advisory, and the versions of one package that it affects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Advisory {
    pub(crate) id: String,
    pub(crate) affected: Vec<Affected>,
}

/// Versions that an advisory affects, as their text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Affected {
    /// From a version on, or from the first one; until an end.
    Interval { from: Option<String>, end: End },
    /// A single version.
    Version(String),
}

/// The end of an interval.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum End {
    Before(String),
    UpTo(String),
    Never,
}

impl Advisory {
    /// Returns whether the advisory affects a version.
    ///
    /// # Errors
    /// A version that has not the form of the ecosystem.
    pub(crate) fn affects(&self, ecosystem: Ecosystem, version: &str) -> Result<bool> {
        let parsed = ecosystem.version(version)?;
        for affected in &self.affected {
            if affected.has(ecosystem, &parsed, version)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Affected {
    /// Returns whether a version, given with its text, is among these.
    pub(crate) fn has(&self, ecosystem: Ecosystem, version: &Version, text: &str) -> Result<bool> {
        match self {
            Self::Interval { from, end } => {
                let begins = match from {
                    Some(from) => version.compare(&ecosystem.version(from)?).is_ge(),
                    None => true,
                };
                let ends = match end {
                    End::Before(end) => version.compare(&ecosystem.version(end)?).is_lt(),
                    End::UpTo(end) => version.compare(&ecosystem.version(end)?).is_le(),
                    End::Never => true,
                };
                Ok(begins && ends)
            }
            // Lists have versions of before the ecosystem's rules, which are equal as text only.
            Self::Version(single) => Ok(match ecosystem.version(single) {
                Ok(single) => version.compare(&single) == Ordering::Equal,
                Err(_) => single == text,
            }),
        }
    }
}

impl fmt::Display for Affected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interval { from, end } => {
                write!(f, "{}..", from.as_deref().unwrap_or(""))?;
                match end {
                    End::Before(end) => f.write_str(end),
                    End::UpTo(end) => write!(f, "={end}"),
                    End::Never => Ok(()),
                }
            }
            Self::Version(version) => write!(f, "={version}"),
        }
    }
}

impl fmt::Display for Advisory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        self.affected
            .iter()
            .try_for_each(|affected| write!(f, " {affected}"))
    }
}

/// Reads the advisories of a package, as the database has them.
///
/// # Errors
/// Text of another form, such as characters that are not printable ASCII: the text reaches a
/// terminal.
pub(crate) fn parse(value: &[u8]) -> Result<Vec<Advisory>> {
    let text = str::from_utf8(value)?;
    text.lines().map(advisory_of).collect()
}

fn advisory_of(line: &str) -> Result<Advisory> {
    let mut words = line.split(' ');
    let id = words.next().unwrap_or("");
    if !is_word(id) {
        return Err(format!("advisory `{}`: expected an id", line.escape_debug()).into());
    }

    let affected: Vec<Affected> = words.map(affected_of).collect::<Result<_>>()?;
    if affected.is_empty() {
        return Err(format!("advisory {id}: expected affected versions").into());
    }
    Ok(Advisory {
        id: id.to_owned(),
        affected,
    })
}

fn affected_of(word: &str) -> Result<Affected> {
    if !is_word(word) {
        return Err(format!("versions `{}`: expected ASCII", word.escape_debug()).into());
    }
    if let Some(single) = word.strip_prefix('=').filter(|rest| !rest.is_empty()) {
        return Ok(Affected::Version(single.to_owned()));
    }

    let Some((from, end)) = word.split_once("..") else {
        return Err(format!("versions `{word}`: expected =VERSION or FROM..END").into());
    };
    let end = match (end, end.strip_prefix('=')) {
        ("", _) => End::Never,
        (_, Some(last)) => End::UpTo(last.to_owned()),
        (end, None) => End::Before(end.to_owned()),
    };
    let from = (!from.is_empty()).then(|| from.to_owned());
    Ok(Affected::Interval { from, end })
}

/// Returns whether text can be a word of the database: printable ASCII without spaces.
pub(crate) fn is_word(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn affects(line: &str, ecosystem: Ecosystem, version: &str) -> bool {
        let advisories = parse(line.as_bytes()).unwrap();
        advisories[0].affects(ecosystem, version).unwrap()
    }

    #[test]
    fn text_is_read_as_it_was_written() {
        let value = "SAMPLE-1 ..1.2.3 2.0.0..=2.1.0 3.0.0.. =0.1.0\nSAMPLE-2 ..";
        let lines: Vec<String> = parse(value.as_bytes())
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(lines.join("\n"), value);
        assert!(parse(b"").unwrap().is_empty());
    }

    #[test]
    fn intervals_have_their_begin_and_not_their_end() {
        let line = "SAMPLE-1 1.0.0..1.2.3 2.0.0..=2.1.0 =4.0.0";
        let affected = ["1.0.0", "1.2.3-rc.1", "2.0.0", "2.1.0", "4.0.0+build"];
        let others = ["0.9.9", "1.0.0-rc.1", "1.2.3", "2.1.1", "3.9.9", "4.0.1"];
        for version in affected {
            assert!(affects(line, Ecosystem::Crates, version), "{version}");
        }
        for version in others {
            assert!(!affects(line, Ecosystem::Npm, version), "{version}");
        }
        assert!(affects("SAMPLE-1 ..", Ecosystem::PyPi, "0.dev1"));
    }

    #[test]
    fn versions_of_python_are_equal_in_every_spelling() {
        let line = "SAMPLE-1 =1.0 =2.0-old-style";
        assert!(affects(line, Ecosystem::PyPi, "1.0.0"));
        assert!(!affects(line, Ecosystem::PyPi, "1.0.post1"));
    }

    #[test]
    fn text_of_another_form_is_an_error() {
        let bad = [
            &b"\xff"[..],
            b"SAMPLE-1",
            b"SAMPLE-1 1.0.0",
            b"SAMPLE-1 =",
            b"SAMPLE-1  ..",
            b" ..",
            b"SAMPLE-1 ..\n\n",
            b"\x1b[31mSAMPLE ..",
            b"SAMPLE-1 \x1b..",
        ];
        for value in bad {
            assert!(parse(value).is_err(), "{value:?}");
        }
        let unread = parse(b"SAMPLE-1 ..one").unwrap();
        assert!(unread[0].affects(Ecosystem::Crates, "1.0.0").is_err());
        let advisory = parse(b"SAMPLE-1 ..").unwrap();
        assert!(advisory[0].affects(Ecosystem::Npm, "latest").is_err());
    }
}
