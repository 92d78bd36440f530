//! BLAKE3 as a tree over blocks of bytes.
//!
//! BLAKE3 is the root of a binary tree over its input. The values of the nodes that cover a block
//! each are kept, so that any block can be verified without the others. Joined, the values of all
//! blocks give the hash of the whole input.
//!
//! The length of a block is a power of two of at least [`LEAST_BLOCK`] bytes, so that a block is a
//! whole subtree of BLAKE3.

use blake3::Hasher;
use blake3::hazmat::{
    HasherExt, Mode, left_subtree_len, merge_subtrees_non_root, merge_subtrees_root,
};

use crate::parallel;

/// Shortest block, in bytes: a chunk of BLAKE3.
pub const LEAST_BLOCK: usize = blake3::CHUNK_LEN;
/// Bytes of a block's value.
pub const VALUE_BYTES: usize = 32;

/// The value of a block: BLAKE3's chaining value of the node that covers it.
pub type BlockValue = [u8; VALUE_BYTES];

/// BLAKE3 of some bytes, and the values of their blocks.
pub struct HashTree {
    /// BLAKE3 of all bytes.
    pub root: [u8; 32],
    /// The value of each block; empty if the bytes are at most one block.
    pub values: Vec<BlockValue>,
}

impl HashTree {
    /// Hashes bytes in blocks of `block` bytes on all cores.
    pub fn of(block: usize, bytes: &[u8]) -> Self {
        let mut hasher = TreeHasher::new(block);
        hasher.update(bytes);
        hasher.finish()
    }
}

/// Hashes bytes as they arrive.
pub struct TreeHasher {
    /// Bytes of a block.
    block: usize,
    /// The values of the blocks before the open one.
    values: Vec<BlockValue>,
    open: Hasher,
    /// Bytes in the open block.
    filled: usize,
}

impl TreeHasher {
    /// A hasher in blocks of `block` bytes, which has no bytes yet.
    pub fn new(block: usize) -> Self {
        debug_assert!(block.is_power_of_two() && block >= LEAST_BLOCK);
        Self {
            block,
            values: Vec::new(),
            open: Hasher::new(),
            filled: 0,
        }
    }

    /// Adds bytes. Whole blocks are hashed on all cores.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // A full block is closed only when another byte follows: the last one may be the root
            // itself.
            if self.filled == self.block {
                self.close();
            }

            let now = match self.whole_blocks(bytes.len()) {
                0 => {
                    let now = &bytes[..bytes.len().min(self.block - self.filled)];
                    self.open.update(now);
                    self.filled += now.len();
                    now
                }
                whole => {
                    // Whole blocks need no open state: each is hashed on its own, by all threads.
                    let now = &bytes[..whole * self.block];
                    self.add_whole(now);
                    now
                }
            };
            bytes = &bytes[now.len()..];
        }
    }

    /// Number of blocks to close at once. The first block stays open until there are more bytes:
    /// without any it is the root.
    fn whole_blocks(&self, bytes: usize) -> usize {
        match (self.filled, self.values.is_empty()) {
            (0, true) => bytes.saturating_sub(1) / self.block,
            (0, false) => bytes / self.block,
            _ => 0,
        }
    }

    /// Adds the values of whole blocks.
    fn add_whole(&mut self, bytes: &[u8]) {
        let block = self.block;
        let places = (self.values.len()..).zip(bytes.chunks(block));
        let values = parallel::map(places, |(index, bytes)| value(block, index, bytes));

        self.values.extend(values);
        self.open = hasher_of(block, self.values.len());
    }

    fn close(&mut self) {
        self.values.push(self.open.finalize_non_root());
        self.open = hasher_of(self.block, self.values.len());
        self.filled = 0;
    }

    /// Closes the last block, and joins the values of all.
    pub fn finish(mut self) -> HashTree {
        let bytes = (self.values.len() * self.block + self.filled) as u64;
        if !self.values.is_empty() && self.filled > 0 {
            self.values.push(self.open.finalize_non_root());
        }

        HashTree {
            // Without other blocks, the open one is the root itself.
            root: root(self.block, &self.values, bytes)
                .unwrap_or_else(|| *self.open.finalize().as_bytes()),
            values: self.values,
        }
    }
}

