//! Clients with filters of the keys of a base and of its delta.

use papir_core::{Goal, NoProgress};
use papir_lookup::delta::{DeltaChanges, DeltaPart, table};
use papir_lookup::prefilter::{Prefilter, PrefilterSummary, of_ids};
use papir_lookup::{Bundle, KeywordTable, Lookup, TableOptions, Wanted, build};

use crate::common::{entry, plain, rng, serve};

const BITS: u8 = 20;

/// A table of 400 keys, `key 0` and on, its client, and the filter of its keys.
fn filtered() -> (KeywordTable, Lookup, Vec<u8>) {
    let entries = (0..400_u64).map(|number| {
        let key = format!("key {number}");
        entry(number, key.as_bytes(), b"value")
    });
    let options = TableOptions::default();
    let table = build(entries.collect(), &options, &mut rng(1), &NoProgress).unwrap();

    let (_, lookup) = serve(&table);
    let filter = of_ids(BITS, &table.ids).unwrap();
    let lookup = lookup.stating_prefilter(PrefilterSummary::hashed(&filter).ok());
    (table, lookup, filter)
}

/// The public part of a delta with a new key and a removed one.
fn delta(base: &Lookup, with_filter: bool) -> DeltaPart {
    let layout = base.keyword().unwrap();
    let mut changes = DeltaChanges::default();
    for (key, value) in [("new", Some(b"n".to_vec())), ("key 7", None)] {
        changes
            .change_key(layout, key.as_bytes(), value, 1)
            .unwrap();
    }

    let KeywordTable {
        layout,
        records,
        ids,
        ..
    } = table(&changes, Some(layout), &mut rng(3), &NoProgress).unwrap();
    let server = plain()
        .setup(&records, Goal::default(), &mut rng(4), &NoProgress)
        .unwrap();
    let filter = Prefilter::decode(of_ids(BITS, &ids).unwrap()).unwrap();
    DeltaPart {
        base: base.version(),
        records: None,
        content: None,
        bundle: Bundle {
            scheme_public: server.public(),
            keyword: Some(layout),
            commitment_top: None,
            prefilter: None,
        },
        prefilter: with_filter.then_some(filter),
    }
}

/// The client with this delta.
fn beside(base: &Lookup, part: &DeltaPart) -> Lookup {
    let client = plain().client(&part.bundle.scheme_public).unwrap();
    base.with_delta(client, part).unwrap()
}

fn excludes(lookup: &Lookup, key: &str) -> bool {
    lookup.excludes_vartime(Wanted::Key(key.as_bytes()))
}

#[test]
fn absent_keys_are_excluded_once_the_filter_is_there() {
    let (_, lookup, filter) = filtered();
    assert!(!excludes(&lookup, "new"), "stated, but not fetched");

    let lookup = lookup.with_prefilter(filter).unwrap();
    assert_eq!(lookup.prefilter().unwrap().keys(), 400);
    assert!(!(0..400).any(|number| excludes(&lookup, &format!("key {number}"))));
    // Each is found with a probability of 2⁻²⁰, and the seeds are fixed.
    assert!(
        ["new", "key 400", ""]
            .iter()
            .all(|key| excludes(&lookup, key))
    );
    assert!(!lookup.excludes_vartime(Wanted::Index(3)));
    assert!(!excludes(&lookup.without_prefilter(), "new"));
}

#[test]
fn keys_of_a_delta_are_not_excluded() {
    let (_, lookup, filter) = filtered();
    let lookup = lookup.with_prefilter(filter).unwrap();
    let part = delta(&lookup, true);
    let lookup = beside(&lookup, &part);

    // A removed key stays in the filter of the base until a merge.
    for key in ["new", "key 7", "key 8"] {
        assert!(!excludes(&lookup, key), "{key}");
    }
    assert!(excludes(&lookup, "other"));
    assert!(excludes(&lookup.without_delta(), "new"));
}

#[test]
fn one_filter_of_two_excludes_nothing() {
    let (_, lookup, filter) = filtered();
    let bare = beside(&lookup, &delta(&lookup, true));
    assert!(!excludes(&bare, "other"), "the base's filter is missing");

    let lookup = lookup.with_prefilter(filter).unwrap();
    let bare = beside(&lookup, &delta(&lookup, false));
    assert!(!excludes(&bare, "other"), "the delta's filter is missing");
}

#[test]
fn only_the_stated_filter_is_taken() {
    let (table, lookup, filter) = filtered();
    let fewer = of_ids(BITS - 1, &table.ids).unwrap();
    let error = lookup.clone().with_prefilter(fewer).err().unwrap();
    assert_eq!(error.code(), "wrong_length");

    let mut other = filter.clone();
    other[filter.len() - 1] ^= 1;
    let error = lookup.clone().with_prefilter(other).err().unwrap();
    assert!(
        error.to_string().contains("as in the public part"),
        "{error}"
    );

    let unstated = lookup.stating_prefilter(None).with_prefilter(filter);
    assert_eq!(unstated.err().unwrap().code(), "malformed");
}

#[test]
fn public_parts_with_filters_round_trip() {
    let (table, lookup, filter) = filtered();
    let part = delta(&lookup, true);
    let encoded = part.encode();
    assert_eq!(DeltaPart::decode(&encoded).unwrap(), part);
    assert_eq!(encoded[4..6], [2, 0]);
    let plain_part = delta(&lookup, false).encode();
    assert_eq!(plain_part[4..6], [1, 0]);

    let bundle = Bundle {
        scheme_public: b"not looked at here".to_vec(),
        keyword: Some(table.layout),
        commitment_top: None,
        prefilter: PrefilterSummary::hashed(&filter).ok(),
    };
    let encoded = bundle.encode();
    assert_eq!(Bundle::decode(&encoded).unwrap(), bundle);
    assert_eq!(encoded[4..6], [2, 0]);
    for length in 0..encoded.len() {
        assert!(Bundle::decode(&encoded[..length]).is_err(), "{length}");
    }

    let without = Bundle {
        prefilter: None,
        ..bundle.clone()
    };
    assert_eq!(without.encode()[4..6], [1, 0]);
    assert_eq!(
        encoded.len() as u64,
        without.encode().len() as u64 + PrefilterSummary::BYTES
    );
    let keyless = Bundle {
        keyword: None,
        ..bundle
    };
    let error = Bundle::decode(&keyless.encode()).unwrap_err();
    assert_eq!(error.code(), "malformed");
}
