//! Token files: the hashes and permissions of tokens.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime};

use papir_core::Formats;
use papir_store::{parse_timestamp, timestamp};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::grant::Scope;
use crate::error::Error;
use crate::private_file::{self, FormatNumber, from_toml};

/// Format numbers of token files.
const FORMATS: Formats = Formats {
    what: "a token file",
    oldest: 1,
    written: 1,
    renew: "remove it and add its tokens again: `papir tokens FILE add …`",
};
/// Longest accepted file, in bytes: about 100,000 tokens.
const MAX_BYTES: u64 = 32 << 20;
/// Prefix of every token, so that secret scanners find leaked ones.
const PREFIX: &str = "papir_";
/// Prefix of every stored hash.
const HASH_PREFIX: &str = "blake3:";
const HEAD: &str =
    "# Access tokens of a papir service. Holds hashes, not tokens. Changed by `papir tokens`.\n";

/// The tokens of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenFile {
    entries: Vec<TokenEntry>,
}

/// One token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TokenEntry {
    /// The owner's name. Limits are counted per name.
    pub name: String,
    /// `blake3:` and the hash of the token's text in 64 hexadecimal digits.
    ///
    /// A token has 256 random bits, so that it cannot be found from its hash by brute force. A
    /// slow, salted hash would gain nothing.
    hash: String,
    /// Allowed scopes.
    pub scopes: BTreeSet<Scope>,
    /// Allowed databases; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub databases: Option<BTreeSet<String>>,
    /// Creation time: RFC 3339 in UTC, to the second.
    pub created: String,
    /// Expiry time in the same form; never if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

/// Properties of a new token.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Name, unique in the file.
    pub name: String,
    /// Allowed scopes.
    pub scopes: BTreeSet<Scope>,
    /// Allowed databases; all if `None`.
    pub databases: Option<BTreeSet<String>>,
    /// Lifetime; unlimited if `None`.
    pub lifetime: Option<Duration>,
}

impl NewToken {
    /// A token with these scopes, for all databases and without an end.
    pub fn new(name: impl Into<String>, scopes: impl IntoIterator<Item = Scope>) -> Self {
        let scopes = scopes.into_iter().collect();
        Self {
            name: name.into(),
            scopes,
            databases: None,
            lifetime: None,
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    format: u32,
    #[serde(default, rename = "token")]
    tokens: Vec<TokenEntry>,
}

impl TokenEntry {
    /// The hash of the token's text.
    pub(crate) fn hash(&self) -> Result<blake3::Hash, &'static str> {
        let digits = self
            .hash
            .strip_prefix(HASH_PREFIX)
            .ok_or("its hash does not start with blake3:")?;
        blake3::Hash::from_hex(digits).map_err(|_| "its hash is not 64 hexadecimal digits")
    }

    /// Returns whether the token has expired at `now`.
    pub fn has_expired(&self, now: SystemTime) -> bool {
        // Timestamps of this form sort lexicographically.
        self.expires
            .as_ref()
            .is_some_and(|expires| *expires <= timestamp(now))
    }

    /// Time at which the token expires; `None` for never.
    pub(crate) fn expiry(&self) -> Option<SystemTime> {
        parse_timestamp(self.expires.as_deref()?)
    }

    fn check(&self) -> Result<(), &'static str> {
        self.hash()?;
        if !is_name(&self.name) {
            return Err("its name is not 1 to 64 of A-Z a-z 0-9 . _ @ -");
        }
        let times = [Some(&self.created), self.expires.as_ref()];
        if times
            .into_iter()
            .flatten()
            .any(|time| parse_timestamp(time).is_none())
        {
            return Err("a timestamp is not of the form 2026-01-31T12:00:00Z");
        }
        Ok(())
    }
}

impl TokenFile {
    /// Reads a file.
    ///
    /// # Errors
    /// [`Error::Tokens`], naming the file and the line or the token; [`Error::TokenFormat`].
    pub fn read(path: &Path) -> Result<Self, Error> {
        let file = File::open(path).map_err(|error| bad(path, error))?;
        let mut text = String::new();
        // One byte more than allowed tells a file that is too long from one that just fits.
        file.take(MAX_BYTES + 1)
            .read_to_string(&mut text)
            .map_err(|error| bad(path, error))?;
        if text.len() as u64 > MAX_BYTES {
            return Err(bad(path, format!("longer than {MAX_BYTES} bytes")));
        }

        // Checked before the other fields are parsed: another format may have other fields.
        let FormatNumber { format } = from_toml(&text).map_err(|reason| bad(path, reason))?;
        FORMATS.check(format).map_err(|source| Error::TokenFormat {
            path: path.to_owned(),
            source,
        })?;

        Self::parse(&text).map_err(|reason| bad(path, reason))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let document: Document = from_toml(text)?;

        let mut names = BTreeSet::new();
        for entry in &document.tokens {
            entry
                .check()
                .map_err(|reason| format!("token `{}`: {reason}", entry.name))?;
            if !names.insert(&entry.name) {
                return Err(format!("two tokens are named `{}`", entry.name));
            }
        }

        Ok(Self {
            entries: document.tokens,
        })
    }

