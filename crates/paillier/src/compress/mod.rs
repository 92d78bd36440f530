//! Compression of LWE and RLWE ciphertexts.
//!
//! From Mahdavi, Diao, Kerschbaum: ZipPIR, section 3 and appendices A, B. The phase b − ⟨a, s⟩ of
//! an LWE encryption is linear in the secret. A party that holds the secret's entries encrypted
//! under an additive scheme, a *compression key*, can therefore compute an encryption of the phase.
//! One Paillier ciphertext of 768 bytes holds the phases of many encryptions.
//!
//! - [`lwe`](LweParams): LWE encryptions, rescaling (3.3.2), RLWE coefficients (Algorithm 8).
//! - [`layout`](Layout): positions of phases in a plaintext, and their decoding (3.3, 3.3.3).
//! - [`key`](CompressionKey): compression keys (Algorithms 2 and 3). [`expanded`](ExpandedKey):
//!   faster for single encryptions (Algorithm 4). [`packed`](PackedKey): smaller keys (Algorithm
//!   6).

mod combine;
mod expanded;
mod key;
mod layout;
mod lwe;
mod packed;

pub use expanded::ExpandedKey;
pub use key::CompressionKey;
pub use layout::{Layout, Scale};
pub use lwe::{KeyKind, Lwe, LweParams, decode};
pub use packed::PackedKey;

use zeroize::Zeroizing;

use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::secret::SecretKey;

/// Decrypts the phases modulo q of `count` encryptions, each exact up to [`Layout::phase_error`].
///
/// # Errors
/// [`Error::Length`] if the number of ciphertexts is not the one for `count` phases.
pub fn decompress(
    secret: &SecretKey,
    layout: &Layout,
    ciphertexts: &[Ciphertext],
    count: usize,
) -> Result<Zeroizing<Vec<u64>>> {
    Error::check_length(
        "compressed ciphertexts",
        ciphertexts.len(),
        layout.ciphertexts(count),
    )?;

    let mut phases = Zeroizing::new(Vec::with_capacity(count));
    for plaintext in secret.decrypt_many(ciphertexts) {
        let next = layout.phases(&plaintext, count - phases.len());
        phases.extend_from_slice(&next);
    }
    Ok(phases)
}
