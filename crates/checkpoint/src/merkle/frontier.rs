//! Roots of growing Merkle trees.

use super::hash::{Hash, empty_root, node_hash};

/// The roots of a tree's complete subtrees, at most 64 hashes. They determine the root, and are
/// enough to append leaves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frontier {
    size: u64,
    /// The roots of the complete subtrees, the largest first: one for each bit of `size`.
    subtrees: Vec<Hash>,
}

impl Frontier {
    /// The frontier of a tree with these hashes of leaves.
    pub fn of<'a>(leaves: impl IntoIterator<Item = &'a Hash>) -> Self {
        let mut frontier = Self::default();
        for leaf in leaves {
            frontier.push(*leaf);
        }
        frontier
    }

    /// The number of leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends the hash of a leaf.
    pub fn push(&mut self, leaf: Hash) {
        let mut node = leaf;

        // Each trailing one of the size is a complete subtree of the same size as `node`.
        for _ in 0..self.size.trailing_ones() {
            if let Some(left) = self.subtrees.pop() {
                node = node_hash(&left, &node);
            }
        }
        self.subtrees.push(node);
        self.size += 1;
    }

    /// The root of the tree.
    pub fn root(&self) -> Hash {
        // From the smallest subtree on: it is the right child of the one before.
        let subtrees = self.subtrees.iter().rev().copied();
        subtrees
            .reduce(|right, left| node_hash(&left, &right))
            .unwrap_or_else(empty_root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merkle::{Tree, leaf_hash};

    #[test]
    fn roots_are_those_of_the_whole_tree() {
        let leaves: Vec<Hash> = (0..70u8).map(|i| leaf_hash(&[i])).collect();
        let mut frontier = Frontier::default();
        for size in 0..=leaves.len() {
            assert_eq!(frontier.root(), Tree::new(&leaves[..size]).root(), "{size}");
            assert_eq!(frontier.size(), size as u64);
            assert_eq!(frontier, Frontier::of(&leaves[..size]));
            leaves
                .get(size)
                .into_iter()
                .for_each(|leaf| frontier.push(*leaf));
        }
    }
}
