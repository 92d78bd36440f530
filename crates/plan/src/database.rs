//! The database to plan for.

use papir_core::{Result as CoreResult, Shape};
use papir_lookup::{BucketTarget, Estimate, Lengths};

use crate::error::of_core;

/// A database of records or keys, whose sizes are known or estimated.
#[derive(Clone, Copy, Debug)]
pub struct Database {
    /// Number and length of the scheme's records. For a keyed database, these are its buckets of
    /// the default length.
    pub shape: Shape,
    /// Lengths of the values of a keyed database; `None` for a database without keys, or with fixed
    /// buckets.
    pub lengths: Option<Lengths>,
    /// The mean length in bytes of a value or, without keys, the length of a record.
    pub value_bytes: u64,
    /// Bytes of all records, compressed; `None` if they are unknown.
    pub compressed_bytes: Option<u64>,
    /// Bytes of the layout of the keys; 0 without keys.
    pub layout_bytes: u64,
    /// Number of keys; `None` if records are looked up by index.
    pub keys: Option<u64>,
    /// True if the shape is an estimate.
    pub estimated: bool,
}

impl Database {
    /// A database of records that are looked up by index.
    pub fn of_records(shape: Shape) -> Self {
        Self {
            shape,
            lengths: None,
            value_bytes: shape.record_bytes() as u64,
            compressed_bytes: None,
            layout_bytes: 0,
            keys: None,
            estimated: false,
        }
    }

    /// A database of keys that are arranged in buckets, with a layout of `layout_bytes` bytes.
    /// `keys_and_lookups` has the number of keys, and the number of buckets that a lookup fetches.
    pub fn of_buckets(
        buckets: Shape,
        keys_and_lookups: (u64, u64),
        layout_bytes: u64,
        lengths: Lengths,
    ) -> Self {
        let (keys, lookups) = keys_and_lookups;

        // Several lookups: values were cut, which fixes the length of the buckets.
        Self {
            lengths: (lookups == 1).then_some(lengths),
            value_bytes: lengths.mean(),
            layout_bytes,
            keys: Some(keys),
            ..Self::of_records(buckets)
        }
    }

    /// A database of keys with values of `value_bytes` bytes. Its table is estimated.
    ///
    /// # Errors
    /// The errors of [`Estimate::of`], and [`papir_core::Error::OutOfBounds`] for more buckets than
    /// a database may have.
    pub fn of_keys(keys: u64, value_bytes: u64) -> CoreResult<Self> {
        let lengths = Lengths::equal(keys, usize::try_from(value_bytes).unwrap_or(usize::MAX));
        let table = Estimate::of(&lengths, BucketTarget::default()).map_err(of_core)?;
        let buckets = Shape::of_bytes(table.records, table.record_bytes)?;

        Ok(Self {
            estimated: true,
            ..Self::of_buckets(buckets, (keys, 1), table.layout_bytes, lengths)
        })
    }
}
