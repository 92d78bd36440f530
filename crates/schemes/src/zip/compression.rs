//! Dimensions and sizes of a compressed hint.

use std::ops::Range;

use papir_core::Result;
use papir_lattice::lwe32::LweParams;
use papir_paillier as paillier;

use super::base::{Base, ParameterSet};
use super::residues::{Dimensions, Residues, primes_for};
use super::slots::{self, RowSums, SLOT_BITS};
use crate::shared::messages::SEED_BYTES;
use crate::shared::parameters::{refused, unfit};

/// Bytes of a ticket's number.
pub(super) const NUMBER_BYTES: usize = 8;
/// Bytes of the tag of a client's tickets.
pub(super) const TAG_BYTES: usize = 16;
/// Bytes of a hint's digest.
pub(super) const DIGEST_BYTES: usize = 16;
/// Alignment of parts of sections, in bytes.
pub(super) const ALIGNMENT: usize = 64;
/// Largest number of bits of the LWE key in one plaintext.
pub(super) const MAX_KEY_BITS: usize = 8;

/// Parameters of the compression of a hint.
#[derive(Clone, Debug)]
pub(super) struct Compression {
    /// Number of rows of H.
    pub(super) rows: usize,
    /// LWE encryption of queries. H is multiplied with its key of n bits.
    pub(super) lwe: LweParams,
    /// Paillier encryption of clients.
    pub(super) paillier: paillier::Params,
    /// t, the number of bits of the key in one plaintext.
    pub(super) key_bits: usize,
    /// log₂ p, the number of bits of message in a row.
    pub(super) message_bits: u32,
    /// R, the number of rows of H in one ciphertext.
    pub(super) rows_each: usize,
}

impl Compression {
    /// Creates the compression of a hint that has no rows yet. `key_bits` bits of the LWE key are
    /// in one plaintext of a query, 1 to [`MAX_KEY_BITS`].
    pub(super) fn new<B: Base>(key_bits: usize) -> Result<Self> {
        if !(1..=MAX_KEY_BITS).contains(&key_bits) {
            let reason = format!("{key_bits} bits of a key in one plaintext: 1 to {MAX_KEY_BITS}");
            return Err(refused(B::NAME)(reason));
        }

        let lwe = LweParams::binary().map_err(unfit(B::NAME))?;
        let paillier = B::Set::paillier().map_err(refused(B::NAME))?;
        let rows_each = slots::rows_each(paillier.modulus_bits(), lwe.n(), key_bits);

        Ok(Self {
            rows: 0,
            lwe,
            paillier,
            key_bits,
            message_bits: B::LEVEL.message_bits,
            rows_each,
        })
    }

    /// Returns ⌈n/t⌉, the number of plaintexts of a compression key.
    pub(super) fn plaintexts(&self) -> usize {
        self.lwe.n().div_ceil(self.key_bits)
    }

    /// Returns the number of ciphertexts of a ticket, which is also that of an answer.
    pub(super) fn ciphertexts(&self) -> usize {
        self.rows.div_ceil(self.rows_each)
    }

    /// Returns the number of slots of an exponent.
    pub(super) fn slots(&self) -> usize {
        self.rows_each * self.key_bits
    }

    /// Returns the number of digits of a stored exponent, in whole words of 64 bits.
    pub(super) fn exponent_digits(&self) -> usize {
        self.slots().next_multiple_of(4)
    }

    /// Returns the bytes of all exponents.
    pub(super) fn exponent_bytes(&self) -> usize {
        2 * self.ciphertexts() * self.plaintexts() * self.exponent_digits()
    }

    /// Returns the dimensions of H as a matrix of wide integers.
    pub(super) fn dimensions(&self) -> Dimensions {
        Dimensions {
            rows: self.ciphertexts(),
            columns: self.plaintexts(),
        }
    }

    /// Returns the number of digits of a plaintext.
    pub(super) fn plaintext_digits(&self) -> usize {
        4 * self.paillier.plaintext_words()
    }

    /// Returns the number of bits of the longest sum of the second product.
    fn product_bits(&self) -> u32 {
        // ⌈n/t⌉ products of an exponent and an offset, each as long as both factors together.
        let sum = self.plaintexts().next_power_of_two().ilog2();
        self.slots() as u32 * SLOT_BITS + self.paillier.modulus_bits() + sum
    }

    /// Creates the residue number system of the second product.
    pub(super) fn residues(&self) -> Residues {
        // One system serves offsets and exponents, so it takes digits of the longer ones.
        Residues::new(
            self.product_bits(),
            self.plaintext_digits().max(self.exponent_digits()),
        )
    }

    /// Returns the bytes of H's residues.
    pub(super) fn residue_bytes(&self) -> usize {
        4 * self.dimensions().residues(primes_for(self.product_bits()))
    }

    /// Returns the bytes of the sums of all rows.
    pub(super) fn sums_bytes(&self) -> usize {
        size_of::<RowSums>() * self.rows
    }

    /// Returns the place of the digest in the section of sums. Parts of sections start on 64-byte
    /// boundaries, so zeros may precede it.
    pub(super) fn digest_place(&self) -> Range<usize> {
        let start = self.sums_bytes().next_multiple_of(ALIGNMENT);
        start..start + DIGEST_BYTES
    }

    /// Returns the bytes of a client's registered keys.
    pub(super) fn keys_bytes(&self) -> usize {
        self.paillier.modulus_bytes() + SEED_BYTES
    }

    /// Returns the bytes of a query's key.
    pub(super) fn offsets_bytes(&self) -> usize {
        self.plaintexts() * self.paillier.plaintext_bytes()
    }

    /// Returns the bytes of an answer's ciphertexts.
    pub(super) fn joined_bytes(&self) -> usize {
        self.ciphertexts() * self.paillier.ciphertext_bytes()
    }

    /// Returns the bytes of an answer's words, for clients that sent their key ahead. They are
    /// shorter than ciphertexts: a ciphertext has twice the bytes of a plaintext, whose slots hold
    /// its rows.
    pub(super) fn words_bytes(&self) -> usize {
        2 * self.rows
    }

    /// Returns the bytes of the plaintexts of all rows.
    pub(super) fn plaintexts_bytes(&self) -> usize {
        self.ciphertexts() * self.paillier.plaintext_bytes()
    }

    /// Returns the bytes of a ticket.
    pub(super) fn ticket_bytes(&self) -> usize {
        NUMBER_BYTES + TAG_BYTES + DIGEST_BYTES + self.joined_bytes()
    }

    /// Returns the parameters as pairs of name and value.
    pub(super) fn describe(&self) -> Vec<(&'static str, String)> {
        vec![
            ("n", self.lwe.n().to_string()),
            ("log2 m", self.paillier.modulus_bits().to_string()),
            ("key bits", self.key_bits.to_string()),
            ("slots", self.slots().to_string()),
            ("ciphertexts", self.ciphertexts().to_string()),
        ]
    }
}