    /// All tokens, in the order in which they were added.
    pub fn entries(&self) -> &[TokenEntry] {
        &self.entries
    }

    /// Adds a token, creating the file if necessary. Returns the token's text, which is stored
    /// nowhere.
    ///
    /// # Errors
    /// [`Error::Tokens`] if the name is taken or malformed, or the file cannot be written.
    pub fn add(path: &Path, new: NewToken) -> Result<Zeroizing<String>, Error> {
        let secret =
            secret().map_err(|_| bad(path, "the operating system provides no randomness"))?;
        let now = SystemTime::now();
        let expiry = new.lifetime.and_then(|lifetime| now.checked_add(lifetime));

        let entry = TokenEntry {
            hash: format!("{HASH_PREFIX}{}", blake3::hash(secret.as_bytes()).to_hex()),
            name: new.name,
            scopes: new.scopes,
            databases: new.databases,
            created: timestamp(now),
            expires: expiry.map(timestamp),
        };
        // Checked like an entry that is read: with a malformed one, no service could load the file.
        entry.check().map_err(|reason| bad(path, reason))?;

        Self::change(path, |file| {
            if file.entries.iter().any(|other| other.name == entry.name) {
                return Err(bad(path, format!("a token named `{}` exists", entry.name)));
            }
            file.entries.push(entry);
            Ok(())
        })?;
        Ok(secret)
    }

    /// Removes the token `name` from the file.
    ///
    /// # Errors
    /// [`Error::Tokens`] if no token has this name, or the file cannot be read or written.
    pub fn revoke(path: &Path, name: &str) -> Result<(), Error> {
        Self::change(path, |file| {
            let before = file.entries.len();
            file.entries.retain(|entry| entry.name != name);
            if file.entries.len() == before {
                return Err(bad(path, format!("no token is named `{name}`")));
            }
            Ok(())
        })
    }

    /// Reads, changes and replaces a file under a lock.
    fn change(
        path: &Path,
        change: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        // The file that a link names is changed. Replacing the link would leave the file of the
        // service as it is, and a revoked token in use.
        let path = &private_file::resolved(path).map_err(|error| bad(path, error))?;

        // Held until the file is replaced: of two commands that read the same file, one change
        // would be lost.
        let _lock = private_file::lock(path).map_err(|error| bad(path, error))?;
        let mut file = if path.exists() {
            Self::read(path)?
        } else {
            Self::default()
        };

        change(&mut file)?;
        file.replace(path).map_err(|error| bad(path, error))
    }

    /// Replaces the file atomically.
    fn replace(&self, path: &Path) -> std::io::Result<()> {
        let document = Document {
            format: FORMATS.written,
            tokens: self.entries.clone(),
        };
        let text = toml::to_string(&document).map_err(std::io::Error::other)?;
        private_file::replace(path, &format!("{HEAD}{text}"))
    }
}

