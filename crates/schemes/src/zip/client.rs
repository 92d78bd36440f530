//! The client of ZipPIR: `Setup`, `Query` and `Extract` of Algorithm 5.

use std::sync::Arc;

use papir_core::codec::Reader;
use papir_core::scheme::{Client, Parameters, Wire, check_indices};
use papir_core::{Error, NoProgress, Progress, Record, Result};
use papir_lattice::lwe32::UnitVector;
use papir_paillier::{LANES, Plaintext, SecretKey};
use papir_ring::prg::{SecretRng, Seed};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::{Zeroize, Zeroizing};

use super::noise::CENTRE;
use super::params::{NUMBER_BYTES, SEED_BYTES, ZipParams};
use super::slots::{self, LOG2_DELTA};
use super::wire::{ZipAnswer, ZipKeys, ZipPublic, ZipQuery, malformed};
use super::{Strength, Zip, masks, ticket};
use crate::simple::columns;
use crate::simple::layout::Place;

/// What a client keeps: its key, the seed of its masks, and how many of them it has used.
///
/// ```text
/// state    secret key (its own format), seed (32), number of the next ticket (8)
/// ```
pub struct ZipState {
    key: Arc<SecretKey>,
    seed: Seed,
    next: u64,
    /// Masks that are decrypted already, of numbers from the next one on. Not stored.
    ahead: Vec<Ahead>,
}

/// pt_r of a number.
struct Ahead {
    number: u64,
    masks: Vec<Plaintext>,
}

impl<T: Strength> Wire<ZipParams<T>> for ZipState {
    fn encode(&self, _params: &ZipParams<T>) -> Vec<u8> {
        [&self.key.to_bytes()[..], &self.seed.0, &self.next.to_le_bytes()].concat()
    }

    fn decode(params: &ZipParams<T>, bytes: &[u8]) -> Result<Self> {
        let expected = SecretKey::byte_length(&params.paillier) + SEED_BYTES + NUMBER_BYTES;
        Error::check_length("zip's client state", bytes.len(), expected)?;
        let mut reader = Reader::new("zip's client state", bytes);
        let key =
            SecretKey::from_bytes(params.paillier, reader.raw(SecretKey::byte_length(&params.paillier))?);
        let key = Arc::new(key.map_err(malformed("zip's client state"))?);
        let state = Self { key, seed: Seed(reader.array()?), next: reader.u64()?, ahead: Vec::new() };
        reader.finish()?;
        Ok(state)
    }
}

/// What opens one answer: the secret key, the LWE key's weight and where the record lies in its column.
pub struct ZipSecret {
    key: Arc<SecretKey>,
    weight: u32,
    unit: u64,
    slot: u64,
}

impl Drop for ZipSecret {
    fn drop(&mut self) {
        self.weight.zeroize();
        self.unit.zeroize();
        self.slot.zeroize();
    }
}

/// A client. It holds nothing of the database.
pub struct ZipClient<T> {
    params: ZipParams<T>,
    public: ZipPublic,
}

impl<T: Strength> Client<Zip<T>> for ZipClient<T> {
    fn new(params: ZipParams<T>, public: ZipPublic) -> Result<Self> {
        Ok(Self { params, public })
    }

    fn params(&self) -> &ZipParams<T> {
        &self.params
    }

    fn register(&self, rng: &mut dyn CryptoRng) -> Result<Option<(ZipState, ZipKeys)>> {
        let key = SecretKey::generate(self.params.paillier, rng).map_err(malformed("zip's key"))?;
        // The masks' plaintexts are secret, the seed is not.
        let seed = Seed::random(rng);
        let keys = ZipKeys { public: key.public().clone(), seed };
        Ok(Some((ZipState { key: Arc::new(key), seed, next: 0, ahead: Vec::new() }, keys)))
    }

    fn next_ticket(&self, state: &ZipState) -> Option<u64> {
        Some(state.next)
    }

    fn state_fits(&self, _state: &ZipState) -> bool {
        true
    }

    fn prepare(&self, state: &mut ZipState, queries: usize, progress: &dyn Progress) -> Result<()> {
        let known = |number: &u64| state.ahead.iter().any(|ahead| ahead.number == *number);
        let numbers: Vec<u64> = (state.next..).take(queries).filter(|number| !known(number)).collect();
        progress.stage("masks", (numbers.len() * self.params.n()) as u64);
        for number in numbers {
            let ahead = self.decrypt_masks(state, number, progress);
            state.ahead.push(ahead);
        }
        Ok(())
    }

