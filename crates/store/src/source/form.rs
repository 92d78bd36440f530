//! The form of text sources, and of keys.

use std::ops::RangeInclusive;

use super::encoding::check_text;
use super::format::Format;
use super::key_pattern::KeyPattern;
use super::row::Fault;
use crate::error::{Error, Result as StoreResult};

/// The form of a text source, where its format leaves a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextForm {
    /// The byte between the fields of CSV and TSV; `None` for a comma, in TSV a tab.
    pub delimiter: Option<u8>,
    /// The first row of CSV or TSV is a row like all others. The names of the columns are then
    /// their numbers, from 1.
    pub no_header: bool,
    /// The text between key and value of pairs, at least a byte; `None` for a colon.
    pub separator: Option<Vec<u8>>,
}

impl TextForm {
    /// The byte between the fields of CSV or TSV.
    pub(crate) fn delimiter_in(&self, format: Format) -> u8 {
        let default = if format == Format::Tsv { b'\t' } else { b',' };
        self.delimiter.unwrap_or(default)
    }

    /// Refuses a form that the format does not have.
    pub(crate) fn check(&self, format: Format) -> StoreResult<()> {
        let Self {
            delimiter,
            no_header,
            separator,
        } = self;
        if (delimiter.is_some() || *no_header) && !format.has_fields() {
            return Err(Error::options(
                format!("delimiter or header of a {} source", format.name()),
                "csv or tsv",
            ));
        }
        if separator.is_some() && format != Format::Pairs {
            return Err(Error::options(
                format!("a separator of a {} source", format.name()),
                "pairs",
            ));
        }
        if separator.as_ref().is_some_and(Vec::is_empty) {
            return Err(Error::options("an empty separator", "at least a byte"));
        }

        match delimiter {
            Some(b'"' | b'\r' | b'\n') => Err(Error::options(
                "a quote or a line end between fields",
                "another delimiter",
            )),
            _ => Ok(()),
        }
    }
}

/// The form without choices.
pub(crate) static DEFAULT_TEXT: TextForm = TextForm {
    delimiter: None,
    no_header: false,
    separator: None,
};

/// The form that all keys of a source must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyForm {
    /// The fewest and the most bytes of a key; `None` for any number.
    pub bytes: Option<RangeInclusive<usize>>,
    /// Requires hexadecimal digits, with letters of one case in all keys.
    pub hex: bool,
    /// The pattern that whole keys match.
    pub pattern: Option<KeyPattern>,
    /// Allows keys of text that are not UTF-8. Clients then look them up by the same bytes.
    pub binary: bool,
}

/// Keys of any form.
pub(crate) static ANY_KEY: KeyForm = KeyForm {
    bytes: None,
    hex: false,
    pattern: None,
    binary: true,
};

/// Bytes of a key that its fault shows.
const SHOWN_BYTES: usize = 64;

/// The case of hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LetterCase {
    Lower,
    Upper,
}

/// Checks the keys of a source, one after the other.
pub(super) struct KeyCheck<'a> {
    form: &'a KeyForm,
    /// Set if the source is text.
    is_text: bool,
    /// The case of the letters so far.
    case: Option<LetterCase>,
}

impl<'a> KeyCheck<'a> {
    pub(super) fn new(form: &'a KeyForm, is_text: bool) -> Self {
        Self {
            form,
            is_text,
            case: None,
        }
    }

    /// Refuses a key of another form.
    pub(super) fn check(&mut self, key: &[u8]) -> Result<(), Fault> {
        if self.is_text && !self.form.binary {
            check_text("the key", key)?;
        }
        if let Some(lengths) = &self.form.bytes {
            check_length(key, lengths)?;
        }
        if self.form.hex {
            self.check_hex(key)?;
        }
        match &self.form.pattern {
            Some(pattern) => check_pattern(key, pattern),
            None => Ok(()),
        }
    }

    fn check_hex(&mut self, key: &[u8]) -> Result<(), Fault> {
        let is_hex = !key.is_empty() && key.iter().all(u8::is_ascii_hexdigit);
        if !is_hex {
            let found = "is not hexadecimal: expected digits of 0-9 and a-f";
            return Err(fault(key, found));
        }

        // Keys are looked up by their bytes: of two cases, a client would find one.
        for byte in key {
            let case = match byte {
                b'a'..=b'f' => LetterCase::Lower,
                b'A'..=b'F' => LetterCase::Upper,
                _ => continue,
            };
            if *self.case.get_or_insert(case) != case {
                let found = "has letters of another case than those before: expected one case";
                return Err(fault(key, found));
            }
        }
        Ok(())
    }
}

