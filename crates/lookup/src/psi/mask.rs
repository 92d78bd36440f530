//! Masked elements: values of the oblivious pseudorandom function.

use crate::oprf::{VALUE_BYTES, Value};
use zeroize::Zeroizing;

/// Length in bytes of a masked element's name.
pub const NAME_BYTES: usize = VALUE_BYTES / 2;

/// A masked element: the two halves of the function's value.
pub(super) struct Mask {
    /// The name, which identifies the element in a filter or table.
    pub(super) name: Zeroizing<[u8; NAME_BYTES]>,
    /// The key under which the element's label is sealed.
    pub(super) seal: Zeroizing<[u8; NAME_BYTES]>,
}

impl From<&Value> for Mask {
    fn from(value: &Value) -> Self {
        let mut name = Zeroizing::new([0; NAME_BYTES]);
        let mut seal = Zeroizing::new([0; NAME_BYTES]);
        name.copy_from_slice(&value[..NAME_BYTES]);
        seal.copy_from_slice(&value[NAME_BYTES..]);
        Self { name, seal }
    }
}
