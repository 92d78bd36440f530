//! Merkle tree over all records.

use papir_core::{Error, Records, Result};

/// Bytes of a hash.
pub(crate) const HASH_BYTES: usize = 32;
/// A hash: a leaf, a node or the top of the tree.
pub(crate) type Hash = [u8; HASH_BYTES];

/// The stand-in for the missing sibling of the last node of a level.
const MISSING: Hash = [0; HASH_BYTES];
/// Bytes of records that are read and hashed at a time.
const STEP_BYTES: u64 = 1 << 20;

/// The tree: all its levels, the leaves first and the top last.
pub(crate) struct RecordTree {
    levels: Vec<Vec<Hash>>,
}

impl RecordTree {
    /// The tree over all records. Refuses records that are not a whole number of bytes.
    pub(crate) fn of(records: &dyn Records) -> Result<Self> {
        let mut levels = vec![leaves(records)?];
        while let Some(level) = levels.last().filter(|level| level.len() > 1) {
            // An odd last node is hashed with zeros, not passed up: every proof then has a hash for
            // each level.
            let above = level
                .chunks(2)
                .map(|pair| node(&pair[0], pair.get(1).unwrap_or(&MISSING)))
                .collect();
            levels.push(above);
        }
        Ok(Self { levels })
    }

    /// The top: the only node of the last level.
    pub(crate) fn top(&self) -> Hash {
        self.levels
            .last()
            .and_then(|level| level.first())
            .copied()
            .unwrap_or(MISSING)
    }

    /// Writes to `out` the siblings on the path from leaf `index` to the top, lowest first. `out`
    /// has the length of a proof.
    pub(crate) fn write_proof(&self, index: u64, out: &mut [u8]) {
        let places = out.chunks_exact_mut(HASH_BYTES);
        for ((level, nodes), place) in self.levels.iter().enumerate().zip(places) {
            let sibling = (index >> level ^ 1) as usize;
            place.copy_from_slice(nodes.get(sibling).unwrap_or(&MISSING));
        }
    }
}

/// Number of levels above the leaves: ⌈log₂ records⌉.
pub(crate) fn depth(records: u64) -> usize {
    (u64::BITS - records.saturating_sub(1).leading_zeros()) as usize
}

/// The hash of a record.
pub(crate) fn leaf(record: &[u8]) -> Hash {
    blake3::derive_key("papir 2026 commitment leaf v1", record)
}

/// The hash of two nodes.
pub(crate) fn node(left: &Hash, right: &Hash) -> Hash {
    let mut pair = [0; 2 * HASH_BYTES];
    pair[..HASH_BYTES].copy_from_slice(left);
    pair[HASH_BYTES..].copy_from_slice(right);
    blake3::derive_key("papir 2026 commitment node v1", &pair)
}

/// The hashes of all records.
fn leaves(records: &dyn Records) -> Result<Vec<Hash>> {
    let shape = records.shape();
    let bits = shape.record_bits();
    if !bits.is_multiple_of(8) {
        let what = "the record length in bits";
        let expected = "whole bytes, to commit to";
        return Err(Error::out_of_bounds(what, bits, expected));
    }

    let bytes = shape.record_bytes() as u64;
    let mut leaves = Vec::with_capacity(shape.records() as usize);
    let mut step = Vec::new();
    let mut first = 0;
    while first < shape.records() {
        let count = (STEP_BYTES / bytes).clamp(1, shape.records() - first);
        step.resize((count * bytes) as usize, 0);
        records.read_packed(first, count, &mut step)?;
        leaves.extend(step.chunks_exact(bytes as usize).map(leaf));
        first += count;
    }
    Ok(leaves)
}

#[cfg(test)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../../docs/vectors/arithmetic/lookup.json");

    #[test]
    fn depths_are_those_of_the_definition() {
        for [records, expected] in rows::<2>(VECTORS, "tree.depth") {
            assert_eq!(depth(records as u64) as i128, expected, "{records}");
        }
    }
}
