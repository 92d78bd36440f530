//! How a hint is compressed: the client's modulus, bits of the LWE key a plaintext, rows a ciphertext.

use std::ops::RangeInclusive;

use papir_core::scheme::{Goal, Parameters};
use papir_core::{Error, Result, Security};
use papir_lattice::lwe32::LweParams;
use papir_paillier as paillier;

use super::Strength;
use super::residues::{Dimensions, Residues, primes_for};
use super::slots::{self, SLOT_BITS};
use crate::shared::parameter_errors::unfit;

/// Bytes of a seed.
pub(crate) const SEED_BYTES: usize = 32;
/// Bytes of a number of a ticket.
pub(crate) const NUMBER_BYTES: usize = 8;
/// Bytes of what tells one client's tickets from another's.
pub(crate) const TAG_BYTES: usize = 16;
/// Bytes of what tells one hint from another.
pub(crate) const DIGEST_BYTES: usize = 16;
/// The most bits of the LWE key in one plaintext.
pub(crate) const MAX_KEY_BITS: usize = 8;
/// Bits of security that a modulus of 3,072 bits is taken for.
const MODULUS_SECURITY: f64 = 128.0;
/// Bytes that a server reads in the time in which a line of 10 Mbit/s carries one: 10 GB/s.
const BYTES_READ: f64 = 8000.0;
/// Candidate heights that are compared.
const CANDIDATES: u64 = 1024;
/// Bytes of a row's sums.
const SUMS_BYTES: usize = 12;

/// Parameters of a scheme whose hint is compressed.
pub trait Compressed: Parameters {
    /// How.
    fn compression(&self) -> &Compression;
}

/// How a hint of so many rows is compressed.
#[derive(Clone, Debug)]
pub struct Compression {
    /// Rows of H.
    pub(crate) rows: usize,
    /// The query's LWE encryption; its n bits of key are what H is multiplied with.
    pub(crate) lwe: LweParams,
    pub(crate) paillier: paillier::Params,
    /// t, bits of the key in one plaintext.
    pub(crate) key_bits: usize,
    /// log₂ p: bits of message in a row.
    pub(crate) message_bits: u32,
    /// R, rows of H in one ciphertext.
    pub(super) rows_each: usize,
}

impl Compression {
    /// For a hint of so many rows, each with so many bits of message; `key_bits` bits of the LWE key in one
    /// plaintext of a query.
    ///
    /// # Errors
    /// [`Error::Parameters`] for more than [`MAX_KEY_BITS`] of them or none, or [`Error::Insecure`].
    pub(crate) fn new<T: Strength>(
        scheme: &'static str,
        rows: usize,
        key_bits: usize,
        message_bits: u32,
    ) -> Result<Self> {
        let refused = |reason: String| Error::Parameters { scheme, reason };
        if !(1..=MAX_KEY_BITS).contains(&key_bits) {
            return Err(refused(format!("{key_bits} bits of a key in one plaintext: 1 to {MAX_KEY_BITS}")));
        }
        let lwe = LweParams::binary().map_err(unfit(scheme))?;
        let paillier = T::paillier().map_err(|error| refused(error.to_string()))?;
        let rows_each = slots::rows_each(paillier.modulus_bits(), lwe.n(), key_bits);
        Ok(Self { rows, lwe, paillier, key_bits, message_bits, rows_each })
    }

    /// The same for a hint of so many rows.
    pub(crate) fn with_rows(self, rows: usize) -> Self {
        Self { rows, ..self }
    }

    /// n, bits of an LWE key.
    pub(crate) fn n(&self) -> usize {
        self.lwe.n()
    }

    /// ⌈n/t⌉, plaintexts of a compression key.
    pub(crate) fn plaintexts(&self) -> usize {
        self.n().div_ceil(self.key_bits)
    }

    /// Ciphertexts of a ticket and of an answer.
    pub(crate) fn ciphertexts(&self) -> usize {
        self.rows.div_ceil(self.rows_each)
    }

    /// Slots of an exponent.
    pub(super) fn slots(&self) -> usize {
        self.rows_each * self.key_bits
    }

    /// Digits that an exponent is stored in: whole words of 64 bits.
    pub(super) fn exponent_digits(&self) -> usize {
        self.slots().next_multiple_of(4)
    }

    /// Bytes of all exponents.
    pub(super) fn exponent_bytes(&self) -> usize {
        2 * self.ciphertexts() * self.plaintexts() * self.exponent_digits()
    }

    /// H as a matrix of wide integers.
    pub(super) fn dimensions(&self) -> Dimensions {
        Dimensions { rows: self.ciphertexts(), columns: self.plaintexts() }
    }

    /// Digits of a plaintext.
    pub(super) fn plaintext_digits(&self) -> usize {
        4 * self.paillier.plaintext_words()
    }

    /// Bits of the longest sum of the second product.
    fn product_bits(&self) -> u32 {
        let sum = self.plaintexts().next_power_of_two().ilog2();
        self.slots() as u32 * SLOT_BITS + self.paillier.modulus_bits() + sum
    }

