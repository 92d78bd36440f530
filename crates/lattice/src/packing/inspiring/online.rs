//! The online part of packing: b + M·y_g + digits·y_h, linear in what the client sent.

use papir_kernels::gadget::centre;
use papir_kernels::mat32;
use papir_kernels::pointwise::Modulus;
use papir_ring::{Coefficients, Poly, Ring, Values};

use super::keys::PackingKey;
use crate::key_switch::inner_product;

/// A client's packing key in the form that the online part takes.
#[derive(Clone, Debug)]
pub struct OnlineKey {
    /// y_g in coefficients, centred, ℓ·d words modulo each prime.
    g: [Vec<i32>; 2],
    /// y_h in values.
    h: Vec<Poly<Values>>,
}

impl OnlineKey {
    /// From y_g and y_h in coefficients, as they arrive.
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

    /// From a key as generated, unrounded.
    pub fn from_key(ring: &Ring, key: &PackingKey) -> Self {
        let coefficients =
            |part: &[Poly<Values>]| part.iter().map(|y| ring.inverse(y.clone())).collect::<Vec<_>>();
        Self::new(ring, &coefficients(&key.g), coefficients(&key.h))
    }
}

/// What packing adds to the bodies of `packs` packs: M·y_g + digits·y_h, one polynomial a pack.
///
/// `tiles` holds the packs' matrices one after the other, `last` their last digits.
pub fn pack<'a>(
    ring: &Ring,
    tiles: &[i32],
    last: impl ExactSizeIterator<Item = &'a [Poly<Values>]>,
    key: &OnlineKey,
) -> Vec<Poly<Coefficients>> {
    let d = ring.degree();
    let columns = key.g[0].len();
    let (mut first, mut second) = (vec![0; last.len() * d], vec![0; last.len() * d]);
    mat32::pass(tiles, columns, &key.g[0], &key.g[1], &mut first, &mut second);
    let sums = first.chunks_exact(d).zip(second.chunks_exact(d));
    sums.zip(last).map(|((first, second), last)| finish(ring, [first, second], last, key)).collect()
}

fn finish(ring: &Ring, sums: [&[i64]; 2], last: &[Poly<Values>], key: &OnlineKey) -> Poly<Coefficients> {
    let mut body = ring.inverse(inner_product(ring, last, &key.h));
    let residues: Vec<u32> = sums
        .into_iter()
        .zip(ring.primes())
        .flat_map(|(sums, prime)| sums.iter().map(move |&s| residue(s, prime)))
        .collect();
    ring.add_assign(&mut body, &Poly::from_residues(residues));
    body
}

/// A signed word modulo q.
fn residue(sum: i64, prime: Modulus) -> u32 {
    // A multiple of q just below 2^63 makes the word positive.
    let q = u64::from(prime.value());
    let bias = (1u64 << 63) / q * q;
    // sum ≥ −2^63 + q holds by the row check of the matrix, so this neither wraps nor goes negative.
    prime.reduce((sum as u64).wrapping_add(bias))
}
