//! Client state of compression: masks, masked LWE keys, and decryption of rows.

use std::sync::Arc;

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Progress, Result};
use papir_paillier::{Ciphertext, LANES, Plaintext, PublicKey, SecretKey};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::base::Base;
use super::compression::{Compression, NUMBER_BYTES};
use super::params::ZipParams;
use super::slots::{self, Row, Weights, decode};
use super::ticket::random_key;
use super::wire::{self, Digest, Keys, MaskedKey, Product, Ticket, malformed};
use crate::shared::messages::SEED_BYTES;

/// State of a registered client: its key, the seed of its masks, the number of used masks, and held
/// tickets.
///
/// ```text
/// state    secret key (its own format), seed (32), number of the next ticket (8), held hints
/// held     number of its ticket (8), digest of the hint (16), plaintexts modulo m
/// ```
pub struct State {
    key: Arc<SecretKey>,
    seed: Seed,
    next: u64,
    /// Decrypted masks of the next numbers. Not stored.
    ahead: Vec<Ahead>,
    held: Vec<Held>,
}

/// pt_r of a number.
struct Ahead {
    number: u64,
    masks: Vec<Plaintext>,
}

/// Decrypted ticket of a number.
struct Held {
    number: u64,
    digest: Digest,
    plaintexts: Vec<Plaintext>,
}

/// Secrets that decrypt a product: the secret key, the number of set LWE key bits, and the ticket
/// if held.
pub(super) struct Opening {
    key: Arc<SecretKey>,
    weights: Weights,
    held: Option<Vec<Plaintext>>,
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.weights.zeroize();
    }
}

impl<B: Base> Wire<ZipParams<B>> for State {
    fn encode(&self, params: &ZipParams<B>) -> Vec<u8> {
        // The final length: growing would leave copies of the key behind.
        let held = self.held.len() * Held::bytes(&params.compression);
        let fixed = SecretKey::byte_length(&params.compression.paillier) + SEED_BYTES + NUMBER_BYTES;
        let mut bytes = Vec::with_capacity(fixed + held);
        bytes.extend_from_slice(&self.key.to_bytes());
        bytes.extend_from_slice(&self.seed.0);
        bytes.extend_from_slice(&self.next.to_le_bytes());
        self.held.iter().for_each(|held| held.write(&mut bytes));
        bytes
    }

    fn decode(params: &ZipParams<B>, bytes: &[u8]) -> Result<Self> {
        let (what, compression) = ("a client's Paillier state", &params.compression);
        let key_bytes = SecretKey::byte_length(&compression.paillier);
        let (fixed, each) = (key_bytes + SEED_BYTES + NUMBER_BYTES, Held::bytes(compression));
        if bytes.len() < fixed || !(bytes.len() - fixed).is_multiple_of(each) {
            return Err(Error::malformed(
                what,
                bytes.len(),
                format!("{fixed} bytes and {each} for each held hint"),
            ));
        }
        let mut reader = Reader::new(what, bytes);
        let key =
            SecretKey::from_bytes(compression.paillier, reader.raw(key_bytes)?).map_err(malformed(what))?;
        let (seed, next) = (Seed(reader.array()?), reader.u64()?);
        let held = reader.rest().chunks_exact(each).map(|held| Held::decode(key.public(), compression, held));
        let held = held.collect::<Result<_>>()?;
        Ok(Self { key: Arc::new(key), seed, next, ahead: Vec::new(), held })
    }
}

impl Held {
    fn bytes(compression: &Compression) -> usize {
        NUMBER_BYTES + size_of::<Digest>() + compression.apart_bytes()
    }

    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&self.digest);
        let words = self.plaintexts.iter().flat_map(Plaintext::words);
        words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }

    fn decode(public: &PublicKey, compression: &Compression, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a held hint", bytes);
        let (number, digest) = (reader.u64()?, reader.array()?);
        let numbers = wire::numbers(reader.rest(), compression.paillier.plaintext_bytes());
        let plaintexts = numbers.into_iter().map(Zeroizing::new);
        let plaintexts = plaintexts.map(|words| public.plaintext(&words).map_err(malformed("a held hint")));
        Ok(Self { number, digest, plaintexts: plaintexts.collect::<Result<_>>()? })
    }
}

impl State {
    /// Makes a key, its state, and the keys to register.
    ///
    /// # Errors
    /// Those of key generation.
    pub(super) fn new(compression: &Compression, rng: &mut dyn CryptoRng) -> Result<(Self, Keys)> {
        let key =
            SecretKey::generate(compression.paillier, rng).map_err(malformed("a fresh Paillier key"))?;
        // The masks' plaintexts are secret, the seed is not.
        let seed = Seed::random(rng);
        let keys = Keys { public: key.public().clone(), seed };
        Ok((Self { key: Arc::new(key), seed, next: 0, ahead: Vec::new(), held: Vec::new() }, keys))
    }

    /// Number of the next query.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    /// Decrypts the masks of the next queries.
    pub(super) fn prepare(&mut self, compression: &Compression, queries: usize, progress: &dyn Progress) {
        let known = |number: &u64| self.ahead.iter().any(|ahead| ahead.number == *number);
        let numbers: Vec<u64> = (self.next..).take(queries).filter(|number| !known(number)).collect();
        progress.stage("masks", (numbers.len() * compression.plaintexts()) as u64);
        for number in numbers {
            let masks = self.decrypt_masks(compression, number, progress);
            self.ahead.push(Ahead { number, masks });
        }
    }

