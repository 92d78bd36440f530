//! Options of keyword tables.

use std::str::FromStr;

use papir_core::Error as CoreError;

use crate::dimensions::BucketTarget;
use crate::error::{Error, Result};

/// The rule for keys that have several entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnDuplicate {
    /// Refuse a source with such keys.
    #[default]
    Refuse,
    /// Keep the first entry of a key.
    First,
    /// Keep the last entry of a key.
    Last,
}

impl FromStr for OnDuplicate {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "refuse" => Ok(Self::Refuse),
            "first" => Ok(Self::First),
            "last" => Ok(Self::Last),
            other => {
                Err(
                    CoreError::malformed("a rule for duplicates", other, "refuse, first or last")
                        .into(),
                )
            }
        }
    }
}

/// Options of a keyword table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Target length of a bucket.
    pub bucket: BucketTarget,
    /// The rule for keys that have several entries.
    pub on_duplicate: OnDuplicate,
    /// Free room for later keys, in per cent of the buckets that the entries need: 0 to
    /// [`MAX_ROOM`].
    pub room: u32,
}

/// Maximum room of a table, in per cent.
pub const MAX_ROOM: u32 = 100;

impl TableOptions {
    /// The room, checked against [`MAX_ROOM`].
    pub(crate) fn room(&self) -> Result<u32> {
        if self.room <= MAX_ROOM {
            return Ok(self.room);
        }
        let expected = format!("at most {MAX_ROOM} per cent");
        Err(CoreError::out_of_bounds("the room of a table", self.room.into(), expected).into())
    }
}
