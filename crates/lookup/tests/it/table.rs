//! Keyword tables: round trips and refusals.

use std::collections::BTreeMap;

use crate::common::{entry, find, rng, table_with};
use papir_core::Error as CoreError;
use papir_core::NoProgress;
use papir_lookup::{
    BucketTarget, Entry, Error, KeywordLayout, LAYOUT_HEADER_BYTES, MAX_VALUE_BYTES, OnDuplicate,
    PILOT_BYTES, TableOptions, build,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::{ProptestConfig, any, prop, proptest};

fn from_map(map: &BTreeMap<Vec<u8>, Vec<u8>>) -> Vec<Entry> {
    (1..)
        .zip(map)
        .map(|(line, (key, value))| entry(line, key, value))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn present_keys_give_their_values_and_absent_keys_none(
        map in btree_map(vec(any::<u8>(), 0..6), vec(any::<u8>(), 0..300), 1..200),
        others in vec(vec(any::<u8>(), 0..6), 20),
        most in prop::option::of(64u32..400),
    ) {
        let bucket = most.map_or(BucketTarget::default(), BucketTarget::AtMost);
        let table = table_with(from_map(&map), bucket, OnDuplicate::Refuse).unwrap();
        assert!(most.is_none_or(|most| table.report.record_bytes <= most.into()));
        let decoded = KeywordLayout::decode(&table.layout.encode()).unwrap();
        assert_eq!(decoded, table.layout);
        for key in map.keys().chain(&others) {
            assert_eq!(find(&table, key).as_ref(), map.get(key), "{key:?}");
        }
    }
}

#[test]
fn values_at_the_limits() {
    let long = vec![7; MAX_VALUE_BYTES];
    let entries = vec![
        entry(1, b"", b""),
        entry(2, b"long", &long),
        entry(3, b"0", &[0; 9]),
    ];
    for (bucket, lookups) in [
        (BucketTarget::default(), 1),
        (BucketTarget::AtMost(4096), 65),
        (BucketTarget::AtMost(64), 4947),
    ] {
        let table = table_with(entries.clone(), bucket, OnDuplicate::Refuse).unwrap();
        assert_eq!(table.report.lookups, lookups);
        assert_eq!(find(&table, b""), Some(vec![]));
        assert_eq!(find(&table, b"long"), Some(long.clone()));
        assert_eq!(find(&table, b"0"), Some(vec![0; 9]));
        assert_eq!(find(&table, b"1"), None);
    }
    let too_long = vec![entry(9, b"key", &[0; MAX_VALUE_BYTES + 1])];
    let error = table_with(too_long, BucketTarget::default(), OnDuplicate::Refuse).unwrap_err();
    assert_eq!(
        error.to_string(),
        "line 9: the value has 262145 bytes: expected at most 262144"
    );
}

#[test]
fn layouts_of_values_above_64_kib_have_a_format_of_their_own() {
    for (length, format) in [(65_535, 3), (65_536, 3), (65_537, 4), (262_144, 4)] {
        // Values of one length, which buckets do not state, and of two.
        for other in [length, 1] {
            let entries = vec![
                entry(1, b"long", &vec![9; length]),
                entry(2, b"other", &vec![8; other]),
            ];
            let table = table_with(entries, BucketTarget::default(), OnDuplicate::Refuse).unwrap();
            assert_eq!(find(&table, b"long"), Some(vec![9; length]));
            assert_eq!(find(&table, b"other"), Some(vec![8; other]));
            assert_eq!(find(&table, b"none"), None);

            let mut encoded = table.layout.encode();
            assert_eq!(encoded[..2], [format, 0], "{length}");
            assert_eq!(KeywordLayout::decode(&encoded).unwrap(), table.layout);

            // A layout has one encoding: the other format does not have its values.
            encoded[0] = 7 - format;
            let error = KeywordLayout::decode(&encoded).unwrap_err().to_string();
            let longest = format!("the longest value of a keyword layout is {length}");
            assert!(error.contains(&longest), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn short_tags_find_the_same_keys(
        map in btree_map(vec(any::<u8>(), 0..6), vec(any::<u8>(), 0..4), 1..400),
        others in vec(vec(any::<u8>(), 0..6), 20),
        bytes in 8u32..20,
    ) {
        let table = table_with(from_map(&map), BucketTarget::Grow(bytes), OnDuplicate::Refuse).unwrap();
        assert!(table.report.record_bytes <= bytes.into());
        assert!(table.report.false_positive_log2 <= -29.0, "{:?}", table.report);
        assert_eq!(KeywordLayout::decode(&table.layout.encode()).unwrap(), table.layout);
        for key in map.keys().chain(&others) {
            assert_eq!(find(&table, key).as_ref(), map.get(key), "{key:?}");
        }
    }
}

/// Values of four bytes fit into records of eight bytes, as the schemes of short records take.
#[test]
fn values_share_a_short_record_with_a_fingerprint() {
    let entries = (0..5000u32)
        .map(|i| entry(i.into(), &i.to_le_bytes(), &i.to_be_bytes()))
        .collect();
    let table = table_with(entries, BucketTarget::Grow(8), OnDuplicate::Refuse).unwrap();
    assert_eq!(table.report.record_bytes, 8);
    assert_eq!(table.report.false_positive_log2, -31.0);
    assert!(table.report.overhead() < 1.1, "{}", table.report.overhead());
    for i in [0u32, 77, 4999] {
        assert_eq!(
            find(&table, &i.to_le_bytes()),
            Some(i.to_be_bytes().to_vec())
        );
    }
    let found = (5000u32..25_000)
        .filter(|i| find(&table, &i.to_le_bytes()).is_some())
        .count();
    assert_eq!(found, 0, "a rate of 2^-31");
}

/// Short values in buckets of the longest length with short tags have the highest rate of false
/// positives.
#[test]
fn short_tags_are_stated_with_their_rate() {
    let entries = (0..2000u64)
        .map(|i| entry(i, &i.to_le_bytes(), &[7; 58][..i as usize % 59]))
        .collect();
    let table = table_with(entries, BucketTarget::Grow(63), OnDuplicate::Refuse).unwrap();
    assert_eq!(table.report.record_bytes, 63);
    assert!(
        (-28.0..-27.0).contains(&table.report.false_positive_log2),
        "{:?}",
        table.report
    );
}

#[test]
fn sets_have_keys_without_values() {
    let entries = (0..5000u64)
        .map(|i| entry(i, &i.to_le_bytes(), b""))
        .collect();
    let table = table_with(entries, BucketTarget::default(), OnDuplicate::Refuse).unwrap();
    for i in 0..10_000u64 {
        assert_eq!(find(&table, &i.to_le_bytes()), (i < 5000).then(Vec::new));
    }
}

#[test]
fn empty_sources_and_invalid_buckets_are_refused() {
    let error = table_with(vec![], BucketTarget::default(), OnDuplicate::Refuse).unwrap_err();
    assert!(matches!(error, Error::Core(CoreError::EmptyDatabase)));
    for bytes in [0, 63, 1 << 20] {
        let error = table_with(
            vec![entry(1, b"a", b"b")],
            BucketTarget::AtMost(bytes),
            OnDuplicate::Refuse,
        );
        assert_eq!(error.unwrap_err().code(), "out_of_bounds");
    }
}

#[test]
fn duplicates_are_refused_by_line_or_resolved() {
    let entries = || {
        vec![
            entry(2, b"a", b"1"),
            entry(3, b"b", b"2"),
            entry(7, b"a", b"3"),
            entry(9, b"a", b"4"),
        ]
    };
    let table = |rule| table_with(entries(), BucketTarget::default(), rule);
    let refused = table(OnDuplicate::Refuse).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "line 7: the key `a` was already on line 2: expected each key once"
    );
    for (rule, value) in [("first", b"1"), ("last", b"4")] {
        let table = table(rule.parse().unwrap()).unwrap();
        assert_eq!(find(&table, b"a").as_deref(), Some(&value[..]));
        assert_eq!(find(&table, b"b").as_deref(), Some(&b"2"[..]));
        assert_eq!((table.report.entries, table.report.duplicates), (2, 2));
    }
    assert!("both".parse::<OnDuplicate>().is_err());
    let long = [b'x'; 1000];
    let error = table_with(
        vec![entry(1, &long, b""), entry(2, &long, b"")],
        BucketTarget::default(),
        OnDuplicate::Refuse,
    );
    assert!(error.unwrap_err().to_string().len() < 200);
}

#[test]
fn damaged_layouts_are_refused_or_harmless() {
    let entries = (0..300u64)
        .map(|i| entry(i, &i.to_le_bytes(), &vec![1; i as usize]))
        .collect();
    let table = table_with(entries, BucketTarget::AtMost(128), OnDuplicate::Refuse).unwrap();
    let encoded = table.layout.encode();
    for length in 0..encoded.len() {
        assert!(
            KeywordLayout::decode(&encoded[..length]).is_err(),
            "length {length}"
        );
    }
    for bit in 0..encoded.len() * 8 {
        let mut bytes = encoded.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        let Ok(layout) = KeywordLayout::decode(&bytes) else {
            continue;
        };
        let key = 299u64.to_le_bytes();
        let indices = layout.indices(&key);
        assert!(indices.iter().all(|&index| index < layout.records()));
        // Any records give an answer or an error, never a panic.
        let records = vec![vec![0xff; layout.record_bytes()]; layout.lookups()];
        let _ = layout.find(&key, &records);
        if layout.records() == table.layout.records()
            && layout.record_bytes() == table.layout.record_bytes()
        {
            let records: Vec<_> = indices
                .iter()
                .map(|&i| table.records.get(i).unwrap())
                .collect();
            let _ = layout.find(&key, &records);
        }
    }
}

#[test]
fn layouts_whose_lookups_read_too_many_pilots_are_refused() {
    let table = table_with(
        vec![entry(1, b"key", &[5; 500])],
        BucketTarget::AtMost(100),
        OnDuplicate::Refuse,
    )
    .unwrap();
    let mut bytes = table.layout.encode();
    let lookups = 1u32 << 16;
    let pilots = 1u32 << 16;
    bytes[66..78].copy_from_slice(&[1, 16, pilots].map(u32::to_le_bytes).concat());
    bytes[82..90].copy_from_slice(&[lookups; 2].map(u32::to_le_bytes).concat());
    (bytes[90], bytes[91]) = (3, 1);
    bytes[92..95].fill(0);
    bytes.resize(LAYOUT_HEADER_BYTES + PILOT_BYTES * pilots as usize, 0);
    let error = KeywordLayout::decode(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("pilots that a lookup reads is 4294967296: expected 1 to 4294967295"),
        "{error}"
    );
    // One pilot less.
    bytes[74..78].copy_from_slice(&(pilots - 1).to_le_bytes());
    bytes.truncate(bytes.len() - PILOT_BYTES);
    KeywordLayout::decode(&bytes).unwrap();
}

#[test]
fn missing_chunks_are_errors() {
    let table = table_with(
        vec![entry(1, b"key", &[5; 500])],
        BucketTarget::AtMost(100),
        OnDuplicate::Refuse,
    )
    .unwrap();
    let mut records: Vec<_> = table
        .layout
        .indices(b"key")
        .iter()
        .map(|&i| table.records.get(i).unwrap())
        .collect();
    assert_eq!(
        table.layout.find(b"key", &records).unwrap(),
        Some(vec![5; 500])
    );
    records[2].fill(0);
    assert!(matches!(
        table.layout.find(b"key", &records),
        Err(Error::Core(CoreError::Malformed { .. }))
    ));
    records[3].pop();
    assert!(matches!(
        table.layout.find(b"key", &records),
        Err(Error::Core(CoreError::Length { .. }))
    ));
    records.truncate(3);
    assert!(matches!(
        table.layout.find(b"key", &records),
        Err(Error::Core(CoreError::Length { .. }))
    ));
}

#[test]
fn golden_bytes() {
    let entries =
        (0..2000u32).map(|i| entry(i.into(), &i.to_be_bytes(), &vec![i as u8; i as usize % 40]));
    let options = TableOptions {
        bucket: BucketTarget::Grow(256),
        ..TableOptions::default()
    };
    let table = build(entries.collect(), &options, &mut rng(3), &NoProgress).unwrap();
    let mut hasher = blake3::Hasher::new();
    hasher
        .update(&table.layout.encode())
        .update(table.records.packed());
    let hash = hasher.finalize().to_hex();
    // If the format of layouts or buckets changes, raise the format version.
    assert_eq!(&hash[..16], "e209e297f310a71b");
}
