//! Bytes that JavaScript writes and Rust owns.

use std::ptr::slice_from_raw_parts_mut;

use zeroize::{Zeroize, Zeroizing};

/// Allocates `length` zero bytes for JavaScript to fill.
#[unsafe(no_mangle)]
extern "C" fn papir_allocate(length: usize) -> *mut u8 {
    Box::into_raw(vec![0_u8; length].into_boxed_slice()).cast()
}

/// Takes bytes over from JavaScript. They are erased when dropped: they may be keys, or a token.
///
/// # Safety
/// `start` comes from [`papir_allocate`] with this length, and is given back once.
pub(crate) unsafe fn take(start: *mut u8, length: usize) -> Zeroizing<Vec<u8>> {
    // SAFETY: the bytes were allocated as a boxed slice of this length, as the caller promises.
    Zeroizing::new(unsafe { Box::from_raw(slice_from_raw_parts_mut(start, length)) }.into_vec())
}

/// Erases and frees bytes that no function has taken over.
///
/// # Safety
/// The conditions of [`take`].
#[unsafe(no_mangle)]
unsafe extern "C" fn papir_free(start: *mut u8, length: usize) {
    // SAFETY: as the caller promises.
    unsafe { take(start, length) }.zeroize();
}
