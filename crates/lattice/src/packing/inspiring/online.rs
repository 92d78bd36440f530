//! Online part of Algorithms 1 and 2.
//!
//! It computes b + M·y_g + digits·y_h, which is linear in the client's bodies. A partial pack has
//! no y_h.
//!
//! A client sends y_g as y′ = round(y_g·2^k/q), and the server multiplies these words: M·y′ modulo
//! 2^k, scaled by q/2^k, is M·y_g up to M times the rounding errors, which the bound on the noise
//! counts ([`crate::noise::Setting::key_switch`]). Lifting y′ to q first would give the same up to
//! M times further rounding errors, and would need two products for each entry instead of one.

use papir_kernels::{Backend, matvec_i32};
use papir_ring::{CyclotomicRing, Poly, Ring, Values};
use rayon::prelude::*;

use super::super::bodies::Bodies;
use super::super::checked::Packing;
use super::super::error::PackingError;
use super::super::key::{OnlineKey as Checked, RoundedMatrix, Setup};
use super::super::ring_packing::RingPacking;
use crate::key_switch::inner_product;
use crate::threads::join_parts;

/// A client's packing key, expanded for the online part.
#[derive(Clone, Debug)]
pub struct OnlineKey {
    /// y_g in coefficients modulo 2^bits, ℓ·d words.
    g: Vec<u64>,
    bits: u32,
    /// y_h in values; empty for a partial pack.
    h: Vec<Poly<Values>>,
}

impl OnlineKey {
    /// Expands y_g and, for a full pack, y_h.
    pub(super) fn new(ring: &Ring, matrices: &[RoundedMatrix<'_>]) -> Self {
        let [g, last @ ..] = matrices else {
            return Self {
                g: Vec::new(),
                bits: 1,
                h: Vec::new(),
            };
        };
        Self {
            g: g.words.to_vec(),
            bits: g.bits,
            h: last.iter().flat_map(|h| h.lift(ring)).collect(),
        }
    }
}

impl Checked<OnlineKey> {
    /// y_g, which multiplies the matrices of packs.
    pub fn vector(&self) -> &[u64] {
        &self.key.g
    }

    /// y_h in values, which multiplies last digits; empty for a partial pack.
    pub fn last(&self) -> &[Poly<Values>] {
        &self.key.h
    }
}

impl<P: RingPacking<Word = i32, Expanded = OnlineKey>> Packing<P> {
    /// [`Packing::pack_bodies`] with the products from `multiply`, which takes y_g of all keys and
    /// the bits of the products.
    ///
    /// # Errors
    /// The errors of [`Packing::pack_words`].
    pub fn pack_bodies_by(
        &self,
        multiply: impl FnOnce(&[&[u64]], u32) -> Vec<Vec<u64>>,
        last: &[&[Poly<Values>]],
        bodies: Vec<Bodies>,
        keys: &[&Checked<OnlineKey>],
    ) -> Result<Vec<Bodies>, PackingError> {
        let Some(packs) = bodies.first().map(Bodies::packs) else {
            return Ok(Vec::new());
        };
        let keys = self.checked_keys(packs, last, keys)?;

        let products = products(multiply, &keys);
        let terms = terms(self.setup(), products, packs, last, &keys);
        Ok(self.added(bodies, &terms))
    }
}

/// [`RingPacking::apply`]. The keys of several clients share one pass over the matrices in `tiles`.
pub(super) fn apply(
    setup: &Setup,
    tiles: &[i32],
    packs: usize,
    last: &[&[Poly<Values>]],
    keys: &[&OnlineKey],
) -> Vec<Bodies> {
    let products = products(|vectors, bits| multiply(tiles, vectors, bits), keys);
    terms(setup, products, packs, last, keys)
}

/// Returns M·y_g for each key, modulo 2^bits at least.
fn products(
    multiply: impl FnOnce(&[&[u64]], u32) -> Vec<Vec<u64>>,
    keys: &[&OnlineKey],
) -> Vec<Vec<u64>> {
    let vectors: Vec<&[u64]> = keys.iter().map(|key| &key.g[..]).collect();
    multiply(&vectors, keys.iter().map(|key| key.bits).max().unwrap_or(1))
}

/// Returns the term that packing adds to the bodies of all packs, M·y_g + digits·y_h, for each key.
///
/// The rows of products are the rows of the packs, in order; the last unit may have unused slots.
/// `last` holds the packs' last digits, if they have any.
fn terms(
    setup: &Setup,
    products: Vec<Vec<u64>>,
    packs: usize,
    last: &[&[Poly<Values>]],
    keys: &[&OnlineKey],
) -> Vec<Bodies> {
    let ring = setup.ring();
    let capacity = setup.shape().capacity;

    let finished = products.into_par_iter().zip(keys).map(|(mut sums, key)| {
        // Keys of several widths share products modulo the widest, of which each keeps its own
        // bits.
        sums.iter_mut().for_each(|sum| *sum &= (1 << key.bits) - 1);
        let mut bodies = Bodies::from_sums(ring, capacity, packs, &sums, key.bits);

        if !key.h.is_empty() {
            let switched: Vec<_> = last
                .par_iter()
                .map(|last| ring.inverse(inner_product(ring, last, &key.h)))
                .collect();
            bodies.add_assign(ring, &Bodies::from_polys(capacity, &switched));
        }

        bodies
    });
    finished.collect()
}

/// Returns the products of the matrices of packs, one after another in `tiles`, and vectors modulo
/// 2^bits; rows are split between threads.
///
/// # Panics
/// If the vectors differ in length, or the tiles are not whole row groups.
pub fn multiply(tiles: &[i32], vectors: &[&[u64]], bits: u32) -> Vec<Vec<u64>> {
    let Some(columns) = vectors.first().map(|vector| vector.len()) else {
        return Vec::new();
    };

    let backend = Backend::current();
    // Each thread takes whole row groups, so that the keys share its part of the pass.
    let groups = (tiles.len() / (columns * matvec_i32::ROWS))
        .div_ceil(rayon::current_num_threads())
        .max(1);
    let parts: Vec<Vec<Vec<u64>>> = tiles
        .par_chunks(groups * columns * matvec_i32::ROWS)
        .map(|tiles| {
            let mut sums = vec![vec![0; tiles.len() / columns]; vectors.len()];
            let mut outs: Vec<&mut [u64]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            matvec_i32::pass_many(backend, tiles, columns, vectors, bits, &mut outs);
            sums
        })
        .collect();

    join_parts(&parts, vectors.len())
}
