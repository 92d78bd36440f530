//! Checkpoints that a server may show.

use papir_checkpoint::Log;

use super::world::{Other, Side};
use crate::signing::{append, owner};

/// A checkpoint, as a lying server may show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// The true one: sequence 1 of the log.
    Current,
    /// Sequence 0.
    Older,
    /// Sequence 2, which names another database.
    Next(Other),
    /// Another sequence 1, which names another database.
    Forked(Other),
    /// One under another owner's key.
    Stranger,
    /// None: the database passes as not signed.
    Unsigned,
}

impl Shown {
    /// The log of a database that ends with this checkpoint.
    pub fn log(self, side: &Side) -> Option<Log> {
        let key = owner(1);
        let older = append(None, &side.other(Other::One), &key, &[]);
        let current = append(Some(&older), &side.offer, &key, &[]);
        match self {
            Self::Current => Some(current),
            Self::Older => Some(older),
            Self::Next(other) => Some(append(Some(&current), &side.other(other), &key, &[])),
            Self::Forked(other) => Some(append(Some(&older), &side.other(other), &key, &[])),
            Self::Stranger => Some(append(None, &side.offer, &owner(2), &[])),
            Self::Unsigned => None,
        }
    }
}
