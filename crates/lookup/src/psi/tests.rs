//! Tests of private set intersection with both parties.
#![allow(clippy::unwrap_used)]

use crate::oprf::Key;
use papir_core::erased::ErasedServer;
use papir_core::{Goal, NoProgress};
use papir_schemes::registry;
use proptest::prelude::*;
use rand_core::SeedableRng;

use super::mask::Mask;
use super::*;
use crate::{Error, Lookup, TableOptions, Wanted as Ask, build};

fn rng(seed: u64) -> chacha20::ChaCha20Rng {
    chacha20::ChaCha20Rng::seed_from_u64(seed)
}

fn rows(elements: &[(&str, &str)]) -> Vec<Row> {
    let row = |(line, (element, label)): (u64, &(&str, &str))| Row {
        element: element.as_bytes().to_vec(),
        label: label.as_bytes().to_vec(),
        line,
    };
    (1..).zip(elements).map(row).collect()
}

/// Returns the matches of a receiver with these elements, found by lookups.
fn by_retrieval(key: &Key, masked: Masked, elements: &[&str]) -> Vec<(usize, String)> {
    let (receiver, sent) = Receiver::new(elements, &mut rng(1)).unwrap();
    let wanted = receiver.unmask(&key.evaluate(&sent).unwrap()).unwrap();
    let longest = masked.longest;

    let table = build(
        masked.entries,
        &TableOptions::default(),
        &mut rng(2),
        &NoProgress,
    )
    .unwrap();
    let plain = registry::by_name("plain")
        .unwrap()
        .allow_insecure(papir_core::NotPrivate::acknowledged());
    let server = plain
        .setup(&table.records, Goal::default(), &mut rng(3), &NoProgress)
        .unwrap();

    let values = look_up(server.as_ref(), table.layout, &wanted);
    let matches = wanted.opened(&values, longest).unwrap();
    matches
        .into_iter()
        .map(|one| (one.index, String::from_utf8(one.label).unwrap()))
        .collect()
}

fn look_up(
    server: &dyn ErasedServer,
    layout: crate::KeywordLayout,
    wanted: &Wanted,
) -> Vec<Option<Vec<u8>>> {
    let client = registry::by_name("plain")
        .unwrap()
        .allow_insecure(papir_core::NotPrivate::acknowledged())
        .client(&server.public())
        .unwrap();
    let lookup = Lookup::new(client, Some(layout)).unwrap();
    let asks: Vec<Ask<'_>> = wanted
        .names()
        .into_iter()
        .map(|name| Ask::Key(name))
        .collect();

    let pending = lookup.prepare_batch(None, &asks, &mut rng(4)).unwrap();
    let answers: Vec<_> = pending
        .queries()
        .iter()
        .map(|query| server.answer(Default::default(), query))
        .collect();
    let answers: Vec<Vec<u8>> = answers.into_iter().map(Result::unwrap).collect();
    pending.finish_all(&answers).unwrap()
}

/// Returns the matches of a receiver with these elements, found in the encoded filter.
fn by_filter(key: &Key, masked: &Masked, elements: &[&str]) -> Vec<usize> {
    let (receiver, sent) = Receiver::new(elements, &mut rng(1)).unwrap();
    let wanted = receiver.unmask(&key.evaluate(&sent).unwrap()).unwrap();
    let filter = Filter::decode(&Filter::new(masked.names()).encode()).unwrap();
    wanted
        .in_filter(&filter)
        .into_iter()
        .map(|one| one.index)
        .collect()
}

