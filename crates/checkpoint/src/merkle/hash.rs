//! Hashes of leaves and nodes (RFC 6962, section 2.1).

use sha2::{Digest, Sha256};

/// Bytes of a hash.
pub const HASH_BYTES: usize = 32;
/// A SHA-256 hash of a leaf or of a node.
pub type Hash = [u8; HASH_BYTES];

/// The hash of a leaf: SHA-256(0x00 ‖ leaf).
pub fn leaf_hash(leaf: &[u8]) -> Hash {
    Sha256::new()
        .chain_update([0])
        .chain_update(leaf)
        .finalize()
        .into()
}

/// The hash of an inner node: SHA-256(0x01 ‖ left ‖ right).
pub(crate) fn node_hash(left: &Hash, right: &Hash) -> Hash {
    Sha256::new()
        .chain_update([1])
        .chain_update(left)
        .chain_update(right)
        .finalize()
        .into()
}

/// The root of the empty tree: SHA-256 of the empty string.
pub(crate) fn empty_root() -> Hash {
    Sha256::digest([]).into()
}
