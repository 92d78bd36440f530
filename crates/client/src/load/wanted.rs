//! What a load asks for, and whether what comes is right.

use papir_core::Error as CoreError;
use rand_core::Rng;

use crate::blocking::Connection;
use crate::error::{Error, Result};
use crate::rng::system_rng;

/// Bytes of a random key.
const KEY_BYTES: usize = 16;

/// A key, and its value where that is known.
pub type KnownKey = (Vec<u8>, Option<Vec<u8>>);

/// What every client asks for, again and again.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// Records at random indices. Only the length of what comes is known.
    Indices,
    /// Random keys, which no database has.
    AbsentKeys,
    /// Keys, drawn at random.
    Keys(Vec<KnownKey>),
}

/// One thing to ask for.
pub(super) enum One<'a> {
    Index(u64),
    Absent(Vec<u8>),
    Key(&'a [u8], Option<&'a [u8]>),
}

impl Wanted {
    /// Refuses what the database cannot be asked, before anything is sent.
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

    pub(super) fn draw(&self, connection: &Connection) -> One<'_> {
        let mut rng = system_rng();
        match self {
            Self::Indices => One::Index(rng.next_u64() % connection.lookup().describe().shape.records()),
            Self::AbsentKeys => {
                let mut key = vec![0; KEY_BYTES];
                rng.fill_bytes(&mut key);
                One::Absent(key)
            }
            Self::Keys(keys) => {
                let (key, value) = &keys[(rng.next_u64() % keys.len() as u64) as usize];
                One::Key(key, value.as_deref())
            }
        }
    }
}

impl One<'_> {
    /// Asks; gives whether the answer is right, as far as that is known.
    pub(super) fn ask(&self, connection: &mut Connection) -> Result<bool, Error> {
        Ok(match self {
            Self::Index(index) => {
                let record = connection.get_index(*index)?;
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
