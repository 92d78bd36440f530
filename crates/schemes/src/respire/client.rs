//! The client: one RLWE encryption of all that selects its item.

use papir_core::scheme::{Client, Parameters, Scheme, check_indices};
use papir_core::{Error, Record, Result};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::rlwe::encrypt;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::{Poly, Ring, Values};
use rand_core::CryptoRng;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::Respire;
use super::params::RespireParams;
use super::wire::RespireQuery;
use crate::pirouette::chain::{DEGREE, LOG2_DEGREE, LOG2_P, half_modulo};
use crate::pirouette::client::{PirouetteSecret, State, open};
use crate::pirouette::keys::{Conversion, Keys};
use crate::pirouette::wire::{PirouetteAnswer, Public};

/// A client.
pub struct RespireClient {
    params: RespireParams,
}

/// The mask of a query.
pub(super) fn mask(ring: &Ring, seed: &Seed) -> Poly<Values> {
    ring.uniform(&mut seed.expand("respire/query", 0))
}

impl Client<Respire> for RespireClient {
    fn new(params: RespireParams, _public: Public) -> Result<Self> {
        Ok(Self { params })
    }

    fn params(&self) -> &RespireParams {
        &self.params
    }

    fn register(&self, rng: &mut dyn CryptoRng) -> Result<Option<(State, Keys<Conversion>)>> {
        let (seed, mut rng) = (Seed::random(rng), SecretRng::new(rng));
        let state = State::generate(&self.params, &mut rng);
        let keys = Keys::generate(&self.params.chain, state.secrets(), seed, &mut rng);
        Ok(Some((state, keys)))
    }

    fn state_fits(&self, _state: &State) -> bool {
        true
    }

    fn query(
        &self,
        state: Option<&mut State>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(PirouetteSecret, RespireQuery)> {
        check_indices(Respire::NAME, &self.params.shape(), indices, 1)?;
        let state = state.ok_or(Error::Session { scheme: Respire::NAME, what: "client state" })?;
        let (item, slot) = self.params.layout.bundle.locate(indices[0]);
        let seed = Seed::random(rng);
        let body = self.encrypt(state, &seed, item, &mut SecretRng::new(rng));
        Ok((PirouetteSecret::new(state, slot), RespireQuery { seed, body }))
    }

    /// Takes the same time whether the answer decodes or not.
    fn extract(&self, secret: PirouetteSecret, answer: PirouetteAnswer) -> Result<Vec<Record>> {
        open(&self.params, &secret, &answer)
    }
}

impl RespireClient {
    /// The words of the body at multiples of the stride.
    fn encrypt(&self, state: &State, seed: &Seed, item: u64, rng: &mut dyn CryptoRng) -> Vec<u64> {
        let (chain, stride) = (&self.params.chain, 1 << self.params.log2_stride());
        let ring = chain.ring();
        let mut message = Zeroizing::new(vec![0; DEGREE]);
        let values = self.selection(item);
        message.iter_mut().step_by(stride).zip(values.iter()).for_each(|(out, &value)| *out = value);
        let message = Zeroizing::new(ring.forward(ring.from_words(&message)));
        let body = encrypt(&chain.rlwe, &state.secrets().ring, &mask(ring, seed), &message, rng);
        let switch = PowerSwitch::new(ring.modulus(), self.params.query_bits());
        let body = ring.to_words(&ring.inverse(body));
        body.into_iter().step_by(stride).map(|word| switch.down(word)).collect()
    }

    /// q/p at the row's place, then each digit's gⱼ for each set bit of slot and column, all divided by d, which
    /// the expansion multiplies with. No branch depends on the item.
    fn selection(&self, item: u64) -> Zeroizing<Vec<u64>> {
        let (layout, q) = (&self.params.layout, self.params.chain.ring().modulus());
        let divided = |x: u64| (0..LOG2_DEGREE).fold(x, |x, _| half_modulo(x, q));
        let below = layout.log2_columns + layout.log2_slots;
        let (row, scale) = (item >> below, divided((q + (1 << (LOG2_P - 1))) >> LOG2_P));
        // As long as it will be: growing would leave copies behind.
        let mut values = Zeroizing::new(Vec::with_capacity(self.params.query_words()));
        for r in 0..1u64 << layout.log2_rows {
            values.push(u64::conditional_select(&0, &scale, r.ct_eq(&row)));
        }
        for bit in 0..below {
            let set = (item >> bit & 1).ct_eq(&1);
            for level in 0..self.params.gate.levels() {
                values.push(u64::conditional_select(&0, &divided(self.params.gate.factor(level)), set));
            }
        }
        values
    }
}
