//! Keyed hashes of keys: ids, tags and buckets.

use rand_core::CryptoRng;

use crate::ids::{ID_BYTES, KeyId};

/// Bytes of each of a table's public seeds.
pub(crate) const SEED_BYTES: usize = 32;

/// The public seeds of a table's hashes. They are drawn at random so that nobody can choose keys
/// that collide. They are not secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seeds {
    /// Seed of the ids. It never changes, because the owner keeps ids instead of keys.
    pub(crate) ids: [u8; SEED_BYTES],
    /// Placement seed, drawn anew whenever all keys are arranged.
    pub(crate) placement: [u8; SEED_BYTES],
}

/// The hash of a chunk of a key: a tag that identifies it and two words that place it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyHash {
    /// The tag, which is stored with the entry; never 0, which marks the end of a bucket.
    pub(crate) tag: u64,
    /// The word that chooses the region (high bits) and the pilot (low bits).
    pub(crate) pilot_hash: u64,
    /// The word that chooses, together with the pilot value, the bucket in the region.
    pub(crate) bucket_hash: u64,
}

/// Draws a seed.
pub(crate) fn random_seed(rng: &mut dyn CryptoRng) -> [u8; SEED_BYTES] {
    let mut seed = [0; SEED_BYTES];
    rng.fill_bytes(&mut seed);
    seed
}

impl Seeds {
    /// The id of a key: the first 16 bytes of its BLAKE3 hash keyed with the seed of the ids.
    pub(crate) fn id(&self, key: &[u8]) -> KeyId {
        let mut id = [0; ID_BYTES];
        id.copy_from_slice(&blake3::keyed_hash(&self.ids, key).as_bytes()[..ID_BYTES]);
        KeyId(id)
    }

    /// The hash of a chunk: BLAKE3 keyed with the placement seed, over the key's id and the chunk's
    /// number (4 bytes, little-endian).
    pub(crate) fn chunk(&self, id: &KeyId, chunk: u32) -> KeyHash {
        // An id has a fixed length, so the number needs no separator.
        let mut input = [0; ID_BYTES + 4];
        input[..ID_BYTES].copy_from_slice(&id.0);
        input[ID_BYTES..].copy_from_slice(&chunk.to_le_bytes());

        let digest = blake3::keyed_hash(&self.placement, &input);
        let words = digest.as_bytes();
        KeyHash {
            tag: word(words, 0).max(1),
            pilot_hash: word(words, 1),
            bucket_hash: word(words, 2),
        }
    }
}

/// The 64-bit word with this number in a digest, little-endian.
fn word(digest: &[u8; 32], number: usize) -> u64 {
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&digest[8 * number..8 * number + 8]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(ids: u8, placement: u8, key: &[u8], chunk: u32) -> KeyHash {
        let seeds = Seeds {
            ids: [ids; 32],
            placement: [placement; 32],
        };
        seeds.chunk(&seeds.id(key), chunk)
    }

    #[test]
    fn seeds_key_and_chunk_all_matter() {
        let base = hash(0, 0, b"key", 0);
        assert_eq!(base, hash(0, 0, b"key", 0));
        for other in [
            hash(1, 0, b"key", 0),
            hash(0, 1, b"key", 0),
            hash(0, 0, b"kex", 0),
            hash(0, 0, b"key", 1),
        ] {
            assert_ne!(base.tag, other.tag);
            assert_ne!(base.pilot_hash, other.pilot_hash);
            assert_ne!(base.bucket_hash, other.bucket_hash);
        }
    }

    #[test]
    fn golden_hash() {
        let hash = hash(7, 8, b"alice", 3);
        let expected = [
            17_829_847_085_459_514_389,
            5_824_936_762_478_396_396,
            16_642_171_537_016_901_953,
        ];
        assert_eq!([hash.tag, hash.pilot_hash, hash.bucket_hash], expected);
    }
}
