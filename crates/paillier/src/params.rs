//! Sizes of keys: no modulus below 3,072 bits without saying so.

use crate::error::{Error, Result};

/// The fewest bits of a modulus that factoring leaves with 128 bits of security.
pub const MINIMUM_BITS: u32 = 3072;
/// The most bits of a modulus with s = 1, twice those with a larger s: what the kernels take.
const MAXIMUM_BITS: u32 = 8192;
/// The fewest bits even where no security is asked for.
const MINIMUM_INSECURE_BITS: u32 = 256;
/// The largest exponent s.
const MAXIMUM_S: u32 = 3;

/// The size of a modulus m and the exponent s of Damgård and Jurik: plaintexts are residues modulo mˢ,
/// ciphertexts units modulo mˢ⁺¹. With s = 1 this is Paillier's scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    modulus_bits: u32,
    s: u32,
}

impl Params {
    /// Paillier's scheme with a modulus of 3,072 bits: 128 bits of security.
    pub const PAILLIER_3072: Self = Self { modulus_bits: MINIMUM_BITS, s: 1 };

    /// A modulus of `modulus_bits` (a multiple of 128, 3,072 to 8,192), and s from 1 to 3 (from 2 on, at most
    /// 4,096 bits).
    ///
    /// # Errors
    /// [`Error::Insecure`] below 3,072 bits, [`Error::OutOfBounds`] for other sizes.
    pub fn new(modulus_bits: u32, s: u32) -> Result<Self> {
        if modulus_bits < MINIMUM_BITS {
            return Err(Error::Insecure { found: modulus_bits, expected: MINIMUM_BITS });
        }
        Self::insecure(modulus_bits, s)
    }

    /// As [`Params::new`], from 256 bits on, without asking for security: for tests.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn insecure(modulus_bits: u32, s: u32) -> Result<Self> {
        if !(1..=MAXIMUM_S).contains(&s) {
            return Err(Error::out_of_bounds("s", s.into(), format!("1 to {MAXIMUM_S}")));
        }
        let most = if s == 1 { MAXIMUM_BITS } else { MAXIMUM_BITS / 2 };
        if !(MINIMUM_INSECURE_BITS..=most).contains(&modulus_bits) || !modulus_bits.is_multiple_of(128) {
            let expected = format!("a multiple of 128 up to {most}");
            return Err(Error::out_of_bounds("bits of the modulus", modulus_bits.into(), expected));
        }
        Ok(Self { modulus_bits, s })
    }

    /// Bits of m.
    pub fn modulus_bits(&self) -> u32 {
        self.modulus_bits
    }

    /// Plaintexts are residues modulo mˢ.
    pub fn s(&self) -> u32 {
        self.s
    }

    /// Whether m is large enough for 128 bits of security.
    pub fn is_secure(&self) -> bool {
        self.modulus_bits >= MINIMUM_BITS
    }

    /// Words of 64 bits of a prime factor of m.
    pub(crate) fn prime_words(&self) -> usize {
        self.modulus_words() / 2
    }

    /// Words of 64 bits of m.
    pub fn modulus_words(&self) -> usize {
        (self.modulus_bits / 64) as usize
    }

    /// Words of 64 bits of a residue modulo mˢ.
    pub fn plaintext_words(&self) -> usize {
        self.modulus_words() * self.s as usize
    }

    /// Words of 64 bits of a residue modulo mˢ⁺¹.
    pub fn ciphertext_words(&self) -> usize {
        self.modulus_words() * (self.s as usize + 1)
    }

    /// Bytes of m.
    pub fn modulus_bytes(&self) -> usize {
        self.modulus_words() * 8
    }

    /// Bytes of a residue modulo mˢ.
    pub fn plaintext_bytes(&self) -> usize {
        self.plaintext_words() * 8
    }

    /// Bytes of a ciphertext.
    pub fn ciphertext_bytes(&self) -> usize {
        self.ciphertext_words() * 8
    }
}

impl Default for Params {
    fn default() -> Self {
        Self::PAILLIER_3072
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn small_moduli_need_the_word() {
        assert_eq!(Params::new(2048, 1), Err(Error::Insecure { found: 2048, expected: 3072 }));
        assert_eq!(Params::new(3072, 1), Ok(Params::default()));
        assert!(!Params::insecure(2048, 1).unwrap().is_secure());
    }

    #[test]
    fn odd_sizes_are_refused() {
        for (bits, s) in [(3072, 0), (3072, 4), (3100, 1), (16_384, 1), (8192, 2), (u32::MAX, 1)] {
            assert!(matches!(Params::new(bits, s), Err(Error::OutOfBounds { .. })), "{bits}, {s}");
        }
        assert!(Params::insecure(128, 1).is_err());
    }

    #[test]
    fn sizes_follow_from_bits_and_s() {
        let params = Params::new(3072, 2).unwrap();
        assert_eq!(params.modulus_bytes(), 384);
        assert_eq!(params.plaintext_bytes(), 768);
        assert_eq!(params.ciphertext_bytes(), 1152);
        assert_eq!(Params::PAILLIER_3072.ciphertext_bytes(), 768);
    }
}
