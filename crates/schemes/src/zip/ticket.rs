//! Tickets: `Hint` of Algorithm 5, the hint times a client's masks, and whose a ticket is.

use papir_core::scheme::Session;
use papir_core::{Error, Progress, Result};
use papir_paillier::products::{Exponents, Products};
use papir_paillier::{Ciphertext, PublicKey, random_ciphertexts};
use papir_ring::prg::Seed;
use rayon::prelude::*;

use super::params::ZipParams;
use super::server::ZipServer;
use super::slots::{self, SLOT_BITS};
use super::wire::{ZipKeys, ZipQuery, ZipTicket, malformed};
use super::{Strength, Zip};

/// Memory for the table and the accumulators of one thread: 128 MiB.
const MEMORY: usize = 128 << 20;
/// The most ciphertexts that one thread prepares at a time: more share a larger table.
const ROWS: usize = 32;

/// ck_r of a number: n encryptions of what only the client knows.
pub(super) fn random_key(public: &PublicKey, seed: &Seed, number: u64, n: usize) -> Vec<Ciphertext> {
    random_ciphertexts(public, seed, "zip/masks", number, n)
}

/// The exponents of some rows of H's matrix, as they are stored.
struct Stored<'a, T> {
    server: &'a ZipServer<T>,
    rows: &'a [usize],
}

impl<T: Strength> Exponents for Stored<'_, T> {
    fn rows(&self) -> usize {
        self.rows.len()
    }

    fn columns(&self) -> usize {
        self.server.params.n()
    }

    fn bits(&self) -> u32 {
        self.server.params.slots as u32 * SLOT_BITS
    }

    fn read(&self, row: usize, column: usize, words: &mut [u64]) {
        let params: &ZipParams<T> = &self.server.params;
        let digits = params.exponent_digits();
        let exponent =
            &self.server.hint.exponents[(self.rows[row] * params.n() + column) * digits..][..digits];
        words.iter_mut().zip(slots::words(exponent)).for_each(|(out, word)| *out = word);
    }
}

/// The ticket of a number.
///
/// # Errors
/// None for keys that were checked.
pub(super) fn prepare<T: Strength>(
    server: &ZipServer<T>,
    keys: &ZipKeys,
    number: u64,
    progress: &dyn Progress,
) -> Result<ZipTicket> {
    let rows: Vec<usize> = (0..server.params.ciphertexts()).collect();
    let ciphertexts = rows_of_ticket(server, keys, (number, &rows), progress)?;
    Ok(ZipTicket { number, tag: keys.tag(), ciphertexts })
}

/// The ticket of the same number for another version: ciphertexts whose rows of H are the same stay, the
/// others are prepared again.
///
/// # Errors
/// As [`prepare`].
pub(super) fn follow<T: Strength>(
    server: &ZipServer<T>,
    (earlier, mut ticket): (&ZipServer<T>, ZipTicket),
    keys: &ZipKeys,
    number: u64,
    progress: &dyn Progress,
) -> Result<ZipTicket> {
    let (new, old) = (&server.hint.exponents, &earlier.hint.exponents);
    let comparable = server.params.ciphertexts() == ticket.ciphertexts.len() && new.len() == old.len();
    if !comparable || ticket.number != number || ticket.tag != keys.tag() {
        return prepare(server, keys, number, progress);
    }
    let each = server.params.n() * server.params.exponent_digits();
    let pairs = new.chunks_exact(each).zip(old.chunks_exact(each)).enumerate();
    let changed: Vec<usize> = pairs.filter(|(_, (new, old))| new != old).map(|(row, _)| row).collect();
    let fresh = rows_of_ticket(server, keys, (number, &changed), progress)?;
    for (row, ciphertext) in changed.into_iter().zip(fresh) {
        ticket.ciphertexts[row] = ciphertext;
    }
    Ok(ticket)
}

/// Some ciphertexts of the ticket of a number.
fn rows_of_ticket<T: Strength>(
    server: &ZipServer<T>,
    keys: &ZipKeys,
    (number, rows): (u64, &[usize]),
    progress: &dyn Progress,
) -> Result<Vec<Vec<u64>>> {
    let key = random_key(&keys.public, &keys.seed, number, server.params.n());
    progress.stage("ticket", rows.len() as u64);
    let each = rows.len().div_ceil(rayon::current_num_threads()).clamp(1, ROWS);
    let parts = rows.par_chunks(each).map(|rows| multiply(server, keys, &key, rows, progress));
    Ok(parts.collect::<Result<Vec<_>>>()?.concat())
}

/// Some rows of H times the masks, in steps of some milliseconds between which the work may rest.
fn multiply<T: Strength>(
    server: &ZipServer<T>,
    keys: &ZipKeys,
    key: &[Ciphertext],
    rows: &[usize],
    progress: &dyn Progress,
) -> Result<Vec<Vec<u64>>> {
    let exponents = Stored { server, rows };
    let products = Products::new(&keys.public, key, exponents, 0..rows.len(), MEMORY);
    let mut products = products.map_err(malformed("zip's masks"))?;
    while products.step() {
        progress.advance(0);
    }
    progress.advance(rows.len() as u64);
    Ok(products.finish().iter().map(|ciphertext| ciphertext.words().to_vec()).collect())
}

/// The keys and the ticket of a query's session: the client's own, of the query's number.
pub(super) fn check<'a, T: Strength>(
    session: &Session<'a, Zip<T>>,
    query: &ZipQuery,
) -> Result<(&'a ZipKeys, &'a ZipTicket)> {
    let (keys, ticket) = (session.require_keys()?, session.require_ticket()?);
    if ticket.tag != keys.tag() {
        return Err(Error::malformed("a ticket", "one of another client", "one of this client"));
    }
    if ticket.number != query.number {
        return Err(Error::malformed("a query's ticket", query.number, ticket.number));
    }
    Ok((keys, ticket))
}
