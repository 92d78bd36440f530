//! Tickets: `Hint` of Algorithm 5, the hint times a client's masks, and whose a ticket is.

use papir_core::scheme::Session;
use papir_core::{Error, Progress, Result};
use papir_paillier::products::{Exponents, Products};
use papir_paillier::{Ciphertext, PublicKey, random_ciphertexts};
use papir_ring::prg::Seed;
use rayon::prelude::*;

use super::params::ZipParams;
use super::server::ZipServer;
use super::slots::SLOT_BITS;
use super::wire::{ZipKeys, ZipQuery, ZipTicket, malformed};
use super::{Strength, Zip};

/// Memory for the table and the accumulators of one thread: 64 MiB.
const MEMORY: usize = 64 << 20;
/// Ciphertexts that one thread prepares at a time.
const ROWS: usize = 8;

/// ck_r of a number: n encryptions of what only the client knows.
pub(super) fn random_key(public: &PublicKey, seed: &Seed, number: u64, n: usize) -> Vec<Ciphertext> {
    random_ciphertexts(public, seed, "zip/masks", number, n)
}

/// The exponents of one matrix, as they are stored.
struct Stored<'a, T>(&'a ZipServer<T>);

impl<T: Strength> Exponents for Stored<'_, T> {
    fn rows(&self) -> usize {
        self.0.params.ciphertexts()
    }

    fn columns(&self) -> usize {
        self.0.params.n()
    }

    fn bits(&self) -> u32 {
        self.0.params.slots as u32 * SLOT_BITS
    }

    fn read(&self, row: usize, column: usize, words: &mut [u64]) {
        let params: &ZipParams<T> = &self.0.params;
        let digits = params.exponent_digits();
        let exponent = &self.0.hint.exponents[(row * params.n() + column) * digits..][..digits];
        for (word, digits) in words.iter_mut().zip(exponent.chunks_exact(4)) {
            *word = digits.iter().rev().fold(0, |word, digit| word << 16 | u64::from(*digit));
        }
    }
}

/// The ticket of a number.
pub(super) fn prepare<T: Strength>(
    server: &ZipServer<T>,
    keys: &ZipKeys,
    number: u64,
    progress: &dyn Progress,
) -> Result<ZipTicket> {
    let key = random_key(&keys.public, &keys.seed, number, server.params.n());
    let rows: Vec<usize> = (0..server.params.ciphertexts()).collect();
    progress.stage("ticket", rows.len() as u64);
    let parts = rows.par_chunks(ROWS).map(|rows| multiply(server, keys, &key, rows, progress));
    let ciphertexts = parts.collect::<Result<Vec<_>>>()?.concat();
    Ok(ZipTicket { number, tag: keys.tag(), ciphertexts })
}

/// Some rows of H times the masks, in steps of some milliseconds between which the work may rest.
fn multiply<T: Strength>(
    server: &ZipServer<T>,
    keys: &ZipKeys,
    key: &[Ciphertext],
    rows: &[usize],
    progress: &dyn Progress,
) -> Result<Vec<Vec<u64>>> {
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        return Ok(Vec::new());
    };
    let products = Products::new(&keys.public, key, Stored(server), *first..last + 1, MEMORY);
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
    let missing = |what| Error::Session { scheme: T::NAME, what };
    let keys = session.keys.ok_or_else(|| missing("client keys"))?;
    let ticket = session.ticket.ok_or_else(|| missing("a ticket"))?;
    if ticket.tag != keys.tag() {
        return Err(Error::malformed("a ticket", "one of another client", "one of this client"));
    }
    if ticket.number != query.number {
        return Err(Error::malformed("a query's ticket", query.number, ticket.number));
    }
    Ok((keys, ticket))
}
