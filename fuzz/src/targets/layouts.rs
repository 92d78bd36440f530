//! Keyword layouts, prefilters, and filters for set intersection.

use papir_core::NoProgress;
use papir_lookup::prefilter::{self, Prefilter};
use papir_lookup::psi::Filter;
use papir_lookup::{Entry, KeyIds, KeywordLayout, TableOptions, build};

use crate::{Target, outcome};

/// Maximum bytes of generated records for a lookup.
const RECORD_BYTES: usize = 1 << 16;

/// The layout of some keys whose values have different lengths.
pub(super) fn small_layout() -> KeywordLayout {
    layout_of((0..200).map(|i| i % 50))
}

/// The layout of keys with values of these lengths.
fn layout_of(lengths: impl Iterator<Item = usize>) -> KeywordLayout {
    let entries = (0u64..)
        .zip(lengths)
        .map(|(i, length)| Entry {
            key: i.to_le_bytes().to_vec(),
            value: vec![1; length],
            line: i,
        })
        .collect();

    build(
        entries,
        &TableOptions::default(),
        &mut super::schemes::rng(),
        &NoProgress,
    )
    .unwrap()
    .layout
}

/// Keyword layouts; accepted ones are used for a lookup.
pub(super) fn layout() -> Target {
    // Both format versions.
    let long = layout_of([65_537, 3].into_iter());
    let seeds = vec![small_layout().encode(), long.encode()];
    Target::new(seeds, |input| {
        let decoded = KeywordLayout::decode(input);
        let Ok(layout) = &decoded else {
            return outcome(&decoded);
        };

        assert_eq!(layout.encode(), input, "another layout of the same content");
        let lookups = layout.lookups();
        if lookups.saturating_mul(layout.record_bytes()) > RECORD_BYTES {
            return "accepted, large".to_owned();
        }

        let indices = layout.indices(b"key");
        assert_eq!(indices.len(), lookups);
        assert!(indices.iter().all(|&index| index < layout.records()));

        let record: Vec<u8> = input
            .iter()
            .copied()
            .cycle()
            .take(layout.record_bytes())
            .collect();

        format!(
            "accepted {}",
            outcome(&layout.find(b"key", &vec![record; lookups]))
        )
    })
}

/// Filters; accepted ones must encode to the same bytes.
pub(super) fn filter() -> Target {
    let names: Vec<[u8; 32]> = (0..20u64)
        .map(|i| *blake3::hash(&i.to_le_bytes()).as_bytes())
        .collect();
    let seeds = vec![
        Filter::new(names.iter()).encode(),
        Filter::new(names[..0].iter()).encode(),
    ];
    Target::new(seeds, |input| {
        let decoded = Filter::decode(input);
        if let Ok(filter) = &decoded {
            assert_eq!(filter.encode(), input, "another filter of the same content");
        }
        outcome(&decoded)
    })
}

/// A prefilter of two blocks.
fn prefilter_of(bits: u8) -> Prefilter {
    let mut ids = Vec::new();
    for first in 0..=255_u8 {
        ids.push([first; 16]);
        ids.push([first, 7, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9]);
    }
    ids.sort_unstable();

    let ids = KeyIds::decode(&ids.concat()).unwrap();
    Prefilter::decode(prefilter::of_ids(bits, &ids).unwrap()).unwrap()
}

/// A prefilter as that of a delta.
pub(super) fn small_prefilter() -> Prefilter {
    prefilter_of(4)
}

/// Prefilters; accepted ones are tested for keys.
pub(super) fn prefilter() -> Target {
    let layout = small_layout();
    let seeds = [4, 24].map(|bits| prefilter_of(bits).as_bytes().to_vec());

    Target::new(seeds.to_vec(), move |input| {
        let decoded = Prefilter::decode(input.to_vec());
        let Ok(filter) = &decoded else {
            return outcome(&decoded);
        };

        assert_eq!(filter.as_bytes(), input);
        let keys = (0..50_u8).filter(|&key| filter.may_have_vartime(&layout, &[key]));
        format!("accepted {} {}", filter.bits(), keys.count())
    })
}
