//! Serialized statistics of value lengths.

use papir_lookup::Lengths;
use serde::{Deserialize, Serialize};

/// Number, shortest, longest and total length of values, as files of a build have them.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredLengths(u64, usize, usize, u64);

impl From<Lengths> for StoredLengths {
    fn from(lengths: Lengths) -> Self {
        let Lengths {
            count,
            shortest,
            longest,
            total,
        } = lengths;
        Self(count, shortest, longest, total)
    }
}

impl From<StoredLengths> for Lengths {
    fn from(stored: StoredLengths) -> Self {
        let StoredLengths(count, shortest, longest, total) = stored;
        Self {
            count,
            shortest,
            longest,
            total,
        }
    }
}
