//! Lengths of buckets and entries.
//!
//! They follow from a target length and the lengths of the values.

use papir_core::{Error, MAX_RECORD_BITS};

use crate::bucket::{EntryFormat, LEAST_TAG_BYTES, TAG_BYTES};
use crate::error::Result;

/// Maximum length of a value in bytes: 256 KiB.
pub const MAX_VALUE_BYTES: usize = 1 << 18;
/// Maximum length in bytes of what a table stores for a key: the longest value, which has one byte
/// more in a delta.
pub(crate) const MAX_STORED_BYTES: usize = MAX_VALUE_BYTES + 1;
/// Default target length of a bucket in bytes: the length of the unit in which InsPIRe answers.
pub const DEFAULT_BUCKET_BYTES: u32 = 4096;
/// Minimum target length in bytes for [`BucketTarget::Grow`].
const MIN_GROWING_BYTES: u32 = 8;
/// Minimum target length in bytes for [`BucketTarget::AtMost`].
const MIN_CUTTING_BYTES: u32 = 64;
/// Target length of a bucket in bytes from which on tags are never short.
const SHORT_BUCKET_BYTES: u32 = 64;
/// Maximum length of a bucket in bytes: the maximum of a record in any scheme.
pub(crate) const MAX_BUCKET_BYTES: u32 = (MAX_RECORD_BITS / 8) as u32;

/// Target length of a bucket in bytes. One query retrieves one bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BucketTarget {
    /// About this length, or more if the longest value needs it, with one query per lookup. A
    /// longer record costs download. A second query would cost another upload and another pass over
    /// the database, which is more in every scheme here. A target below 64 bytes allows short tags
    /// of 32 to 56 bits if the longest value does not fit with a tag of 64 bits.
    Grow(u32),
    /// At most this length. Longer values are cut into chunks, and every lookup makes one query for
    /// each chunk of the longest value.
    AtMost(u32),
}

impl Default for BucketTarget {
    /// The default: [`BucketTarget::Grow`] with [`DEFAULT_BUCKET_BYTES`].
    fn default() -> Self {
        Self::Grow(DEFAULT_BUCKET_BYTES)
    }
}

/// Statistics of the lengths of a table's values, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Number of values.
    pub count: u64,
    /// The shortest length.
    pub shortest: usize,
    /// The longest length.
    pub longest: usize,
    /// Sum of all lengths.
    pub total: u64,
}

impl Lengths {
    /// The statistics of these lengths; `None` without lengths.
    pub fn of(values: impl Iterator<Item = usize>) -> Option<Self> {
        values.fold(None, Self::and)
    }

    /// The statistics `sum` with one more length.
    pub(crate) fn and(sum: Option<Self>, length: usize) -> Option<Self> {
        let sum = sum.unwrap_or(Self {
            count: 0,
            shortest: length,
            longest: length,
            total: 0,
        });
        Some(Self {
            count: sum.count + 1,
            shortest: sum.shortest.min(length),
            longest: sum.longest.max(length),
            total: sum.total.saturating_add(length as u64),
        })
    }

    /// The statistics of all values of two groups.
    pub(crate) fn joined(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            shortest: self.shortest.min(other.shortest),
            longest: self.longest.max(other.longest),
            total: self.total.saturating_add(other.total),
        }
    }

    /// The statistics of `count` values of this length each.
    pub fn equal(count: u64, length: usize) -> Self {
        Self {
            count,
            shortest: length,
            longest: length,
            total: count.saturating_mul(length as u64),
        }
    }

    /// The mean length, rounded up.
    pub fn mean(&self) -> u64 {
        self.total.div_ceil(self.count.max(1))
    }

    /// The largest lengths of the same class: the number of values and their mean length rounded up
    /// to powers of two, and the longest one likewise or, where its entry takes more than 4 KiB, so
    /// that the entry takes a multiple of 4 KiB.
    ///
    /// Choices by the class stay the same while a table grows within it.
    #[must_use]
    pub fn class(&self) -> Self {
        let longest = class_of_longest(self.longest);
        let count = self.count.checked_next_power_of_two().unwrap_or(self.count);
        let mean = self
            .mean()
            .checked_next_power_of_two()
            .unwrap_or(u64::MAX)
            .min(longest as u64);

        // Values of one length stay so: their entries need no length.
        let shortest = if self.uniform() {
            longest
        } else {
            self.shortest
        };
        Self {
            count,
            shortest,
            longest,
            total: count.saturating_mul(mean),
        }
    }

    fn uniform(&self) -> bool {
        self.shortest == self.longest
    }
}

/// Bytes that a class of lengths leaves for an entry's tag and length, at least.
const HEADER_ROOM: usize = 16;

