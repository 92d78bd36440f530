//! Entries of keyword tables: keys with values.

use crate::dimensions::MAX_VALUE_BYTES;
use crate::error::{Error, Result};
use crate::ids::KeyId;

/// A key with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The key: any bytes.
    pub key: Vec<u8>,
    /// The value: at most [`MAX_VALUE_BYTES`] bytes.
    pub value: Vec<u8>,
    /// The entry's line in its source, for errors.
    pub line: u64,
}

/// A pair of a key's id and its value.
#[derive(Clone, Debug)]
pub(crate) struct Pair<V = Vec<u8>> {
    pub(crate) id: KeyId,
    pub(crate) value: V,
}

impl Pair {
    /// The pair with its value borrowed.
    pub(crate) fn borrowed(&self) -> Pair<&[u8]> {
        Pair {
            id: self.id,
            value: &self.value,
        }
    }
}

/// Refuses a value longer than [`MAX_VALUE_BYTES`]. `line` is for the error.
pub(crate) fn check_value(value: &[u8], line: u64) -> Result<()> {
    let found = value.len() as u64;
    let limit = MAX_VALUE_BYTES as u64;
    if found <= limit {
        Ok(())
    } else {
        Err(Error::ValueTooLong { line, found, limit })
    }
}

/// Names the key of an [`Error::RepeatedKey`]. `find` takes both lines, and returns the key if it
/// finds it on both. Returns other errors unchanged.
pub fn name_duplicate(error: Error, find: impl FnOnce([u64; 2]) -> Option<Vec<u8>>) -> Error {
    let Error::RepeatedKey { first, line } = error else {
        return error;
    };
    match find([first, line]) {
        Some(key) => duplicate_key(&key, first, line),
        None => error,
    }
}

/// The error for a key on two lines.
pub(crate) fn duplicate_key(key: &[u8], first: u64, line: u64) -> Error {
    Error::DuplicateKey {
        key: shown(key),
        first,
        line,
    }
}

/// A key as text for an error, cut after 64 bytes.
fn shown(key: &[u8]) -> String {
    const LIMIT: usize = 64;
    // The cut may split a character, which is then shown as a replacement.
    let text = String::from_utf8_lossy(&key[..key.len().min(LIMIT)]);
    let more = if key.len() > LIMIT { "…" } else { "" };
    format!("{}{more}", text.escape_debug())
}
