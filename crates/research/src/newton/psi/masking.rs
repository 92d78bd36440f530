//! OPRF masking: elements are replaced by values of the sender's pseudorandom function.
//!
//! The receiver obtains the values of its elements without revealing them
//! ([`papir_lookup::oprf`]). The sender issues one value for each element that a receiver asks for.
//! This limit, not the encryption, protects the sender's other elements from the receiver.

use papir_core::Result;
use papir_lookup::oprf::{Key, Value};
use zeroize::Zeroizing;

use super::Item;

/// Bytes of a masked element.
const ITEM_BYTES: usize = 16;

/// Masks the receiver's elements, given their function values.
pub fn items(values: &[Value]) -> Zeroizing<Vec<Item>> {
    Zeroizing::new(values.iter().map(item).collect())
}

/// Masks the sender's own elements.
///
/// # Errors
/// [`papir_core::Error::OutOfBounds`] for elements of 2¹⁶ bytes and more.
pub fn mask(key: &Key, elements: &[Vec<u8>]) -> Result<Vec<Item>> {
    elements
        .iter()
        .map(|element| Ok(item(&key.value(element)?)))
        .collect()
}

/// The first 128 bits of the function's value.
fn item(value: &Value) -> Item {
    value
        .iter()
        .take(ITEM_BYTES)
        .rev()
        .fold(0, |item, byte| item << 8 | Item::from(*byte))
}
