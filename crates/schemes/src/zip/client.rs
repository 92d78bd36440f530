//! Client of ZipPIR: `Setup`, `Query` and `Extract` of Algorithm 5.

use std::sync::Arc;

use papir_core::codec::Reader;
use papir_core::scheme::{
    Client, Parameters, RegisteredClient, SENT_AHEAD, StateNumbers, Wire, check_indices,
};
use papir_core::{Error, NoProgress, Progress, Record, Result, parallel};
use papir_paillier::{Ciphertext, LANES, Plaintext, PublicKey, SecretKey};
use papir_ring::prg::{SecretRng, Seed};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::base::Base;
use super::compression::{Compression, NUMBER_BYTES};
use super::params::{ZipParams, ZipPir};
use super::slots::{self, DecodedRow, Weights, decode};
use super::wire::{self, Digest, HintProduct, Keys, Public, ZipAnswer, ZipQuery, malformed};
use crate::shared::messages::SEED_BYTES;

/// Number of later tickets after which the client gives up a key without an answer.
const PATIENCE: u64 = 64;
/// Name of a [`SentKey`] in errors.
const SENT_KEY: &str = "a key sent ahead";

/// A client. It stores nothing of the database.
pub struct ZipClient<B> {
    params: ZipParams<B>,
    public: Public,
}

/// State of a registered client: its key, the seed of its masks, the number of used masks, and the
/// LWE keys that were sent ahead.
///
/// ```text
/// state    secret key (its own format), seed (32), number of the next ticket (8), keys sent ahead
/// key      number of its ticket (8), digest of the hint (16), n bits, 1 if its answer follows,
///          else 0 (1), plaintexts modulo m of that answer
/// ```
pub struct State {
    key: Arc<SecretKey>,
    seed: Seed,
    next: u64,
    /// Decrypted masks of the next numbers. They are not stored.
    ahead: Vec<DecryptedMasks>,
    /// Keys sent ahead, in the order of their numbers.
    sent: Vec<SentKey>,
}

/// Decrypted masks of a number.
struct DecryptedMasks {
    number: u64,
    /// Plaintexts pt_r.
    plaintexts: Vec<Plaintext>,
}

/// LWE key of a number, sent with its query or ahead of it. It encrypts one query.
struct SentKey {
    number: u64,
    digest: Digest,
    /// LWE key, n bits.
    key: Zeroizing<Vec<u32>>,
    /// ⟨H, s⟩ in slots, or `None` until the answer has arrived.
    plaintexts: Option<Vec<Plaintext>>,
}

/// Secrets that decode one answer.
pub struct ZipSecret<B: Base> {
    opening: Opening,
    /// LWE key under the hint, n bits.
    key: Zeroizing<Vec<u32>>,
    base: B::Secret,
}

/// Secrets that decrypt a product: the secret key, the number of set bits of the LWE key, and ⟨H,
/// s⟩ if the key was sent ahead.
struct Opening {
    key: Arc<SecretKey>,
    /// Numbers of set bits. They are boxed, so that moving the secret leaves no copy behind.
    weights: Box<Zeroizing<Weights>>,
    held: Option<Vec<Plaintext>>,
}

impl<B: Base> Client<ZipPir<B>> for ZipClient<B> {
    fn new(params: ZipParams<B>, public: Public) -> Result<Self> {
        Ok(Self { params, public })
    }

    fn params(&self) -> &ZipParams<B> {
        &self.params
    }

