//! The client of ZipPIR: `Setup`, `Query` and `Extract` of Algorithm 5.

use std::sync::Arc;

use papir_core::codec::Reader;
use papir_core::scheme::{Client, Parameters, Wire, check_indices};
use papir_core::{Error, NoProgress, Progress, Record, Result};
use papir_paillier::{Ciphertext, LANES, Plaintext, PublicKey, SecretKey};
use papir_ring::prg::{SecretRng, Seed};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::base::{Base, Encrypted};
use super::compression::{Compression, NUMBER_BYTES};
use super::params::{ZipParams, ZipPir};
use super::slots::{self, Row, Weights, decode};
use super::wire::{self, Digest, Keys, Product, Public, Ticket, ZipAnswer, ZipQuery, malformed};
use crate::shared::messages::SEED_BYTES;

/// A client. It stores nothing of the database.
pub struct ZipClient<B> {
    params: ZipParams<B>,
    public: Public,
}

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
    /// Decrypted masks of the next numbers, pt_r of each. Not stored.
    ahead: Vec<(u64, Vec<Plaintext>)>,
    held: Vec<Held>,
}

/// Decrypted ticket of a number.
struct Held {
    number: u64,
    digest: Digest,
    plaintexts: Vec<Plaintext>,
}

/// The secrets that decode one answer.
pub struct ZipSecret<B: Base> {
    opening: Opening,
    /// LWE key under the hint, n bits.
    key: Zeroizing<Vec<u32>>,
    base: B::Secret,
}

/// Secrets that decrypt a product: the secret key, the number of set LWE key bits, and the ticket
/// if held.
struct Opening {
    key: Arc<SecretKey>,
    weights: Weights,
    held: Option<Vec<Plaintext>>,
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.weights.zeroize();
    }
}

impl<B: Base> Client<ZipPir<B>> for ZipClient<B> {
    fn new(params: ZipParams<B>, public: Public) -> Result<Self> {
        Ok(Self { params, public })
    }

    fn params(&self) -> &ZipParams<B> {
        &self.params
    }

    fn register(&self, rng: &mut dyn CryptoRng) -> Result<Option<(State, Keys)>> {
        let key = SecretKey::generate(self.params.compression.paillier, rng);
        let key = Arc::new(key.map_err(malformed("a fresh Paillier key"))?);
        // The masks' plaintexts are secret, the seed is not.
        let seed = Seed::random(rng);
        let state = State { key, seed, next: 0, ahead: Vec::new(), held: Vec::new() };
        let keys = state.keys();
        Ok(Some((state, keys)))
    }

    fn next_ticket(&self, state: &State) -> Option<u64> {
        Some(state.next)
    }

    fn state_fits(&self, _state: &State) -> bool {
        true
    }

    /// Decrypts the masks of the next queries.
    fn prepare(&self, state: &mut State, queries: usize, progress: &dyn Progress) -> Result<()> {
        let compression = &self.params.compression;
        let known = |wanted: &u64| state.ahead.iter().any(|(number, _)| number == wanted);
        let numbers: Vec<u64> = (state.next..).take(queries).filter(|number| !known(number)).collect();
        progress.stage("masks", (numbers.len() * compression.plaintexts()) as u64);
        for number in numbers {
            state.ahead.push((number, state.decrypt_masks(compression, number, progress)));
        }
        Ok(())
    }

    /// Stores the ticket of an unused number. The answer to that query is then sent without it.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a ticket of another client, of a used number, or of another
    /// version, whose hint has another digest.
    fn hold(&self, state: &mut State, ticket: Ticket) -> Result<()> {
        const WHAT: &str = "a ticket to hold";
        if ticket.tag != state.keys().tag() {
            return Err(Error::malformed(WHAT, "one of another client", "one of this client"));
        }
        if ticket.number < state.next {
            let expected = format!("{} or a later one", state.next);
            return Err(Error::malformed("the number of a ticket to hold", ticket.number, expected));
        }
        if ticket.digest != self.public.digest {
            return Err(Error::malformed(WHAT, "one of another version", "one of this version"));
        }
        let plaintexts = decrypt(&state.key, ticket.ciphertexts, WHAT)?;
        Error::check_length(WHAT, plaintexts.len(), self.params.compression.ciphertexts())?;
        state.held.retain(|held| held.number != ticket.number);
        state.held.push(Held { number: ticket.number, digest: ticket.digest, plaintexts });
        Ok(())
    }