#[test]
fn filters_and_lookups_give_the_intersection() {
    let key = Key::generate(&mut rng(9)).unwrap();
    let many: Vec<String> = (0..40).map(|i| format!("element {i}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let cases: [(&[&str], &[&str], &[usize]); 6] = [
        (&["a", "b", "c"], &["x", "b", "y", "a"], &[1, 3]),
        (&["a", "b"], &["c", "d"], &[]),
        (&["a", "b"], &["a", "b"], &[0, 1]),
        // Repeated elements, on either side.
        (&["a", "a", "b"], &["a", "c", "a"], &[0, 2]),
        (&["a"], &[], &[]),
        (&many, &["element 39", "element 40", ""], &[0]),
    ];

    for (sender, receiver, expected) in cases {
        let set: Vec<(&str, &str)> = sender.iter().map(|element| (*element, "")).collect();
        let masked = || mask(&key, rows(&set), false, &NoProgress).unwrap();
        assert_eq!(
            by_filter(&key, &masked(), receiver),
            expected,
            "{sender:?} {receiver:?}"
        );
        let found = by_retrieval(&key, masked(), receiver);
        let expected: Vec<_> = expected
            .iter()
            .map(|&index| (index, String::new()))
            .collect();
        assert_eq!(found, expected, "{sender:?} {receiver:?}");
    }

    let empty = mask(&key, Vec::new(), false, &NoProgress).unwrap();
    assert!(by_filter(&key, &empty, &["a", "b"]).is_empty());
}

#[test]
fn labels_come_with_their_elements() {
    let key = Key::generate(&mut rng(9)).unwrap();
    let set = [
        ("a", "first"),
        ("b", ""),
        ("c", "a longer label"),
        ("a", "first"),
    ];
    let masked = mask(&key, rows(&set), true, &NoProgress).unwrap();
    assert_eq!((masked.duplicates, masked.longest), (1, Some(14)));
    assert!(
        masked
            .entries
            .iter()
            .all(|entry| entry.value.len() == sealed_bytes(Some(14)))
    );

    let found = by_retrieval(&key, masked, &["c", "x", "b", "a", "c"]);
    let expected = [
        (0, "a longer label"),
        (2, ""),
        (3, "first"),
        (4, "a longer label"),
    ];
    assert_eq!(
        found,
        expected.map(|(index, label)| (index, label.to_owned()))
    );

    let two = [("a", "one"), ("b", ""), ("a", "two")];
    let refused = mask(&key, rows(&two), true, &NoProgress).err().unwrap();
    assert!(
        matches!(
            refused,
            Error::DuplicateKey {
                first: 1,
                line: 3,
                ..
            }
        ),
        "{refused}"
    );
}

#[test]
fn labels_do_not_open_under_other_masks() {
    let key = Key::generate(&mut rng(9)).unwrap();
    let masks = ["a", "b"].map(|element| Mask::from(&key.value(element.as_bytes()).unwrap()));
    let mut sealed = label::seal(&masks[0], b"label", Some(9));
    assert_eq!(
        label::open(&masks[0], &sealed, Some(9)).unwrap().unwrap(),
        b"label"
    );
    assert_eq!(label::open(&masks[1], &sealed, Some(9)).unwrap(), None);
    assert_eq!(
        label::open(&masks[0], &sealed, Some(8)).unwrap_err().code(),
        "wrong_length"
    );

    let fixed = Mask::from(&zeroize::Zeroizing::new(std::array::from_fn(|i| i as u8)));
    let hash = blake3::hash(&label::seal(&fixed, b"label", Some(9)));
    assert_eq!(hash.to_hex()[..16], *"aeba450e944d9af9");

    sealed[15] ^= 1;
    assert_eq!(label::open(&masks[0], &sealed, Some(9)).unwrap(), None);
}

#[test]
fn requests_reveal_only_the_padded_count() {
    for (count, expected) in [
        (0, 16),
        (1, 16),
        (16, 16),
        (17, 24),
        (24, 24),
        (25, 32),
        (1000, 1024),
        (1025, 1536),
    ] {
        assert_eq!(padded(count), expected);
    }

    let elements: Vec<String> = (0..20).map(|i| i.to_string()).collect();
    let [(_, first), (_, second)] = [&elements[..18], &elements[..]]
        .map(|elements| Receiver::new(elements, &mut rng(5)).unwrap());
    assert_eq!(first.len(), second.len());

    // Repeated elements count once.
    let (_, same) = Receiver::new(&["x"; 20], &mut rng(5)).unwrap();
    assert_eq!(same.len(), 16 * crate::oprf::ELEMENT_BYTES);
}

#[test]
fn small_sets_are_cheaper_as_filters() {
    let sizes = papir_core::Sizes {
        query: 443 << 10,
        answer: 980 << 10,
        ..Default::default()
    };
    assert_eq!(Kind::cheaper(1_000_000, &sizes, 64), Kind::Filter);
    assert_eq!(Kind::cheaper(100_000_000, &sizes, 64), Kind::Retrieval);
    assert_eq!("filter".parse::<Kind>().unwrap(), Kind::Filter);
    assert!("both".parse::<Kind>().is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn any_two_sets_give_their_intersection(
        sender in prop::collection::vec(0u8..40, 0..20),
        receiver in prop::collection::vec(0u8..40, 0..20),
    ) {
        let key = Key::generate(&mut rng(7)).unwrap();
        let text = |values: &[u8]| values.iter().map(|value| format!("{value}")).collect::<Vec<_>>();
        let sender = text(&sender);
        let receiver = text(&receiver);

        let set: Vec<(&str, &str)> = sender.iter().map(|element| (element.as_str(), "")).collect();
        let masked = mask(&key, rows(&set), false, &NoProgress).unwrap();
        let elements: Vec<&str> = receiver.iter().map(String::as_str).collect();
        let expected: Vec<usize> =
            (0..receiver.len()).filter(|&index| sender.contains(&receiver[index])).collect();
        prop_assert_eq!(by_filter(&key, &masked, &elements), expected);
    }
}
