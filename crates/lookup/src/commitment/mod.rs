//! Verifiable databases: every record travels with the proof that it is the one committed to.
//!
//! The owner commits to all records by a Merkle tree of BLAKE3 hashes and prepares, in place of each
//! record, the record followed by its path through the tree. One lookup fetches both, and every
//! lookup has the same length. The client recomputes the root: what does not lead to the root that it
//! trusts is an error for its caller, and nothing that the server gets to see.
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
//! root    = H_root(records (8), bytes of a record (8), top of the tree (32), H_layout(keyword layout))
//! proof i = the siblings on the way from leaf i to the top, 32 bytes each, lowest first
//! ```
//! Each H is BLAKE3 in key derivation mode with a context of its own, so that no leaf is a node. The
//! layout is part of the root: it says where a key must stand, and so what "absent" means.

mod records;
mod tree;

use std::fmt;
use std::str::FromStr;

use papir_core::{Error as CoreError, Record, Result as CoreResult, Shape};

use crate::{Error, KeywordLayout, Result};
pub use records::{PlainRecords, ProvenRecords};
use tree::{HASH_BYTES, Hash, depth, leaf, node};

/// What a verifiable database promises to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commitment {
    /// Shape of the records without their proofs.
    shape: Shape,
    /// The top of the tree.
    top: Hash,
}

/// The root that stands for a database and the layout of its keys. Printed as 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Root(pub [u8; HASH_BYTES]);

impl Commitment {
    /// The commitment with this top to the records of a prepared database of this shape.
    ///
    /// # Errors
    /// [`CoreError::OutOfBounds`] when its records have no room for a proof.
    pub fn of_prepared(prepared: &Shape, top: [u8; HASH_BYTES]) -> CoreResult<Self> {
        let proof = proof_bytes(prepared.records()) as u64;
        let bytes = (prepared.record_bytes() as u64).checked_sub(proof).filter(|&bytes| bytes > 0);
        let (Some(bytes), true) = (bytes, prepared.record_bits().is_multiple_of(8)) else {
            let expected = format!("whole bytes, more than the {} of a proof", 8 * proof);
            return Err(CoreError::out_of_bounds(
                "the record length in bits",
                prepared.record_bits(),
                expected,
            ));
        };
        Ok(Self { shape: Shape::of_bytes(prepared.records(), bytes)?, top })
    }

    /// Shape of the records without their proofs.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The top of the tree, as it stands in a bundle or snapshot.
    pub fn top(&self) -> &[u8; HASH_BYTES] {
        &self.top
    }

    /// The root: what a client pins.
    pub fn root(&self, layout: Option<&KeywordLayout>) -> Root {
        let encoded = layout.map(KeywordLayout::encode).unwrap_or_default();
        let layout = blake3::derive_key("papir 2026 commitment layout v1", &encoded);
        let mut hasher = blake3::Hasher::new_derive_key("papir 2026 commitment root v1");
        hasher.update(&self.shape.records().to_le_bytes());
        hasher.update(&(self.shape.record_bytes() as u64).to_le_bytes());
        hasher.update(&self.top).update(&layout);
        Root(*hasher.finalize().as_bytes())
    }

    /// The record of a record with its proof. Runs on the client, after decryption; its time does
    /// not depend on the bytes.
    ///
    /// # Errors
    /// [`CoreError::Length`], or [`Error::NotCommitted`] when it is not the record `index` that the
    /// commitment is to.
    pub fn open(&self, index: u64, proven: &[u8]) -> Result<Record> {
        let record = self.shape.record_bytes();
        let expected = record + proof_bytes(self.shape.records());
        CoreError::check_length("a record with its proof", proven.len(), expected)?;
        let (record, proof) = proven.split_at(record);
        let mut hash = leaf(record);
        for (level, sibling) in proof.chunks_exact(HASH_BYTES).enumerate() {
            let (mut left, mut right) = (hash, [0; HASH_BYTES]);
            right.copy_from_slice(sibling);
            swap_if(&mut left, &mut right, (index >> level & 1) as u8);
            hash = node(&left, &right);
        }
        if hash == self.top { Ok(record.to_vec()) } else { Err(Error::NotCommitted) }
    }
}

/// Bytes of a proof in a database of so many records.
pub fn proof_bytes(records: u64) -> usize {
    HASH_BYTES * depth(records)
}

/// Exchanges the two where `bit` is 1, without a branch: the bit is one of a secret index.
fn swap_if(left: &mut Hash, right: &mut Hash, bit: u8) {
    let mask = std::hint::black_box(bit).wrapping_neg();
    for (a, b) in left.iter_mut().zip(right) {
        let difference = mask & (*a ^ *b);
        *a ^= difference;
        *b ^= difference;
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Root({self})")
    }
}

impl FromStr for Root {
    type Err = CoreError;

    fn from_str(text: &str) -> CoreResult<Self> {
        let bad = || CoreError::malformed("a root", text, "64 hexadecimal digits");
        if text.len() != 2 * HASH_BYTES || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(bad());
        }
        let mut root = [0; HASH_BYTES];
        for (byte, pair) in root.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
            let digits = std::str::from_utf8(pair).map_err(|_| bad())?;
            *byte = u8::from_str_radix(digits, 16).map_err(|_| bad())?;
        }
        Ok(Self(root))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn roots_print_and_parse() {
        let root = Root(std::array::from_fn(|i| i as u8 * 7));
        assert_eq!(root.to_string().parse::<Root>().unwrap(), root);
        for bad in ["", "00", &"g".repeat(64), &"é".repeat(32), &"0".repeat(65)] {
            assert!(bad.parse::<Root>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_shape_without_room_for_a_proof_is_refused() {
        for (records, bits) in [(2, 8 * 32), (1 << 20, 8 * 640), (1, 9), (3, 8 * 65 + 1)] {
            let shape = Shape::new(records, bits).unwrap();
            assert!(Commitment::of_prepared(&shape, [0; 32]).is_err(), "{records} × {bits}");
        }
        let one = Commitment::of_prepared(&Shape::new(1, 8).unwrap(), [0; 32]).unwrap();
        assert_eq!(one.shape().record_bytes(), 1);
    }
}
