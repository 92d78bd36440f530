//! Dimensions of a compressed hint: modulus, key bits in a plaintext, rows in a ciphertext.

use papir_core::scheme::Goal;
use papir_core::{Result, Security};
use papir_lattice::lwe32::LweParams;
use papir_paillier as paillier;

use super::base::ParameterSet;
use super::residues::{Dimensions, Residues, primes_for};
use super::slots::{self, SLOT_BITS};
use crate::shared::messages::SEED_BYTES;
use crate::shared::parameters::{refused, security, unfit};

/// Bytes of a ticket's number.
pub(super) const NUMBER_BYTES: usize = 8;
/// Bytes of the tag of a client's tickets.
pub(super) const TAG_BYTES: usize = 16;
/// Bytes of a hint's digest.
pub(super) const DIGEST_BYTES: usize = 16;
/// Most bits of the LWE key in one plaintext.
pub(super) const MAX_KEY_BITS: usize = 8;
/// Bits of security credited to a modulus of 3,072 bits.
const MODULUS_SECURITY: f64 = 128.0;
/// Bytes that a server reads at 10 GB/s while a line of 10 Mbit/s transfers one.
const BYTES_READ: f64 = 8000.0;
/// Bytes of a row's sums.
const SUMS_BYTES: usize = 12;

/// Compression of a hint.
#[derive(Clone, Debug)]
pub(super) struct Compression {
    /// Rows of H.
    pub(super) rows: usize,
    /// The query's LWE encryption; H is multiplied with its key of n bits.
    pub(super) lwe: LweParams,
    pub(super) paillier: paillier::Params,
    /// t, bits of the key in one plaintext.
    pub(super) key_bits: usize,
    /// log₂ p: bits of message in a row.
    pub(super) message_bits: u32,
    /// R, rows of H in one ciphertext.
    pub(super) rows_each: usize,
}

impl Compression {
    /// Compression of a hint without rows yet. A row has `message_bits` bits of message; `key_bits`
    /// bits of the LWE key are in one plaintext of a query.
    ///
    /// # Errors
    /// [`Error::Parameters`](papir_core::Error::Parameters) unless `key_bits` is 1 to
    /// [`MAX_KEY_BITS`], [`Error::Insecure`](papir_core::Error::Insecure).
    pub(super) fn new<T: ParameterSet>(
        scheme: &'static str,
        key_bits: usize,
        message_bits: u32,
    ) -> Result<Self> {
        if !(1..=MAX_KEY_BITS).contains(&key_bits) {
            let reason = format!("{key_bits} bits of a key in one plaintext: 1 to {MAX_KEY_BITS}");
            return Err(refused(scheme)(reason));
        }
        let lwe = LweParams::binary().map_err(unfit(scheme))?;
        let paillier = T::paillier().map_err(refused(scheme))?;
        let rows_each = slots::rows_each(paillier.modulus_bits(), lwe.n(), key_bits);
        Ok(Self { rows: 0, lwe, paillier, key_bits, message_bits, rows_each })
    }

    /// The same for a hint of `rows` rows.
    pub(super) fn with_rows(self, rows: usize) -> Self {
        Self { rows, ..self }
    }

    /// n, bits of an LWE key.
    pub(super) fn n(&self) -> usize {
        self.lwe.n()
    }

    /// ⌈n/t⌉, plaintexts of a compression key.
    pub(super) fn plaintexts(&self) -> usize {
        self.n().div_ceil(self.key_bits)
    }

    /// Ciphertexts of a ticket and of an answer.
    pub(super) fn ciphertexts(&self) -> usize {
        self.rows.div_ceil(self.rows_each)
    }

    /// Slots of an exponent.
    pub(super) fn slots(&self) -> usize {
        self.rows_each * self.key_bits
    }

    /// Digits of a stored exponent: whole words of 64 bits.
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

    /// The residue number system of the second product.
    pub(super) fn residues(&self) -> Residues {
        Residues::new(self.product_bits(), self.plaintext_digits().max(self.exponent_digits()))
    }

    /// Bytes of H's residues.
    pub(super) fn residue_bytes(&self) -> usize {
        4 * self.dimensions().residues(primes_for(self.product_bits()))
    }

    /// Bytes of all rows' sums.
    pub(super) fn sums_bytes(&self) -> usize {
        SUMS_BYTES * self.rows
    }

    /// Bytes of the compressed hint on the server.
    pub(super) fn material_bytes(&self) -> usize {
        self.exponent_bytes() + self.residue_bytes() + self.sums_bytes()
    }

    pub(super) fn keys_bytes(&self) -> usize {
        self.paillier.modulus_bytes() + SEED_BYTES
    }

    /// Bytes of a query's key.
    pub(super) fn offsets_bytes(&self) -> usize {
        self.plaintexts() * self.paillier.plaintext_bytes()
    }

    /// Bytes of a query's key with the ticket's number and the flag.
    pub(super) fn masked_key_bytes(&self) -> usize {
        NUMBER_BYTES + 1 + self.offsets_bytes()
    }

    /// Bytes of an answer's ciphertexts.
    pub(super) fn joined_bytes(&self) -> usize {
        self.ciphertexts() * self.paillier.ciphertext_bytes()
    }

    /// Bytes of an answer's plaintexts, for clients that hold the ticket.
    pub(super) fn apart_bytes(&self) -> usize {
        self.ciphertexts() * self.paillier.plaintext_bytes()
    }

    pub(super) fn ticket_bytes(&self) -> usize {
        NUMBER_BYTES + TAG_BYTES + DIGEST_BYTES + self.joined_bytes()
    }

    /// Cost under a goal in bytes: `sent` for a query and its answer, `read` by the server.
    pub(super) fn cost(&self, goal: Goal, sent: f64, read: f64) -> f64 {
        match goal {
            Goal::MinCommunication => sent,
            // The server works ahead for each byte of a ticket, so it counts as a byte sent.
            Goal::Balanced => sent + read / BYTES_READ + self.ticket_bytes() as f64,
            Goal::MinTime => read + sent / 100.0,
        }
    }

    /// Security of LWE, at most that of 3,072 bits; `None` for a short modulus.
    pub(super) fn security(&self) -> Option<Security> {
        let Security { bits, source } = security(self.lwe.security());
        let bits = bits.min(MODULUS_SECURITY);
        self.paillier.is_secure().then_some(Security { bits, source })
    }

    /// Parameters by name.
    pub(super) fn describe(&self) -> Vec<(&'static str, String)> {
        vec![
            ("n", self.n().to_string()),
            ("log2 m", self.paillier.modulus_bits().to_string()),
            ("key bits", self.key_bits.to_string()),
            ("slots", self.slots().to_string()),
            ("ciphertexts", self.ciphertexts().to_string()),
        ]
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::zip::base::Standard;
    use papir_core::Error;

    #[test]
    fn packed_keys_are_shorter_and_answers_longer() {
        let of = |key_bits| Compression::new::<Standard>("zip", key_bits, 8).unwrap().with_rows(1 << 14);
        let sizes: Vec<_> = (1..=4).map(of).map(|c| (c.plaintexts(), c.ciphertexts())).collect();
        assert_eq!(sizes, [(1280, 86), (640, 173), (427, 261), (320, 349)]);
        for key_bits in [0, MAX_KEY_BITS + 1] {
            let error = Compression::new::<Standard>("zip", key_bits, 8).unwrap_err();
            assert!(matches!(error, Error::Parameters { .. }), "{error}");
        }
    }
}
