//! Format of entries in a bucket.
//!
//! An entry is a tag, a length if the lengths of values differ, and a payload. Zeros fill the rest
//! of the bucket. Tags have 64 bits of a hash, or fewer if a bucket is too short for them
//! ([`EntryFormat::tag`]).

use papir_core::{Error, Result};

/// Length of a whole tag in bytes.
pub(crate) const TAG_BYTES: u8 = 8;
/// Length of the shortest tag in bytes. Another key has the same short tag with probability 2⁻³¹.
pub(crate) const LEAST_TAG_BYTES: u8 = 4;

/// The format of all entries of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EntryFormat {
    /// Length of a tag in bytes: [`LEAST_TAG_BYTES`] to [`TAG_BYTES`].
    pub(crate) tag_bytes: u8,
    /// Length of the length field in bytes; 0 if all values have `chunk_bytes` bytes.
    pub(crate) length_bytes: u8,
    /// Maximum payload of an entry in bytes.
    pub(crate) chunk_bytes: u32,
}

/// An entry read from a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BucketEntry<'a> {
    /// Number of bytes of the value from this chunk on.
    pub(crate) remaining: usize,
    /// The bytes of this chunk.
    pub(crate) payload: &'a [u8],
}

/// The first entry of a bucket's bytes, and the rest.
pub(crate) struct Split<'a> {
    /// The stored tag.
    pub(crate) tag: u64,
    pub(crate) entry: BucketEntry<'a>,
    /// The bytes after the entry.
    pub(crate) rest: &'a [u8],
}

impl EntryFormat {
    /// Bytes before the payload.
    pub(crate) fn header_bytes(&self) -> usize {
        usize::from(self.tag_bytes) + usize::from(self.length_bytes)
    }

    /// The stored part of a tag: its first `tag_bytes` bytes, or 1 if they are 0.
    pub(crate) fn tag(&self, tag: u64) -> u64 {
        // A tag of zero would read as the end of the bucket.
        (tag & (u64::MAX >> (8 * (TAG_BYTES - self.tag_bytes)))).max(1)
    }

    /// log₂ of the probability that another key has the same stored tag: 2^(1 − 8·tag_bytes), since
    /// both 0 and 1 are stored as 1.
    pub(crate) fn equal_tag_log2(&self) -> f64 {
        1.0 - 8.0 * f64::from(self.tag_bytes)
    }

    /// Length in bytes of the entry for a chunk, from which on the value has `remaining` bytes.
    pub(crate) fn entry_bytes(&self, remaining: usize) -> usize {
        self.header_bytes() + remaining.min(self.chunk_bytes as usize)
    }

    /// Number of chunks of a value of `length` bytes; an empty value has one.
    pub(crate) fn chunks(&self, length: usize) -> usize {
        length.div_ceil(self.chunk_bytes.max(1) as usize).max(1)
    }

