//! The client of ZipPIR: `Setup`, `Query` and `Extract` of Algorithm 5.

use std::sync::Arc;

use papir_core::codec::Reader;
use papir_core::scheme::{Client, Parameters, SENT_AHEAD, Wire, check_indices};
use papir_core::{Error, NoProgress, Progress, Record, Result, parallel};
use papir_paillier::{Ciphertext, LANES, Plaintext, PublicKey, SecretKey};
use papir_ring::prg::{SecretRng, Seed};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use super::base::{Base, Encrypted};
use super::compression::{Compression, NUMBER_BYTES};
use super::params::{ZipParams, ZipPir};
use super::slots::{self, Row, Weights, decode};
use super::wire::{self, Digest, Keys, Product, Public, ZipAnswer, ZipQuery, malformed};
use crate::shared::messages::SEED_BYTES;

/// A key whose answer has not arrived after this many later numbers is given up.
const PATIENCE: u64 = 64;

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
/// key      number of its ticket (8), digest of the hint (16), n bits, 1 if its answer follows, else 0
///          (1), plaintexts modulo m of that answer
/// ```
pub struct State {
    key: Arc<SecretKey>,
    seed: Seed,
    next: u64,
    /// Decrypted masks of the next numbers, pt_r of each. Not stored.
    ahead: Vec<(u64, Vec<Plaintext>)>,
    /// Keys sent ahead, in the order of their numbers.
    sent: Vec<SentKey>,
}

/// LWE key of a number, sent with its query or ahead. It encrypts one query.
struct SentKey {
    number: u64,
    digest: Digest,
    /// n bits.
    key: Zeroizing<Vec<u32>>,
    /// ⟨H, s⟩ in slots; `None` until the answer has arrived.
    plaintexts: Option<Vec<Plaintext>>,
}

/// The secrets that decode one answer.
pub struct ZipSecret<B: Base> {
    opening: Opening,
    /// LWE key under the hint, n bits.
    key: Zeroizing<Vec<u32>>,
    base: B::Secret,
}

/// Secrets that decrypt a product: the secret key, the number of set LWE key bits, and ⟨H, s⟩ if the
/// key was sent ahead.
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
        let state = State {
            key,
            seed,
            next: 0,
            ahead: Vec::new(),
            sent: Vec::new(),
        };
        let keys = state.keys();
        Ok(Some((state, keys)))
    }

    fn next_ticket(&self, state: &State) -> Option<u64> {
        Some(state.next)
    }

    fn next_number(&self, state: &State) -> Option<u64> {
        let held = state.sent.iter().find(|sent| self.is_held(sent));
        Some(held.map_or(state.next, |sent| sent.number | SENT_AHEAD))
    }

    fn held(&self, state: &State) -> usize {
        state.sent.iter().filter(|sent| self.is_held(sent)).count()
    }

    fn state_fits(&self, _state: &State) -> bool {
        true
    }

    /// Decrypts the masks of the next queries whose keys were not sent ahead.
    fn prepare(&self, state: &mut State, queries: usize, progress: &dyn Progress) -> Result<()> {
        let compression = &self.params.compression;
        let known = |wanted: &u64| state.ahead.iter().any(|(number, _)| number == wanted);
        let queries = queries.saturating_sub(self.held(state));
        let numbers: Vec<u64> = (state.next..)
            .take(queries)
            .filter(|number| !known(number))
            .collect();
        progress.stage("masks", (numbers.len() * compression.plaintexts()) as u64);
        for number in numbers {
            state
                .ahead
                .push((number, state.decrypt_masks(compression, number, progress)));
        }
        Ok(())
    }

    fn send_ahead(&self, state: &mut State, rng: &mut dyn CryptoRng) -> Result<ZipQuery> {
        let (key, offsets) = self.masked_key(state, &mut SecretRng::new(rng))?;
        let number = key.number;
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

    /// # Errors
    /// [`Error::Malformed`] for an answer to a key of another number or version, or for a second
    /// answer.
    fn hold(&self, state: &mut State, number: u64, answer: ZipAnswer) -> Result<()> {
        const WHAT: &str = "an answer to a key that was sent ahead";
        let Product::Joined(ciphertexts) = answer.product else {
            return Err(Error::malformed(WHAT, "words", "ciphertexts"));
        };
        let waits = |sent: &&mut SentKey| sent.number == number && sent.plaintexts.is_none();
        let sent = state
            .sent
            .iter_mut()
            .find(waits)
            .filter(|sent| sent.digest == self.public.digest);
        let sent = sent.ok_or_else(|| {
            Error::malformed(
                WHAT,
                format!("number {number}"),
                "the number of a key without an answer",
            )
        })?;
        sent.plaintexts = Some(decrypt(&state.key, ciphertexts, WHAT)?);
        Ok(())
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
        let (
            SentKey {
                number,
                key,
                plaintexts: held,
                ..
            },
            offsets,
        ) = match self.take_held(state) {
            Some(key) => (key, None),
            None => {
                let (key, offsets) = self.masked_key(state, &mut rng)?;
                (key, Some(offsets))
            }
        };
        let Encrypted {
            secret: base,
            parts,
        } = self
            .params
            .base
            .encrypt(self.public.seed, indices[0], &key, &mut rng);
        let weights = Weights::of(&key, self.params.compression.key_bits);
        let opening = Opening {
            key: Arc::clone(&state.key),
            weights,
            held,
        };
        Ok((
            ZipSecret { opening, key, base },
            ZipQuery {
                number,
                offsets,
                parts: Some(parts),
            },
        ))
    }

    /// Takes the same time whether the answer decodes or not.
    fn extract(&self, secret: ZipSecret<B>, answer: ZipAnswer) -> Result<Vec<Record>> {
        let rows = self.rows(&secret, answer)?;
        Ok(vec![self.params.base.decode(&secret.base, &rows)?])
    }
}

