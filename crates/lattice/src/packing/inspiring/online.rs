//! Online part of Algorithms 1 and 2.
//!
//! It computes b + M·y_g + digits·y_h, which is linear in the client's bodies. A partial pack has
//! no y_h.

use papir_kernels::gadget::centre;
use papir_kernels::mat32;
use papir_kernels::pointwise::Modulus;
use papir_ring::{Coefficients, Poly, Ring, Values};
use rayon::prelude::*;

use crate::key_switch::inner_product;

/// A client's packing key, expanded for the online part.
#[derive(Clone, Debug)]
pub struct OnlineKey {
    /// y_g in coefficients, centred, ℓ·d words modulo each prime.
    g: [Vec<i32>; 2],
    /// y_h in values.
    h: Vec<Poly<Values>>,
}

impl OnlineKey {
    /// Expands y_g and y_h from coefficients, their wire form.
    pub fn new(ring: &Ring, g: &[Poly<Coefficients>], h: Vec<Poly<Coefficients>>) -> Self {
        let centred = |prime: usize| {
            let mut words = vec![0; g.len() * ring.degree()];
            for (out, poly) in words.chunks_exact_mut(ring.degree()).zip(g) {
                centre(out, poly.parts()[prime], ring.primes()[prime]);
            }
            words
        };
        Self { g: [centred(0), centred(1)], h: h.into_iter().map(|poly| ring.forward(poly)).collect() }
    }

    /// Expands y_g alone: the key of a partial pack.
    pub(super) fn without_last(ring: &Ring, g: &[Poly<Coefficients>]) -> Self {
        Self::new(ring, g, Vec::new())
    }
}

/// Returns the term that packing adds to the bodies of all packs, M·y_g + digits·y_h: for each key,
/// one polynomial for each pack.
///
/// `tiles` holds the packs' matrices one after another, `last` their last digits. The keys of
/// several clients share one pass over the matrices.
pub(super) fn pack(
    ring: &Ring,
    tiles: &[i32],
    last: &[&[Poly<Values>]],
    keys: &[&OnlineKey],
) -> Vec<Vec<Poly<Coefficients>>> {
    let d = ring.degree();
    let sums = multiply(tiles, keys);
    let finished = sums.par_iter().zip(keys).map(|([first, second], key)| {
        let parts = first.par_chunks_exact(d).zip(second.par_chunks_exact(d)).zip(last);
        parts.map(|((first, second), last)| finish(ring, [first, second], last, key)).collect()
    });
    finished.collect()
}

/// Returns M·y_g over the integers for the residues modulo each prime; rows are split between
/// threads.
pub(super) fn multiply(tiles: &[i32], keys: &[&OnlineKey]) -> Vec<[Vec<i64>; 2]> {
    let Some(columns) = keys.first().map(|key| key.g[0].len()) else {
        return Vec::new();
    };
    // Each thread takes whole row groups, so that the keys share its part of the pass.
    let groups = (tiles.len() / (columns * mat32::ROWS)).div_ceil(rayon::current_num_threads()).max(1);
    let vectors: Vec<[&[i32]; 2]> = keys.iter().map(|key| [&key.g[0][..], &key.g[1][..]]).collect();
    let parts: Vec<Vec<[Vec<i64>; 2]>> = tiles
        .par_chunks(groups * columns * mat32::ROWS)
        .map(|tiles| {
            let rows = tiles.len() / columns;
            let mut sums = vec![[vec![0; rows], vec![0; rows]]; keys.len()];
            let mut outs: Vec<[&mut [i64]; 2]> =
                sums.iter_mut().map(|[a, b]| [&mut a[..], &mut b[..]]).collect();
            mat32::pass_many(tiles, columns, &vectors, &mut outs);
            sums
        })
        .collect();
    let gather =
        |i: usize, prime: usize| parts.iter().flat_map(|part| part[i][prime].iter().copied()).collect();
    (0..keys.len()).map(|i| [gather(i, 0), gather(i, 1)]).collect()
}

fn finish(ring: &Ring, sums: [&[i64]; 2], last: &[Poly<Values>], key: &OnlineKey) -> Poly<Coefficients> {
    let mut body = ring.inverse(inner_product(ring, last, &key.h));
    ring.add_assign(&mut body, &Poly::from_residues(residues(ring, sums).concat()));
    body
}

/// Reduces signed sums modulo both primes.
pub(super) fn residues(ring: &Ring, sums: [&[i64]; 2]) -> [Vec<u32>; 2] {
    let [first, second] = sums;
    let [q1, q2] = ring.primes();
    let reduce = |sums: &[i64], prime| sums.iter().map(|&sum| residue(sum, prime)).collect();
    [reduce(first, q1), reduce(second, q2)]
}

/// Reduces a signed word modulo q.
fn residue(sum: i64, prime: Modulus) -> u32 {
    // Adding a multiple of q just below 2^63 makes the word nonnegative.
    let q = u64::from(prime.value());
    let bias = (1u64 << 63) / q * q;
    // sum ≥ −2^63 + q by the row check of the matrix, so this neither wraps nor becomes negative.
    prime.reduce((sum as u64).wrapping_add(bias))
}