/// Makes an error that names the file.
fn bad(path: &Path, reason: impl ToString) -> Error {
    Error::Tokens {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}

/// A fresh token with 256 bits of system randomness.
fn secret() -> Result<Zeroizing<String>, getrandom::Error> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(bytes.as_mut_slice())?;

    // Allocated in full: growing would leave copies of the secret in memory.
    let mut text = Zeroizing::new(String::with_capacity(PREFIX.len() + 64));
    text.push_str(PREFIX);
    for byte in bytes.iter() {
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from_digit(u32::from(digit), 16).unwrap_or_default());
        }
    }
    Ok(text)
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::fs;

    use super::*;

    fn new(name: &str) -> NewToken {
        NewToken::new(name, [Scope::Query])
    }

    #[test]
    fn tokens_are_added_and_revoked_and_never_stored_in_clear() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");

        let first = TokenFile::add(&path, new("a")).unwrap();
        let second = TokenFile::add(&path, new("b")).unwrap();
        assert_ne!(*first, *second);
        assert_eq!(
            (first.len(), &first[..PREFIX.len()]),
            (PREFIX.len() + 64, PREFIX)
        );
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&first[PREFIX.len()..]) && !text.contains(PREFIX));
        let entry = TokenFile::read(&path).unwrap().entries()[0].clone();
        assert_eq!(entry.hash().unwrap(), blake3::hash(first.as_bytes()));

        assert!(
            TokenFile::add(&path, new("a"))
                .unwrap_err()
                .to_string()
                .contains("`a`")
        );
        assert!(TokenFile::add(&path, new("a b")).is_err());

        TokenFile::revoke(&path, "a").unwrap();
        assert!(
            TokenFile::revoke(&path, "a")
                .unwrap_err()
                .to_string()
                .contains("`a`")
        );
        let names: Vec<_> = TokenFile::read(&path)
            .unwrap()
            .entries()
            .iter()
            .map(|one| one.name.clone())
            .collect();
        assert_eq!(names, ["b"]);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no other file is left"
        );

        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;

            let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode(), 0o600);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
            TokenFile::revoke(&path, "b").unwrap();
            assert_eq!(mode(), 0o640, "the mode is kept");
        }
    }

    #[test]
    #[cfg(unix)]
    fn the_file_that_a_link_names_is_changed() {
        use std::os::unix::fs::symlink;

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        TokenFile::add(&path, new("a")).unwrap();
        fs::create_dir(folder.path().join("links")).unwrap();
        let link = folder.path().join("links/tokens.toml");
        symlink("../tokens.toml", &link).unwrap();

        TokenFile::add(&link, new("b")).unwrap();
        TokenFile::revoke(&link, "a").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let tokens = TokenFile::read(&path).unwrap();
        let names: Vec<_> = tokens.entries().iter().map(|one| &one.name).collect();
        assert_eq!(names, ["b"]);
        assert_eq!(
            fs::read_dir(folder.path().join("links")).unwrap().count(),
            1
        );

        fs::remove_file(&path).unwrap();
        assert!(TokenFile::add(&link, new("c")).is_err(), "it names no file");
    }

    #[test]
    fn times_that_no_calendar_has_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        TokenFile::add(&path, new("a")).unwrap();
        let text = fs::read_to_string(&path).unwrap();

        for (time, is_valid) in [
            ("2026-02-28T23:59:59Z", true),
            ("2026-99-99T99:99:99Z", false),
            ("2026-02-29T00:00:00Z", false),
            ("2026-01-31T12:00:00+00:00", false),
        ] {
            fs::write(&path, format!("{text}expires = \"{time}\"\n")).unwrap();
            assert_eq!(TokenFile::read(&path).is_ok(), is_valid, "{time}");
        }
    }

    #[test]
    fn tokens_expire() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        let lifetime = Some(Duration::from_secs(3600));
        TokenFile::add(
            &path,
            NewToken {
                lifetime,
                ..new("brief")
            },
        )
        .unwrap();

        let entry = TokenFile::read(&path).unwrap().entries()[0].clone();
        assert!(!entry.has_expired(SystemTime::now()));
        assert!(entry.has_expired(SystemTime::now() + Duration::from_secs(3601)));
    }

    #[test]
    fn another_format_is_refused_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tokens.toml");
        for (format, remedy) in [
            (0, "`papir tokens FILE add …`"),
            (2, "this papir reads version 1; update papir"),
        ] {
            // Another format may have fields that this one lacks.
            fs::write(&path, format!("format = {format}\n[owners]\n")).unwrap();

            let error = TokenFile::read(&path).unwrap_err();
            let message = error.to_string();
            assert!(
                message.contains("tokens.toml") && message.ends_with(remedy),
                "{message}"
            );
            let Error::TokenFormat {
                source:
                    papir_core::Error::Format {
                        found,
                        oldest,
                        newest,
                        ..
                    },
                ..
            } = error
            else {
                panic!("{message}");
            };
            assert_eq!((found, oldest, newest), (format, 1, 1));
        }
    }

    #[test]
    fn errors_of_invalid_files_name_the_fault() {
        let hash = format!("blake3:{}", "0".repeat(64));
        let token = |hash: &str, more: &str| {
            format!(
                "format = 1\n[[token]]\nname = \"a\"\nhash = \"{hash}\"\nscopes = [\"query\"]\n\
                 created = \"2026-01-31T12:00:00Z\"\n{more}"
            )
        };
        assert_eq!(
            TokenFile::parse(&token(&hash, "")).unwrap().entries().len(),
            1
        );

        for (text, part) in [
            ("", "format"),
            ("format = 1\nfoo = 1", "line 2"),
            (&token("0000", ""), "blake3"),
            (&token("blake3:00", ""), "64"),
            (&token(&hash, "expires = \"soon\""), "2026-01-31T12:00:00Z"),
            (&token(&hash, "scopes = []"), "line 7"),
            (&token(&hash, "owner = \"me\""), "owner"),
            (
                &token(&hash, "").replace("query", "everything"),
                "everything",
            ),
            (
                &format!(
                    "{}{}",
                    token(&hash, ""),
                    &token(&hash, "")["format = 1\n".len()..]
                ),
                "two tokens",
            ),
        ] {
            let reason = TokenFile::parse(text).unwrap_err();
            assert!(reason.contains(part), "no `{part}` in {reason}");
        }
    }
}
