//! Patterns that whole keys must match.

use std::fmt;
use std::str::FromStr;

use papir_core::Error as CoreError;
use regex::bytes::{Regex, RegexBuilder};

use crate::error::{Error, Result};

/// Maximum length of a pattern in bytes.
const MAX_PATTERN_BYTES: usize = 1024;
/// Maximum length of a compiled pattern, and of the states that a search keeps, in bytes.
const MAX_COMPILED_BYTES: usize = 1 << 20;

/// A regular expression in the syntax of the crate `regex`, which whole keys match. A search takes
/// time linear in the key, whatever the pattern is.
#[derive(Clone, Debug)]
pub struct KeyPattern {
    /// The pattern as it was given.
    text: String,
    /// The same, from the beginning to the end of a key.
    whole: Regex,
}

impl KeyPattern {
    /// Returns whether the whole key matches.
    pub(super) fn matches(&self, key: &[u8]) -> bool {
        self.whole.is_match(key)
    }
}

impl FromStr for KeyPattern {
    type Err = Error;

    /// Parses a pattern of at most 1024 bytes without control characters.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`], also if the pattern takes more than 1 MiB when compiled.
    fn from_str(text: &str) -> Result<Self> {
        // A pattern is shown with every key that does not match.
        if text.len() > MAX_PATTERN_BYTES || text.contains(char::is_control) {
            let found = format!("{} bytes", text.len());
            let expected = format!("at most {MAX_PATTERN_BYTES}, without control characters");
            return Err(CoreError::malformed("the pattern of keys", found, expected).into());
        }

        // First as it is: `a)|(b` would be a pattern inside the group.
        compile(text, text)?;
        let whole = compile(&format!(r"\A(?:{text})\z"), text)?;
        Ok(Self {
            text: text.to_owned(),
            whole,
        })
    }
}

/// Compiles a pattern; errors show `given`.
fn compile(pattern: &str, given: &str) -> Result<Regex> {
    let compiled = RegexBuilder::new(pattern)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .build();

    compiled.map_err(|error| {
        // The text of the error repeats the pattern over several lines. Its last one is the reason.
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default();
        let expected = format!("a regular expression ({reason})");
        CoreError::malformed("the pattern of keys", format!("`{given}`"), expected).into()
    })
}

impl fmt::Display for KeyPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl PartialEq for KeyPattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for KeyPattern {}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn whole_keys_match() {
        for (pattern, key, expected) in [
            ("[0-9a-f]{4}", &b"00ff"[..], true),
            ("[0-9a-f]{4}", b"00ff0", false),
            ("[0-9a-f]{4}", b"x00ff", false),
            ("a|ab", b"ab", true),
            ("a|b", b"ax", false),
            ("(?i)k", b"K", true),
            ("(?m)a$", b"a\nb", false),
            (r"\p{L}+", "Köln".as_bytes(), true),
            ("(?s-u).*", b"K\xf6ln\n", true),
            ("", b"", true),
        ] {
            let found = pattern.parse::<KeyPattern>().unwrap().matches(key);
            assert_eq!(found, expected, "{pattern} {key:?}");
        }
    }

    #[test]
    fn other_texts_are_no_patterns() {
        for (pattern, part) in [
            ("[0-9", "unclosed character class"),
            ("a)|(b", "unopened group"),
            ("(?x)a # b", "unclosed group"),
            ("a\nb", "3 bytes, expected at most 1024"),
            (r"\w{900}{900}", "size limit"),
            (&"a".repeat(1025), "1025 bytes"),
        ] {
            let error = pattern.parse::<KeyPattern>().unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
            assert_eq!(error.lines().count(), 1, "{error}");
        }
    }
}
