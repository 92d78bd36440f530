//! Updates of a keyed database.

use papir_core::{NoProgress, PreparedRecords};
use papir_lookup::update::{Changes, KeyChange, OwnedTable, Patch, Patched, patch, rebuild};
use papir_lookup::{Error, KeywordTable, Result};

use crate::Database;
use crate::database::Keys;

impl Database {
    /// Creates a new version of the database in which each key is set to its value, or deleted if
    /// the value is `None`. If a key occurs several times, its last change counts. Clients need the
    /// new [`bundle`](Database::bundle). The old version can still answer its queries.
    ///
    /// If the changes fit into free room, only a few records change. Otherwise all keys are
    /// arranged again, and all records are prepared again. The option `room` of
    /// [`Options`](crate::Options) makes this rare.
    ///
    /// # Errors
    /// [`Error::NotKeyed`] for records that are looked up by index; the errors of [`Changes::new`],
    /// in which the line is the number of the change, from 1; and the errors of [`patch()`],
    /// [`rebuild()`] and the scheme.
    pub fn update<K: Into<Vec<u8>>, V: Into<Vec<u8>>>(
        &self,
        changes: impl IntoIterator<Item = (K, Option<V>)>,
    ) -> Result<Self> {
        let keys = self.keys.as_ref().ok_or(Error::NotKeyed)?;
        let mut rows = Vec::new();
        for (line, (key, value)) in (1..).zip(changes) {
            rows.push(KeyChange {
                key: key.into(),
                value: value.map(Into::into),
                line,
            });
        }

        let changes = Changes::new(&keys.layout, &keys.ids, rows)?;
        let records = PreparedRecords::new(self.server());
        let table = OwnedTable {
            layout: &keys.layout,
            ids: &keys.ids,
            records: &records,
        };
        match patch(table, &changes, &NoProgress)? {
            Patched::Patch(patch) => self.patched(patch),
            Patched::Rebuild(_) => self.rebuilt(table, &changes),
        }
    }

    fn patched(
        &self,
        Patch {
            changes,
            layout,
            ids,
            ..
        }: Patch,
    ) -> Result<Self> {
        let server = self
            .server
            .update(&changes, &mut papir_client::system_rng(), &NoProgress)?;
        Ok(Self {
            server,
            keys: Some(Keys { layout, ids }),
            options: self.options.clone(),
        })
    }

    fn rebuilt(&self, table: OwnedTable<'_>, changes: &Changes) -> Result<Self> {
        let options = self.options.rebuilt_table();
        let rng = &mut papir_client::system_rng();
        let KeywordTable {
            layout,
            records,
            ids,
            ..
        } = rebuild(table, changes, &options, rng, &NoProgress)?;
        Self::prepare(&records, Some(Keys { layout, ids }), &self.options)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::RecordBuffer;

    use super::*;
    use crate::{Options, system_rng};

    fn get(database: &Database, key: &str) -> Option<Vec<u8>> {
        let lookup = database
            .client()
            .unwrap()
            .prepare_key(key.as_bytes(), &mut system_rng())
            .unwrap();
        let answers = database.answer(lookup.queries()).unwrap();
        lookup.finish(&answers).unwrap()
    }

    fn pairs(count: u32) -> impl Iterator<Item = (String, [u8; 4])> {
        (0..count).map(|i| (format!("key {i}"), i.to_le_bytes()))
    }

    #[test]
    fn keys_are_set_and_deleted() {
        let options = Options {
            room: 20,
            ..Options::default()
        };
        let before = Database::build(pairs(500), &options).unwrap();
        let changes = [
            ("key 3", Some([9; 4])),
            ("new", Some([7; 4])),
            ("key 4", None),
        ];
        let after = before.update(changes).unwrap();
        assert_ne!(before.version(), after.version());
        let expected = [
            ("key 3", Some(vec![9; 4])),
            ("new", Some(vec![7; 4])),
            ("key 4", None),
        ];
        for (key, value) in expected {
            assert_eq!(get(&after, key), value, "{key}");
        }
        assert_eq!(get(&after, "key 5"), Some(vec![5, 0, 0, 0]));
        assert_eq!(
            get(&before, "key 4"),
            Some(vec![4, 0, 0, 0]),
            "the old version still answers"
        );
    }

    #[test]
    fn keys_without_room_cause_a_rebuild() {
        let before = Database::build(pairs(40), &Options::default()).unwrap();
        let after = before
            .update(pairs(400).skip(40).map(|(key, value)| (key, Some(value))))
            .unwrap();
        assert!(before.describe().shape.total_bytes() < after.describe().shape.total_bytes());
        for i in [0u32, 39, 40, 399] {
            assert_eq!(
                get(&after, &format!("key {i}")),
                Some(i.to_le_bytes().to_vec())
            );
        }
    }

    #[test]
    fn databases_without_keys_refuse_key_updates() {
        let records = RecordBuffer::from_records((0u32..9).map(u32::to_le_bytes)).unwrap();
        let database = Database::build_records(&records, &Options::default()).unwrap();
        assert!(matches!(
            database.update([("a", Some("b"))]),
            Err(Error::NotKeyed)
        ));
    }
}
