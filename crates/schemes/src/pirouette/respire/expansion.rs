//! Query expansion.

use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use rayon::prelude::*;

use super::params::RespireParams;
use super::query::mask;
use super::wire::RespireQuery;
use crate::pirouette::chain::DEGREE;
use crate::pirouette::keys::Conversion;
use crate::pirouette::retrieval::Selection;

/// A query's selectors and gates.
pub(super) fn expand(params: &RespireParams, keys: &Conversion, query: &RespireQuery) -> Selection {
    let (ring, steps) = (params.chain.ring(), params.log2_stride() as usize);
    let mut encryption = encryption(params, query);
    keys.galois.trace(ring, &mut encryption, steps);
    let mut parts = keys.galois.expand(ring, encryption, steps);
    let mut digits = parts.split_off(1 << params.layout.log2_rows).into_iter();
    let bits = params.layout.log2_columns + params.layout.log2_slots;
    let gates: Vec<Vec<Rlwe>> =
        (0..bits).map(|_| digits.by_ref().take(params.gate.levels()).collect()).collect();
    let gates = gates.into_par_iter().map(|levels| keys.square.rgsw(ring, levels)).collect();
    parts.truncate(params.layout.rows);
    Selection { gates, selectors: Rows::of(ring, parts) }
}

/// The query's encryption: coefficients that did not travel are zero, as the trace leaves nothing of them.
fn encryption(params: &RespireParams, query: &RespireQuery) -> Rlwe {
    let ring = params.chain.ring();
    let switch = PowerSwitch::new(ring.modulus(), params.query_bits());
    let mut body = vec![0; DEGREE];
    let places = body.iter_mut().step_by(1 << params.log2_stride());
    places.zip(&query.body).for_each(|(out, &word)| *out = switch.up(word));
    Rlwe { a: ring.inverse(mask(ring, &query.seed)), b: ring.from_words(&body) }
}