impl<B: Base> ZipClient<B> {
    /// Returns whether a key can encrypt the next query for this version.
    fn is_held(&self, sent: &SentKey) -> bool {
        sent.digest == self.public.digest && sent.plaintexts.is_some()
    }

    /// Removes the next held key from the state, and all keys of other versions.
    fn take_held(&self, state: &mut State) -> Option<SentKey> {
        state.sent.retain(|sent| sent.digest == self.public.digest);
        let held = state.sent.iter().position(|sent| self.is_held(sent))?;
        Some(state.sent.remove(held))
    }

    /// A fresh LWE key of the next number, and its bits less that number's masks, which are used up.
    ///
    /// # Errors
    /// [`Error::Session`] if no number is left.
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
        state.next += 1;
        let key = compression.lwe.key(rng);
        let known = state.ahead.iter().position(|(ahead, _)| *ahead == number);
        let known = known.map(|place| state.ahead.swap_remove(place).1);
        // Another version may have other key bits in a plaintext.
        let known = known.filter(|masks| masks.len() == compression.plaintexts());
        let masks = known.unwrap_or_else(|| state.decrypt_masks(compression, number, &NoProgress));
        let offsets = state.offsets(compression, &key, &masks)?;
        Ok((
            SentKey {
                number,
                digest: self.public.digest,
                key,
                plaintexts: None,
            },
            offsets,
        ))
    }

    /// Messages and distances of all rows: those of the hint, then those sent with their masks.
    pub(super) fn rows(
        &self,
        secret: &ZipSecret<B>,
        answer: ZipAnswer,
    ) -> Result<Zeroizing<Vec<Row>>> {
        let mut rows = secret
            .opening
            .rows(&self.params.compression, answer.product)?;
        let online = answer.online.chunks_exact(secret.key.len() + 1).map(|row| {
            let (masks, body) = row.split_at(row.len() - 1);
            let product = masks.iter().zip(secret.key.iter());
            let product = product.fold(0u16, |sum, (mask, bit)| {
                sum.wrapping_add(mask.wrapping_mul(*bit as u16))
            });
            decode(body[0].wrapping_sub(product), B::LEVEL.message_bits)
        });
        rows.extend(online);
        Ok(rows)
    }
}

impl State {
    /// The registered keys.
    fn keys(&self) -> Keys {
        Keys {
            public: self.key.public().clone(),
            seed: self.seed,
        }
    }

    /// Line 4: decrypts pt_r.
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

    /// Line 11, ck_o = s − pt_r modulo m, t bits of s in each.
    fn offsets(
        &self,
        compression: &Compression,
        key: &[u32],
        masks: &[Plaintext],
    ) -> Result<Vec<Vec<u16>>> {
        let public = self.key.public();
        let offset = |(bits, mask): (&[u32], &Plaintext)| {
            let bits = slots::of_bits(bits);
            let bits = public.plaintext(&bits).map_err(malformed("an LWE key"))?;
            Ok(slots::of_words(public.plain_difference(&bits, mask).words()).collect())
        };
        key.chunks(compression.key_bits)
            .zip(masks)
            .map(offset)
            .collect()
    }
}