/// The length to which [`Lengths::class`] rounds the longest one.
fn class_of_longest(longest: usize) -> usize {
    let unit = DEFAULT_BUCKET_BYTES as usize;
    let entry = longest.saturating_add(HEADER_ROOM);

    if entry > unit {
        let rounded = entry.checked_next_multiple_of(unit).unwrap_or(entry);
        // A longer value is refused where a table is made, and stays too long.
        (rounded - HEADER_ROOM).min(MAX_VALUE_BYTES.max(longest))
    } else {
        longest.next_power_of_two().min(unit - HEADER_ROOM)
    }
}

/// Lengths of buckets and entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dimensions {
    pub(crate) format: EntryFormat,
    pub(crate) bucket_bytes: u32,
    /// Number of records that every lookup fetches: the number of chunks of the longest value.
    pub(crate) lookups: u32,
}

impl Dimensions {
    /// Chooses dimensions for values of these lengths (at most [`MAX_STORED_BYTES`] each).
    pub(crate) fn choose(target: BucketTarget, lengths: &Lengths) -> Result<Self> {
        let (BucketTarget::Grow(bytes) | BucketTarget::AtMost(bytes)) = target;
        let least = match target {
            BucketTarget::Grow(_) => MIN_GROWING_BYTES,
            BucketTarget::AtMost(_) => MIN_CUTTING_BYTES,
        };
        if !(least..=MAX_BUCKET_BYTES).contains(&bytes) {
            let expected = format!("{least} to {MAX_BUCKET_BYTES} bytes");
            return Err(Error::out_of_bounds("the bucket length", bytes.into(), expected).into());
        }

        // Only a longest value that exceeds the target is cut.
        let whole = Self::whole_values(bytes, lengths);
        match target {
            BucketTarget::AtMost(_) if whole.bucket_bytes > bytes => {
                Ok(Self::chunked(bytes, lengths))
            }
            _ => Ok(whole),
        }
    }

    /// Dimensions with one entry per value: buckets of about `bytes` bytes, or as long as the
    /// longest entry.
    fn whole_values(bytes: u32, lengths: &Lengths) -> Self {
        let length_bytes = if lengths.uniform() {
            0
        } else {
            number_bytes(lengths.longest)
        };

        // The longest tag that fits. Where none fits, the bucket grows and has room for a whole
        // tag.
        let room = (bytes as usize).saturating_sub(lengths.longest + usize::from(length_bytes));
        let least_tag = if bytes < SHORT_BUCKET_BYTES {
            LEAST_TAG_BYTES
        } else {
            TAG_BYTES
        };
        let tag_bytes = (least_tag..=TAG_BYTES)
            .rev()
            .find(|&tag| usize::from(tag) <= room)
            .unwrap_or(TAG_BYTES);

        let format = EntryFormat {
            tag_bytes,
            length_bytes,
            chunk_bytes: lengths.longest as u32,
        };
        let entry = format.entry_bytes(lengths.longest) as u64;
        let bucket = if lengths.uniform() {
            // A multiple of the entry, so that no byte is left unused.
            // A table without values has one bucket with room for one value.
            entry * (u64::from(bytes) / entry).clamp(1, lengths.count.max(1))
        } else {
            // A table that is smaller than the target gets a single bucket of its own length.
            // Any number of values may be estimated, also one whose bytes exceed 64 bits.
            let headers = lengths.count.saturating_mul(format.header_bytes() as u64);
            let total = lengths.total.saturating_add(headers);
            entry.max(total.min(bytes.into()))
        };

        Self {
            format,
            bucket_bytes: bucket as u32,
            lookups: 1,
        }
    }

    /// Dimensions with one entry per chunk: values longer than a bucket are cut into as few chunks
    /// as possible, of nearly equal length.
    fn chunked(bytes: u32, lengths: &Lengths) -> Self {
        let mut format = EntryFormat {
            tag_bytes: TAG_BYTES,
            length_bytes: number_bytes(lengths.longest),
            chunk_bytes: 0,
        };
        let room = bytes as usize - format.header_bytes();
        // The fewest chunks, and then the shortest ones of that number.
        let lookups = lengths.longest.div_ceil(room);
        format.chunk_bytes = lengths.longest.div_ceil(lookups) as u32;

        // Equal values fill whole entries, so a bucket needs no room after the last one.
        let entry = format.entry_bytes(lengths.longest) as u32;
        let bucket_bytes = if lengths.uniform() {
            bytes / entry * entry
        } else {
            bytes
        };

        Self {
            format,
            bucket_bytes,
            lookups: lookups as u32,
        }
    }
}