    /// The system in which the second product is computed.
    pub(super) fn residues(&self) -> Residues {
        Residues::new(self.product_bits(), self.plaintext_digits().max(self.exponent_digits()))
    }

    /// Bytes of H's residues.
    pub(crate) fn residue_bytes(&self) -> usize {
        4 * self.dimensions().residues(primes_for(self.product_bits()))
    }

    /// Bytes of all rows' sums.
    pub(super) fn sums_bytes(&self) -> usize {
        SUMS_BYTES * self.rows
    }

    /// Bytes of what a server keeps of the hint besides the database.
    pub(crate) fn material_bytes(&self) -> usize {
        self.exponent_bytes() + self.residue_bytes() + self.sums_bytes()
    }

    pub(crate) fn keys_bytes(&self) -> usize {
        self.paillier.modulus_bytes() + SEED_BYTES
    }

    /// Bytes of a query's key.
    pub(crate) fn offsets_bytes(&self) -> usize {
        self.plaintexts() * self.paillier.plaintext_bytes()
    }

    /// Bytes of a query's key with what it refers to.
    pub(crate) fn masked_key_bytes(&self) -> usize {
        NUMBER_BYTES + 1 + self.offsets_bytes()
    }

    /// Bytes of an answer's ciphertexts.
    pub(crate) fn joined_bytes(&self) -> usize {
        self.ciphertexts() * self.paillier.ciphertext_bytes()
    }

    /// Bytes of an answer's plaintexts, for clients that hold the hint.
    pub(crate) fn apart_bytes(&self) -> usize {
        self.ciphertexts() * self.paillier.plaintext_bytes()
    }

    pub(crate) fn ticket_bytes(&self) -> usize {
        NUMBER_BYTES + TAG_BYTES + DIGEST_BYTES + self.joined_bytes()
    }

    /// What parameters cost under a goal, in bytes sent or touched, when a query and its answer have so many
    /// bytes and the server reads so many.
    pub(crate) fn cost(&self, goal: Goal, sent: f64, read: f64) -> f64 {
        match goal {
            Goal::MinCommunication => sent,
            // The server works ahead for each byte of a ticket: as much to save as a byte on the line.
            Goal::Balanced => sent + read / BYTES_READ + self.ticket_bytes() as f64,
            Goal::MinTime => read + sent / 100.0,
        }
    }

    /// The security of LWE, unless the modulus is short; never above what 3,072 bits are taken for.
    pub(crate) fn security(&self) -> Option<Security> {
        let lwe = self.lwe.security();
        let bits = lwe.matzov.min(MODULUS_SECURITY);
        self.paillier.is_secure().then_some(Security { bits, source: lwe.set })
    }

    /// What `inspect` says of it.
    pub(crate) fn describe(&self) -> Vec<(&'static str, String)> {
        vec![
            ("n", self.n().to_string()),
            ("log2 m", self.paillier.modulus_bits().to_string()),
            ("key bits", self.key_bits.to_string()),
            ("slots", self.slots().to_string()),
            ("ciphertexts", self.ciphertexts().to_string()),
        ]
    }
}

/// The height of a matrix, and the bits of a key in one plaintext, unless they are given, that cost least.
///
/// # Errors
/// Those of what makes a compression of so many bits, and of a matrix of some height.
pub(crate) fn cheapest(
    heights: RangeInclusive<u64>,
    key_bits: Option<usize>,
    compression: impl Fn(usize) -> Result<Compression>,
    cost: impl Fn(u64, &Compression) -> Result<f64>,
) -> Result<(u64, usize)> {
    let (least, most) = (*heights.start(), *heights.end());
    let mut best = (f64::INFINITY, most, key_bits.unwrap_or(1));
    for key_bits in key_bits.map_or(1..=MAX_KEY_BITS, |bits| bits..=bits) {
        let compression = compression(key_bits)?;
        for height in (least..=most).step_by(((most - least) / CANDIDATES + 1) as usize).chain([most]) {
            let cost = cost(height, &compression)?;
            if cost < best.0 {
                best = (cost, height, key_bits);
            }
        }
    }
    Ok((best.1, best.2))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::zip::compression::Full;

    #[test]
    fn packed_keys_are_shorter_and_answers_longer() {
        let of = |key_bits| Compression::new::<Full>("zip", 1 << 14, key_bits, 8).unwrap();
        let sizes: Vec<_> = (1..=4).map(of).map(|c| (c.plaintexts(), c.ciphertexts())).collect();
        assert_eq!(sizes, [(1280, 86), (640, 173), (427, 261), (320, 349)]);
        for key_bits in [0, MAX_KEY_BITS + 1] {
            let error = Compression::new::<Full>("zip", 1, key_bits, 8).unwrap_err();
            assert!(matches!(error, Error::Parameters { .. }), "{error}");
        }
    }
}