    fn query(
        &self,
        state: Option<&mut ZipState>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(ZipSecret, ZipQuery)> {
        check_indices(T::NAME, &self.params.shape(), indices, 1)?;
        let state = state.ok_or(Error::Session { scheme: T::NAME, what: "client state" })?;
        let number = state.next;
        state.next =
            number.checked_add(1).ok_or(Error::Session { scheme: T::NAME, what: "an unused number" })?;
        let known = state.ahead.iter().position(|ahead| ahead.number == number);
        let masks = known.map(|place| state.ahead.swap_remove(place));
        let masks = masks.unwrap_or_else(|| self.decrypt_masks(state, number, &NoProgress));
        let mut rng = SecretRng::new(rng);
        let key = self.params.lwe.key(&mut rng);
        let place = self.params.layout.place(indices[0]);
        let values = self.encrypt(&key, &place, &mut rng);
        let offsets = offsets(&state.key, &key, &masks.masks)?;
        let Place { unit, slot, .. } = place;
        let secret = ZipSecret { key: Arc::clone(&state.key), weight: key.iter().sum(), unit, slot };
        Ok((secret, ZipQuery { number, offsets, values }))
    }

    fn extract(&self, secret: ZipSecret, answer: ZipAnswer) -> Result<Vec<Record>> {
        let (column, distance) = self.decode(&secret, answer)?;
        if distance > self.params.budget.bound {
            return Err(Error::NotDecodable);
        }
        let (shape, place) = (self.params.shape(), (secret.unit, secret.slot));
        Ok(vec![columns::select(shape, &self.params.layout, place, &column)])
    }
}

impl<T: Strength> ZipClient<T> {
    /// Line 4, pt_r: n decryptions.
    fn decrypt_masks(&self, state: &ZipState, number: u64, progress: &dyn Progress) -> Ahead {
        let n = self.params.n();
        let key = ticket::random_key(state.key.public(), &state.seed, number, n);
        let parts = key.par_chunks(LANES).flat_map_iter(|some| {
            progress.advance(some.len() as u64);
            state.key.decrypt_many(some)
        });
        Ahead { number, masks: parts.collect() }
    }

    /// Line 14: the column's unit vector under the LWE key.
    fn encrypt(&self, key: &[u32], place: &Place, rng: &mut dyn CryptoRng) -> Vec<u32> {
        let length = self.params.layout.columns;
        let unit = UnitVector { selected: place.column, length, log2_delta: LOG2_DELTA };
        self.params.lwe.encrypt(&masks(self.public.seed), key, unit, self.params.query_bits(), rng)
    }

    /// All bytes of the answer's column, and the largest distance of a row from a multiple of Δ. Takes the
    /// same time whether the answer decodes or not.
    fn decode(&self, secret: &ZipSecret, answer: ZipAnswer) -> Result<(Zeroizing<Vec<u8>>, u16)> {
        let (mut column, mut worst) = (Zeroizing::new(Vec::with_capacity(self.params.layout.rows)), 0);
        self.decode_rows(secret, answer, |word, distance| {
            worst = worst.max(distance);
            column.push(word.wrapping_add(CENTRE));
        })?;
        Ok((column, worst))
    }

    /// Gives each row's word and distance.
    fn decode_rows(&self, secret: &ZipSecret, answer: ZipAnswer, mut put: impl FnMut(u8, u16)) -> Result<()> {
        let public = secret.key.public();
        let ciphertexts = answer.ciphertexts.into_iter().map(|words| public.ciphertext(words));
        let ciphertexts: Vec<_> =
            ciphertexts.collect::<papir_paillier::Result<_>>().map_err(malformed("zip's answer"))?;
        let plaintexts = ciphertexts.par_chunks(LANES).flat_map_iter(|some| secret.key.decrypt_many(some));
        let plaintexts: Vec<Plaintext> = plaintexts.collect();
        let values =
            |plaintext| slots::of_words(Plaintext::words(plaintext)).take(self.params.slots).enumerate();
        for (slot, value) in plaintexts.iter().flat_map(values).take(self.params.layout.rows) {
            let (word, distance) = slots::decode(value, secret.weight, slot == 0);
            put(word, distance);
        }
        Ok(())
    }
}

#[cfg(test)]
impl<T: Strength> ZipClient<T> {
    /// Each row's distance.
    pub(super) fn distances(&self, secret: &ZipSecret, answer: ZipAnswer) -> Result<Vec<u16>> {
        let mut distances = Vec::new();
        self.decode_rows(secret, answer, |_, distance| distances.push(distance))?;
        Ok(distances)
    }
}

/// Line 11, ck_o = s − pt_r modulo m.
fn offsets(secret: &SecretKey, key: &[u32], masks: &[Plaintext]) -> Result<Vec<Vec<u16>>> {
    let public = secret.public();
    let offset = |(bit, mask): (&u32, &Plaintext)| {
        let bit = public.plaintext(&[u64::from(*bit)]).map_err(malformed("zip's key"))?;
        Ok(slots::of_words(public.plain_difference(&bit, mask).words()).collect())
    };
    key.iter().zip(masks).map(offset).collect()
}
