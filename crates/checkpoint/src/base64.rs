//! Base64 with padding (RFC 4648, section 4), in its canonical form only.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Longest array that [`decode_array`] decodes, in bytes.
const MAX_ARRAY: usize = 64;

/// Encodes bytes.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes text. Errors do not contain the text, which may be a secret.
///
/// # Errors
/// [`papir_core::Error::Malformed`].
pub(crate) fn decode(what: &'static str, text: &str) -> Result<Vec<u8>> {
    STANDARD
        .decode(text)
        .map_err(|_| Error::malformed(what, format!("{} characters", text.len()), "base64"))
}

/// Decodes text of exactly `N` bytes, at most [`MAX_ARRAY`].
///
/// # Errors
/// [`papir_core::Error::Malformed`].
pub(crate) fn decode_array<const N: usize>(what: &'static str, text: &str) -> Result<[u8; N]> {
    // On the stack and wiped: the bytes may be a secret.
    let mut buffer = Zeroizing::new([0; MAX_ARRAY]);
    let length = STANDARD.decode_slice(text, buffer.as_mut_slice());
    let decoded = length.ok().and_then(|length| buffer.get(..length));
    decoded
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| {
            Error::malformed(
                what,
                format!("{} characters", text.len()),
                format!("{N} bytes in base64"),
            )
        })
}
