//! Compression of LWE and RLWE ciphertexts (Mahdavi, Diao, Kerschbaum: ZipPIR, section 3 and appendices A, B).
//!
//! The phase b − ⟨a, s⟩ of an LWE encryption is linear in the secret. So whoever has the secret's entries
//! encrypted under an additive scheme, a *compression key*, computes an encryption of the phase: one Paillier
//! ciphertext of 768 bytes, in which the phases of many encryptions stand side by side.
//!
//! - [`lwe`](LweParams): what is compressed; rescaling first (3.3.2); RLWE coefficients (Algorithm 8).
//! - [`layout`](Layout): where phases stand in a plaintext, and how they are read there (3.3, 3.3.3).
//! - [`key`](CompressionKey): compression keys (Algorithms 2 and 3). [`expanded`](ExpandedKey): faster for one
//!   encryption at a time (Algorithm 4). [`packed`](PackedKey): smaller keys (Algorithm 6).

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

/// The phases modulo q of `count` encryptions, each off by at most [`Layout::phase_error`].
///
/// # Errors
/// [`Error::Length`] where the ciphertexts are not as many as hold so many phases.
pub fn decompress(
    secret: &SecretKey,
    layout: &Layout,
    ciphertexts: &[Ciphertext],
    count: usize,
) -> Result<Zeroizing<Vec<u64>>> {
    Error::check_length("compressed ciphertexts", ciphertexts.len(), layout.ciphertexts(count))?;
    let mut phases = Zeroizing::new(Vec::with_capacity(count));
    for plaintext in secret.decrypt_many(ciphertexts) {
        let next = layout.phases(&plaintext, count - phases.len());
        phases.extend_from_slice(&next);
    }
    Ok(phases)
}
