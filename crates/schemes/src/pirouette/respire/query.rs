//! Queries of Respire: bytes, encryption and expansion.
//!
//! ```text
//! query    seed of the mask (32), words of the body at multiples of the stride, packed
//! ```
//! Answers, client states and the parts of keys are Pirouette's.

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::rlwe::{Rlwe, encrypt};
use papir_lattice::rows::Rows;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::{Poly, Ring, Values};
use rand_core::CryptoRng;
use rayon::prelude::*;
use subtle::{ConditionallySelectable, ConstantTimeEq};
use zeroize::Zeroizing;

use super::params::RespireParams;
use crate::pirouette::chain::{DEGREE, LOG2_DEGREE, LOG2_P, half_modulo};
use crate::pirouette::common::RetrievalParams;
use crate::pirouette::keys::Conversion;
use crate::pirouette::retrieval::Selection;
use crate::pirouette::secrets::State;
use crate::shared::messages::{pack, unpack};

/// An RLWE encryption of the selectors and gates of an item.
pub struct RespireQuery {
    /// Seed of the mask.
    pub(super) seed: Seed,
    /// Coefficients of the body that carry a message, rounded.
    pub(super) body: Vec<u64>,
}

impl Wire<RespireParams> for RespireQuery {
    fn encode(&self, params: &RespireParams) -> Vec<u8> {
        let mut bytes = self.seed.0.to_vec();
        pack(&self.body, params.query_bits(), &mut bytes);
        bytes
    }

    fn decode(params: &RespireParams, bytes: &[u8]) -> Result<Self> {
        let what = "respire's query";
        Error::check_length(what, bytes.len(), params.query_bytes())?;
        let mut reader = Reader::new(what, bytes);
        let seed = Seed(reader.array()?);
        Ok(Self { seed, body: unpack(&mut reader, what, params.query_bits(), params.query_words())? })
    }
}

/// The mask of a query.
fn mask(ring: &Ring, seed: &Seed) -> Poly<Values> {
    ring.uniform(&mut seed.expand("respire/query", 0))
}

/// Encrypts a query for an item. Only the body's words at multiples of the stride are sent.
pub(super) fn ask(params: &RespireParams, state: &State, item: u64, rng: &mut dyn CryptoRng) -> RespireQuery {
    let (seed, mut rng) = (Seed::random(rng), SecretRng::new(rng));
    let (chain, stride) = (params.chain(), 1 << params.log2_stride());
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

/// Returns q/p at the row's place, then each digit's gⱼ for each set bit of slot and column, all
/// divided by d, because the expansion multiplies by d. No branch depends on the item.
fn selection(params: &RespireParams, item: u64) -> Zeroizing<Vec<u64>> {
    let (layout, q) = (params.layout(), params.chain().ring().modulus());
    let divided = |x: u64| (0..LOG2_DEGREE).fold(x, |x, _| half_modulo(x, q));
    let below = layout.log2_columns + layout.log2_slots;
    let (row, scale) = (item >> below, divided((q + (1 << (LOG2_P - 1))) >> LOG2_P));
    // The final length: growing would leave copies behind.
    let mut values = Zeroizing::new(Vec::with_capacity(params.query_words()));
    for r in 0..1u64 << layout.log2_rows {
        values.push(u64::conditional_select(&0, &scale, r.ct_eq(&row)));
    }
    for bit in 0..below {
        let set = (item >> bit & 1).ct_eq(&1);
        for level in 0..params.gate().levels() {
            values.push(u64::conditional_select(&0, &divided(params.gate().factor(level)), set));
        }
    }
    values
}

/// Expands a query to selectors and gates.
pub(super) fn expand(params: &RespireParams, keys: &Conversion, query: &RespireQuery) -> Selection {
    let (ring, steps) = (params.chain().ring(), params.log2_stride() as usize);
    let mut encryption = encryption(params, query);
    keys.galois.trace(ring, &mut encryption, steps);
    let mut parts = keys.galois.expand(ring, encryption, steps);
    let mut digits = parts.split_off(1 << params.layout().log2_rows).into_iter();
    let bits = params.layout().log2_columns + params.layout().log2_slots;
    let gates: Vec<Vec<Rlwe>> =
        (0..bits).map(|_| digits.by_ref().take(params.gate().levels()).collect()).collect();
    let gates = gates.into_par_iter().map(|levels| keys.square.rgsw(ring, levels)).collect();
    parts.truncate(params.layout().rows);
    Selection { gates, selectors: Rows::of(ring, parts) }
}

/// The query's encryption. Coefficients that were not sent are set to zero, because the trace
/// cancels them.
fn encryption(params: &RespireParams, query: &RespireQuery) -> Rlwe {
    let ring = params.chain().ring();
    let switch = PowerSwitch::new(ring.modulus(), params.query_bits());
    let mut body = vec![0; DEGREE];
    let places = body.iter_mut().step_by(1 << params.log2_stride());
    places.zip(&query.body).for_each(|(out, &word)| *out = switch.up(word));
    Rlwe { a: ring.inverse(mask(ring, &query.seed)), b: ring.from_words(&body) }
}