    fn query(
        &self,
        state: Option<&mut State>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(ZipSecret<B>, ZipQuery)> {
        check_indices(B::NAME, &self.params.shape(), indices, 1)?;
        let state = state.ok_or(Error::Session {
            scheme: B::NAME,
            what: "client state",
        })?;
        let mut rng = SecretRng::new(rng);

        // The server has the offsets of a held key already.
        let (sent, offsets) = match self.take_held(state) {
            Some(sent) => (sent, None),
            None => {
                let (sent, offsets) = self.masked_key(state, &mut rng)?;
                (sent, Some(offsets))
            }
        };

        let base = &self.params.base;
        let encrypted = base.encrypt(self.public.seed, indices[0], &sent.key, &mut rng);
        let weights = Weights::of(&sent.key, self.params.compression.key_bits);
        let opening = Opening {
            key: Arc::clone(&state.key),
            weights: Box::new(Zeroizing::new(weights)),
            held: sent.plaintexts,
        };

        let secret = ZipSecret {
            opening,
            key: sent.key,
            base: encrypted.secret,
        };
        let query = ZipQuery {
            number: sent.number,
            offsets,
            parts: Some(encrypted.parts),
        };
        Ok((secret, query))
    }

    /// Decrypts an answer. The time is the same if the answer does not decode.
    fn extract(&self, secret: ZipSecret<B>, answer: ZipAnswer) -> Result<Vec<Record>> {
        let rows = self.rows(&secret, answer)?;
        Ok(vec![self.params.base.decode(&secret.base, &rows)?])
    }
}

impl<B: Base> RegisteredClient<ZipPir<B>> for ZipClient<B> {
    fn register(&self, _kept: Option<&State>, rng: &mut dyn CryptoRng) -> Result<(State, Keys)> {
        let key = SecretKey::generate(self.params.compression.paillier, rng);
        let key = Arc::new(key.map_err(malformed("a fresh Paillier key"))?);

        // The masks' plaintexts are secret, the seed is not.
        let seed = Seed::random(rng);

        let state = State {
            key,
            seed,
            next: 0,
            ahead: Vec::new(),
            sent: Vec::new(),
        };
        let keys = state.keys();
        Ok((state, keys))
    }

    fn numbers(&self, state: &State) -> StateNumbers {
        let held: Vec<&SentKey> = state
            .sent
            .iter()
            .filter(|sent| self.is_held(sent))
            .collect();
        let query = held
            .first()
            .map_or(state.next, |sent| sent.number | SENT_AHEAD);

        StateNumbers {
            ticket: Some(state.next),
            query: Some(query),
            held: held.len(),
        }
    }

    fn state_fits(&self, _state: &State) -> bool {
        true
    }

    /// Decrypts the masks of the next queries whose keys were not sent ahead.
    fn prepare(&self, state: &mut State, queries: usize, progress: &dyn Progress) -> Result<()> {
        let compression = &self.params.compression;
        let queries = queries.saturating_sub(self.numbers(state).held);
        let numbers: Vec<u64> = (state.next..)
            .take(queries)
            .filter(|number| !state.has_masks(*number))
            .collect();

        progress.stage("masks", (numbers.len() * compression.plaintexts()) as u64);
        for number in numbers {
            let plaintexts = state.decrypt_masks(compression, number, progress);
            state.ahead.push(DecryptedMasks { number, plaintexts });
        }
        Ok(())
    }

    fn send_ahead(&self, state: &mut State, rng: &mut dyn CryptoRng) -> Result<ZipQuery> {
        let (key, offsets) = self.masked_key(state, &mut SecretRng::new(rng))?;
        let number = key.number;

        // Otherwise keys whose answers never come would fill the state.
        state.sent.retain(|sent| {
            sent.digest == key.digest
                && (sent.plaintexts.is_some() || number - sent.number <= PATIENCE)
        });
        state.sent.push(key);

        Ok(ZipQuery {
            number,
            offsets: Some(offsets),
            parts: None,
        })
    }

    /// Keeps the answer to a key that was sent ahead. Refuses an answer to a key of another number
    /// or version, and a second answer.
    fn hold(&self, state: &mut State, number: u64, answer: ZipAnswer) -> Result<()> {
        const WHAT: &str = "an answer to a key that was sent ahead";
        let HintProduct::Joined(ciphertexts) = answer.product else {
            return Err(Error::malformed(WHAT, "words", "ciphertexts"));
        };

        let waiting = state
            .sent
            .iter_mut()
            .find(|sent| sent.number == number && sent.plaintexts.is_none())
            .filter(|sent| sent.digest == self.public.digest);
        let Some(sent) = waiting else {
            return Err(Error::malformed(
                WHAT,
                format!("number {number}"),
                "the number of a key without an answer",
            ));
        };

        sent.plaintexts = Some(decrypt(&state.key, ciphertexts, WHAT)?);
        Ok(())
    }
}

impl<B: Base> ZipClient<B> {
    /// Returns true if a key can encrypt the next query for this version.
    fn is_held(&self, sent: &SentKey) -> bool {
        sent.digest == self.public.digest && sent.plaintexts.is_some()
    }

