//! Copies of any age and length, brought up to date by blocks.

use papir_lookup::{BlockList, BlockRanges, MAX_RANGES};
use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, proptest};

/// Bytes that are the same for every length, but for the end.
fn bundle(length: usize) -> Vec<u8> {
    (0..length)
        .map(|index| (index / 5 + index / 1024) as u8)
        .collect()
}

/// The blocks that a server sends for the text of some ranges.
fn served(bundle: &[u8], text: &str) -> Vec<u8> {
    let list = BlockList::of(bundle);
    let ranges = BlockRanges::parse(text, list.blocks()).unwrap();
    let places = list.places(&ranges);
    places
        .into_iter()
        .flat_map(|place| &bundle[place])
        .copied()
        .collect()
}

/// Patches a copy as a client does. Returns the number of bytes of the blocks.
fn patch(wanted: &[u8], copy: &[u8]) -> usize {
    let bytes = BlockList::of(wanted).encode();
    let list = BlockList::decode(&bytes, wanted.len()).unwrap();
    let ranges = list.missing(copy);

    let blocks = match ranges.is_empty() {
        true => Vec::new(),
        false => served(wanted, &ranges.to_string()),
    };
    assert_eq!(blocks.len(), list.bytes_of(&ranges));
    assert_eq!(list.apply(copy, &ranges, &blocks).unwrap(), wanted);
    blocks.len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_copy_becomes_the_bundle(
        length in 0usize..300_000,
        edits in vec((any::<u32>(), any::<u8>()), 0..40),
        other in 0usize..300_000,
    ) {
        let wanted = bundle(length);
        let mut copy = wanted.clone();
        for (place, byte) in &edits {
            if let Some(changed) = copy.get_mut(*place as usize % length.max(1)) {
                *changed ^= byte;
            }
        }
        let most = edits.len() * papir_lookup::block_bytes(length);
        let fetched = patch(&wanted, &copy);
        assert!(fetched <= most, "{fetched} bytes for {} edits", edits.len());

        // Shorter and longer copies.
        copy.resize(other, 7);
        patch(&wanted, &copy);
    }

    #[test]
    fn copies_without_a_common_block_are_replaced(
        length in 1usize..100_000,
        copy in vec(any::<u8>(), 0..5000),
    ) {
        let mut wanted = bundle(length);
        for block in wanted.chunks_mut(512) {
            block[0] = 1;
        }
        // No copy of zeros has a byte that is one.
        assert_eq!(patch(&wanted, &vec![0; copy.len()]), length);
    }
}

#[test]
fn many_runs_are_joined_and_cost_the_blocks_between_them() {
    let wanted = bundle(8 << 20);
    let block = papir_lookup::block_bytes(wanted.len());
    let blocks = wanted.len() / block;
    assert!(blocks > 2 * MAX_RANGES, "{blocks} blocks");

    let mut copy = wanted.clone();
    for index in (0..blocks).step_by(2) {
        copy[index * block] ^= 1;
    }

    let fetched = patch(&wanted, &copy) / block;
    let changed = blocks.div_ceil(2);
    assert_eq!(fetched, changed + (changed - MAX_RANGES));
}

#[test]
fn a_copy_that_lacks_nothing_needs_no_blocks() {
    let wanted = bundle(50_000);
    assert_eq!(patch(&wanted, &wanted), 0);

    let longer = [&wanted[..], &[1; 5000]].concat();
    let list = BlockList::of(&wanted);
    // The last block of the copy is longer.
    assert_eq!(list.missing(&longer).to_string(), "48");
}
