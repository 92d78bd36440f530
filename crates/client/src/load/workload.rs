//! Lookups of a load test, with checks of their results.

use papir_core::Error as CoreError;
use rand_core::Rng;

use crate::blocking::Connection;
use crate::error::{Error, Result};
use crate::rng::system_rng;

/// Length of a random key in bytes.
const KEY_BYTES: usize = 16;

/// A key with its value; `None` if the value is not known.
pub type KnownKey = (Vec<u8>, Option<Vec<u8>>);

/// The lookups that every client repeats.
#[derive(Clone, Debug)]
pub enum Workload {
    /// Records at random indices. Only the length of a result is checked.
    Indices,
    /// Random keys, which a database practically never has.
    AbsentKeys,
    /// Keys drawn at random from this list, which must not be empty.
    Keys(Vec<KnownKey>),
}

/// A drawn lookup, with the known value if there is one.
pub(super) enum Drawn<'a> {
    Index(u64),
    Absent(Vec<u8>),
    Key(&'a [u8], Option<&'a [u8]>),
}

impl Workload {
    /// Checks that the database supports the lookups. Sends nothing.
    pub(super) fn check(&self, connection: &Connection) -> Result<()> {
        match (self, connection.info().keyed) {
            (Self::Indices, true) => {
                let expected = "keys: a record of this database is a bucket of entries";
                Err(CoreError::malformed("a load", "indices", expected).into())
            }
            (Self::AbsentKeys | Self::Keys(_), false) => Err(papir_lookup::Error::NotKeyed.into()),
            (Self::Keys(keys), true) if keys.is_empty() => {
                Err(CoreError::malformed("a load", "no keys", "at least one").into())
            }
            _ => Ok(()),
        }
    }

    /// Draws a random lookup.
    pub(super) fn draw(&self, connection: &Connection) -> Drawn<'_> {
        let mut rng = system_rng();

        match self {
            Self::Indices => {
                // The remainder favours some records by less than any load could show.
                Drawn::Index(rng.next_u64() % connection.lookup().describe().shape.records())
            }
            Self::AbsentKeys => {
                let mut key = vec![0; KEY_BYTES];
                rng.fill_bytes(&mut key);
                Drawn::Absent(key)
            }
            Self::Keys(keys) => {
                let (key, value) = &keys[(rng.next_u64() % keys.len() as u64) as usize];
                Drawn::Key(key, value.as_deref())
            }
        }
    }
}

impl Drawn<'_> {
    /// Makes the lookup. Returns false if the result differs from the known one. Without a known
    /// value, an index needs a record of the right length, and a key passes.
    pub(super) fn run(&self, connection: &mut Connection) -> Result<bool, Error> {
        Ok(match self {
            Self::Index(index) => {
                let record = connection.get_index(*index)?;
                // The contents are not known here. A wrong length would show that decoding fails
                // under load.
                record.len() == connection.lookup().describe().shape.record_bytes()
            }
            Self::Absent(key) => connection.get_key(key)?.is_none(),
            Self::Key(key, known) => {
                let value = connection.get_key(key)?;

                match known {
                    Some(known) => value.as_deref() == Some(known),
                    None => true,
                }
            }
        })
    }
}
