//! Tickets: `Hint` of Algorithm 5, the hint times a client's masks.

use papir_core::scheme::{Scheme, Session};
use papir_core::{Error, Progress, Result};
use papir_paillier::products::{Exponents, Products};
use papir_paillier::{Ciphertext, PublicKey, random_ciphertexts};
use papir_ring::prg::Seed;
use rayon::prelude::*;

use super::compression::Compression;
use super::hint::CompressedHint;
use super::slots::{self, SLOT_BITS};
use super::wire::{Keys, MaskedKey, Ticket, malformed};

/// Memory for the table and the accumulators of one thread: 128 MiB.
const MEMORY: usize = 128 << 20;
/// Most ciphertexts of one task. More would share a larger table.
const ROWS: usize = 32;

/// ck_r of a number: encryptions of numbers that only the client knows.
pub(super) fn random_key(public: &PublicKey, seed: &Seed, number: u64, count: usize) -> Vec<Ciphertext> {
    random_ciphertexts(public, seed, "zip/masks", number, count)
}

/// Stored exponents of some ciphertexts.
struct Stored<'a> {
    compression: &'a Compression,
    hint: &'a CompressedHint,
    ciphertexts: &'a [usize],
}

impl Exponents for Stored<'_> {
    fn rows(&self) -> usize {
        self.ciphertexts.len()
    }

    fn columns(&self) -> usize {
        self.compression.plaintexts()
    }

    fn bits(&self) -> u32 {
        self.compression.slots() as u32 * SLOT_BITS
    }

    fn read(&self, row: usize, column: usize, words: &mut [u64]) {
        let exponent = self.hint.exponent(self.compression, self.ciphertexts[row], column);
        words.iter_mut().zip(slots::words(exponent)).for_each(|(out, word)| *out = word);
    }
}

impl CompressedHint {
    /// Makes the ticket of a number.
    ///
    /// # Errors
    /// None for keys that were checked.
    pub(super) fn ticket(
        &self,
        compression: &Compression,
        keys: &Keys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<Ticket> {
        let all: Vec<usize> = (0..compression.ciphertexts()).collect();
        let ciphertexts = self.some_of_ticket(compression, keys, (number, &all), progress)?;
        Ok(Ticket { number, tag: keys.tag(), digest: self.digest, ciphertexts })
    }

    /// Updates a ticket to another version. Ciphertexts with equal exponents stay; the others are
    /// made again.
    ///
    /// # Errors
    /// As [`CompressedHint::ticket`].
    pub(super) fn follow(
        &self,
        compression: &Compression,
        (earlier, mut ticket): (&Self, Ticket),
        keys: &Keys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<Ticket> {
        let comparable = ticket.ciphertexts.len() == compression.ciphertexts()
            && self.exponents.len() == earlier.exponents.len();
        if !comparable
            || ticket.number != number
            || ticket.tag != keys.tag()
            || ticket.digest != earlier.digest
        {
            return self.ticket(compression, keys, number, progress);
        }
        let each = compression.plaintexts() * compression.exponent_digits();
        let pairs = self.exponents.chunks_exact(each).zip(earlier.exponents.chunks_exact(each)).enumerate();
        let changed: Vec<usize> = pairs.filter(|(_, (new, old))| new != old).map(|(i, _)| i).collect();
        let fresh = self.some_of_ticket(compression, keys, (number, &changed), progress)?;
        for (i, ciphertext) in changed.into_iter().zip(fresh) {
            ticket.ciphertexts[i] = ciphertext;
        }
        Ok(Ticket { digest: self.digest, ..ticket })
    }

    /// Makes some ciphertexts of a number's ticket.
    fn some_of_ticket(
        &self,
        compression: &Compression,
        keys: &Keys,
        (number, ciphertexts): (u64, &[usize]),
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<u64>>> {
        let key = random_key(&keys.public, &keys.seed, number, compression.plaintexts());
        progress.stage("ticket", ciphertexts.len() as u64);
        let each = ciphertexts.len().div_ceil(rayon::current_num_threads()).clamp(1, ROWS);
        let parts = ciphertexts.par_chunks(each).map(|ciphertexts| {
            let exponents = Stored { compression, hint: self, ciphertexts };
            multiply(&keys.public, &key, exponents, progress)
        });
        Ok(parts.collect::<Result<Vec<_>>>()?.concat())
    }
}

/// Multiplies exponents by the masks, in steps of some milliseconds between which the work can
/// pause.
fn multiply(
    public: &PublicKey,
    key: &[Ciphertext],
    exponents: Stored<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Vec<u64>>> {
    let count = exponents.rows();
    let products = Products::new(public, key, exponents, 0..count, MEMORY);
    let mut products = products.map_err(malformed("a client's masks"))?;
    while products.step() {
        progress.advance(0);
    }
    progress.advance(count as u64);
    Ok(products.finish().iter().map(|ciphertext| ciphertext.words().to_vec()).collect())
}

/// Returns the keys and the ticket of a query's session: the client's own, with the query's number.
///
/// # Errors
/// [`Error::Session`] if they are missing, [`Error::Malformed`] if they belong to another client or
/// number.
pub(super) fn check<'a, S: Scheme<ClientKeys = Keys, Ticket = Ticket>>(
    session: &Session<'a, S>,
    key: &MaskedKey,
) -> Result<(&'a Keys, &'a Ticket)> {
    let (keys, ticket) = (session.require_keys()?, session.require_ticket()?);
    if ticket.tag != keys.tag() {
        return Err(Error::malformed("a ticket", "one of another client", "one of this client"));
    }
    if ticket.number != key.number {
        return Err(Error::malformed("a query's ticket", key.number, ticket.number));
    }
    Ok((keys, ticket))
}
