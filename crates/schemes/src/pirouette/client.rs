//! Client of the family: registration, queries, decryption of answers.

use std::sync::Arc;

use papir_core::scheme::{
    Client, Never, Parameters, RegisteredClient, Scheme, SchemeRegistration, check_indices,
};
use papir_core::{Error, Record, Result};
use papir_lattice::response::ResponseBits;
use papir_lattice::wide::SecretKey;
use papir_ring::prg::{SecretRng, Seed};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::chain::{LOG2_P, LOG2_QUERY, RESPONSE_DEGREE, RESPONSE_WEIGHT};
use super::common::RetrievalParams;
use super::keys::{Keys, Secrets, State};
use super::noise::DECODING_PART;
use super::whitening::Whitening;
use super::wire::{PirouetteQuery, RetrievalAnswer};
use crate::shared::units::{Location, decoded};

/// A scheme whose clients register keys and decrypt answers in the response ring.
pub trait Path:
    Scheme<
        Params: RetrievalParams,
        Public: Whitening,
        Answer = RetrievalAnswer,
        Secret = RetrievalSecret,
        Registration: SchemeRegistration<Self, Keys = Keys, State = State, Ticket = Never>,
    >
{
    /// Encrypts a query for an item.
    fn ask(params: &Self::Params, state: &State, item: u64, rng: &mut dyn CryptoRng)
    -> Self::Query;
}

/// Secret of one query: the keys, and the record's item and its place in the item.
pub struct RetrievalSecret {
    secrets: Arc<Secrets>,
    /// Place of the record. It is boxed, so that moving the secret leaves no copy behind.
    location: Box<Location>,
}

/// A client of a scheme of the family.
pub struct RetrievalClient<S: Path> {
    params: S::Params,
    public: S::Public,
}

impl<S: Path> Client<S> for RetrievalClient<S> {
    fn new(params: S::Params, public: S::Public) -> Result<Self> {
        Ok(Self { params, public })
    }

    fn params(&self) -> &S::Params {
        &self.params
    }

    fn query(
        &self,
        state: Option<&mut State>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(RetrievalSecret, S::Query)> {
        check_indices(S::NAME, &self.params.shape(), indices, 1)?;
        let state = state.ok_or(Error::Session {
            scheme: S::NAME,
            what: "client state",
        })?;

        let location = Box::new(self.params.layout().unit_layout.location(indices[0], 1));
        let query = S::ask(&self.params, state, location.unit, rng);

        let secret = RetrievalSecret {
            secrets: Arc::clone(&state.0),
            location,
        };
        Ok((secret, query))
    }

    /// Decrypts an answer. The time is the same if the answer does not decode.
    fn extract(&self, secret: RetrievalSecret, answer: RetrievalAnswer) -> Result<Vec<Record>> {
        let (mut item, distance) = decrypt(&self.params, &secret, &answer);
        self.public.remove(secret.location.unit, &mut item);

        // Selected before the check: an answer that does not decode takes no less time.
        let record = self
            .params
            .layout()
            .unit_layout
            .select(&item, secret.location.slot);

        let half = 1u64 << (self.params.common().answer_bits.a - LOG2_P - 1);
        let decodes = distance as f64 <= DECODING_PART * half as f64;
        decoded(vec![record], decodes)
    }
}

impl<S: Path> RegisteredClient<S> for RetrievalClient<S> {
    fn register(&self, kept: Option<&State>, rng: &mut dyn CryptoRng) -> Result<(State, Keys)> {
        let seed = Seed::random(rng);
        let mut rng = SecretRng::new(rng);
        let state = State::generate(&self.params, kept, &mut rng)?;
        let keys = Keys::generate(&self.params, &state.0, seed, &mut rng);

        Ok((state, keys))
    }

    fn state_fits(&self, state: &State) -> bool {
        state.0.response.is_light(RESPONSE_WEIGHT) && self.params.takes(&state.0.ring)
    }
}

/// Decrypts an answer. Returns the item's bytes, and the largest distance of a phase from a
/// message.
pub(super) fn decrypt<P: RetrievalParams>(
    params: &P,
    secret: &RetrievalSecret,
    answer: &RetrievalAnswer,
) -> (Zeroizing<Vec<u8>>, u64) {
    let bits = params.common().answer_bits;
    let span = params.layout().span;
    let planes = answer
        .masks
        .chunks_exact(RESPONSE_DEGREE)
        .zip(answer.bodies.chunks_exact(span));

    // The final length: growing would leave copies behind.
    let mut item = Zeroizing::new(Vec::with_capacity(answer.bodies.len()));
    let mut worst = 0;

    for (mask, body) in planes {
        for (i, &body) in body.iter().enumerate() {
            let index = i * (RESPONSE_DEGREE / span);
            let phase = phase(bits, &secret.secrets.response, mask, index, body);
            let (message, distance) = bits.nearest(phase, LOG2_P);
            item.push(message as u8);
            worst = worst.max(distance);
        }
    }

    (item, worst)
}

/// Encrypts an item's number: item · 2³²/2^(k + 1) + e − ⟨a, s⟩. The bit above the item's k bits is
/// zero.
pub(crate) fn encrypt<P: RetrievalParams>(
    params: &P,
    state: &State,
    item: u64,
    rng: &mut dyn CryptoRng,
) -> PirouetteQuery {
    // A fresh mask for every query under a key.
    let mut seed = Seed([0; 32]);
    rng.fill_bytes(&mut seed.0[..params.seed_bytes()]);

    let mut error = Zeroizing::new(vec![0; 1]);
    params
        .chain()
        .query_error
        .fill(&mut SecretRng::new(rng), &mut error);

    let mask = PirouetteQuery::mask(&seed);
    let inner = mask
        .iter()
        .zip(state.0.ring.coefficients())
        .map(|(&a, &s)| a.wrapping_mul(s as u32))
        .fold(0, u32::wrapping_add);

    let message = (item as u32) << (LOG2_QUERY - params.layout().index_bits() - 1);
    PirouetteQuery {
        seed,
        body: message.wrapping_add(error[0] as u32).wrapping_sub(inner),
    }
}

/// Computes b·2^(a − b) plus coefficient `index` of mask·key, modulo 2^a.
fn phase(bits: ResponseBits, key: &SecretKey, mask: &[u64], index: usize, body: u64) -> u64 {
    let (low, high) = mask.split_at(index + 1);
    let (first, rest) = key.coefficients().split_at(index + 1);

    // X^d is −1: products of the higher coefficients wrap around with a change of sign.
    let positive = reversed_product(low, first);
    let negative = reversed_product(high, rest);

    (body << (bits.a - bits.b))
        .wrapping_add(positive)
        .wrapping_sub(negative)
        & ((1 << bits.a) - 1)
}

/// Computes the inner product of a reversed mask and a key, modulo 2⁶⁴.
fn reversed_product(mask: &[u64], key: &[i32]) -> u64 {
    mask.iter()
        .rev()
        .zip(key)
        .map(|(&a, &s)| a.wrapping_mul(i64::from(s) as u64))
        .fold(0, u64::wrapping_add)
}