    /// Removes the next held key from the state and returns it, or `None` if there is none. Removes
    /// all keys of other versions, too.
    fn take_held(&self, state: &mut State) -> Option<SentKey> {
        state.sent.retain(|sent| sent.digest == self.public.digest);

        let held = state.sent.iter().position(|sent| self.is_held(sent))?;
        Some(state.sent.remove(held))
    }

    /// Draws a fresh LWE key of the next number. Returns it, and its bits less the number's masks.
    /// Uses the number up.
    fn masked_key(
        &self,
        state: &mut State,
        rng: &mut SecretRng,
    ) -> Result<(SentKey, Vec<Vec<u16>>)> {
        let compression = &self.params.compression;
        let number = state.next;
        if number >= SENT_AHEAD {
            return Err(Error::Session {
                scheme: B::NAME,
                what: "an unused number",
            });
        }

        // Before anything can fail: two keys under one number's masks reveal their difference.
        state.next += 1;
        let key = compression.lwe.key(rng);
        let masks = state.take_masks(compression, number);
        let offsets = state.offsets(compression, &key, &masks)?;

        let sent = SentKey {
            number,
            digest: self.public.digest,
            key,
            plaintexts: None,
        };
        Ok((sent, offsets))
    }

    /// Decrypts the messages and distances of all rows: rows of the hint, then rows sent with their
    /// masks.
    pub(super) fn rows(
        &self,
        secret: &ZipSecret<B>,
        answer: ZipAnswer,
    ) -> Result<Zeroizing<Vec<DecodedRow>>> {
        let compression = &self.params.compression;
        let online = answer.online.chunks_exact(secret.key.len() + 1);

        // The final length: growing would leave copies of decoded rows behind.
        let mut rows = Zeroizing::new(Vec::with_capacity(compression.rows + online.len()));
        secret
            .opening
            .read_rows(compression, answer.product, &mut rows)?;
        rows.extend(online.map(|row| decode_online(row, &secret.key, B::LEVEL.message_bits)));
        Ok(rows)
    }
}

/// Decodes a row that was sent with its masks: n mask words and the body.
fn decode_online(row: &[u16], key: &[u32], message_bits: u32) -> DecodedRow {
    let (masks, body) = row.split_at(row.len() - 1);
    let product = masks.iter().zip(key).fold(0u16, |sum, (mask, bit)| {
        sum.wrapping_add(mask.wrapping_mul(*bit as u16))
    });
    decode(body[0].wrapping_sub(product), message_bits)
}

impl State {
    /// Returns the registered keys.
    fn keys(&self) -> Keys {
        Keys {
            public: self.key.public().clone(),
            seed: self.seed,
        }
    }

    /// Returns true if the masks of a number are decrypted.
    fn has_masks(&self, number: u64) -> bool {
        self.ahead.iter().any(|masks| masks.number == number)
    }

    /// Removes the masks of a number from the state, or decrypts them now.
    fn take_masks(&mut self, compression: &Compression, number: u64) -> Vec<Plaintext> {
        let place = self.ahead.iter().position(|masks| masks.number == number);
        if let Some(place) = place {
            let plaintexts = self.ahead.swap_remove(place).plaintexts;

            // Another version may have other key bits in a plaintext.
            if plaintexts.len() == compression.plaintexts() {
                return plaintexts;
            }
        }
        self.decrypt_masks(compression, number, &NoProgress)
    }

    /// Computes line 4: decrypts pt_r.
    fn decrypt_masks(
        &self,
        compression: &Compression,
        number: u64,
        progress: &dyn Progress,
    ) -> Vec<Plaintext> {
        let key = self.keys().masks(number, compression);
        let parts = parallel::map(key.chunks(LANES), |some| {
            progress.advance(some.len() as u64);
            self.key.decrypt_many(some)
        });
        parts.into_iter().flatten().collect()
    }

