//! Lookups in a base with a delta, compared with a map.

use std::collections::BTreeMap;

use papir_core::erased::{ErasedServer, ErasedSession};
use papir_core::{Error as CoreError, Goal, NoProgress, RecordBuffer, Version};
use papir_lookup::delta::{DeltaChanges, DeltaPart, MAX_DELTA_VALUE_BYTES, table};
use papir_lookup::update::{Changes, OwnedTable, rebuild};
use papir_lookup::{Bundle, Error, KeywordTable, Lookup, Result, TableOptions, Wanted, build};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use crate::common::{entry, find, lookup, plain, rng, serve};

type Map = BTreeMap<Vec<u8>, Vec<u8>>;
/// A changed key, and its value unless it is deleted.
type Row = (Vec<u8>, Option<Vec<u8>>);

/// A base with a delta.
struct Pair {
    base: Box<dyn ErasedServer>,
    delta: Box<dyn ErasedServer>,
    lookup: Lookup,
}

/// A request: the results of its lookups, and the lengths of its queries and answers.
type Request = (Result<Vec<Option<Vec<u8>>>>, Vec<[usize; 2]>);

impl Pair {
    /// `records` is the number of records of a base without keys, with those that the delta appends.
    fn new(
        base: Box<dyn ErasedServer>,
        below: &Lookup,
        changes: &DeltaChanges,
        records: Option<u64>,
    ) -> Self {
        let KeywordTable {
            layout,
            records: buckets,
            ..
        } = table(changes, below.keyword(), &mut rng(3), &NoProgress).unwrap();
        let delta = plain()
            .setup(&buckets, Goal::default(), &mut rng(4), &NoProgress)
            .unwrap();
        let bundle = Bundle {
            scheme_public: delta.public(),
            keyword: Some(layout),
            commitment_top: None,
            prefilter: None,
        };
        let part = DeltaPart {
            base: base.version(),
            records,
            content: None,
            bundle,
            prefilter: None,
        };
        assert_eq!(DeltaPart::decode(&part.encode()).unwrap(), part);
        let client = plain().client(&part.bundle.scheme_public).unwrap();
        let lookup = below.with_delta(client, &part).unwrap();
        assert_eq!(
            (lookup.version(), lookup.base_version()),
            (delta.version(), base.version())
        );
        Self {
            base,
            delta,
            lookup,
        }
    }

    fn get(&self, wanted: &[Wanted<'_>]) -> Request {
        let pending = self
            .lookup
            .prepare_batch(None, wanted, &mut rng(5))
            .unwrap();
        let lengths = pending.answers();
        assert_eq!(
            lengths.iter().map(|one| one.count).sum::<usize>(),
            pending.queries().len()
        );
        let (of_base, of_delta) = pending.queries().split_at(lengths[0].count);
        let ask = |server: &dyn ErasedServer, queries: &[Vec<u8>]| -> Vec<Vec<u8>> {
            queries
                .iter()
                .map(|query| server.answer(ErasedSession::default(), query).unwrap())
                .collect()
        };
        let answers = [
            ask(self.base.as_ref(), of_base),
            ask(self.delta.as_ref(), of_delta),
        ]
        .concat();
        let lengths = pending
            .queries()
            .iter()
            .zip(&answers)
            .map(|(query, answer)| [query.len(), answer.len()]);
        let lengths = lengths.collect();
        (pending.finish_all(&answers), lengths)
    }
}

fn table_of(map: &Map) -> KeywordTable {
    let entries = (1..)
        .zip(map)
        .map(|(line, (key, value))| entry(line, key, value))
        .collect();
    build(entries, &TableOptions::default(), &mut rng(1), &NoProgress).unwrap()
}

fn changes_of(base: &KeywordTable, rows: &[Row]) -> DeltaChanges {
    let mut changes = DeltaChanges::default();
    for (key, value) in rows {
        changes
            .change_key(&base.layout, key, value.clone(), 1)
            .unwrap();
    }
    DeltaChanges::decode(&changes.encode()).unwrap()
}

fn apply(map: &mut Map, rows: &[Row]) {
    for (key, value) in rows {
        match value {
            Some(value) => map.insert(key.clone(), value.clone()),
            None => map.remove(key),
        };
    }
}

/// Returns rows over few keys, so that several have the same key. A third of them are deletions.
fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    let value = prop_oneof![1 => Just(None), 2 => vec(any::<u8>(), 0..40).prop_map(Some)];
    vec((0u8..60, value), 1..most).prop_map(|rows| {
        rows.into_iter()
            .map(|(key, value)| (vec![key], value))
            .collect()
    })
}

