//! Verification of inclusion and consistency proofs.
//!
//! They follow RFC 9162, sections 2.1.3.2 and 2.1.4.2.

use super::hash::{Hash, node_hash};

/// Maximum number of hashes in an inclusion proof: trees have fewer than 2⁶⁴ leaves.
pub const MAX_PROOF: usize = 64;

/// Returns true if `proof` shows that the tree with `size` leaves and this root has the leaf hash
/// `leaf` at `index`.
pub fn verify_inclusion(leaf: &Hash, index: u64, size: u64, proof: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }

    // `place` and `last` are the positions of the path's node and of the last one in its level.
    let mut place = index;
    let mut last = size - 1;
    let mut hash = *leaf;
    for sibling in proof {
        if last == 0 {
            return false;
        }

        if place & 1 == 1 || place == last {
            hash = node_hash(sibling, &hash);
            // A last node without a right sibling moves up unchanged.
            while place & 1 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        place >>= 1;
        last >>= 1;
    }
    // A proof that ends before the root leaves `last` above 0.
    last == 0 && hash == *root
}

/// Returns true if `proof` shows that the tree `new` extends the tree `old`; both are given as size
/// and root. The proof must be empty if `old` is empty, in which case its root is not checked, or
/// if the sizes are equal.
pub fn verify_consistency(old: (u64, &Hash), new: (u64, &Hash), proof: &[Hash]) -> bool {
    let (old_size, old_root) = old;
    let (size, root) = new;
    if old_size == 0 || old_size >= size {
        return proof.is_empty() && (old_size == 0 || old_size == size && old_root == root);
    }

    // A complete old tree is itself the first node of the path.
    let first = old_size.is_power_of_two().then_some(*old_root);
    let mut path = first.into_iter().chain(proof.iter().copied());
    let Some(start) = path.next() else {
        return false;
    };

    // The path starts at the largest complete subtree that ends where the old tree ends.
    let shift = (old_size - 1).trailing_ones();
    let mut place = old_size.wrapping_sub(1) >> shift;
    let mut last = (size - 1) >> shift;
    let mut old_hash = start;
    let mut hash = start;
    for node in path {
        if last == 0 {
            return false;
        }

        if place & 1 == 1 || place == last {
            // Left siblings belong to both trees, right ones to the new tree only.
            old_hash = node_hash(&node, &old_hash);
            hash = node_hash(&node, &hash);
            while place & 1 == 0 && place != 0 {
                place >>= 1;
                last >>= 1;
            }
        } else {
            hash = node_hash(&hash, &node);
        }
        place >>= 1;
        last >>= 1;
    }
    last == 0 && old_hash == *old_root && hash == *root
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::merkle::{Tree, leaf_hash};

    const VECTORS: &str = include_str!("../../../../docs/vectors/arithmetic/checkpoint.json");

    /// The path of a leaf in a tree of any size: rows of index, size, number of siblings, and a bit
    /// for each sibling from the lowest on, which is set for a left one.
    #[test]
    fn paths_have_the_siblings_of_the_definition() {
        let tables: HashMap<String, Vec<[u64; 4]>> = serde_json::from_str(VECTORS).unwrap();

        for &[index, size, count, left] in &tables["inclusion"] {
            let leaf = leaf_hash(b"leaf");
            let proof: Vec<Hash> = (0..count).map(|level| [level as u8; 32]).collect();

            let mut root = leaf;
            for (level, sibling) in proof.iter().enumerate() {
                root = if left >> level & 1 == 1 {
                    node_hash(sibling, &root)
                } else {
                    node_hash(&root, sibling)
                };
            }

            assert!(
                verify_inclusion(&leaf, index, size, &proof, &root),
                "{index} of {size}"
            );
            for bad in damaged(&proof) {
                assert!(
                    !verify_inclusion(&leaf, index, size, &bad, &root),
                    "{index} of {size}"
                );
            }
        }
    }

    fn leaves(count: u8) -> Vec<Hash> {
        (0..count).map(|i| leaf_hash(&[i])).collect()
    }

    /// All proofs that differ from `proof` in one hash or one length.
    fn damaged(proof: &[Hash]) -> Vec<Vec<Hash>> {
        let mut all: Vec<Vec<Hash>> = (0..proof.len())
            .map(|i| [&proof[..i], &proof[i + 1..]].concat())
            .collect();
        for i in 0..proof.len() {
            let mut flipped = proof.to_vec();
            flipped[i][7] ^= 1;
            all.push(flipped);
        }
        all.push([proof, &[[0; 32]]].concat());
        all
    }

    #[test]
    fn inclusion_of_every_leaf_in_every_size() {
        for size in 1..=33 {
            let leaves = leaves(size);
            let tree = Tree::new(&leaves);
            let all = u64::from(size);
            let root = tree.root();

            for (index, leaf) in leaves.iter().enumerate() {
                let proof = tree.inclusion(index).unwrap();
                assert!(
                    verify_inclusion(leaf, index as u64, all, &proof, &root),
                    "{index} of {size}"
                );

                for bad in damaged(&proof) {
                    assert!(
                        !verify_inclusion(leaf, index as u64, all, &bad, &root),
                        "{index} of {size}"
                    );
                }

                // The last leaf's other index is the size itself, which is beyond the tree.
                let other = (index as u64 + 1) % (all + 1);
                assert!(
                    !verify_inclusion(leaf, other, all, &proof, &root),
                    "{other} of {size}"
                );
                assert!(!verify_inclusion(
                    &[0; 32],
                    index as u64,
                    all,
                    &proof,
                    &root
                ));
                assert!(!verify_inclusion(leaf, index as u64, all, &proof, &[0; 32]));
            }
        }

        assert!(!verify_inclusion(&[0; 32], 0, 0, &[], &[0; 32]));
        assert!(!verify_inclusion(
            &[0; 32],
            u64::MAX,
            u64::MAX,
            &[[0; 32]; MAX_PROOF],
            &[0; 32]
        ));
    }

    #[test]
    fn consistency_of_every_pair_of_sizes() {
        for size in 0..=33 {
            let new = leaves(size);
            let tree = Tree::new(&new);
            let root = Tree::new(&new).root();

            for old in 0..=size {
                let old_root = Tree::new(&new[..usize::from(old)]).root();
                let proof = tree.consistency(old.into()).unwrap();

                let verify = |old_root: &Hash, root: &Hash, proof: &[Hash]| {
                    verify_consistency((old.into(), old_root), (size.into(), root), proof)
                };

                assert!(verify(&old_root, &root, &proof), "{old} to {size}");

                for bad in damaged(&proof) {
                    assert!(!verify(&old_root, &root, &bad), "{old} to {size}");
                }
                assert!(
                    old == 0 || !verify(&[0; 32], &root, &proof),
                    "{old} to {size}"
                );
                assert!(
                    old == 0 || !verify(&old_root, &[0; 32], &proof),
                    "{old} to {size}"
                );
            }

            assert!(!verify_consistency(
                (u64::from(size) + 1, &root),
                (size.into(), &root),
                &[]
            ));
        }
    }
}
