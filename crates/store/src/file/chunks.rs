//! The hash tree over a section's chunks.
//!
//! BLAKE3 is the root of a binary tree over its input. The values of the nodes that cover a MiB
//! each are kept in a section of their own, so that any chunk can be verified without reading the
//! others. Their tree must have the section's hash as its root, which the table of sections states.

use blake3::Hasher;
use blake3::hazmat::{
    ChainingValue, HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};
use papir_core::{Error, Result};
use rayon::prelude::*;

use super::format::Section;
use super::section_names::CHUNKS;

/// Bytes of a chunk: a power of two, so that it is a whole subtree of BLAKE3.
pub(crate) const CHUNK: usize = 1 << 20;
/// Bytes of a chunk's value.
const VALUE: usize = 32;

/// BLAKE3 of a section, and the values of its chunks: none for a section of at most one chunk.
pub(crate) struct ChunkTree {
    pub(crate) root: [u8; 32],
    pub(crate) chunks: Vec<ChainingValue>,
}

impl ChunkTree {
    /// Hashes a section on all cores.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut hasher = TreeHasher::new();
        hasher.update(bytes);
        hasher.finish()
    }
}

/// Hashes a section as it is written.
pub(crate) struct TreeHasher {
    /// The values of the chunks before the open one.
    chunks: Vec<ChainingValue>,
    open: Hasher,
    /// Bytes in the open chunk.
    filled: usize,
}

impl TreeHasher {
    pub(crate) fn new() -> Self {
        Self {
            chunks: Vec::new(),
            open: Hasher::new(),
            filled: 0,
        }
    }

    /// Adds bytes. Whole chunks are hashed on all cores.
    pub(crate) fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // A full chunk is closed only when another byte follows: the last one may be the root
            // itself.
            if self.filled == CHUNK {
                self.close();
            }

            let now = match self.whole_chunks(bytes.len()) {
                0 => {
                    let now = &bytes[..bytes.len().min(CHUNK - self.filled)];
                    self.open.update(now);
                    self.filled += now.len();
                    now
                }
                whole => {
                    // Whole chunks need no open state: each is hashed on its own, by all threads.
                    let first = self.chunks.len();
                    let now = &bytes[..whole * CHUNK];
                    let values = now.par_chunks(CHUNK).enumerate();
                    self.chunks
                        .par_extend(values.map(|(index, chunk)| value(first + index, chunk)));
                    self.open = hasher_of(self.chunks.len());
                    now
                }
            };
            bytes = &bytes[now.len()..];
        }
    }

    /// Number of chunks to close at once. The first chunk stays open until there are more bytes:
    /// without any it is the root.
    fn whole_chunks(&self, bytes: usize) -> usize {
        match (self.filled, self.chunks.is_empty()) {
            (0, true) => bytes.saturating_sub(1) / CHUNK,
            (0, false) => bytes / CHUNK,
            _ => 0,
        }
    }

    fn close(&mut self) {
        self.chunks.push(self.open.finalize_non_root());
        self.open = hasher_of(self.chunks.len());
        self.filled = 0;
    }

    /// Closes the last chunk, and joins the values of all.
    pub(crate) fn finish(mut self) -> ChunkTree {
        if self.chunks.is_empty() {
            return ChunkTree {
                root: *self.open.finalize().as_bytes(),
                chunks: Vec::new(),
            };
        }

        let bytes = (self.chunks.len() * CHUNK + self.filled) as u64;
        if self.filled > 0 {
            self.chunks.push(self.open.finalize_non_root());
        }

        ChunkTree {
            root: root(&self.chunks, bytes),
            chunks: self.chunks,
        }
    }
}

fn hasher_of(index: usize) -> Hasher {
    let mut hasher = Hasher::new();
    // A chunk's place is part of its value, so that chunks cannot change places.
    hasher.set_input_offset((index * CHUNK) as u64);
    hasher
}

/// The value of chunk `index` of a section of more than one chunk.
pub(crate) fn value(index: usize, chunk: &[u8]) -> ChainingValue {
    hasher_of(index).update(chunk).finalize_non_root()
}

/// BLAKE3 of a section of more than one chunk, `bytes` long.
fn root(chunks: &[ChainingValue], bytes: u64) -> [u8; 32] {
    let (left, right) = children(chunks, bytes);
    *merge_subtrees_root(&left, &right, Mode::Hash).as_bytes()
}