fn map_of(keys: std::ops::Range<u8>) -> Map {
    keys.map(|key| (vec![key], vec![key; usize::from(key % 7)]))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Deltas one after another, with merges in between: every lookup returns what the map has, and all
    /// requests of as many lookups have the same lengths.
    #[test]
    fn a_base_with_a_delta_is_the_map(steps in vec((rows(40), any::<bool>()), 1..5)) {
        let mut map = map_of(0..30);
        let mut base = table_of(&map);
        let mut so_far = Vec::new();
        for (rows, merge) in steps {
            apply(&mut map, &rows);
            so_far.extend(rows);
            let changes = changes_of(&base, &so_far);
            let (server, below) = serve(&base);
            let pair = Pair::new(server, &below, &changes, None);
            let mut shapes = Vec::new();
            for key in 0..=60u8 {
                let (found, lengths) = pair.get(&[Wanted::Key(&[key])]);
                assert_eq!(found.unwrap(), [map.get(&vec![key]).cloned()], "{key}");
                shapes.push(lengths);
            }
            assert!(shapes.iter().all(|lengths| *lengths == shapes[0]));
            if merge && !map.is_empty() {
                base = merged(&base, changes);
                so_far.clear();
                map.iter().for_each(|(key, value)| assert_eq!(find(&base, key).as_ref(), Some(value)));
                assert_eq!(base.report.entries, map.len() as u64);
            }
        }
    }
}

/// Returns the base after a merge of the changes.
fn merged(base: &KeywordTable, changes: DeltaChanges) -> KeywordTable {
    let owned = OwnedTable {
        layout: &base.layout,
        ids: &base.ids,
        records: &base.records,
    };
    let changes = Changes::of_delta(&base.ids, changes).unwrap();
    rebuild(
        owned,
        &changes,
        &TableOptions::default(),
        &mut rng(6),
        &NoProgress,
    )
    .unwrap()
}

#[test]
fn records_by_index_are_replaced_and_appended() {
    let records = RecordBuffer::from_records((0..9u8).map(|i| vec![i; 3])).unwrap();
    let server = plain()
        .setup(&records, Goal::default(), &mut rng(2), &NoProgress)
        .unwrap();
    let below = lookup(server.as_ref(), None).unwrap();
    let mut changes = DeltaChanges::default();
    for (index, byte) in [(0, 90), (4, 94), (9, 99), (10, 100)] {
        changes.change_record(index, vec![byte; 3], 1).unwrap();
    }
    let pair = Pair::new(server, &below, &changes, Some(12));
    let mut shapes = Vec::new();
    for (index, expected) in [(0, 90), (1, 1), (4, 94), (8, 8), (9, 99), (10, 100)] {
        let (found, lengths) = pair.get(&[Wanted::Index(index)]);
        assert_eq!(found.unwrap(), [Some(vec![expected; 3])], "{index}");
        shapes.push(lengths);
    }
    // The delta states a record more than it has.
    for (index, code) in [
        (11, "malformed"),
        (12, "index_out_of_range"),
        (u64::MAX, "index_out_of_range"),
    ] {
        let (found, lengths) = pair.get(&[Wanted::Index(index)]);
        assert_eq!(found.unwrap_err().code(), code, "{index}");
        shapes.push(lengths);
    }
    assert!(
        shapes.iter().all(|lengths| *lengths == shapes[0]),
        "{shapes:?}"
    );
    let beyond = pair.lookup.prepare_index(10, &mut rng(5)).unwrap();
    let first = pair.lookup.prepare_index(0, &mut rng(5)).unwrap();
    assert_eq!(
        beyond.queries()[0],
        first.queries()[0],
        "the base is asked for record 0"
    );
}

