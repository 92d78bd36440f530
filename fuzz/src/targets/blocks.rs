//! Lists of blocks, and sets of blocks in paths.

use papir_lookup::{BlockList, BlockRanges};

use crate::{Target, outcome};

/// Bytes of the bundle of every list here.
const LENGTH: usize = 5000;
/// Number of blocks of the bundle of every set here.
const BLOCKS: usize = 3584;

/// Lists of blocks of one bundle, applied to a copy that has none of them.
pub(super) fn list() -> Target {
    let seeds = vec![
        BlockList::of(&[0; LENGTH]).encode(),
        BlockList::of(&[7; LENGTH]).encode(),
    ];

    Target::new(seeds, |input| {
        let decoded = BlockList::decode(input, LENGTH);
        let Ok(list) = &decoded else {
            return outcome(&decoded);
        };
        assert_eq!(list.encode(), input, "another list of the same content");

        // Blocks of zeros have their values in the first seed only.
        let ranges = list.missing(&[1; LENGTH]);
        let blocks = vec![0u8; list.bytes_of(&ranges)];
        let patched = list.apply(&[1; LENGTH], &ranges, &blocks);
        if let Ok(bundle) = &patched {
            assert_eq!(list.root(), *blake3::hash(bundle).as_bytes());
        }
        outcome(&patched)
    })
}

/// Texts of sets of blocks.
pub(super) fn ranges() -> Target {
    let texts = ["0", "0,17-65,3583", "0-3583", "1-2,4"];
    let seeds = texts.iter().map(|text| text.as_bytes().to_vec()).collect();

    Target::new(seeds, |input| {
        let text = String::from_utf8_lossy(input);
        let parsed = BlockRanges::parse(&text, BLOCKS);
        if let Ok(ranges) = &parsed {
            assert_eq!(ranges.to_string(), text, "another text of the same set");
        }
        outcome(&parsed)
    })
    .with_words(&[",", "-", "0", "18446744073709551615", ",3583"])
}
