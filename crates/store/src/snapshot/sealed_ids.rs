//! Sealed ids of the keys of an encrypted database.
//!
//! Updates need the ids, but a server must not see them. They are encrypted with the owner's key.
//!
//! ```text
//! nonce  24    random
//! ids    …     encrypted with XChaCha20-Poly1305; the encoded keyword layout is associated data
//! tag    16
//! ```

use chacha20poly1305::aead::{AeadInOut, KeyInit};
use chacha20poly1305::{Key, XChaCha20Poly1305, XNonce};
use papir_core::{Error as CoreError, OwnerKey, Result as CoreResult};
use papir_lookup::{KeyIds, KeywordLayout};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// BLAKE3 context of the key derivation.
const CONTEXT: &str = "papir 2026 owner's ids v1";
const NONCE: usize = 24;

/// The cipher with the key that is derived from the owner's.
fn cipher(key: &OwnerKey) -> XChaCha20Poly1305 {
    let key = Zeroizing::new(blake3::derive_key(CONTEXT, key.bytes()));
    XChaCha20Poly1305::new(&Key::from(*key))
}

/// Seals ids. Only ids longer than the cipher's longest message are refused.
pub(crate) fn seal(
    key: &OwnerKey,
    layout: &KeywordLayout,
    ids: &KeyIds,
    rng: &mut dyn CryptoRng,
) -> CoreResult<Vec<u8>> {
    let mut nonce = [0; NONCE];
    rng.fill_bytes(&mut nonce);

    // Room for the tag: growing would leave a copy of the ids in freed memory.
    let mut sealed = Vec::with_capacity(ids.encode().len() + 16);
    sealed.extend_from_slice(&ids.encode());

    cipher(key)
        .encrypt_in_place(&XNonce::from(nonce), &layout.encode(), &mut sealed)
        .map_err(|_| {
            CoreError::malformed("the ids of keys", format!("{} ids", ids.len()), "fewer")
        })?;
    Ok([&nonce[..], &sealed].concat())
}

/// Opens ids sealed by [`seal`]. Refuses another key or layout, and modified bytes.
pub(crate) fn open(key: &OwnerKey, layout: &KeywordLayout, section: &[u8]) -> CoreResult<KeyIds> {
    let (nonce, sealed) = section
        .split_first_chunk::<NONCE>()
        .ok_or_else(|| foreign_ids("too few bytes"))?;

    let mut ids = Zeroizing::new(sealed.to_vec());
    let opened = cipher(key).decrypt_in_place(&XNonce::from(*nonce), &layout.encode(), &mut *ids);
    opened.map_err(|_| foreign_ids("those of another owner, or modified ones"))?;
    KeyIds::decode(&ids)
}

/// The error for sealed ids that do not open.
fn foreign_ids(found: &str) -> CoreError {
    CoreError::malformed(
        "the sealed ids of keys",
        found,
        "those of this database's owner",
    )
}
