//! Changes of a table, one per key.

use papir_core::Error as CoreError;

use crate::delta::DeltaChanges;
use crate::entry::{Pair, check_value};
use crate::error::Result;
use crate::ids::{KeyId, KeyIds};
use crate::layout::KeywordLayout;

/// A change of one key, as a source has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyChange {
    /// The key: any bytes.
    pub key: Vec<u8>,
    /// The key's new value; `None` deletes the key.
    pub value: Option<Vec<u8>>,
    /// The row's line in its source, for errors.
    pub line: u64,
}

/// Counts of changes by their effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeCounts {
    /// Number of new keys.
    pub inserted: u64,
    /// Number of keys that already had a value, even an equal one.
    pub replaced: u64,
    /// Number of deleted keys.
    pub deleted: u64,
    /// Number of deletions of absent keys.
    pub absent: u64,
    /// Number of rows that a later row of the same key overrides.
    pub superseded: u64,
}

/// The effective change of one key.
#[derive(Clone, Debug)]
pub(super) struct Resolved {
    pub(super) id: KeyId,
    /// True if the table has the key.
    pub(super) present: bool,
    pub(super) value: Option<Vec<u8>>,
    pub(super) line: u64,
}

impl Resolved {
    /// The id of the key; `None` after a deletion.
    fn id(&self) -> Option<KeyId> {
        self.value.is_some().then_some(self.id)
    }

    /// The pair of the key after the change; `None` after a deletion.
    fn pair(&self) -> Option<Pair> {
        Some(Pair {
            id: self.id,
            value: self.value.clone()?,
        })
    }
}

/// Changes of a table, each key once, ascending by id.
#[derive(Clone, Debug)]
pub struct Changes {
    resolved: Vec<Resolved>,
    counts: ChangeCounts,
}

impl Changes {
    /// Resolves rows to changes of a table with this layout and these keys. The last row of a key
    /// wins.
    ///
    /// # Errors
    /// [`crate::Error::ValueTooLong`] for a value longer than [`crate::MAX_VALUE_BYTES`], and
    /// [`CoreError::EmptyDatabase`] if no key would remain.
    pub fn new(layout: &KeywordLayout, ids: &KeyIds, rows: Vec<KeyChange>) -> Result<Self> {
        let total = rows.len();
        let mut resolved = Vec::with_capacity(total);
        for row in rows {
            if let Some(value) = &row.value {
                check_value(value, row.line)?;
            }
            let id = layout.seeds.id(&row.key);
            resolved.push(Resolved {
                id,
                present: ids.contains(&id),
                value: row.value,
                line: row.line,
            });
        }

        // The sort is stable: the last row of a key is the last of its run. The removal keeps the
        // first of a run, so it goes backwards.
        resolved.sort_by_key(|change| change.id);
        resolved.reverse();
        resolved.dedup_by_key(|change| change.id);
        resolved.reverse();

        let counts = ChangeCounts {
            superseded: (total - resolved.len()) as u64,
            ..ChangeCounts::default()
        };
        Self::of_resolved(ids, resolved, counts)
    }

    /// The changes of a delta, to merge it into its base. `ids` are the keys of the base.
    ///
    /// # Errors
    /// [`CoreError::EmptyDatabase`] if no key would remain.
    pub fn of_delta(ids: &KeyIds, delta: DeltaChanges) -> Result<Self> {
        let mut resolved = Vec::with_capacity(delta.len());
        for (id, value) in delta.into_keys() {
            resolved.push(Resolved {
                id,
                present: ids.contains(&id),
                value,
                line: 0,
            });
        }
        Self::of_resolved(ids, resolved, ChangeCounts::default())
    }

    /// Counts effective changes, and refuses to delete the last key.
    fn of_resolved(
        ids: &KeyIds,
        resolved: Vec<Resolved>,
        mut counts: ChangeCounts,
    ) -> Result<Self> {
        for change in &resolved {
            counts.count(change);
        }
        // Only present keys count as deleted, so there are never more of them.
        if ids.len() as u64 + counts.inserted == counts.deleted {
            return Err(CoreError::EmptyDatabase.into());
        }
        Ok(Self { resolved, counts })
    }

    /// The counts of the changes by their effect.
    pub fn counts(&self) -> ChangeCounts {
        self.counts
    }

    pub(super) fn iter(&self) -> std::slice::Iter<'_, Resolved> {
        self.resolved.iter()
    }

    /// The ids of all keys after the changes.
    pub(super) fn ids(&self, before: &KeyIds) -> KeyIds {
        let before = before.as_slice().iter().copied();
        KeyIds::of_sorted(self.merged(before, |id| *id, Resolved::id))
    }

    /// The pairs of all keys after the changes.
    pub(super) fn pairs(&self, before: Vec<Pair>) -> Vec<Pair> {
        self.merged(before.into_iter(), |pair| pair.id, Resolved::pair)
    }

    /// Merges the changes into items that ascend by id. `id` returns the id of an item, and `new`
    /// the item of a changed key, or `None` for a deletion.
    fn merged<T>(
        &self,
        before: impl Iterator<Item = T>,
        id: impl Fn(&T) -> KeyId,
        new: impl Fn(&Resolved) -> Option<T>,
    ) -> Vec<T> {
        let mut after = Vec::with_capacity(before.size_hint().0 + self.counts.inserted as usize);
        let mut changes = self.resolved.iter().peekable();

        for item in before {
            // Changes between two items are of keys that the table does not have.
            while let Some(change) = changes.next_if(|change| change.id < id(&item)) {
                after.extend(new(change));
            }
            match changes.next_if(|change| change.id == id(&item)) {
                Some(change) => after.extend(new(change)),
                None => after.push(item),
            }
        }

        after.extend(changes.filter_map(new));
        after
    }
}

impl ChangeCounts {
    fn count(&mut self, change: &Resolved) {
        let counter = match (change.present, change.value.is_some()) {
            (false, true) => &mut self.inserted,
            (true, true) => &mut self.replaced,
            (true, false) => &mut self.deleted,
            (false, false) => &mut self.absent,
        };
        *counter += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ID_BYTES;

    fn id(byte: u8) -> KeyId {
        KeyId([byte; ID_BYTES])
    }

    #[test]
    fn merging_inserts_replaces_and_removes_in_order() {
        let change = |byte, value: Option<u8>| Resolved {
            id: id(byte),
            present: [2, 4, 6].contains(&byte),
            value: value.map(|value| vec![value]),
            line: 0,
        };
        let resolved = vec![
            change(1, Some(10)),
            change(2, None),
            change(4, Some(40)),
            change(5, None),
            change(9, Some(90)),
        ];
        let mut counts = ChangeCounts::default();
        resolved.iter().for_each(|change| counts.count(change));
        let changes = Changes { resolved, counts };

        let before = [2, 4, 6]
            .map(|byte| Pair {
                id: id(byte),
                value: vec![byte],
            })
            .to_vec();
        let after = changes.pairs(before);
        let expected = [(1, 10), (4, 40), (6, 6), (9, 90)];
        assert!(
            after
                .iter()
                .map(|pair| (pair.id, pair.value[0]))
                .eq(expected.map(|(k, v)| (id(k), v)))
        );

        let ids = changes.ids(&KeyIds::of_sorted([2, 4, 6].map(id).to_vec()));
        assert_eq!(ids.as_slice(), [1, 4, 6, 9].map(id));

        let expected = ChangeCounts {
            inserted: 2,
            replaced: 1,
            deleted: 1,
            absent: 1,
            superseded: 0,
        };
        assert_eq!(counts, expected);
    }
}
