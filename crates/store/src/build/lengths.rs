//! Serialized statistics of value lengths.

use papir_lookup::Lengths;
use serde::{Deserialize, Serialize};

/// Number, shortest, longest and total length of values, as files of a build have them.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredLengths(u64, usize, usize, u64);

impl From<Lengths> for StoredLengths {
    fn from(
        Lengths {
            count,
            shortest,
            longest,
            total,
        }: Lengths,
    ) -> Self {
        Self(count, shortest, longest, total)
    }
}

impl From<StoredLengths> for Lengths {
    fn from(StoredLengths(count, shortest, longest, total): StoredLengths) -> Self {
        Self {
            count,
            shortest,
            longest,
            total,
        }
    }
}