fn hasher_of(block: usize, index: usize) -> Hasher {
    let mut hasher = Hasher::new();
    // A block's place is part of its value, so that blocks cannot change places.
    hasher.set_input_offset(index as u64 * block as u64);
    hasher
}

/// The value of block `index` of more than one, whose bytes are `bytes`: at least one byte, and at
/// most `block`.
pub fn value(block: usize, index: usize, bytes: &[u8]) -> BlockValue {
    hasher_of(block, index).update(bytes).finalize_non_root()
}

/// BLAKE3 of `bytes` bytes from the values of their blocks. `None` for fewer than two values, and
/// unless each block has one.
pub fn root(block: usize, values: &[BlockValue], bytes: u64) -> Option<[u8; 32]> {
    if values.len() < 2 || bytes.div_ceil(block as u64) != values.len() as u64 {
        return None;
    }

    let (left, right) = children(block, values, bytes);
    Some(*merge_subtrees_root(&left, &right, Mode::Hash).as_bytes())
}

/// The value of a subtree over these blocks, `bytes` long.
fn node(block: usize, values: &[BlockValue], bytes: u64) -> BlockValue {
    if let [value] = values {
        return *value;
    }
    let (left, right) = children(block, values, bytes);
    merge_subtrees_non_root(&left, &right, Mode::Hash)
}

/// The values of the two subtrees below a node.
fn children(block: usize, values: &[BlockValue], bytes: u64) -> (BlockValue, BlockValue) {
    // BLAKE3 splits at the largest power of two of its chunks, which is a whole number of these
    // larger ones.
    let left = left_subtree_len(bytes);
    let (before, after) = values.split_at((left / block as u64) as usize);
    (node(block, before, left), node(block, after, bytes - left))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths of blocks: the least, that of a hint of 112 MiB, and that of files.
    const BLOCKS: [usize; 3] = [LEAST_BLOCK, 32 << 10, 1 << 20];

    fn bytes(length: usize) -> Vec<u8> {
        (0..length)
            .map(|index| (index / 7 + index / 4099) as u8)
            .collect()
    }

    #[test]
    fn the_root_is_blake3_for_every_split() {
        for block in BLOCKS {
            let lengths = [
                0,
                1,
                block - 1,
                block,
                block + 1,
                2 * block,
                3 * block,
                5 * block + block / 3,
            ];
            for length in lengths {
                let bytes = bytes(length);
                let whole = HashTree::of(block, &bytes);
                let context = format!("{length} bytes in blocks of {block}");
                assert_eq!(whole.root, *blake3::hash(&bytes).as_bytes(), "{context}");

                let expected = if length > block {
                    length.div_ceil(block)
                } else {
                    0
                };
                assert_eq!(whole.values.len(), expected, "{context}");

                for step in [block / 4, block, block + 1000, 4 * block] {
                    let mut hasher = TreeHasher::new(block);
                    bytes.chunks(step).for_each(|part| hasher.update(part));
                    let tree = hasher.finish();
                    assert_eq!(tree.root, whole.root, "{context}, steps of {step}");
                    assert_eq!(tree.values, whole.values, "{context}, steps of {step}");
                }
            }
        }
    }

    #[test]
    fn a_value_is_that_of_its_block_and_its_place() {
        for block in BLOCKS {
            let bytes = bytes(2 * block + 5);
            let tree = HashTree::of(block, &bytes);
            for (index, part) in bytes.chunks(block).enumerate() {
                assert_eq!(tree.values[index], value(block, index, part));
                assert_ne!(
                    tree.values[index],
                    value(block, index + 1, part),
                    "its place counts"
                );
            }
        }
    }

    #[test]
    fn only_the_values_of_all_blocks_have_a_root() {
        for block in BLOCKS {
            let bytes = bytes(3 * block);
            let tree = HashTree::of(block, &bytes);
            let length = bytes.len() as u64;
            assert_eq!(root(block, &tree.values, length), Some(tree.root));

            assert_eq!(root(block, &tree.values[..2], length), None);
            assert_eq!(root(block, &tree.values, length + 1), None);
            assert_eq!(root(block, &tree.values[..1], block as u64), None);
            assert_eq!(root(block, &[], 0), None);

            let mut others = tree.values.clone();
            others.swap(0, 1);
            assert_ne!(root(block, &others, length), Some(tree.root));
        }
    }
}
