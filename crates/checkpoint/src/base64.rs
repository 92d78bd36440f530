//! Base64 with padding, in canonical form (RFC 4648, section 4).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Longest array that [`decode_array`] decodes, in bytes.
const MAX_ARRAY: usize = 64;

/// Encodes bytes as base64 text.
pub(crate) fn encode(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Decodes base64 text. Errors name `what`, but do not contain the text, which may be a secret.
pub(crate) fn decode(what: &'static str, text: &str) -> Result<Vec<u8>> {
    let Ok(bytes) = STANDARD.decode(text) else {
        let found = format!("{} characters", text.len());
        return Err(Error::malformed(what, found, "base64"));
    };
    Ok(bytes)
}

/// Decodes base64 text of exactly `N` bytes; `N` is at most [`MAX_ARRAY`].
pub(crate) fn decode_array<const N: usize>(what: &'static str, text: &str) -> Result<[u8; N]> {
    // On the stack and wiped: the bytes may be a secret.
    let mut buffer = Zeroizing::new([0; MAX_ARRAY]);
    let length = STANDARD.decode_slice(text, buffer.as_mut_slice());

    let decoded = length.ok().and_then(|length| buffer.get(..length));
    let Some(bytes) = decoded.and_then(|bytes| bytes.try_into().ok()) else {
        let found = format!("{} characters", text.len());
        let expected = format!("{N} bytes in base64");
        return Err(Error::malformed(what, found, expected));
    };
    Ok(bytes)
}
