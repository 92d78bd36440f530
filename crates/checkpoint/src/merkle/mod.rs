//! Merkle trees of logs (RFC 6962, section 2.1), with SHA-256.
//!
//! | file | contents |
//! |---|---|
//! | `hash` | hashes of leaves and nodes |
//! | `tree` | root, inclusion proof and consistency proof from all leaves |
//! | `frontier` | the root of a growing tree, kept in logarithmic memory |
//! | `verify` | verification of inclusion and consistency proofs |

mod frontier;
mod hash;
mod tree;
mod verify;

pub use frontier::Frontier;
pub use hash::{HASH_BYTES, Hash, leaf_hash};
pub use tree::Tree;
pub use verify::{MAX_PROOF, verify_consistency, verify_inclusion};
