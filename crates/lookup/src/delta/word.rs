//! Values in a delta's table: new values and deletions.

use papir_core::Error as CoreError;

use crate::dimensions::MAX_VALUE_BYTES;
use crate::error::{Error, Result};

/// The first byte of the encoding of a new value. The encoding of a deletion is empty.
const VALUE: u8 = 1;
/// Maximum length of a value in a delta, in bytes.
pub const MAX_DELTA_VALUE_BYTES: usize = MAX_VALUE_BYTES;

/// Refuses a value longer than [`MAX_DELTA_VALUE_BYTES`].
pub(super) fn check_length(found: usize, line: u64) -> Result<()> {
    let found = found as u64;
    let limit = MAX_DELTA_VALUE_BYTES as u64;
    if found <= limit {
        Ok(())
    } else {
        Err(Error::ValueTooLong { line, found, limit })
    }
}

/// A change of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Word {
    /// The key has this value.
    Value(Vec<u8>),
    /// The key is deleted.
    Deleted,
}

impl Word {
    /// Encodes a change for the delta's table: a new value, or a deletion for `None`.
    pub(super) fn encode(value: Option<&[u8]>) -> Vec<u8> {
        // The first byte tells an empty value from a deletion.
        value.map_or_else(Vec::new, |value| [&[VALUE], value].concat())
    }

    /// Decodes a change from the delta's table.
    pub(crate) fn decode(mut bytes: Vec<u8>) -> Result<Self> {
        match bytes.first() {
            None => Ok(Self::Deleted),
            Some(&VALUE) => {
                bytes.remove(0);
                Ok(Self::Value(bytes))
            }
            Some(other) => {
                let found = format!("{other} first");
                let expected = format!("no bytes, or {VALUE} first");
                Err(CoreError::malformed("a change in a delta", found, expected).into())
            }
        }
    }

    /// The new value; `None` for a deletion.
    pub(crate) fn value(self) -> Option<Vec<u8>> {
        match self {
            Self::Value(value) => Some(value),
            Self::Deleted => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip_and_others_are_refused() {
        for value in [None, Some(vec![]), Some(vec![0]), Some(vec![1, 2, 3])] {
            let word = Word::decode(Word::encode(value.as_deref())).unwrap();
            assert_eq!(word.value(), value);
        }
        assert!(Word::decode(vec![2, 1]).is_err());
    }
}
