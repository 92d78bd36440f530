//! The query: one RLWE encryption of all that selects an item.

use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::rlwe::encrypt;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::{Poly, Ring, Values};
use rand_core::CryptoRng;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::params::RespireParams;
use super::wire::RespireQuery;
use crate::pirouette::chain::{DEGREE, LOG2_DEGREE, LOG2_P, half_modulo};
use crate::pirouette::client::State;

/// The mask of a query.
pub(super) fn mask(ring: &Ring, seed: &Seed) -> Poly<Values> {
    ring.uniform(&mut seed.expand("respire/query", 0))
}

/// A query for an item: the words of the body at multiples of the stride travel.
pub(super) fn ask(params: &RespireParams, state: &State, item: u64, rng: &mut dyn CryptoRng) -> RespireQuery {
    let (seed, mut rng) = (Seed::random(rng), SecretRng::new(rng));
    let (chain, stride) = (&params.chain, 1 << params.log2_stride());
    let ring = chain.ring();
    let mut message = Zeroizing::new(vec![0; DEGREE]);
    let values = selection(params, item);
    message.iter_mut().step_by(stride).zip(values.iter()).for_each(|(out, &value)| *out = value);
    let message = Zeroizing::new(ring.forward(ring.from_words(&message)));
    let body = encrypt(&chain.rlwe, &state.secrets().ring, &mask(ring, &seed), &message, &mut rng);
    let switch = PowerSwitch::new(ring.modulus(), params.query_bits());
    let body = ring.to_words(&ring.inverse(body));
    let body = body.into_iter().step_by(stride).map(|word| switch.down(word)).collect();
    RespireQuery { seed, body }
}

/// q/p at the row's place, then each digit's gⱼ for each set bit of slot and column, all divided by d, which
/// the expansion multiplies with. No branch depends on the item.
fn selection(params: &RespireParams, item: u64) -> Zeroizing<Vec<u64>> {
    let (layout, q) = (&params.layout, params.chain.ring().modulus());
    let divided = |x: u64| (0..LOG2_DEGREE).fold(x, |x, _| half_modulo(x, q));
    let below = layout.log2_columns + layout.log2_slots;
    let (row, scale) = (item >> below, divided((q + (1 << (LOG2_P - 1))) >> LOG2_P));
    // As long as it will be: growing would leave copies behind.
    let mut values = Zeroizing::new(Vec::with_capacity(params.query_words()));
    for r in 0..1u64 << layout.log2_rows {
        values.push(u64::conditional_select(&0, &scale, r.ct_eq(&row)));
    }
    for bit in 0..below {
        let set = (item >> bit & 1).ct_eq(&1);
        for level in 0..params.gate.levels() {
            values.push(u64::conditional_select(&0, &divided(params.gate.factor(level)), set));
        }
    }
    values
}
