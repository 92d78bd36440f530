//! Values of the function, wire sizes and errors.

use papir_core::{Error, Result};
use zeroize::{Zeroize, Zeroizing};

/// Bytes of a blinded or evaluated element on the wire.
pub const ELEMENT_BYTES: usize = 32;
/// Bytes of a value of the function.
pub const VALUE_BYTES: usize = 64;

/// A value of the function, erased on drop. Only the side that submitted the element may know it.
pub type Value = Zeroizing<[u8; VALUE_BYTES]>;

/// Copies the function's output into a [`Value`], and erases the original.
pub(crate) fn value(output: &mut [u8]) -> Value {
    let mut value = Zeroizing::new([0; VALUE_BYTES]);
    for (to, from) in value.iter_mut().zip(&*output) {
        *to = *from;
    }
    output.zeroize();
    value
}

/// Refuses elements of 2¹⁶ bytes or more, which RFC 9497 does not allow.
pub(crate) fn check(element: &[u8]) -> Result<()> {
    if element.len() <= usize::from(u16::MAX) {
        return Ok(());
    }
    let found = element.len() as u64;
    let expected = format!("at most {} bytes", u16::MAX);
    Err(Error::out_of_bounds(
        "the length of an element",
        found,
        expected,
    ))
}

/// Converts an error of `voprf`, which stands for an invalid group element.
pub(crate) fn refused(error: voprf::Error) -> Error {
    Error::malformed(
        "a message of the pseudorandom function",
        error,
        "nonzero elements of ristretto255",
    )
}
