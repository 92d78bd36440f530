//! Root and proofs from all leaves (RFC 6962, section 2.1).

use super::hash::{Hash, empty_root, node_hash};

/// A tree over the hashes of its leaves.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    leaves: &'a [Hash],
}

impl<'a> Tree<'a> {
    /// The tree over these hashes of leaves.
    pub fn new(leaves: &'a [Hash]) -> Self {
        Self { leaves }
    }

    /// The root of the tree.
    pub fn root(&self) -> Hash {
        root(self.leaves)
    }

    /// The inclusion proof of leaf `index` (PATH in section 2.1.1): the hashes of the siblings on
    /// its path, lowest first. `None` if there is no such leaf.
    pub fn inclusion(&self, index: usize) -> Option<Vec<Hash>> {
        let mut proof = Vec::new();
        let mut leaves = self.leaves;
        let mut index = index;
        leaves.get(index)?;

        // Walks from the root down to the leaf.
        while leaves.len() > 1 {
            let (left, right) = leaves.split_at(split(leaves.len()));
            if index < left.len() {
                proof.push(root(right));
                leaves = left;
            } else {
                proof.push(root(left));
                index -= left.len();
                leaves = right;
            }
        }
        proof.reverse();
        Some(proof)
    }

    /// The proof that this tree extends the tree of its first `old` leaves (PROOF in section
    /// 2.1.2). It is empty if `old` is 0 or the number of leaves; `None` if `old` exceeds that
    /// number.
    pub fn consistency(&self, old: usize) -> Option<Vec<Hash>> {
        let mut proof = Vec::new();
        if old > self.leaves.len() {
            return None;
        }
        if old == 0 {
            return Some(proof);
        }

        // `whole` is set as long as the old tree is a subtree of the new one, which the verifier
        // knows already.
        let mut leaves = self.leaves;
        let mut old = old;
        let mut whole = true;
        while old < leaves.len() {
            let (left, right) = leaves.split_at(split(leaves.len()));
            if old <= left.len() {
                proof.push(root(right));
                leaves = left;
            } else {
                proof.push(root(left));
                leaves = right;
                old -= left.len();
                whole = false;
            }
        }

        if !whole {
            proof.push(root(leaves));
        }
        proof.reverse();
        Some(proof)
    }
}

/// The largest power of two below `size`, which is at least 2.
fn split(size: usize) -> usize {
    1 << (size - 1).ilog2()
}

/// The root of a tree over these hashes of leaves.
fn root(leaves: &[Hash]) -> Hash {
    match leaves {
        [] => empty_root(),
        [leaf] => *leaf,
        _ => {
            let (left, right) = leaves.split_at(split(leaves.len()));
            node_hash(&root(left), &root(right))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::merkle::leaf_hash;

    fn bytes(hex: &str) -> Vec<u8> {
        (0..hex.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
            .collect()
    }

    /// The leaves and roots in the tests of the Certificate Transparency project.
    #[test]
    fn known_roots() {
        let leaves = [
            "",
            "00",
            "10",
            "2021",
            "3031",
            "40414243",
            "5051525354555657",
            "606162636465666768696a6b6c6d6e6f",
        ];

        let roots = [
            "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
            "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
            "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
            "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
            "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
            "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
            "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
            "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
        ];

        let hashes: Vec<Hash> = leaves.iter().map(|leaf| leaf_hash(&bytes(leaf))).collect();
        for (size, expected) in (1..).zip(roots) {
            assert_eq!(
                Tree::new(&hashes[..size]).root().to_vec(),
                bytes(expected),
                "{size}"
            );
        }

        // RFC 9162 defines the root of an empty tree as the hash of the empty string.
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Tree::new(&[]).root().to_vec(), bytes(empty));
    }

    #[test]
    fn proofs_beyond_the_tree_do_not_exist() {
        let leaves = [leaf_hash(b"a"), leaf_hash(b"b")];
        let tree = Tree::new(&leaves);
        assert_eq!((tree.inclusion(2), tree.consistency(3)), (None, None));
        assert_eq!(
            (tree.consistency(0), tree.consistency(2)),
            (Some(Vec::new()), Some(Vec::new()))
        );
    }
}