/// Refuses a key of another length.
fn check_length(key: &[u8], lengths: &RangeInclusive<usize>) -> Result<(), Fault> {
    let found = key.len();
    if lengths.contains(&found) {
        return Ok(());
    }

    let least = lengths.start();
    let most = lengths.end();
    let expected = if least == most {
        least.to_string()
    } else {
        format!("{least} to {most}")
    };
    let found = format!("has {found} bytes: expected {expected}");
    Err(fault(key, &found))
}

/// Refuses a key that does not match as a whole.
fn check_pattern(key: &[u8], pattern: &KeyPattern) -> Result<(), Fault> {
    if pattern.matches(key) {
        return Ok(());
    }

    let found = key.len();
    let found = format!("has {found} bytes, and does not match as a whole: expected `{pattern}`");
    Err(fault(key, &found))
}

/// The fault of a key, which is shown as text and shortened.
fn fault(key: &[u8], what: &str) -> Fault {
    let begin = &key[..key.len().min(SHOWN_BYTES)];
    let text = String::from_utf8_lossy(begin);
    let shown = text.escape_debug();
    let rest = if begin.len() < key.len() { "…" } else { "" };
    Fault::Reason(format!("the key `{shown}{rest}` {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The faults of keys, one after the other; empty for a good key.
    fn faults(form: &KeyForm, keys: &[&[u8]]) -> Vec<String> {
        let mut check = KeyCheck::new(form, true);
        let mut faults = Vec::new();
        for key in keys {
            let fault = check.check(key).err();
            faults.push(fault.map_or_else(String::new, |fault| fault.to_string()));
        }
        faults
    }

    #[test]
    fn keys_of_another_length_are_faults() {
        let exact = KeyForm {
            bytes: Some(2..=2),
            ..KeyForm::default()
        };
        let found = faults(&exact, &[b"ab", b"abc", b""]);
        let expected = [
            "",
            "the key `abc` has 3 bytes: expected 2",
            "the key `` has 0 bytes: expected 2",
        ];
        assert_eq!(found, expected);

        let range = KeyForm {
            bytes: Some(1..=2),
            ..KeyForm::default()
        };
        let found = faults(&range, &[b"a", b"a\nc"]);
        assert_eq!(found, ["", "the key `a\\nc` has 3 bytes: expected 1 to 2"]);
    }

    #[test]
    fn hexadecimal_keys_have_letters_of_one_case() {
        let hex = KeyForm {
            hex: true,
            ..KeyForm::default()
        };
        let found = faults(&hex, &[b"09", b"0A", b"0a", b"FF", b"xy", b""]);
        let other = "has letters of another case than those before: expected one case";
        let no_hex = "is not hexadecimal: expected digits of 0-9 and a-f";
        let expected = [
            String::new(),
            String::new(),
            format!("the key `0a` {other}"),
            String::new(),
            format!("the key `xy` {no_hex}"),
            format!("the key `` {no_hex}"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn keys_match_the_pattern_as_a_whole() {
        let form = KeyForm {
            pattern: "[a-z]{2}".parse().ok(),
            ..KeyForm::default()
        };
        let expected = ", and does not match as a whole: expected `[a-z]{2}`";
        let found = faults(&form, &[b"ab", b"abc", b"a\n"]);
        let other = format!("the key `abc` has 3 bytes{expected}");
        let control = format!("the key `a\\n` has 2 bytes{expected}");
        assert_eq!(found, [String::new(), other, control]);

        // Only the beginning of a long key is shown.
        let shown = "x".repeat(SHOWN_BYTES);
        let long = faults(&form, &["x".repeat(1 << 16).as_bytes()]);
        assert_eq!(
            long,
            [format!("the key `{shown}…` has 65536 bytes{expected}")]
        );
    }

    #[test]
    fn keys_of_text_are_utf_8_unless_they_are_binary() {
        let latin: &[&[u8]] = &[b"K\xf6ln"];
        assert!(!faults(&KeyForm::default(), latin)[0].is_empty());
        assert!(faults(&ANY_KEY, latin)[0].is_empty());
    }
}