#[test]
fn several_lookups_are_one_request() {
    let base = table_of(&map_of(0..30));
    let (server, below) = serve(&base);
    let changes = changes_of(
        &base,
        &[
            (vec![1], None),
            (vec![2], Some(vec![7])),
            (vec![40], Some(vec![])),
        ],
    );
    let pair = Pair::new(server, &below, &changes, None);
    let keys: [&[u8]; 5] = [&[1], &[2], &[40], &[50], &[3]];
    let (found, lengths) = pair.get(&keys.map(Wanted::Key));
    assert_eq!(
        found.unwrap(),
        [None, Some(vec![7]), Some(vec![]), None, Some(vec![3; 3])]
    );
    assert_eq!(lengths.len(), 4, "four lookups a query in this scheme");
}

#[test]
fn deltas_of_other_databases_are_refused() {
    let base = table_of(&map_of(0..30));
    let (server, below) = serve(&base);
    let changes = changes_of(&base, &[(vec![1], None)]);
    let pair = Pair::new(server, &below, &changes, None);
    let layout = table(&changes, Some(&base.layout), &mut rng(3), &NoProgress)
        .unwrap()
        .layout;
    let bundle = Bundle {
        scheme_public: pair.delta.public(),
        keyword: Some(layout),
        commitment_top: None,
        prefilter: None,
    };
    let part = DeltaPart {
        base: pair.base.version(),
        records: None,
        content: None,
        bundle,
        prefilter: None,
    };
    let with = |part: &DeltaPart| {
        below
            .with_delta(plain().client(&part.bundle.scheme_public).unwrap(), part)
            .map(drop)
            .unwrap_err()
            .code()
    };
    assert_eq!(
        with(&DeltaPart {
            base: Version([9; 8]),
            ..part.clone()
        }),
        "wrong_version"
    );
    assert_eq!(
        with(&DeltaPart {
            records: Some(40),
            ..part.clone()
        }),
        "malformed",
        "by index"
    );
    let proven = Bundle {
        commitment_top: Some([1; 32]),
        ..part.bundle.clone()
    };
    assert_eq!(
        with(&DeltaPart {
            bundle: proven,
            ..part.clone()
        }),
        "malformed",
        "proofs in the delta alone"
    );
    let stated = DeltaPart {
        content: Some([3; 32]),
        ..part.clone()
    };
    assert_eq!(DeltaPart::decode(&stated.encode()).unwrap(), stated);
    // Without the delta, the same client asks the base alone.
    assert_eq!(pair.lookup.without_delta().version(), pair.base.version());
    let bytes = part.encode();
    for at in 0..bytes.len() {
        let mut wrong = bytes.clone();
        wrong[at] ^= 1;
        assert!(DeltaPart::decode(&wrong).is_err(), "{at}");
        assert!(DeltaPart::decode(&bytes[..at]).is_err(), "{at}");
    }
}

#[test]
fn values_that_do_not_fit_are_refused() {
    let base = table_of(&map_of(0..3));
    let mut changes = DeltaChanges::default();
    let error = changes
        .change_key(
            &base.layout,
            b"k",
            Some(vec![0; MAX_DELTA_VALUE_BYTES + 1]),
            7,
        )
        .unwrap_err();
    assert!(
        matches!(error, Error::ValueTooLong { line: 7, .. }),
        "{error}"
    );
    changes
        .change_key(&base.layout, b"k", Some(vec![5; MAX_DELTA_VALUE_BYTES]), 7)
        .unwrap();
    let (server, below) = serve(&base);
    let pair = Pair::new(server, &below, &changes, None);
    assert_eq!(
        pair.get(&[Wanted::Key(b"k")]).0.unwrap(),
        [Some(vec![5; MAX_DELTA_VALUE_BYTES])]
    );
    let none = table(&DeltaChanges::default(), None, &mut rng(3), &NoProgress)
        .map(drop)
        .unwrap_err();
    assert!(matches!(none, Error::Core(CoreError::EmptyDatabase)));
}
