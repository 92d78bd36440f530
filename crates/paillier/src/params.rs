//! Key sizes.
//!
//! Moduli below 3,072 bits require the explicit constructor [`Params::insecure`].

use crate::error::{Error, Result};

/// Minimum size of a modulus, in bits, for 128 bits of security against factoring.
pub const MINIMUM_BITS: u32 = 3072;
/// Maximum size of a modulus for s = 1, and twice the maximum for larger s: the limit of the
/// kernels.
const MAXIMUM_BITS: u32 = 8192;
/// Minimum size of insecure moduli.
const MINIMUM_INSECURE_BITS: u32 = 256;
/// Maximum exponent s.
const MAXIMUM_S: u32 = 3;

/// Size of the modulus m and Damgård–Jurik exponent s.
///
/// Plaintexts are residues modulo mˢ, ciphertexts units modulo mˢ⁺¹. s = 1 is Paillier's scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    modulus_bits: u32,
    s: u32,
}

impl Params {
    /// Paillier's scheme with a modulus of 3,072 bits: 128 bits of security.
    pub const PAILLIER_3072: Self = Self {
        modulus_bits: MINIMUM_BITS,
        s: 1,
    };

    /// Parameters with a modulus of `modulus_bits` bits (a multiple of 128, from 3,072 to 8,192)
    /// and s from 1 to 3 (for s ≥ 2, at most 4,096 bits).
    ///
    /// # Errors
    /// [`Error::Insecure`] below 3,072 bits, [`Error::OutOfBounds`] for other sizes.
    pub fn new(modulus_bits: u32, s: u32) -> Result<Self> {
        if modulus_bits < MINIMUM_BITS {
            return Err(Error::Insecure {
                found: modulus_bits,
                expected: MINIMUM_BITS,
            });
        }
        Self::insecure(modulus_bits, s)
    }

    /// [`Params::new`] for moduli from 256 bits on, without a security check, for tests.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`].
    pub fn insecure(modulus_bits: u32, s: u32) -> Result<Self> {
        if !(1..=MAXIMUM_S).contains(&s) {
            return Err(Error::out_of_bounds(
                "s",
                s.into(),
                format!("1 to {MAXIMUM_S}"),
            ));
        }

        let most = if s == 1 {
            MAXIMUM_BITS
        } else {
            MAXIMUM_BITS / 2
        };
        if !(MINIMUM_INSECURE_BITS..=most).contains(&modulus_bits)
            || !modulus_bits.is_multiple_of(128)
        {
            let expected = format!("a multiple of 128 up to {most}");
            return Err(Error::out_of_bounds(
                "bits of the modulus",
                modulus_bits.into(),
                expected,
            ));
        }
        Ok(Self { modulus_bits, s })
    }

    /// Bits of m.
    pub fn modulus_bits(&self) -> u32 {
        self.modulus_bits
    }

    /// The exponent s.
    pub fn s(&self) -> u32 {
        self.s
    }

    /// Returns whether m is large enough for 128 bits of security.
    pub fn is_secure(&self) -> bool {
        self.modulus_bits >= MINIMUM_BITS
    }

    /// 64-bit words of a prime factor of m.
    pub(crate) fn prime_words(&self) -> usize {
        self.modulus_words() / 2
    }

    /// 64-bit words of m.
    pub fn modulus_words(&self) -> usize {
        (self.modulus_bits / 64) as usize
    }

    /// 64-bit words of a residue modulo mˢ.
    pub fn plaintext_words(&self) -> usize {
        self.modulus_words() * self.s as usize
    }

    /// 64-bit words of a residue modulo mˢ⁺¹.
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
    fn small_moduli_require_the_insecure_constructor() {
        assert_eq!(
            Params::new(2048, 1),
            Err(Error::Insecure {
                found: 2048,
                expected: 3072
            })
        );
        assert_eq!(Params::new(3072, 1), Ok(Params::default()));
        assert!(!Params::insecure(2048, 1).unwrap().is_secure());
    }

    #[test]
    fn unsupported_sizes_are_refused() {
        for (bits, s) in [
            (3072, 0),
            (3072, 4),
            (3100, 1),
            (16_384, 1),
            (8192, 2),
            (u32::MAX, 1),
        ] {
            assert!(
                matches!(Params::new(bits, s), Err(Error::OutOfBounds { .. })),
                "{bits}, {s}"
            );
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
