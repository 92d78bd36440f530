//! The values of a section's chunks, and their check.
//!
//! BLAKE3 is the root of a binary tree over its input. The values of the nodes that cover a MiB
//! each are kept in a section of their own, so that any chunk can be verified without reading the
//! others. Their tree must have the section's hash as its root, which the table of sections states.

use papir_core::hash_tree::{BlockValue, VALUE_BYTES, root};
use papir_core::{Error, Result};

use super::format::Section;
use super::section_names::CHUNKS;

/// Bytes of a chunk: a power of two, so that it is a whole subtree of BLAKE3.
pub(crate) const CHUNK: usize = 1 << 20;

/// The number of values that are kept for a section: none for the section of values itself.
fn kept(section: &Section) -> u64 {
    if section.name == CHUNKS || section.bytes <= CHUNK as u64 {
        0
    } else {
        section.bytes.div_ceil(CHUNK as u64)
    }
}

/// Splits the section of chunk values by section, and checks each tree against the section's hash.
pub(crate) fn decode(bytes: &[u8], sections: &[Section]) -> Result<Vec<Vec<BlockValue>>> {
    let found = bytes.len() as u64;
    // Checked sums: a table may state lengths that overflow.
    let expected = sections
        .iter()
        .try_fold(0u64, |total, section| total.checked_add(kept(section)))
        .and_then(|total| total.checked_mul(VALUE_BYTES as u64))
        .unwrap_or(u64::MAX);
    if found != expected {
        return Err(Error::Length {
            what: "section `chunks`",
            found,
            expected,
        });
    }

    // Split as the table says, and joined again: the values must give the hash that the table has.
    let mut values = bytes.chunks_exact(VALUE_BYTES);
    let mut decoded = Vec::with_capacity(sections.len());
    for section in sections {
        let next = values.by_ref().take(kept(section) as usize);
        let chunks: Vec<BlockValue> = next.filter_map(|value| value.try_into().ok()).collect();
        if !chunks.is_empty() && root(CHUNK, &chunks, section.bytes) != Some(section.hash) {
            return Err(Error::Checksum {
                what: format!("section `chunks` for `{}`", section.name),
            });
        }
        decoded.push(chunks);
    }
    Ok(decoded)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::hash_tree::{HashTree, value};

    use super::*;

    fn bytes(length: usize) -> Vec<u8> {
        (0..length)
            .map(|index| (index / 7 + index / 4099) as u8)
            .collect()
    }

    fn section(bytes: &[u8]) -> Section {
        Section {
            name: "s".into(),
            offset: 4096,
            bytes: bytes.len() as u64,
            hash: HashTree::of(CHUNK, bytes).root,
        }
    }

    #[test]
    fn kept_values_are_those_of_the_chunks() {
        let long = bytes(2 * CHUNK + 5);
        let short = bytes(100);
        let tree = HashTree::of(CHUNK, &long);
        let sections = [section(&short), section(&long)];
        let decoded = decode(&tree.values.concat(), &sections).unwrap();

        assert!(decoded[0].is_empty());
        for (index, chunk) in long.chunks(CHUNK).enumerate() {
            assert_eq!(decoded[1][index], value(CHUNK, index, chunk));
        }
    }

    #[test]
    fn values_that_do_not_make_the_root_are_refused() {
        let long = bytes(2 * CHUNK + 5);
        let sections = [section(&long)];
        let kept = HashTree::of(CHUNK, &long).values.concat();

        for bit in [0, 255, 256, 8 * kept.len() - 1] {
            let mut damaged = kept.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(
                matches!(decode(&damaged, &sections), Err(Error::Checksum { .. })),
                "bit {bit}"
            );
        }

        for length in [0, 32, kept.len() - 1] {
            assert!(matches!(
                decode(&kept[..length], &sections),
                Err(Error::Length { .. })
            ));
        }

        let endless = [
            Section {
                bytes: u64::MAX,
                ..sections[0].clone()
            },
            sections[0].clone(),
        ];
        assert!(matches!(decode(&kept, &endless), Err(Error::Length { .. })));
    }
}
