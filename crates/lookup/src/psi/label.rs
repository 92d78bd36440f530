//! Encryption of labels under the masks of their elements.
//!
//! A receiver that retrieves a bucket also gets the sealed labels of other elements. It can read
//! neither these labels nor their lengths.
//!
//! ```text
//! check  8     first bytes of a keyed hash of the plaintext that follows
//! length 4     of the label, in bytes
//! label  …     followed by zeros up to the longest of the set
//! ```
//! Length and label are encrypted with a stream derived from the mask. Sets without labels have
//! neither.

use papir_core::{Error, Record, Result};
use zeroize::Zeroizing;

use super::mask::Mask;

/// BLAKE3's context strings.
const STREAM: &str = "papir 2026 set intersection label stream v1";
const CHECK: &str = "papir 2026 set intersection label check v1";
const CHECK_BYTES: usize = 8;
const LENGTH_BYTES: usize = 4;

/// Length in bytes of a sealed label in a set whose longest label has `longest` bytes. `longest` is
/// `None` if the set has no labels.
pub fn sealed_bytes(longest: Option<usize>) -> usize {
    CHECK_BYTES + longest.map_or(0, |longest| LENGTH_BYTES + longest)
}

/// Encrypts and authenticates a label of at most `longest` bytes.
pub(super) fn seal(mask: &Mask, label: &[u8], longest: Option<usize>) -> Record {
    let mut plain = Zeroizing::new(vec![0; sealed_bytes(longest) - CHECK_BYTES]);
    if let Some((length, rest)) = plain.split_first_chunk_mut::<LENGTH_BYTES>() {
        *length = (label.len() as u32).to_le_bytes();
        rest[..label.len()].copy_from_slice(label);
    }

    // The check covers the plaintext: a stream alone would let anyone flip bits of the label.
    let check = check(mask, &plain);
    add_stream(mask, &mut plain);
    [&check[..], &plain].concat()
}

/// Decrypts a label sealed by [`seal`]; `None` if it belongs to another element.
pub(super) fn open(mask: &Mask, sealed: &[u8], longest: Option<usize>) -> Result<Option<Record>> {
    Error::check_length("a sealed label", sealed.len(), sealed_bytes(longest))?;
    let (found, rest) = sealed.split_at(CHECK_BYTES);
    let mut plain = Zeroizing::new(rest.to_vec());
    add_stream(mask, &mut plain);
    if check(mask, &plain) != found {
        return Ok(None);
    }

    // A set without labels has no length either: the check alone names the element.
    let Some((length, label)) = plain.split_first_chunk::<LENGTH_BYTES>() else {
        return Ok(Some(Vec::new()));
    };
    let length = u32::from_le_bytes(*length) as usize;
    let Some(found) = label.get(..length) else {
        let expected = format!("at most {}", label.len());
        return Err(Error::malformed("a label's length", length, expected));
    };
    Ok(Some(found.to_vec()))
}

/// Encrypts or decrypts bytes: XORs them with the stream of a mask.
fn add_stream(mask: &Mask, bytes: &mut [u8]) {
    let mut stream = Zeroizing::new(vec![0; bytes.len()]);
    blake3::Hasher::new_derive_key(STREAM)
        .update(&*mask.seal)
        .finalize_xof()
        .fill(&mut stream);
    for (byte, add) in bytes.iter_mut().zip(stream.iter()) {
        *byte ^= add;
    }
}

/// The first 8 bytes of a hash of the plaintext, keyed with the mask.
fn check(mask: &Mask, plain: &[u8]) -> [u8; CHECK_BYTES] {
    let mut check = [0; CHECK_BYTES];
    let mut hasher = blake3::Hasher::new_derive_key(CHECK);
    hasher
        .update(&*mask.seal)
        .update(plain)
        .finalize_xof()
        .fill(&mut check);
    check
}
