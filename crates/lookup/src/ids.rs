//! Ids of keys, which the owner keeps.
//!
//! From the ids, the owner can place every entry again.

use papir_core::{Error as CoreError, Result as CoreResult};
use zeroize::Zeroize;

/// Bytes of an id.
pub(crate) const ID_BYTES: usize = 16;

/// The id of a key: 128 bits of its keyed hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct KeyId(pub(crate) [u8; ID_BYTES]);

impl KeyId {
    /// The id of a record without a key: its index, big-endian, so that ids ascend as indices do.
    pub(crate) fn of_index(index: u64) -> Self {
        Self(u128::from(index).to_be_bytes())
    }

    /// The index of a record without a key.
    pub(crate) fn index(&self) -> u64 {
        u128::from_be_bytes(self.0) as u64
    }
}

impl Zeroize for KeyId {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

/// The ids of all keys of a table, each once, ascending. Only the owner needs them, to update the
/// table without the keys themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyIds(Vec<KeyId>);

impl KeyIds {
    /// Makes the list of ids that are in ascending order already.
    pub(crate) fn of_sorted(ids: Vec<KeyId>) -> Self {
        debug_assert!(ids.is_sorted_by(|a, b| a < b));
        Self(ids)
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true if there are no keys.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All ids, ascending.
    pub(crate) fn as_slice(&self) -> &[KeyId] {
        &self.0
    }

    /// Returns true if a key of the table has this id.
    pub(crate) fn contains(&self, id: &KeyId) -> bool {
        self.0.binary_search(id).is_ok()
    }

    /// Encodes the ids, 16 bytes each.
    pub fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|id| id.0).collect()
    }

    /// Decodes the result of [`KeyIds::encode`].
    ///
    /// # Errors
    /// [`CoreError::Length`] unless the length is a multiple of 16, [`CoreError::Malformed`] for
    /// ids that do not ascend.
    pub fn decode(bytes: &[u8]) -> CoreResult<Self> {
        // Ids are searched by bisection, which needs them in order.
        let ids = ascending(bytes)?;
        Ok(Self(ids.iter().map(|id| KeyId(*id)).collect()))
    }
}

/// The ids in the result of [`KeyIds::encode`]. Its errors are those of [`KeyIds::decode`].
pub(crate) fn ascending(bytes: &[u8]) -> CoreResult<&[[u8; ID_BYTES]]> {
    let (ids, rest) = bytes.as_chunks::<ID_BYTES>();
    let whole = bytes.len() - rest.len();
    CoreError::check_length("the ids of keys", bytes.len(), whole)?;

    if !ids.is_sorted_by(|a, b| a < b) {
        let found = "ids in another order";
        return Err(CoreError::malformed(
            "the ids of keys",
            found,
            "ascending ids",
        ));
    }
    Ok(ids)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ids_round_trip_and_wrong_ones_are_refused() {
        let ids = KeyIds::of_sorted([1, 2, 9].map(|byte| KeyId([byte; ID_BYTES])).to_vec());
        let bytes = ids.encode();

        assert_eq!(bytes.len(), 48);
        assert_eq!(KeyIds::decode(&bytes).unwrap(), ids);
        assert!(ids.contains(&KeyId([2; ID_BYTES])) && !ids.contains(&KeyId([3; ID_BYTES])));
        assert_eq!(
            KeyIds::decode(&bytes[1..]).unwrap_err().code(),
            "wrong_length"
        );
        for wrong in [[1, 1], [2, 1]] {
            let bytes: Vec<u8> = wrong.iter().flat_map(|&byte| [byte; ID_BYTES]).collect();
            assert_eq!(KeyIds::decode(&bytes).unwrap_err().code(), "malformed");
        }
        assert!(KeyIds::decode(&[]).unwrap().is_empty());
    }
}
