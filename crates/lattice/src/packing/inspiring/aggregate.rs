//! TRANSFORM and aggregation as one Fourier transform over monomials.

use papir_kernels::monomial;
use papir_ring::{Coefficients, CyclotomicRing, Poly, Ring};
use rayon::prelude::*;

use super::super::lwe_masks::LweMasks;
use super::exponents::{bit_reverse, exponent_index, inverse_exponent};

/// C_f = Σ_k X^{kf}·ãₖ for all n exponents f = 1 + j·2d/n, stored at the bit reversal of j.
pub struct Aggregate {
    degree: usize,
    residues: [Vec<u32>; 2],
}

impl Aggregate {
    /// Aggregates the masks of one pack. Since X^{kf} = X^k·X^{kj·2d/n}, this is the transform of
    /// all X^k·ãₖ.
    pub fn new(ring: &Ring, lwe: LweMasks) -> Self {
        let backend = ring.backend();
        let degree = ring.degree();
        let mut residues = lwe.into_residues();

        residues
            .par_iter_mut()
            .zip(ring.primes())
            .for_each(|(residues, prime)| {
                let mut scratch = vec![0; degree];
                for (k, poly) in residues.chunks_exact_mut(degree).enumerate() {
                    monomial::rotate_mod(backend, &mut scratch, poly, k, prime);
                    poly.copy_from_slice(&scratch);
                }
                monomial::dft_mod(backend, residues, degree, prime, &mut scratch);
            });

        Self { degree, residues }
    }

    /// Returns C_{1/e}. Its image under τ_e is the aggregated component that the key share τ_e(s)
    /// masks: Σ_k X^k·τ_e(ãₖ) = τ_e(C_{1/e}).
    pub fn preimage(&self, e: usize) -> Poly<Coefficients> {
        let d = self.degree;
        let n = self.residues[0].len() / d;
        // The transform leaves its results in bit-reversed order.
        let at = bit_reverse(exponent_index(inverse_exponent(e, d), d, n), n);
        Poly::from_residues(
            &self
                .residues
                .each_ref()
                .map(|part| &part[at * d..(at + 1) * d])
                .concat(),
        )
    }
}