    /// Computes line 11, ck_o = s − pt_r modulo m, with t bits of s in each plaintext.
    fn offsets(
        &self,
        compression: &Compression,
        key: &[u32],
        masks: &[Plaintext],
    ) -> Result<Vec<Vec<u16>>> {
        let public = self.key.public();

        let mut offsets = Vec::with_capacity(masks.len());
        for (bits, mask) in key.chunks(compression.key_bits).zip(masks) {
            let bits = slots::of_bits(bits);
            let bits = public.plaintext(&bits).map_err(malformed("an LWE key"))?;
            let offset = public.plain_difference(&bits, mask);
            offsets.push(slots::of_words(offset.words()).collect());
        }
        Ok(offsets)
    }
}

impl Opening {
    /// Appends all rows of a product, decrypted. Refuses numbers of another key and the wrong kind
    /// of product.
    fn read_rows(
        &self,
        compression: &Compression,
        product: HintProduct,
        rows: &mut Vec<DecodedRow>,
    ) -> Result<()> {
        let plaintexts = self.plaintexts(compression, product)?;
        let t = compression.key_bits;

        // A row is in the highest of its t slots.
        let decoded = plaintexts.iter().flat_map(|plaintext| {
            let values = slots::of_words(plaintext.words()).skip(t - 1).step_by(t);
            values
                .take(compression.rows_each)
                .enumerate()
                .map(|(row, value)| self.row(compression, row, value))
        });
        rows.extend(decoded.take(compression.rows));
        Ok(())
    }

    /// Decodes the value of a row's slot. `row` is the row's position in its ciphertext.
    fn row(&self, compression: &Compression, row: usize, value: u16) -> DecodedRow {
        let phase = self.weights.phase(value, row == 0);
        decode(phase, compression.message_bits)
    }

    fn plaintexts(
        &self,
        compression: &Compression,
        product: HintProduct,
    ) -> Result<Vec<Plaintext>> {
        const WHAT: &str = "an answer";
        match (product, &self.held) {
            (HintProduct::Joined(ciphertexts), None) => decrypt(&self.key, ciphertexts, WHAT),
            (HintProduct::Words(words), Some(held)) => {
                add_words(self.key.public(), compression, &words, held).map_err(malformed(WHAT))
            }
            (_, None) => Err(Error::malformed(WHAT, "words", "ciphertexts")),
            (_, Some(_)) => Err(Error::malformed(WHAT, "ciphertexts", "words")),
        }
    }
}

/// Adds the words of an answer to ⟨H, s⟩.
fn add_words(
    public: &PublicKey,
    compression: &Compression,
    words: &[u16],
    held: &[Plaintext],
) -> papir_paillier::Result<Vec<Plaintext>> {
    let slots = slots::spread(words, compression.key_bits);

    let mut sums = Vec::with_capacity(held.len());
    for (slots, held) in slots.chunks(compression.slots()).zip(held) {
        let words: Vec<u64> = slots::words(slots).collect();
        sums.push(public.plain_sum(&public.plaintext(&words)?, held));
    }
    Ok(sums)
}

/// Decrypts received ciphertexts.
fn decrypt(
    key: &SecretKey,
    ciphertexts: Vec<Vec<u64>>,
    what: &'static str,
) -> Result<Vec<Plaintext>> {
    let public = key.public();
    let ciphertexts: Vec<Ciphertext> = ciphertexts
        .into_iter()
        .map(|words| public.ciphertext(words))
        .collect::<papir_paillier::Result<_>>()
        .map_err(malformed(what))?;

    let parts = parallel::map(ciphertexts.chunks(LANES), |some| key.decrypt_many(some));
    Ok(parts.into_iter().flatten().collect())
}

impl<B: Base> Wire<ZipParams<B>> for State {
    fn encode(&self, params: &ZipParams<B>) -> Vec<u8> {
        // The final length: growing would leave copies of the key behind.
        let fixed =
            SecretKey::byte_length(&params.compression.paillier) + SEED_BYTES + NUMBER_BYTES;
        let sent: usize = self.sent.iter().map(SentKey::bytes).sum();
        let mut bytes = Vec::with_capacity(fixed + sent);

        bytes.extend_from_slice(&self.key.to_bytes());
        bytes.extend_from_slice(&self.seed.0);
        bytes.extend_from_slice(&self.next.to_le_bytes());
        for sent in &self.sent {
            sent.encode(&mut bytes);
        }
        bytes
    }

