//! Verifiable databases: records with Merkle proofs.
//!
//! Every record carries a Merkle proof against the commitment of the database's owner.
//!
//! The owner commits to all records with a Merkle tree of BLAKE3 hashes, and prepares each record
//! followed by its path through the tree. A lookup retrieves both at once, and every lookup has the
//! same length. The client recomputes the root. A record that does not match the trusted root is an
//! error for the caller, which the server does not see.
//!
//! | step | who | function |
//! |---|---|---|
//! | records → records with proofs, and the commitment | owner | [`ProvenRecords::new`] |
//! | commitment and layout → root | both | [`Commitment::root`] |
//! | record with proof → record, or an error | client | [`Commitment::open`] |
//!
//! ```text
//! leaf i  = H_leaf(record i)
//! node    = H_node(left child, right child); a missing right child is 32 zero bytes
//! root    = H_root(records (8), bytes of a record (8), top of the tree (32),
//!                  H_layout(keyword layout))
//! proof i = the siblings on the path from leaf i to the top, 32 bytes each, lowest first
//! ```
//! Each H is BLAKE3 in key derivation mode with its own context, so that no leaf is a node. The
//! layout is part of the root, because it determines the position of every key, and therefore which
//! keys are absent.

mod commit;
mod records;
mod root;
mod tree;

pub use commit::{Commitment, proof_bytes};
pub use records::{PlainRecords, ProvenRecords};
pub use root::Root;