    /// The bytes of a value from the chunk with this number on.
    pub(crate) fn rest<'a>(&self, value: &'a [u8], chunk: u32) -> &'a [u8] {
        value
            .get(chunk as usize * self.chunk_bytes as usize..)
            .unwrap_or_default()
    }

    /// Maximum number of entries in a bucket.
    pub(crate) fn slots(&self, bucket_bytes: usize) -> usize {
        // Entries without a length field are all as long as a full chunk. Others may be empty.
        let shortest = if self.length_bytes == 0 {
            usize::MAX
        } else {
            0
        };
        bucket_bytes / self.entry_bytes(shortest)
    }

    /// Writes an entry for a chunk to the start of `bucket`, which has enough room. `rest` are the
    /// value's bytes from this chunk on. Returns the number of bytes written.
    pub(crate) fn write(&self, bucket: &mut [u8], tag: u64, rest: &[u8]) -> usize {
        let end = self.entry_bytes(rest.len());
        let payload = self.write_header(&mut bucket[..end], tag, rest.len());
        payload.copy_from_slice(&rest[..payload.len()]);
        end
    }

    /// Writes tag and length of the entry for a chunk, from which on the value has `remaining`
    /// bytes. `entry` has the length of the entry. Returns the bytes of its payload.
    pub(crate) fn write_header<'a>(
        &self,
        entry: &'a mut [u8],
        tag: u64,
        remaining: usize,
    ) -> &'a mut [u8] {
        let (header, payload) = entry.split_at_mut(self.header_bytes());
        let (stored, length) = header.split_at_mut(self.tag_bytes.into());
        stored.copy_from_slice(&self.tag(tag).to_le_bytes()[..stored.len()]);
        length.copy_from_slice(&(remaining as u64).to_le_bytes()[..length.len()]);
        payload
    }

    /// Returns whether all values have one chunk of one length, which entries do not state.
    pub(crate) fn uniform(&self) -> bool {
        self.length_bytes == 0
    }

    /// Like [`EntryFormat::write`], to a new vector.
    pub(crate) fn entry(&self, tag: u64, rest: &[u8]) -> Vec<u8> {
        let mut entry = vec![0; self.entry_bytes(rest.len())];
        self.write(&mut entry, tag, rest);
        entry
    }

    /// Finds the entry with this tag, or returns `None` if there is none. Reads every entry, even
    /// after a match. Its time depends on the contents of the bucket, which only the client sees,
    /// after decryption.
    pub(crate) fn find_vartime<'a>(
        &self,
        bucket: &'a [u8],
        tag: u64,
    ) -> Result<Option<BucketEntry<'a>>> {
        let mut found = None;
        let tag = self.tag(tag);
        let mut rest = bucket;
        while let Some(split) = self.split(rest)? {
            if split.tag == tag {
                found = Some(split.entry);
            }
            rest = split.rest;
        }
        Ok(found)
    }

    /// Splits off the first entry of `bytes`; `None` at the end of the entries.
    pub(crate) fn split<'a>(&self, bytes: &'a [u8]) -> Result<Option<Split<'a>>> {
        if bytes.len() < self.header_bytes() {
            return Ok(None);
        }

        // The tag 0 marks the zeros at the end of a bucket.
        let (header, body) = bytes.split_at(self.header_bytes());
        let (tag, length) = header.split_at(self.tag_bytes.into());
        let tag = little_endian(tag);
        if tag == 0 {
            return Ok(None);
        }

        let remaining = if self.length_bytes == 0 {
            u64::from(self.chunk_bytes)
        } else {
            little_endian(length)
        };
        // A bucket may state any number, but a payload never exceeds its chunk.
        let remaining = usize::try_from(remaining).unwrap_or(usize::MAX);
        let end = remaining.min(self.chunk_bytes as usize);
        let Some((payload, rest)) = body.split_at_checked(end) else {
            return Err(Error::Length {
                what: "an entry of a bucket",
                found: body.len() as u64,
                expected: end as u64,
            });
        };

        let entry = BucketEntry { remaining, payload };
        Ok(Some(Split { tag, entry, rest }))
    }
}

/// The little-endian number of up to eight bytes.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../docs/vectors/arithmetic/lookup.json");

    #[test]
    fn stored_tags_are_those_of_the_definition() {
        for [tag_bytes, tag, expected] in rows::<3>(VECTORS, "bucket.tag") {
            let format = EntryFormat {
                tag_bytes: tag_bytes as u8,
                length_bytes: 0,
                chunk_bytes: 8,
            };
            let found = format.tag(tag as u64);
            assert_eq!(i128::from(found), expected, "{tag} in {tag_bytes} bytes");
        }
    }

    /// Entries of every small length, with every length that a damaged bucket could state.
    #[test]
    fn entries_end_inside_their_bucket() {
        let format = EntryFormat {
            tag_bytes: 4,
            length_bytes: 1,
            chunk_bytes: 6,
        };

        for length in 0..16usize {
            for stated in 0..=u8::MAX {
                let bucket = [&[1, 0, 0, 0, stated][..], &[0; 16]].concat();
                let body = length.saturating_sub(5);
                let end = usize::from(stated).min(6);
                let expected = match length {
                    0..5 => Some(None),
                    _ if end > body => None,
                    _ => Some(Some([usize::from(stated), end, body - end])),
                };

                let found = format.split(&bucket[..length]).ok().map(|split| {
                    split.map(|Split { entry, rest, .. }| {
                        [entry.remaining, entry.payload.len(), rest.len()]
                    })
                });
                assert_eq!(found, expected, "{stated} in {length} bytes");
            }
        }
    }
}
