//! Lengths of sealed messages in the chunked form.

use crate::gateway::{CHUNK_BYTES, HEADER_BYTES};
use crate::keys::Kem;
use crate::message::padded_length;

/// Bytes of the tag behind each chunk (AES-128-GCM).
const TAG_BYTES: u64 = 16;
/// Bytes of the random nonce before a response: as many as of the cipher's key.
const NONCE_BYTES: u64 = 16;
/// Bytes of the last chunk, which is empty: its length in one byte, and its tag.
const LAST_CHUNK_BYTES: u64 = 1 + TAG_BYTES;
/// Longest message of which the sealed length is computed. The lengths within a message have at
/// most 62 bits (RFC 9000, section 16).
const MOST_BYTES: u64 = 1 << 62;

/// The length in bytes of a sealed request in the chunked form, if its message has `message` bytes
/// before its padding: the head and the body. A message of more than 2⁶² bytes counts as one of
/// 2⁶².
#[must_use]
pub fn sealed_request_bytes(message: u64, kem: Kem) -> u64 {
    let before = HEADER_BYTES + kem.encapsulated_bytes();
    before as u64 + chunks_bytes(message)
}

/// The length in bytes of a sealed response in the chunked form. See [`sealed_request_bytes`].
#[must_use]
pub fn sealed_response_bytes(message: u64) -> u64 {
    NONCE_BYTES + chunks_bytes(message)
}

/// The bytes of all chunks of a message with its padding.
fn chunks_bytes(message: u64) -> u64 {
    let padded = padded_length(message.min(MOST_BYTES));
    let full = CHUNK_BYTES as u64;
    let rest = match padded % full {
        0 => 0,
        rest => chunk_bytes(rest),
    };
    padded / full * chunk_bytes(full) + rest + LAST_CHUNK_BYTES
}

/// The bytes of a chunk of the plaintext, with its length before it and its tag behind it.
fn chunk_bytes(plain: u64) -> u64 {
    let sealed = plain + TAG_BYTES;
    let length = match sealed {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        _ => 4,
    };
    length + sealed
}
