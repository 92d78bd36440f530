//! Keyed hashes of keys: everything that a table knows of a key.

/// Bytes of a table's public seed.
pub(crate) const SEED_BYTES: usize = 32;

/// What stands for chunk `j` of a key: a tag to recognise it and three places to put it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyHash {
    /// Stored with the entry; never 0, which marks an empty slot.
    pub(crate) tag: u64,
    /// Chooses region (high bits) and pilot (low bits).
    pub(crate) place: u64,
    /// Chooses the bucket of the region, together with the pilot.
    pub(crate) spot: u64,
}

/// BLAKE3, keyed with the public table seed, of chunk number (4 bytes, little-endian) and key.
///
/// The seed is random and public: it keeps whoever writes the keys from choosing ones that
/// collide, and hides nothing.
pub(crate) fn key_hash(seed: &[u8; SEED_BYTES], key: &[u8], chunk: u32) -> KeyHash {
    let mut hasher = blake3::Hasher::new_keyed(seed);
    hasher.update(&chunk.to_le_bytes()).update(key);
    let digest = hasher.finalize();
    let word = |i: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&digest.as_bytes()[8 * i..8 * i + 8]);
        u64::from_le_bytes(bytes)
    };
    KeyHash { tag: word(0).max(1), place: word(1), spot: word(2) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seed_key_and_chunk_all_matter() {
        let base = key_hash(&[0; 32], b"key", 0);
        assert_eq!(base, key_hash(&[0; 32], b"key", 0));
        for other in
            [key_hash(&[1; 32], b"key", 0), key_hash(&[0; 32], b"kex", 0), key_hash(&[0; 32], b"key", 1)]
        {
            assert_ne!(base.tag, other.tag);
            assert_ne!(base.place, other.place);
            assert_ne!(base.spot, other.spot);
        }
    }

    #[test]
    fn golden_hash() {
        let hash = key_hash(&[7; 32], b"alice", 3);
        let expected = [12_211_246_668_993_105_098, 11_633_035_191_372_986_518, 6_246_570_607_483_742_727];
        assert_eq!([hash.tag, hash.place, hash.spot], expected);
    }
}
