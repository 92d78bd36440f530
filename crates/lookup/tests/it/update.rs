//! Updates of tables, compared with the same updates of a map.

use std::collections::BTreeMap;

use crate::common::{entry, find, rng};
use papir_core::{Error as CoreError, NoProgress};
use papir_lookup::update::{
    Changes, KeyChange, OwnedTable, Patched, RebuildReason, patch, rebuild,
};
use papir_lookup::{
    BucketTarget, Error, KeyIds, KeywordTable, MAX_VALUE_BYTES, TableOptions, build,
};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;

/// The outcome of an update.
#[derive(Debug, PartialEq, Eq)]
enum Way {
    /// The numbers of changed records and of pilots placed again.
    Patched(usize, u64),
    Rebuilt(RebuildReason),
}

fn table_of(map: &Map, options: &TableOptions) -> KeywordTable {
    let entries = (1..)
        .zip(map)
        .map(|(line, (key, value))| entry(line, key, value))
        .collect();
    build(entries, options, &mut rng(1), &NoProgress).unwrap()
}

fn owned(table: &KeywordTable) -> OwnedTable<'_> {
    OwnedTable {
        layout: &table.layout,
        ids: &table.ids,
        records: &table.records,
    }
}

fn row(line: u64, key: &[u8], value: Option<&[u8]>) -> KeyChange {
    KeyChange {
        key: key.to_vec(),
        value: value.map(<[u8]>::to_vec),
        line,
    }
}

/// Updates the table, by a patch if possible.
fn updated(
    table: &KeywordTable,
    rows: Vec<KeyChange>,
    options: &TableOptions,
) -> (KeywordTable, Way) {
    let changes = Changes::new(&table.layout, &table.ids, rows).unwrap();
    match patch(owned(table), &changes, &NoProgress).unwrap() {
        Patched::Patch(patch) => {
            let mut records = table.records.clone();
            for change in &patch.changes {
                assert_ne!(
                    records.get(change.index).unwrap(),
                    change.record,
                    "nothing changes"
                );
                records.set(change.index, &change.record).unwrap();
            }
            let way = Way::Patched(patch.changes.len(), patch.moved);
            let report = patch.report(table.report.tagged_bytes, table.report.entries);
            (
                KeywordTable {
                    layout: patch.layout,
                    records,
                    ids: patch.ids,
                    report,
                },
                way,
            )
        }
        Patched::Rebuild(reason) => {
            let next = rebuild(owned(table), &changes, options, &mut rng(2), &NoProgress).unwrap();
            (next, Way::Rebuilt(reason))
        }
    }
}

fn apply(map: &mut Map, rows: &[KeyChange]) {
    for KeyChange { key, value, .. } in rows {
        match value {
            Some(value) => map.insert(key.clone(), value.clone()),
            None => map.remove(key),
        };
    }
}

/// Checks that every key of the map has its value, that the other keys have none, and that the
/// report agrees.
fn check<'a>(table: &KeywordTable, map: &'a Map, others: impl IntoIterator<Item = &'a Vec<u8>>) {
    for key in map.keys().chain(others) {
        assert_eq!(find(table, key).as_ref(), map.get(key), "{key:?}");
    }
    let encoded = table.layout.encode();
    assert_eq!(
        papir_lookup::KeywordLayout::decode(&encoded).unwrap(),
        table.layout
    );
    assert_eq!(
        KeyIds::decode(&table.ids.encode()).unwrap().len(),
        map.len()
    );
    let values: usize = map.values().map(Vec::len).sum();
    assert_eq!(table.report.value_bytes, values as u64);
}

/// Returns rows over few keys, so that several have the same key. A third of them are deletions.
fn rows(lengths: std::ops::Range<usize>) -> impl Strategy<Value = Vec<KeyChange>> {
    let value = prop_oneof![1 => Just(None), 2 => vec(any::<u8>(), lengths).prop_map(Some)];
    let row = (0u16..400, value);
    vec(row, 1..60).prop_map(|rows| {
        let row = |(line, (key, value)): (u64, (u16, _))| KeyChange {
            key: key_of(key),
            value,
            line,
        };
        (1..).zip(rows).map(row).collect()
    })
}

fn key_of(number: u16) -> Vec<u8> {
    format!("key {number}").into_bytes()
}

