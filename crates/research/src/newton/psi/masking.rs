//! OPRF masking: both sets are replaced by values of a pseudorandom function whose key is the sender's, the
//! receiver's without the sender seeing them ([`papir_oprf`]).
//!
//! The sender gives out one value for each element that a receiver asks for: that, and not the encryption, is
//! what keeps its other elements from the receiver.

use papir_core::Result;
use papir_oprf::{Key, Value};
use zeroize::Zeroizing;

use super::Item;

/// Bytes of a masked element.
const ITEM_BYTES: usize = 16;

/// The receiver's elements, masked, from the values that it got.
pub fn items(values: &[Value]) -> Zeroizing<Vec<Item>> {
    Zeroizing::new(values.iter().map(item).collect())
}

/// The sender's own elements, masked.
///
/// # Errors
/// [`papir_core::Error::OutOfBounds`] for elements of 2¹⁶ bytes and more.
pub fn mask(key: &Key, elements: &[Vec<u8>]) -> Result<Vec<Item>> {
    elements.iter().map(|element| Ok(item(&key.value(element)?))).collect()
}

/// The first 128 bits of the function's value.
fn item(value: &Value) -> Item {
    value.iter().take(ITEM_BYTES).rev().fold(0, |item, byte| item << 8 | Item::from(*byte))
}