    /// Stores the ticket of an unused number. The answer to that query is then sent without it.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a ticket of another client, of a used number, or of another
    /// version, whose hint has another digest.
    pub(super) fn hold(&mut self, compression: &Compression, digest: &Digest, ticket: Ticket) -> Result<()> {
        let tag = Keys { public: self.key.public().clone(), seed: self.seed }.tag();
        if ticket.tag != tag {
            return Err(Error::malformed("a ticket to hold", "one of another client", "one of this client"));
        }
        if ticket.number < self.next {
            let expected = format!("{} or a later one", self.next);
            return Err(Error::malformed("the number of a ticket to hold", ticket.number, expected));
        }
        if ticket.digest != *digest {
            return Err(Error::malformed(
                "a ticket to hold",
                "one of another version",
                "one of this version",
            ));
        }
        let plaintexts = decrypt(&self.key, ticket.ciphertexts, "a ticket to hold")?;
        Error::check_length("a ticket to hold", plaintexts.len(), compression.ciphertexts())?;
        self.held.retain(|held| held.number != ticket.number);
        self.held.push(Held { number: ticket.number, digest: ticket.digest, plaintexts });
        Ok(())
    }

    /// Masks a fresh LWE key with the next number's masks, which are used up. Returns the secrets
    /// for the answer. Held tickets of a version with another `digest` are ignored.
    ///
    /// # Errors
    /// [`Error::Session`] if no number is left.
    pub(super) fn mask(
        &mut self,
        scheme: &'static str,
        compression: &Compression,
        digest: &Digest,
        key: &[u32],
        progress: &dyn Progress,
    ) -> Result<(Opening, MaskedKey)> {
        let number = self.next;
        self.next = number.checked_add(1).ok_or(Error::Session { scheme, what: "an unused number" })?;
        let known = self.ahead.iter().position(|ahead| ahead.number == number);
        let known = known.map(|place| self.ahead.swap_remove(place).masks);
        // Another version may have other key bits in a plaintext.
        let known = known.filter(|masks| masks.len() == compression.plaintexts());
        let masks = known.unwrap_or_else(|| self.decrypt_masks(compression, number, progress));
        let held = self.held.iter().position(|held| held.number == number && held.digest == *digest);
        let held = held.map(|place| self.held.swap_remove(place).plaintexts);
        self.held.retain(|held| held.number > number);
        let masked =
            MaskedKey { number, held: held.is_some(), offsets: self.offsets(compression, key, &masks)? };
        let weights = Weights::of(key, compression.key_bits);
        Ok((Opening { key: Arc::clone(&self.key), weights, held }, masked))
    }

    /// Line 4: decrypts pt_r.
    fn decrypt_masks(
        &self,
        compression: &Compression,
        number: u64,
        progress: &dyn Progress,
    ) -> Vec<Plaintext> {
        let key = random_key(self.key.public(), &self.seed, number, compression.plaintexts());
        let parts = key.par_chunks(LANES).flat_map_iter(|some| {
            progress.advance(some.len() as u64);
            self.key.decrypt_many(some)
        });
        parts.collect()
    }

    /// Line 11, ck_o = s − pt_r modulo m, t bits of s in each.
    fn offsets(&self, compression: &Compression, key: &[u32], masks: &[Plaintext]) -> Result<Vec<Vec<u16>>> {
        let public = self.key.public();
        let offset = |(bits, mask): (&[u32], &Plaintext)| {
            let bits = slots::of_bits(bits);
            let bits = public.plaintext(&bits).map_err(malformed("an LWE key"))?;
            Ok(slots::of_words(public.plain_difference(&bits, mask).words()).collect())
        };
        key.chunks(compression.key_bits).zip(masks).map(offset).collect()
    }
}

impl Opening {
    /// Decrypts all rows of a product.
    ///
    /// # Errors
    /// [`Error::Malformed`] for numbers of another key, or for the wrong kind of product.
    pub(super) fn rows(&self, compression: &Compression, product: Product) -> Result<Zeroizing<Vec<Row>>> {
        let plaintexts = self.plaintexts(product)?;
        let (t, each) = (compression.key_bits, compression.rows_each);
        let row = |(row, value): (usize, u16)| {
            decode(self.weights.phase(value, row == 0), compression.message_bits)
        };
        let rows = plaintexts.iter().flat_map(|plaintext| {
            slots::of_words(plaintext.words()).skip(t - 1).step_by(t).take(each).enumerate().map(row)
        });
        Ok(Zeroizing::new(rows.take(compression.rows).collect()))
    }

    fn plaintexts(&self, product: Product) -> Result<Vec<Plaintext>> {
        let (public, what) = (self.key.public(), "an answer");
        match (product, &self.held) {
            (Product::Joined(ciphertexts), None) => decrypt(&self.key, ciphertexts, what),
            (Product::Apart(sums), Some(held)) => {
                let add = |(sum, hint): (Vec<u64>, &Plaintext)| {
                    let sum = public.plaintext(&sum).map_err(malformed(what))?;
                    Ok(public.plain_sum(&sum, hint))
                };
                sums.into_iter().zip(held).map(add).collect()
            }
            (_, None) => Err(Error::malformed(what, "plaintexts", "ciphertexts")),
            (_, Some(_)) => Err(Error::malformed(what, "ciphertexts", "plaintexts")),
        }
    }
}

/// Decrypts received ciphertexts.
fn decrypt(key: &SecretKey, ciphertexts: Vec<Vec<u64>>, what: &'static str) -> Result<Vec<Plaintext>> {
    let public = key.public();
    let ciphertexts = ciphertexts.into_iter().map(|words| public.ciphertext(words));
    let ciphertexts: Vec<Ciphertext> =
        ciphertexts.collect::<papir_paillier::Result<_>>().map_err(malformed(what))?;
    Ok(ciphertexts.par_chunks(LANES).flat_map_iter(|some| key.decrypt_many(some)).collect())
}