    fn query(
        &self,
        state: Option<&mut State>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(ZipSecret<B>, ZipQuery)> {
        check_indices(B::NAME, &self.params.shape(), indices, 1)?;
        let state = state.ok_or(Error::Session { scheme: B::NAME, what: "client state" })?;
        let mut rng = SecretRng::new(rng);
        let Encrypted { key, secret, parts } =
            self.params.base.encrypt(self.public.seed, indices[0], &mut rng);
        let (opening, query) = self.mask(state, &key, parts)?;
        Ok((ZipSecret { opening, key, base: secret }, query))
    }

    /// Takes the same time whether the answer decodes or not.
    fn extract(&self, secret: ZipSecret<B>, answer: ZipAnswer) -> Result<Vec<Record>> {
        let rows = self.rows(&secret, answer)?;
        Ok(vec![self.params.base.decode(&secret.base, &rows)?])
    }
}

impl<B: Base> ZipClient<B> {
    /// Masks a fresh LWE key with the next number's masks, which are used up. Returns the secrets
    /// for the answer and the query with its other parts. Held tickets of another version are
    /// ignored.
    ///
    /// # Errors
    /// [`Error::Session`] if no number is left.
    fn mask(&self, state: &mut State, key: &[u32], parts: Vec<Vec<u32>>) -> Result<(Opening, ZipQuery)> {
        let compression = &self.params.compression;
        let number = state.next;
        let no_number = Error::Session { scheme: B::NAME, what: "an unused number" };
        state.next = number.checked_add(1).ok_or(no_number)?;
        let known = state.ahead.iter().position(|(ahead, _)| *ahead == number);
        let known = known.map(|place| state.ahead.swap_remove(place).1);
        // Another version may have other key bits in a plaintext.
        let known = known.filter(|masks| masks.len() == compression.plaintexts());
        let masks = known.unwrap_or_else(|| state.decrypt_masks(compression, number, &NoProgress));
        let valid = |held: &Held| held.number == number && held.digest == self.public.digest;
        let held = state.held.iter().position(valid);
        let held = held.map(|place| state.held.swap_remove(place).plaintexts);
        state.held.retain(|held| held.number > number);
        let offsets = state.offsets(compression, key, &masks)?;
        let query = ZipQuery { number, held: held.is_some(), offsets, parts };
        let weights = Weights::of(key, compression.key_bits);
        Ok((Opening { key: Arc::clone(&state.key), weights, held }, query))
    }

    /// Messages and distances of all rows: those of the hint, then those sent with their masks.
    pub(super) fn rows(&self, secret: &ZipSecret<B>, answer: ZipAnswer) -> Result<Zeroizing<Vec<Row>>> {
        let mut rows = secret.opening.rows(&self.params.compression, answer.product)?;
        let online = answer.online.chunks_exact(secret.key.len() + 1).map(|row| {
            let (masks, body) = row.split_at(row.len() - 1);
            let product = masks.iter().zip(secret.key.iter());
            let product =
                product.fold(0u16, |sum, (mask, bit)| sum.wrapping_add(mask.wrapping_mul(*bit as u16)));
            decode(body[0].wrapping_sub(product), B::LEVEL.message_bits)
        });
        rows.extend(online);
        Ok(rows)
    }
}

impl State {
    /// The registered keys.
    fn keys(&self) -> Keys {
        Keys { public: self.key.public().clone(), seed: self.seed }
    }

    /// Line 4: decrypts pt_r.
    fn decrypt_masks(
        &self,
        compression: &Compression,
        number: u64,
        progress: &dyn Progress,
    ) -> Vec<Plaintext> {
        let key = self.keys().masks(number, compression);
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
    fn rows(&self, compression: &Compression, product: Product) -> Result<Zeroizing<Vec<Row>>> {
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

impl<B: Base> Wire<ZipParams<B>> for State {
    fn encode(&self, params: &ZipParams<B>) -> Vec<u8> {
        // The final length: growing would leave copies of the key behind.
        let held = self.held.len() * Held::bytes(&params.compression);
        let fixed = SecretKey::byte_length(&params.compression.paillier) + SEED_BYTES + NUMBER_BYTES;
        let mut bytes = Vec::with_capacity(fixed + held);
        bytes.extend_from_slice(&self.key.to_bytes());
        bytes.extend_from_slice(&self.seed.0);
        bytes.extend_from_slice(&self.next.to_le_bytes());
        for held in &self.held {
            bytes.extend_from_slice(&held.number.to_le_bytes());
            bytes.extend_from_slice(&held.digest);
            let words = held.plaintexts.iter().flat_map(Plaintext::words);
            words.for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        }
        bytes
    }

    fn decode(params: &ZipParams<B>, bytes: &[u8]) -> Result<Self> {
        let (what, compression) = ("a client's Paillier state", &params.compression);
        let key_bytes = SecretKey::byte_length(&compression.paillier);
        let (fixed, each) = (key_bytes + SEED_BYTES + NUMBER_BYTES, Held::bytes(compression));
        if bytes.len() < fixed || !(bytes.len() - fixed).is_multiple_of(each) {
            let expected = format!("{fixed} bytes and {each} for each held hint");
            return Err(Error::malformed(what, bytes.len(), expected));
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

    fn decode(public: &PublicKey, compression: &Compression, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("a held hint", bytes);
        let (number, digest) = (reader.u64()?, reader.array()?);
        let numbers = wire::numbers(reader.rest(), compression.paillier.plaintext_bytes());
        let plaintexts = numbers.into_iter().map(Zeroizing::new);
        let plaintexts = plaintexts.map(|words| public.plaintext(&words).map_err(malformed("a held hint")));
        Ok(Self { number, digest, plaintexts: plaintexts.collect::<Result<_>>()? })
    }
}
