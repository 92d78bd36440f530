//! Names of keys, and origins of logs.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};

/// Longest name or origin in bytes. Other types of cosignatures limit an origin to 255 bytes too.
const MAX_BYTES: usize = 255;

/// The name of a key (C2SP signed-note): 1 to 255 bytes without white space, `+` and control
/// characters. A URL without a scheme is recommended, for example `example.org/owner`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyName(String);

impl KeyName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The origin `NAME/DATABASE` of a log, where NAME is this name, the owner's. Bytes of the
    /// database's name other than ASCII letters, digits and `-._` are percent-encoded.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for an origin of more than 255 bytes.
    pub fn origin(&self, database: &str) -> Result<Self> {
        let mut origin = format!("{}/", self.0);
        for byte in database.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
                origin.push(char::from(byte));
            } else {
                origin += &format!("%{byte:02X}");
            }
        }
        origin.parse()
    }
}

impl FromStr for KeyName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text.is_empty() || text.len() > MAX_BYTES || text.contains(is_refused) {
            let found: String = text.chars().take(40).flat_map(char::escape_debug).collect();
            let found = format!("`{found}`");
            let expected =
                format!("1 to {MAX_BYTES} bytes without white space, `+` and control characters");
            return Err(Error::malformed("the name of a key", found, expected));
        }
        Ok(Self(text.to_owned()))
    }
}

/// Returns true for a character that names must not have: keys and notes use it as a separator.
fn is_refused(character: char) -> bool {
    character == '+' || character.is_whitespace() || character.is_control()
}

impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_and_origins() {
        let name: KeyName = "example.org/owner".parse().unwrap();
        assert_eq!(
            name.origin("words").unwrap().as_str(),
            "example.org/owner/words"
        );
        assert_eq!(
            name.origin("a b+ü").unwrap().as_str(),
            "example.org/owner/a%20b%2B%C3%BC"
        );
        assert!(name.origin(&"x".repeat(238)).is_err());

        for bad in [
            "",
            "a b",
            "a+b",
            "a\nb",
            "a\u{a0}b",
            "a\u{7f}",
            &"x".repeat(256),
        ] {
            assert_eq!(
                bad.parse::<KeyName>().unwrap_err().code(),
                "malformed",
                "{bad:?}"
            );
        }
    }
}