/// Number of bytes that a number needs: 1 for 0.
pub(crate) fn number_bytes(value: usize) -> u8 {
    (usize::BITS - value.leading_zeros()).div_ceil(8).max(1) as u8
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn choose(target: BucketTarget, values: &[usize]) -> Dimensions {
        Dimensions::choose(target, &Lengths::of(values.iter().copied()).unwrap()).unwrap()
    }

    #[test]
    fn values_of_one_length_need_no_length_field_and_waste_no_byte() {
        let d = choose(BucketTarget::default(), &[32; 1000]);
        assert_eq!(
            (d.format.length_bytes, d.bucket_bytes, d.lookups),
            (0, 102 * 40, 1)
        );
        let d = choose(BucketTarget::default(), &[5000; 9]);
        assert_eq!((d.bucket_bytes, d.lookups), (5008, 1));
        assert_eq!(choose(BucketTarget::default(), &[3]).bucket_bytes, 11);
        assert_eq!(
            choose(BucketTarget::default(), &[0; 600]).bucket_bytes,
            4096
        );
    }

    #[test]
    fn classes_of_lengths_are_reached_from_below_and_are_their_own() {
        let of = |values: &[usize]| Lengths::of(values.iter().copied()).unwrap();
        for (values, count, longest, mean) in [
            (&[0, 0, 0][..], 4, 1, 1),
            (&[7, 2], 2, 8, 8),
            (&[100; 5], 8, 128, 128),
            (&[4000, 1], 2, 4080, 2048),
            (&[4081, 1], 2, 8176, 2048),
            (&[65_536, 3, 4], 4, 69_616, 32_768),
            (&[262_144, 3, 4], 4, 262_144, 131_072),
        ] {
            let class = of(values).class();
            assert_eq!(
                (class.count, class.longest, class.total),
                (count, longest, count * mean),
                "{values:?}"
            );
            assert_eq!(class.uniform(), of(values).uniform());
            assert_eq!(class.class(), class);
        }
    }

    #[test]
    fn tags_are_short_in_short_buckets_only() {
        let tags = |bytes, length| {
            let d = choose(BucketTarget::Grow(bytes), &[length; 1000]);
            (d.format.tag_bytes, d.bucket_bytes)
        };
        assert_eq!(
            [0, 1, 4, 5].map(|length| tags(8, length)),
            [(8, 8), (7, 8), (4, 8), (8, 13)]
        );
        assert_eq!(
            (tags(16, 3), tags(63, 58), tags(64, 58)),
            ((8, 11), (5, 63), (8, 66))
        );
        let d = choose(BucketTarget::Grow(8), &[0, 3, 2]);
        assert_eq!(
            (d.format.tag_bytes, d.format.length_bytes, d.bucket_bytes),
            (4, 1, 8)
        );
        // The byte of the length leaves no room for a value of four bytes.
        let d = choose(BucketTarget::Grow(8), &[0, 4, 2]);
        assert_eq!(
            (d.format.tag_bytes, d.format.length_bytes, d.bucket_bytes),
            (8, 1, 13)
        );
    }

    #[test]
    fn buckets_grow_or_values_are_cut() {
        let values = [0, 65536, 10];
        let d = choose(BucketTarget::default(), &values);
        assert_eq!(
            (d.format.length_bytes, d.bucket_bytes, d.lookups),
            (3, 65536 + 11, 1)
        );
        let d = choose(BucketTarget::AtMost(4096), &values);
        assert_eq!(
            (d.format.chunk_bytes, d.bucket_bytes, d.lookups),
            (3856, 4096, 17)
        );
        let d = choose(BucketTarget::AtMost(4096), &[65536; 4]);
        assert_eq!((d.bucket_bytes, d.lookups), (3856 + 11, 17));

        // The longest values of all, of one length and of several, fit a record whole.
        let longest = MAX_STORED_BYTES;
        for values in [&[longest; 2][..], &[longest, 0]] {
            let d = choose(BucketTarget::default(), values);
            assert!(d.bucket_bytes <= MAX_BUCKET_BYTES, "{d:?}");
            assert_eq!(d.lookups, 1);
        }

        let lengths = Lengths::of([1].into_iter()).unwrap();
        assert!(Dimensions::choose(BucketTarget::AtMost(63), &lengths).is_err());
        assert!(Dimensions::choose(BucketTarget::Grow(MAX_BUCKET_BYTES + 1), &lengths).is_err());
    }

    #[test]
    fn any_number_of_values_has_dimensions() {
        let chosen = |count, shortest, total| {
            let lengths = Lengths {
                count,
                shortest,
                longest: 24,
                total,
            };
            Dimensions::choose(BucketTarget::default(), &lengths).unwrap()
        };
        assert_eq!(chosen(0, 24, 0).bucket_bytes, 32);
        assert_eq!(chosen(0, 3, 0).bucket_bytes, 33);
        // Headers of 2⁶¹ entries have more than 2⁶⁴ bytes.
        assert_eq!(chosen(1 << 61, 3, u64::MAX).bucket_bytes, 4096);
    }

    #[test]
    fn number_widths() {
        assert_eq!(
            [0, 255, 256, 65535, 65536, MAX_STORED_BYTES].map(number_bytes),
            [1, 1, 2, 2, 3, 3]
        );
    }
}