/// The value of a subtree over these chunks, `bytes` long.
fn node(chunks: &[ChainingValue], bytes: u64) -> ChainingValue {
    if let [chunk] = chunks {
        return *chunk;
    }
    let (left, right) = children(chunks, bytes);
    merge_subtrees_non_root(&left, &right, Mode::Hash)
}

/// The values of the two subtrees below a node.
fn children(chunks: &[ChainingValue], bytes: u64) -> (ChainingValue, ChainingValue) {
    // BLAKE3 splits at the largest power of two of chunks, which is a whole number of these larger
    // ones.
    let left = left_subtree_len(bytes);
    let (before, after) = chunks.split_at((left / CHUNK as u64) as usize);
    (node(before, left), node(after, bytes - left))
}

/// The number of values that are kept for a section: none for the section of values itself.
fn kept(section: &Section) -> u64 {
    if section.name == CHUNKS || section.bytes <= CHUNK as u64 {
        0
    } else {
        section.bytes.div_ceil(CHUNK as u64)
    }
}

/// Splits the section of chunk values by section, and checks each tree against the section's hash.
pub(crate) fn decode(bytes: &[u8], sections: &[Section]) -> Result<Vec<Vec<ChainingValue>>> {
    let found = bytes.len() as u64;
    // Checked sums: a table may state lengths that overflow.
    let expected = sections
        .iter()
        .try_fold(0u64, |total, section| total.checked_add(kept(section)))
        .and_then(|total| total.checked_mul(VALUE as u64))
        .unwrap_or(u64::MAX);
    if found != expected {
        return Err(Error::Length {
            what: "section `chunks`",
            found,
            expected,
        });
    }

    // Split as the table says, and joined again: the values must give the hash that the table has.
    let mut values = bytes.chunks_exact(VALUE);
    let mut decoded = Vec::with_capacity(sections.len());
    for section in sections {
        let next = values.by_ref().take(kept(section) as usize);
        let chunks: Vec<ChainingValue> = next.filter_map(|value| value.try_into().ok()).collect();
        if !chunks.is_empty() && root(&chunks, section.bytes) != section.hash {
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
            hash: ChunkTree::of(bytes).root,
        }
    }

    #[test]
    fn the_root_is_blake3_for_every_split() {
        for length in [
            0,
            1,
            CHUNK - 1,
            CHUNK,
            CHUNK + 1,
            2 * CHUNK,
            3 * CHUNK,
            5 * CHUNK + 12_345,
        ] {
            let bytes = bytes(length);
            let whole = ChunkTree::of(&bytes);
            assert_eq!(
                whole.root,
                *blake3::hash(&bytes).as_bytes(),
                "{length} bytes"
            );

            let expected = if length > CHUNK {
                length.div_ceil(CHUNK)
            } else {
                0
            };
            assert_eq!(whole.chunks.len(), expected, "{length} bytes");

            for step in [1 << 18, CHUNK, CHUNK + 1000, 4 * CHUNK] {
                let mut hasher = TreeHasher::new();
                bytes.chunks(step).for_each(|part| hasher.update(part));
                let tree = hasher.finish();
                assert_eq!(
                    (tree.root, tree.chunks),
                    (whole.root, whole.chunks.clone()),
                    "steps of {step}"
                );
            }
        }
    }

    #[test]
    fn kept_values_are_those_of_the_chunks() {
        let long = bytes(2 * CHUNK + 5);
        let short = bytes(100);
        let tree = ChunkTree::of(&long);
        let sections = [section(&short), section(&long)];
        let decoded = decode(&tree.chunks.concat(), &sections).unwrap();

        assert!(decoded[0].is_empty());
        for (index, chunk) in long.chunks(CHUNK).enumerate() {
            assert_eq!(decoded[1][index], value(index, chunk));
            assert_ne!(
                decoded[1][index],
                value(index + 1, chunk),
                "its place counts"
            );
        }
    }

    #[test]
    fn values_that_do_not_make_the_root_are_refused() {
        let long = bytes(2 * CHUNK + 5);
        let sections = [section(&long)];
        let kept = ChunkTree::of(&long).chunks.concat();

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
