//! Packed compression keys (ZipPIR, 3.2 and Algorithm 6).
//!
//! Ciphertext i encrypts t digits of the secret: Σⱼ d\[i·t + j\]·γʲ, j < t. Raised to γ^(t−1−j) it
//! stands for digit i·t + j, which moves to position t − 1, with other digits around it. A linear
//! form of these has the phase at position t − 1, and sums of at most its terms at the 2t − 2 other
//! positions. No sum exceeds V, so positions interfere no more than in a batch.
//!
//! (The algorithm as printed runs i over t and j over i; i must run over the ciphertexts and j over
//! the t digits of each.)

use crypto_bigint::{BoxedUint, Resize};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::key::CompressionKey;
use super::layout::Layout;
use crate::ciphertext::{Ciphertext, Plaintext};
use crate::error::{Error, Result};
use crate::integer::{from_words, to_words};
use crate::public::PublicKey;
use crate::secret::SecretKey;

/// An LWE secret, encrypted several digits at a time for one layout.
#[derive(Clone)]
pub struct PackedKey {
    public: PublicKey,
    layout: Layout,
    ciphertexts: Vec<Ciphertext>,
}

impl PackedKey {
    /// Number of ciphertexts of a packed key.
    pub fn ciphertext_count(layout: &Layout) -> usize {
        layout.lwe().dimension().div_ceil(layout.packing())
    }

    /// Encrypts an LWE secret, given as residues modulo q.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Residue`] if the secret is not of the layout's kind.
    pub fn generate(
        secret: &SecretKey,
        layout: &Layout,
        lwe_secret: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let plaintexts = Self::plaintexts(secret.public(), layout, lwe_secret)?;
        Self::from_ciphertexts(
            secret.public(),
            layout,
            secret.encrypt_many(&plaintexts, rng)?,
        )
    }

    /// Returns the plaintexts of a key, for other methods of encryption such as
    /// [`SecretKey::offsets`], which takes half the bytes.
    ///
    /// # Errors
    /// The errors of [`PackedKey::generate`].
    pub fn plaintexts(
        public: &PublicKey,
        layout: &Layout,
        lwe_secret: &[u64],
    ) -> Result<Vec<Plaintext>> {
        let digits = layout.lwe().digits(lwe_secret)?;
        digits
            .chunks(layout.packing())
            .map(|digits| pack(public, layout, digits))
            .collect()
    }

    /// Creates a key from received ciphertexts.
    ///
    /// # Errors
    /// [`Error::Length`].
    pub fn from_ciphertexts(
        public: &PublicKey,
        layout: &Layout,
        ciphertexts: Vec<Ciphertext>,
    ) -> Result<Self> {
        Error::check_length(
            "ciphertexts of the packed compression key",
            ciphertexts.len(),
            Self::ciphertext_count(layout),
        )?;
        Ok(Self {
            public: public.clone(),
            layout: layout.clone(),
            ciphertexts,
        })
    }

    /// The ciphertexts, [`PackedKey::ciphertext_count`] of them.
    pub fn ciphertexts(&self) -> &[Ciphertext] {
        &self.ciphertexts
    }

    /// Computes the compression key of the layout by raising each ciphertext to powers of γ.
    pub fn unpack(&self) -> CompressionKey {
        let batch = self.public.batch();
        let packing = self.layout.packing();
        let gamma = self.layout.gamma_words();

        let mut elements = batch.enter_ciphertexts(&self.ciphertexts);
        let mut by_digit = Vec::with_capacity(packing);
        for digit in (0..packing).rev() {
            // The last digit is in its place. Each one before it takes one more power of γ.
            if digit + 1 < packing {
                batch.power_vartime(&mut elements, &gamma);
            }
            by_digit.push(batch.leave_ciphertexts(&elements));
        }

        // `by_digit` is in descending order of the digits.
        let ciphertexts = (0..self.layout.lwe().dimension())
            .map(|i| by_digit[packing - 1 - i % packing][i / packing].clone())
            .collect();
        CompressionKey::unpacked(&self.public, &self.layout, ciphertexts)
    }
}

/// Returns Σ dⱼ·γʲ.
fn pack(public: &PublicKey, layout: &Layout, digits: &[u64]) -> Result<Plaintext> {
    let words = public.params().plaintext_words();
    let gamma = from_words(&layout.gamma_words());

    // Digits are at most V: by the layout's bound the sum stays below mˢ and no product wraps.
    let mut sum = Zeroizing::new(BoxedUint::zero_with_precision(64 * words as u32));
    for &digit in digits.iter().rev() {
        *sum = sum.wrapping_mul(&gamma);
        let digit = Zeroizing::new(BoxedUint::from(digit).resize_unchecked(sum.bits_precision()));
        sum.wrapping_add_assign(&*digit);
    }
    public.plaintext(&Zeroizing::new(to_words(&sum, words)))
}