    fn decode(params: &ZipParams<B>, bytes: &[u8]) -> Result<Self> {
        let what = "a client's Paillier state";
        let compression = &params.compression;
        let mut reader = Reader::new(what, bytes);

        let key = reader.raw(SecretKey::byte_length(&compression.paillier))?;
        let key = SecretKey::from_bytes(compression.paillier, key).map_err(malformed(what))?;
        let seed = Seed(reader.array()?);
        let next = reader.u64()?;

        let mut sent: Vec<SentKey> = Vec::new();
        let mut rest = Reader::new(SENT_KEY, reader.rest());
        while !rest.is_empty() {
            let one = SentKey::read(key.public(), compression, &mut rest)?;

            // A key encrypts one query. A number that stands twice, or is still to come, would be
            // that of two.
            let is_later = sent.last().is_none_or(|last| last.number < one.number);
            if !is_later || one.number >= next {
                let expected = format!("ascending numbers below {next}");
                return Err(Error::malformed(SENT_KEY, one.number, expected));
            }
            sent.push(one);
        }

        Ok(Self {
            key: Arc::new(key),
            seed,
            next,
            ahead: Vec::new(),
            sent,
        })
    }
}

impl SentKey {
    /// Returns the words of ⟨H, s⟩. There are none before the answer has arrived.
    fn words(&self) -> impl Iterator<Item = &u64> {
        self.plaintexts.iter().flatten().flat_map(Plaintext::words)
    }

    /// Returns the number of bytes that [`SentKey::encode`] writes.
    fn bytes(&self) -> usize {
        NUMBER_BYTES
            + size_of::<Digest>()
            + self.key.len().div_ceil(8)
            + 1
            + 8 * self.words().count()
    }

    fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.number.to_le_bytes());
        bytes.extend_from_slice(&self.digest);
        bytes.extend(self.key.chunks(8).map(packed_byte));

        bytes.push(self.plaintexts.is_some().into());
        for word in self.words() {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }

    fn read(
        public: &PublicKey,
        compression: &Compression,
        reader: &mut Reader<'_>,
    ) -> Result<Self> {
        let number = reader.u64()?;
        let digest = reader.array()?;
        let n = compression.lwe.n();
        let bits = reader.raw(n.div_ceil(8))?;
        let bits = (0..n).map(|i| u32::from(bits[i / 8] >> (i % 8) & 1));
        let key = Zeroizing::new(bits.collect());

        let plaintexts = match reader.u8()? {
            0 => None,
            1 => Some(read_plaintexts(public, compression, reader)?),
            flag => {
                return Err(Error::malformed(
                    "the flag of a key sent ahead",
                    flag,
                    "0 or 1",
                ));
            }
        };

        Ok(Self {
            number,
            digest,
            key,
            plaintexts,
        })
    }
}

/// Packs up to eight bits, the lowest first.
fn packed_byte(bits: &[u32]) -> u8 {
    bits.iter()
        .rev()
        .fold(0, |byte, bit| byte << 1 | *bit as u8)
}

/// Reads ⟨H, s⟩.
fn read_plaintexts(
    public: &PublicKey,
    compression: &Compression,
    reader: &mut Reader<'_>,
) -> Result<Vec<Plaintext>> {
    let bytes = reader.raw(compression.plaintexts_bytes())?;
    let numbers = wire::numbers(bytes, compression.paillier.plaintext_bytes());

    let mut plaintexts = Vec::with_capacity(numbers.len());
    for words in numbers {
        let words = Zeroizing::new(words);
        plaintexts.push(public.plaintext(&words).map_err(malformed(SENT_KEY))?);
    }
    Ok(plaintexts)
}
