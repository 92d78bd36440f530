//! Random LWE encryptions and their decryption.

use papir_paillier::SecretKey;
use papir_paillier::compress::{KeyKind, Layout, Lwe, LweParams, decompress};
use papir_paillier::{Ciphertext, Params};
use rand_core::CryptoRng;

use crate::{Error, Result};

/// A Paillier key, and the source of all other randomness.
pub(super) struct Setting<'a> {
    pub(super) key: SecretKey,
    pub(super) rng: &'a mut dyn CryptoRng,
}

/// An LWE secret, and encryptions of random phases under it.
pub(super) struct Samples {
    pub(super) lwe: LweParams,
    pub(super) secret: Vec<u64>,
    pub(super) encryptions: Vec<Lwe>,
}

impl<'a> Setting<'a> {
    /// Creates a key with a modulus of `modulus_bits` bits, secure or not.
    pub(super) fn new(modulus_bits: u32, rng: &'a mut dyn CryptoRng) -> Result<Self> {
        Self::of(
            Params::insecure(modulus_bits, 1).map_err(Error::parameters)?,
            rng,
        )
    }

    fn of(params: Params, rng: &'a mut dyn CryptoRng) -> Result<Self> {
        Ok(Self {
            key: SecretKey::generate(params, rng).map_err(Error::parameters)?,
            rng,
        })
    }

    /// Creates a key of Damgård–Jurik with plaintexts modulo the `s`-th power of a modulus as long.
    pub(super) fn extended(&mut self, s: u32) -> Result<Setting<'_>> {
        let bits = self.key.public().params().modulus_bits();
        Setting::of(
            Params::insecure(bits, s).map_err(Error::parameters)?,
            &mut *self.rng,
        )
    }

    /// Creates an RLWE encryption modulo 2 to the power `bits`.
    pub(super) fn ring_sample(&mut self, n: usize, bits: u32, kind: KeyKind) -> Result<RingSample> {
        let Samples {
            lwe,
            secret,
            mut encryptions,
        } = self.samples(n, bits, kind, 2)?;

        Ok(RingSample {
            lwe,
            secret,
            mask: next_mask(&mut encryptions),
            body: next_mask(&mut encryptions),
        })
    }

    /// Creates samples modulo 2 to the power `bits`.
    pub(super) fn samples(
        &mut self,
        n: usize,
        bits: u32,
        kind: KeyKind,
        count: usize,
    ) -> Result<Samples> {
        let lwe = LweParams::new(n, 1 << bits, kind).map_err(Error::parameters)?;
        // A power of two as modulus: its residues are the low bits of a word.
        let mask = u64::MAX >> (u64::BITS - bits);
        let mut word = || self.rng.next_u64() & mask;

        let encryptions = (0..count)
            .map(|_| Lwe {
                mask: (0..n).map(|_| word()).collect(),
                body: word(),
            })
            .collect();
        let secret = (0..n)
            .map(|_| secret_entry(kind, self.rng.next_u64(), mask))
            .collect();

        Ok(Samples {
            lwe,
            secret,
            encryptions,
        })
    }
}

/// Removes the last encryption and returns its mask: uniform values for a ring element.
fn next_mask(encryptions: &mut Vec<Lwe>) -> Vec<u64> {
    encryptions
        .pop()
        .map(|encryption| encryption.mask)
        .unwrap_or_default()
}

/// An entry of a secret of this kind from a random word, modulo the power of two of `mask`.
fn secret_entry(kind: KeyKind, word: u64, mask: u64) -> u64 {
    match kind {
        KeyKind::Binary => word & 1,
        KeyKind::Ternary => (word % 3).wrapping_sub(1) & mask,
        KeyKind::Bounded(_) | KeyKind::General => word & mask,
    }
}

/// A ring secret, and an RLWE encryption (A, B) of a random phase under it, modulo Xⁿ + 1.
pub(super) struct RingSample {
    pub(super) lwe: LweParams,
    pub(super) secret: Vec<u64>,
    mask: Vec<u64>,
    body: Vec<u64>,
}

impl RingSample {
    /// The LWE encryption of a coefficient (ZipPIR, Algorithm 8).
    pub(super) fn coefficient(&self, k: usize) -> Result<Lwe> {
        Lwe::coefficient(&self.lwe, &self.mask, &self.body, k).map_err(Error::parameters)
    }

    /// Returns whether a ciphertext decrypts to coefficient k of B − A·S, computed in the ring.
    pub(super) fn matches(
        &self,
        key: &SecretKey,
        layout: &Layout,
        ciphertexts: &[Ciphertext],
        k: usize,
    ) -> Result<bool> {
        let n = self.secret.len();
        let product = self.mask.iter().enumerate().fold(0u64, |sum, (i, a)| {
            // X^n is −1: a product that wraps around counts negatively.
            let j = (n + k - i) % n;
            let term = a.wrapping_mul(self.secret[j]);
            if i + j == k {
                sum.wrapping_add(term)
            } else {
                sum.wrapping_sub(term)
            }
        });

        let expected = self.body[k].wrapping_sub(product) & (self.lwe.modulus() - 1) as u64;
        let found = decompress(key, layout, ciphertexts, 1).map_err(Error::parameters)?;
        Ok(found[..] == [expected])
    }
}

impl Samples {
    /// Returns whether the ciphertexts decrypt to the phases of the first `count` encryptions, up
    /// to the layout's precision.
    pub(super) fn match_phases(
        &self,
        key: &SecretKey,
        layout: &Layout,
        ciphertexts: &[Ciphertext],
        count: usize,
    ) -> Result<bool> {
        let phases = decompress(key, layout, ciphertexts, count).map_err(Error::parameters)?;
        Ok(phases
            .iter()
            .zip(&self.encryptions)
            .all(|(&found, encryption)| {
                // An error may have either sign.
                let off = found.wrapping_sub(self.phase(encryption)) & self.mask();
                off.min(off.wrapping_neg() & self.mask()) <= layout.phase_error()
            }))
    }

    fn mask(&self) -> u64 {
        (self.lwe.modulus() - 1) as u64
    }

    fn phase(&self, encryption: &Lwe) -> u64 {
        let products = encryption.mask.iter().zip(&self.secret);
        let product = products.fold(0u64, |sum, (a, s)| sum.wrapping_add(a.wrapping_mul(*s)));
        encryption.body.wrapping_sub(product) & self.mask()
    }
}