fn follow(map: Map, steps: Vec<Vec<KeyChange>>, options: &TableOptions) {
    let mut map = map;
    let others = (0..400).map(key_of).collect::<Vec<_>>();
    let mut table = table_of(&map, options);
    for rows in steps {
        let mut next = map.clone();
        apply(&mut next, &rows);
        if next.is_empty() {
            let refused = Changes::new(&table.layout, &table.ids, rows);
            assert!(matches!(
                refused,
                Err(Error::Core(CoreError::EmptyDatabase))
            ));
            continue;
        }
        (table, _) = updated(&table, rows, options);
        map = next;
        check(&table, &map, &others);
    }
}

fn map_of(keys: &[u16], value: impl Fn(u16) -> Vec<u8>) -> Map {
    keys.iter().map(|&key| (key_of(key), value(key))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn tables_of_few_slots_per_bucket_follow_a_map(
        keys in vec(0u16..400, 1..200),
        steps in vec(rows(0..300), 1..6),
        most in prop::option::of(64u32..700),
        room in 0u32..20,
    ) {
        let bucket = most.map_or(BucketTarget::default(), BucketTarget::AtMost);
        let options = TableOptions { bucket, room, ..TableOptions::default() };
        follow(map_of(&keys, |key| vec![key as u8; key as usize % 290]), steps, &options);
    }

    #[test]
    fn tables_of_short_tags_follow_a_map(
        keys in vec(0u16..400, 1..400),
        steps in vec(rows(0..4), 1..6),
        bytes in 8u32..20,
    ) {
        let options = TableOptions { bucket: BucketTarget::Grow(bytes), ..TableOptions::default() };
        follow(map_of(&keys, |key| vec![key as u8; key as usize % 4]), steps, &options);
    }

    #[test]
    fn tables_of_many_slots_per_bucket_follow_a_map(
        keys in vec(0u16..400, 1..400),
        steps in vec(rows(3..4), 1..6),
        bytes in 600u32..2000,
    ) {
        let options = TableOptions { bucket: BucketTarget::Grow(bytes), ..TableOptions::default() };
        follow(map_of(&keys, |key| [0, key as u8, 9].to_vec()), steps, &options);
    }
}

/// Tables that are large enough for several regions and pilots, of both kinds of grid: (bucket,
/// value bytes, room).
const KINDS: [(u32, usize, u32); 2] = [(4096, 24, 2), (512, 120, 10)];

fn large(count: u64, bytes: usize) -> Map {
    (0..count)
        .map(|i| (i.to_le_bytes().to_vec(), vec![i as u8; bytes]))
        .collect()
}

#[test]
fn dense_tables_take_new_keys_by_moving_a_few_others() {
    for (bucket, bytes, room) in KINDS {
        let options = TableOptions {
            bucket: BucketTarget::Grow(bucket),
            room,
            ..TableOptions::default()
        };
        let mut map = large(20_000, bytes);
        let mut table = table_of(&map, &options);
        let mut moved = 0;
        for step in 0..10u64 {
            let fresh = |i: u64| (100_000 + 40 * step + i).to_le_bytes();
            let rows: Vec<_> = (0..40)
                .map(|i| row(i, &fresh(i), Some(&vec![1; bytes])))
                .collect();
            apply(&mut map, &rows);
            let (next, way) = updated(&table, rows, &options);
            let Way::Patched(records, pilots) = way else {
                panic!("{bucket}: {way:?} in step {step}")
            };
            // A pilot placed again changes its region of 16 buckets, or the buckets of its few
            // keys.
            assert!(
                records <= 40 + 40 * pilots as usize,
                "{records} records, {pilots} pilots"
            );
            assert_eq!(next.layout.records(), table.layout.records());
            (table, moved) = (next, moved + pilots);
        }
        assert!(
            moved > 0,
            "{bucket}: no bucket was full, so nothing was tested"
        );
        check(&table, &map, &[vec![7; 9]]);
    }
}

/// Buckets of two entries whose tags have 32 bits. The room is enough for keys to be moved: with
/// half of it, groups of a full region would evict each other without an end.
#[test]
fn dense_tables_of_short_tags_take_new_keys_by_moving_others() {
    let options = TableOptions {
        bucket: BucketTarget::Grow(16),
        room: 20,
        ..TableOptions::default()
    };
    // The longest value leaves room for a short tag only, and the others share buckets.
    let mut map = large(3000, 1);
    map.insert(b"long".to_vec(), vec![9; 11]);
    let mut table = table_of(&map, &options);
    let mut moved = 0;
    for step in 0..5u64 {
        let first = 100_000 + 10 * step;
        let rows: Vec<_> = (first..first + 10)
            .map(|i| row(i, &i.to_le_bytes(), Some(&[1])))
            .collect();
        apply(&mut map, &rows);
        let (next, way) = updated(&table, rows, &options);
        let Way::Patched(_, pilots) = way else {
            panic!("{way:?} in step {step}")
        };
        (table, moved) = (next, moved + pilots);
    }
    assert!(moved > 0, "no bucket was full, so nothing was tested");
    check(&table, &map, &[vec![7; 9]]);
}

#[test]
fn full_tables_are_rebuilt_with_room() {
    for (bucket, bytes, _) in KINDS {
        let options = TableOptions {
            bucket: BucketTarget::Grow(bucket),
            ..TableOptions::default()
        };
        let mut map = large(5000, bytes);
        let table = table_of(&map, &options);
        let rows: Vec<_> = (0..3000u64)
            .map(|i| row(i, &(1_000_000 + i).to_le_bytes(), Some(&vec![2; bytes])))
            .collect();
        apply(&mut map, &rows);
        let roomy = TableOptions {
            room: 10,
            ..options
        };
        let (next, way) = updated(&table, rows, &roomy);
        assert!(
            matches!(way, Way::Rebuilt(RebuildReason::Full { line: 0..3000 })),
            "{way:?}"
        );
        check(&next, &map, &[vec![7; 9]]);
        let tight = table_of(&map, &options).report.table_bytes as f64;
        let wider = next.report.table_bytes as f64 / tight;
        assert!(
            (1.05..1.25).contains(&wider),
            "{wider} for 10 per cent of room"
        );
        assert_eq!(next.report.key_bytes, None);
    }
}

#[test]
fn the_last_row_of_a_key_wins_and_equal_values_change_nothing() {
    let map = large(1000, 10);
    let options = TableOptions::default();
    let table = table_of(&map, &options);
    let key = |i: u64| i.to_le_bytes();
    let rows = vec![
        row(1, &key(1), Some(&[7; 10])),
        row(2, &key(1), None),
        row(3, &key(2), None),
        row(4, &key(1), Some(&[1; 10])),
        row(5, &key(2), Some(&[2; 10])),
        row(6, &key(5000), None),
        row(7, &key(6000), Some(&[1; 10])),
        row(8, &key(6000), None),
    ];
    let changes = Changes::new(&table.layout, &table.ids, rows.clone()).unwrap();
    let counts = changes.counts();
    assert_eq!(
        (counts.inserted, counts.replaced, counts.deleted),
        (0, 2, 0)
    );
    assert_eq!((counts.absent, counts.superseded), (2, 4));
    let (next, way) = updated(&table, rows, &options);
    assert_eq!(way, Way::Patched(0, 0));
    assert_eq!((next.layout, next.ids), (table.layout, table.ids));
}

#[test]
fn values_of_other_lengths_fit_or_force_a_rebuild() {
    let options = TableOptions::default();
    let map = large(300, 10);
    let same = table_of(&map, &options);
    let key = 7u64.to_le_bytes();
    let rows = vec![row(4, &key, Some(&[1; 11]))];
    let (next, way) = updated(&same, rows.clone(), &options);
    assert_eq!(
        way,
        Way::Rebuilt(RebuildReason::Length { line: 4, found: 11 })
    );
    assert_eq!(find(&next, &key), Some(vec![1; 11]));

    // With a length field, a longer value fits if the field and the bucket can hold it.
    assert_eq!(next.report.longest_value, 11);
    let (longer, way) = updated(&next, vec![row(5, &key, Some(&[2; 255]))], &options);
    assert!(matches!(way, Way::Patched(1, 0)), "{way:?}");
    assert_eq!(
        (find(&longer, &key), longer.layout.longest_value()),
        (Some(vec![2; 255]), 255)
    );
    let (_, way) = updated(&longer, vec![row(6, &key, Some(&[2; 256]))], &options);
    assert_eq!(
        way,
        Way::Rebuilt(RebuildReason::Length {
            line: 6,
            found: 256
        })
    );

    // Chunked values may grow up to the table's number of chunks.
    let cut = TableOptions {
        bucket: BucketTarget::AtMost(100),
        room: 50,
        ..options
    };
    let mut map = large(300, 10);
    map.insert(b"long".to_vec(), vec![3; 1000]);
    let cut_table = table_of(&map, &cut);
    let lookups = cut_table.report.lookups;
    for (length, fits) in [(1, true), (1000, true), (1004, true), (1100, false)] {
        let (next, way) = updated(
            &cut_table,
            vec![row(1, b"long", Some(&vec![4; length]))],
            &cut,
        );
        assert_eq!(matches!(way, Way::Patched(..)), fits, "{length}: {way:?}");
        assert_eq!(find(&next, b"long"), Some(vec![4; length]));
        assert!(!fits || next.report.lookups == lookups);
    }
}

#[test]
fn values_above_64_kib_are_updated() {
    let options = TableOptions::default();
    let mut map = Map::from([
        (b"a".to_vec(), vec![1; 65_535]),
        (b"b".to_vec(), vec![2; 65_536]),
    ]);
    let table = table_of(&map, &options);

    // No bucket holds a longer value, so that all keys are arranged again.
    let rows = vec![row(3, b"b", Some(&vec![3; MAX_VALUE_BYTES]))];
    apply(&mut map, &rows);
    let (longer, way) = updated(&table, rows, &options);
    let reason = RebuildReason::Length {
        line: 3,
        found: 262_144,
    };
    assert_eq!(way, Way::Rebuilt(reason));
    check(&longer, &map, []);

    // The bucket of the other value holds the longest one, too.
    let rows = vec![row(4, b"a", Some(&vec![4; 65_537]))];
    apply(&mut map, &rows);
    let (next, way) = updated(&longer, rows, &options);
    assert_eq!(way, Way::Patched(1, 0));
    check(&next, &map, []);
}

#[test]
fn keys_with_long_values_move_in_place() {
    // A region with more bytes than an update keeps in memory.
    let options = TableOptions {
        room: 60,
        ..TableOptions::default()
    };
    let value = |number: u16| vec![number as u8; MAX_VALUE_BYTES];
    let mut map: Map = (0..130)
        .map(|number| (key_of(number), value(number)))
        .collect();
    let table = table_of(&map, &options);
    let bytes = table.report.records * table.report.record_bytes;
    assert!(bytes > 1 << 25, "{bytes}");

    let rows: Vec<KeyChange> = (130..145)
        .map(|number| row(number.into(), &key_of(number), Some(&value(number))))
        .collect();
    apply(&mut map, &rows);
    let (next, way) = updated(&table, rows, &options);
    assert!(matches!(way, Way::Patched(15.., 1..)), "{way:?}");
    check(&next, &map, []);
}

#[test]
fn invalid_changes_are_errors_with_their_line() {
    let table = table_of(&large(3, 4), &TableOptions::default());
    let changes = |rows| Changes::new(&table.layout, &table.ids, rows);
    let long = vec![0; MAX_VALUE_BYTES + 1];
    let error = changes(vec![row(9, b"key", Some(&long))]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 9: the value has 262145 bytes: expected at most 262144"
    );
    let all = (0..3u64).map(|i| row(i, &i.to_le_bytes(), None)).collect();
    assert!(matches!(
        changes(all),
        Err(Error::Core(CoreError::EmptyDatabase))
    ));
}

#[test]
fn ids_of_another_table_are_refused() {
    let options = TableOptions::default();
    let table = table_of(&large(300, 9), &options);
    let other = table_of(&large(301, 9), &options);
    let mixed = OwnedTable {
        ids: &other.ids,
        ..owned(&table)
    };
    let rows = vec![row(1, &300u64.to_le_bytes(), None)];
    let changes = Changes::new(&table.layout, &other.ids, rows).unwrap();
    let error = patch(mixed, &changes, &NoProgress).unwrap_err();
    assert_eq!(error.code(), "malformed");
    let rows = vec![row(1, b"new", Some(&[1; 9]))];
    let changes = Changes::new(&table.layout, &other.ids, rows).unwrap();
    assert_eq!(
        rebuild(mixed, &changes, &options, &mut rng(3), &NoProgress)
            .unwrap_err()
            .code(),
        "malformed"
    );
}

#[test]
fn too_much_room_is_refused() {
    let options = TableOptions {
        room: 101,
        ..TableOptions::default()
    };
    let error = build(
        vec![entry(1, b"a", b"b")],
        &options,
        &mut rng(1),
        &NoProgress,
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "the room of a table is 101: expected at most 100 per cent"
    );
}
