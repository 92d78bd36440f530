//! The changes since a base, one per key or record.

use std::collections::BTreeMap;

use papir_core::codec::{Reader, Writer};
use papir_core::{Error as CoreError, Result as CoreResult};

use crate::entry::Pair;
use crate::error::Result;
use crate::ids::{ID_BYTES, KeyId};
use crate::layout::KeywordLayout;

use super::bounds::CHANGE_BYTES;
use super::word::{Word, check_length};

/// The name of encoded changes in errors.
const WHAT: &str = "the changes of a delta";

/// The changes since a base, one per key or record. The owner keeps them to publish the next delta,
/// and to merge them.
///
/// ```text
/// for each change, ascending by id:
/// bytes  field
///    16  id of the key; of a record without keys, its index, big-endian
///     4  length of the value plus 1, or 0 for a deletion
///     …  value
/// ```
/// All other numbers are little-endian.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeltaChanges(BTreeMap<KeyId, Option<Vec<u8>>>);

impl DeltaChanges {
    /// Number of changed keys or records.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true without changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Bytes of all changes: for each its value and [`CHANGE_BYTES`] bytes.
    pub fn bytes(&self) -> u64 {
        let values: u64 = self
            .0
            .values()
            .flatten()
            .map(|value| value.len() as u64)
            .sum();
        values + CHANGE_BYTES * self.0.len() as u64
    }

    /// Sets a key of a base with this layout to `value`, or deletes it for `None`. `line` is the
    /// change's line, for errors. Returns true if the key already had a change.
    ///
    /// # Errors
    /// [`crate::Error::ValueTooLong`] for more than [`super::MAX_DELTA_VALUE_BYTES`] bytes.
    pub fn change_key(
        &mut self,
        base: &KeywordLayout,
        key: &[u8],
        value: Option<Vec<u8>>,
        line: u64,
    ) -> Result<bool> {
        if let Some(value) = &value {
            check_length(value.len(), line)?;
        }
        Ok(self.0.insert(base.seeds.id(key), value).is_some())
    }

    /// Sets the record at an index of a base without keys. `line` is the change's line, for errors.
    /// Returns true if the record already had a change.
    ///
    /// # Errors
    /// [`crate::Error::ValueTooLong`] for more than [`super::MAX_DELTA_VALUE_BYTES`] bytes.
    pub fn change_record(&mut self, index: u64, record: Vec<u8>, line: u64) -> Result<bool> {
        check_length(record.len(), line)?;
        let earlier = self.0.insert(KeyId::of_index(index), Some(record));
        Ok(earlier.is_some())
    }

    /// The changes that are still to be made to a base into which `merged`, an earlier state of
    /// these changes, was merged.
    #[must_use]
    pub fn since(&self, merged: &Self) -> Self {
        let mut new = BTreeMap::new();
        for (id, value) in &self.0 {
            // A key that was changed again after the merge has another value here.
            if merged.0.get(id) != Some(value) {
                new.insert(*id, value.clone());
            }
        }
        Self(new)
    }

    /// The changed records of a base without keys, ascending by index.
    pub fn records(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.0
            .iter()
            .filter_map(|(id, value)| Some((id.index(), value.as_deref()?)))
    }

    /// The changes of a base with keys, ascending by id.
    pub(crate) fn into_keys(self) -> impl Iterator<Item = (KeyId, Option<Vec<u8>>)> {
        self.0.into_iter()
    }

    /// The pairs of the delta's table, ascending by id.
    pub(super) fn pairs(&self) -> Vec<Pair> {
        self.0
            .iter()
            .map(|(id, value)| Pair {
                id: *id,
                value: Word::encode(value.as_deref()),
            })
            .collect()
    }

    /// Encodes the changes.
    pub fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        for (id, value) in &self.0 {
            writer.raw(&id.0);
            // A value has at most 2¹⁸ bytes, so its length plus 1 fits.
            match value {
                None => writer.u32(0),
                Some(value) => writer.u32(value.len() as u32 + 1).raw(value),
            };
        }
        writer.finish()
    }

    /// Decodes changes. Allocates no more than the bytes given.
    ///
    /// # Errors
    /// [`CoreError::Length`] for bytes that end within a change, and [`CoreError::Malformed`] for
    /// ids that do not ascend.
    pub fn decode(bytes: &[u8]) -> CoreResult<Self> {
        let mut reader = Reader::new(WHAT, bytes);
        let mut changes = BTreeMap::new();
        while !reader.is_empty() {
            let id = KeyId(reader.array::<ID_BYTES>()?);
            let value = match reader.u32()? {
                0 => None,
                length => Some(reader.raw(length as usize - 1)?.to_vec()),
            };

            // One encoding for each set of changes: ids that repeat or descend are refused.
            if changes
                .last_key_value()
                .is_some_and(|(last, _)| *last >= id)
            {
                let found = "ids in another order";
                return Err(CoreError::malformed(WHAT, found, "ascending ids"));
            }
            changes.insert(id, value);
        }
        Ok(Self(changes))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn changes(of: &[(u8, Option<&[u8]>)]) -> DeltaChanges {
        let change =
            |(id, value): &(u8, Option<&[u8]>)| (KeyId([*id; ID_BYTES]), value.map(<[u8]>::to_vec));
        DeltaChanges(of.iter().map(change).collect())
    }

    #[test]
    fn changes_round_trip_and_torn_ones_are_refused() {
        let some = changes(&[(1, None), (2, Some(b"")), (3, Some(b"abc"))]);
        let bytes = some.encode();
        assert_eq!(bytes.len(), 3 * 20 + 3);
        assert_eq!(DeltaChanges::decode(&bytes).unwrap(), some);
        for end in (1..bytes.len()).filter(|end| ![20, 40].contains(end)) {
            assert!(DeltaChanges::decode(&bytes[..end]).is_err(), "{end}");
        }

        let twice = [&bytes[..20], &bytes[..20]].concat();
        assert_eq!(
            DeltaChanges::decode(&twice).unwrap_err().code(),
            "malformed"
        );
    }

    #[test]
    fn what_was_merged_is_left_out() {
        let merged = changes(&[(1, None), (2, Some(b"old")), (3, Some(b"same"))]);
        let now = changes(&[
            (1, Some(b"back")),
            (2, Some(b"new")),
            (3, Some(b"same")),
            (4, None),
        ]);
        assert_eq!(
            now.since(&merged),
            changes(&[(1, Some(b"back")), (2, Some(b"new")), (4, None)])
        );
        assert!(now.since(&now).is_empty());
    }

    #[test]
    fn indices_are_their_own_ids() {
        let mut some = DeltaChanges::default();
        for index in [u64::MAX, 256, 0, 1] {
            assert!(!some.change_record(index, vec![index as u8], 1).unwrap());
        }
        assert!(some.change_record(256, vec![9], 2).unwrap());

        let found: Vec<_> = some
            .records()
            .map(|(index, record)| (index, record[0]))
            .collect();
        assert_eq!(found, [(0, 0), (1, 1), (256, 9), (u64::MAX, 255)]);
    }
}