impl Opening {
    /// Decrypts all rows of a product.
    ///
    /// # Errors
    /// [`Error::Malformed`] for numbers of another key, or for the wrong kind of product.
    fn rows(&self, compression: &Compression, product: Product) -> Result<Zeroizing<Vec<Row>>> {
        let plaintexts = self.plaintexts(compression, product)?;
        let t = compression.key_bits;
        let each = compression.rows_each;
        let row = |(row, value): (usize, u16)| {
            decode(
                self.weights.phase(value, row == 0),
                compression.message_bits,
            )
        };
        let rows = plaintexts.iter().flat_map(|plaintext| {
            slots::of_words(plaintext.words())
                .skip(t - 1)
                .step_by(t)
                .take(each)
                .enumerate()
                .map(row)
        });
        Ok(Zeroizing::new(rows.take(compression.rows).collect()))
    }

    fn plaintexts(&self, compression: &Compression, product: Product) -> Result<Vec<Plaintext>> {
        let public = self.key.public();
        let what = "an answer";
        match (product, &self.held) {
            (Product::Joined(ciphertexts), None) => decrypt(&self.key, ciphertexts, what),
            (Product::Words(words), Some(held)) => {
                let slots = slots::spread(&words, compression.key_bits);
                let add = |(slots, held): (&[u16], &Plaintext)| {
                    let words: Vec<u64> = slots::words(slots).collect();
                    let words = public.plaintext(&words).map_err(malformed(what))?;
                    Ok(public.plain_sum(&words, held))
                };
                slots
                    .chunks(compression.slots())
                    .zip(held)
                    .map(add)
                    .collect()
            }
            (_, None) => Err(Error::malformed(what, "words", "ciphertexts")),
            (_, Some(_)) => Err(Error::malformed(what, "ciphertexts", "words")),
        }
    }
}

/// Decrypts received ciphertexts.
fn decrypt(
    key: &SecretKey,
    ciphertexts: Vec<Vec<u64>>,
    what: &'static str,
) -> Result<Vec<Plaintext>> {
    let public = key.public();
    let ciphertexts = ciphertexts
        .into_iter()
        .map(|words| public.ciphertext(words));
    let ciphertexts: Vec<Ciphertext> = ciphertexts
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
        self.sent.iter().for_each(|sent| sent.encode(&mut bytes));
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
        let mut sent = Vec::new();
        let mut rest = Reader::new("a key sent ahead", reader.rest());
        while !rest.is_empty() {
            sent.push(SentKey::read(key.public(), compression, &mut rest)?);
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
    fn words(&self) -> impl Iterator<Item = &u64> {
        self.plaintexts.iter().flatten().flat_map(Plaintext::words)
    }

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
        let byte = |bits: &[u32]| {
            bits.iter()
                .rev()
                .fold(0, |byte, bit| byte << 1 | *bit as u8)
        };
        bytes.extend(self.key.chunks(8).map(byte));
        bytes.push(self.plaintexts.is_some().into());
        self.words()
            .for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
    }

    fn read(
        public: &PublicKey,
        compression: &Compression,
        reader: &mut Reader<'_>,
    ) -> Result<Self> {
        const WHAT: &str = "a key sent ahead";
        let number = reader.u64()?;
        let digest = reader.array()?;
        let bits = reader.raw(compression.lwe.n().div_ceil(8))?;
        let bit = |i: usize| u32::from(bits[i / 8] >> (i % 8) & 1);
        let key = Zeroizing::new((0..compression.lwe.n()).map(bit).collect());
        let plaintext = |words: Vec<u64>| {
            let words = Zeroizing::new(words);
            public.plaintext(&words).map_err(malformed(WHAT))
        };
        let plaintexts = match reader.u8()? {
            0 => None,
            1 => {
                let numbers = reader.raw(compression.plaintexts_bytes())?;
                let numbers = wire::numbers(numbers, compression.paillier.plaintext_bytes());
                Some(numbers.into_iter().map(plaintext).collect::<Result<_>>()?)
            }
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
