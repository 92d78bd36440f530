//! Commitment to the records of a database.

use papir_core::{Error as CoreError, Record, Result as CoreResult, Shape};

use super::root::Root;
use super::tree::{HASH_BYTES, Hash, depth, leaf, node};
use crate::error::{Error, Result};
use crate::layout::KeywordLayout;

/// The commitment of a verifiable database to its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commitment {
    /// Shape of the records without their proofs.
    pub(super) shape: Shape,
    /// The top of the hash tree.
    pub(super) top: Hash,
}

impl Commitment {
    /// The commitment of a prepared database with this shape, which includes the proofs, and this
    /// top of the hash tree.
    ///
    /// # Errors
    /// [`CoreError::OutOfBounds`] if the prepared records are not whole bytes, or not longer than a
    /// proof.
    pub fn of_prepared(prepared: &Shape, top: [u8; HASH_BYTES]) -> CoreResult<Self> {
        let proof = proof_bytes(prepared.records()) as u64;
        let bytes = prepared.record_bytes() as u64;
        let bits = prepared.record_bits();
        if bytes <= proof || !bits.is_multiple_of(8) {
            let what = "the record length in bits";
            let expected = format!("whole bytes, more than the {} of a proof", 8 * proof);
            return Err(CoreError::out_of_bounds(what, bits, expected));
        }

        Ok(Self {
            shape: Shape::of_bytes(prepared.records(), bytes - proof)?,
            top,
        })
    }

    /// The shape of the records without their proofs.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The top of the hash tree, as stored in bundles and snapshots.
    pub fn top(&self) -> &[u8; HASH_BYTES] {
        &self.top
    }

    /// The root, which clients pin. `layout` is the layout of the keys; `None` for a database
    /// without keys.
    pub fn root(&self, layout: Option<&KeywordLayout>) -> Root {
        let encoded = layout.map(KeywordLayout::encode).unwrap_or_default();
        let layout = blake3::derive_key("papir 2026 commitment layout v1", &encoded);

        // All four parts have fixed lengths, so no two databases give the same input.
        let mut hasher = blake3::Hasher::new_derive_key("papir 2026 commitment root v1");
        hasher.update(&self.shape.records().to_le_bytes());
        hasher.update(&(self.shape.record_bytes() as u64).to_le_bytes());
        hasher.update(&self.top).update(&layout);
        Root(*hasher.finalize().as_bytes())
    }

    /// Verifies the record `index`, followed by its proof, and returns the record. Runs on the
    /// client, after decryption. Its time does not depend on the bytes.
    ///
    /// # Errors
    /// [`CoreError::Length`], or [`Error::NotCommitted`] if `proven` is not the record `index` of
    /// the commitment.
    pub fn open(&self, index: u64, proven: &[u8]) -> Result<Record> {
        let record = self.shape.record_bytes();
        let expected = record + proof_bytes(self.shape.records());
        CoreError::check_length("a record with its proof", proven.len(), expected)?;
        let (record, proof) = proven.split_at(record);

        // Up to the top without a branch: the bits of the index are secret.
        let mut hash = leaf(record);
        for (level, sibling) in proof.chunks_exact(HASH_BYTES).enumerate() {
            let mut left = hash;
            let mut right = [0; HASH_BYTES];
            right.copy_from_slice(sibling);
            swap_if(&mut left, &mut right, (index >> level & 1) as u8);
            hash = node(&left, &right);
        }

        // Hashes of `blake3` are compared in constant time, arrays of bytes are not.
        if blake3::Hash::from(hash) == blake3::Hash::from(self.top) {
            Ok(record.to_vec())
        } else {
            Err(Error::NotCommitted)
        }
    }
}

/// Length in bytes of a record's proof in a database of `records` records.
pub fn proof_bytes(records: u64) -> usize {
    HASH_BYTES * depth(records)
}

/// Swaps `left` and `right` if `bit` is 1. It has no branch, because the bit belongs to a secret
/// index.
fn swap_if(left: &mut Hash, right: &mut Hash, bit: u8) {
    let mask = std::hint::black_box(bit).wrapping_neg();
    for (a, b) in left.iter_mut().zip(right) {
        let difference = mask & (*a ^ *b);
        *a ^= difference;
        *b ^= difference;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_without_room_for_a_proof_is_refused() {
        for (records, bits) in [(2, 8 * 32), (1 << 20, 8 * 640), (1, 9), (3, 8 * 65 + 1)] {
            let shape = Shape::new(records, bits).unwrap();
            assert!(
                Commitment::of_prepared(&shape, [0; 32]).is_err(),
                "{records} × {bits}"
            );
        }
        let one = Commitment::of_prepared(&Shape::new(1, 8).unwrap(), [0; 32]).unwrap();
        assert_eq!(one.shape().record_bytes(), 1);
    }
}
