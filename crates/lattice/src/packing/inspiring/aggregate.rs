//! TRANSFORM and the aggregation of Algorithm 1 as one Fourier transform over monomials.

use papir_kernels::monomial;
use papir_ring::{Coefficients, Poly, Ring};

use super::{bit_reverse, inverse_exponent};

/// The masks of d LWE encryptions in the form that packing takes: ãₖ = d⁻¹·Σᵢ aₖ\[i\]·X^{−i} in
/// coefficients (TRANSFORM, line 2), all residues modulo q₁ first, then modulo q₂.
#[derive(Clone, Debug)]
pub struct LweMasks {
    degree: usize,
    residues: [Vec<u32>; 2],
}

impl LweMasks {
    /// d polynomials of d coefficients, contiguous, for both primes; each vector has d² residues.
    ///
    /// # Panics
    /// When a vector has another length.
    pub fn new(ring: &Ring, residues: [Vec<u32>; 2]) -> Self {
        let degree = ring.degree();
        assert!(residues.iter().all(|part| part.len() == degree * degree), "d² residues a prime");
        Self { degree, residues }
    }

    /// From d mask vectors of d entries below q.
    pub fn from_vectors(ring: &Ring, vectors: &[Vec<u64>]) -> Self {
        let degree = ring.degree();
        let [q1, q2] = ring.primes();
        let inverse = |q: u32| papir_ring::prime::inverse_mod(degree as u64, q.into());
        let transform = |q: u32| {
            let inverse = inverse(q);
            let reflect = |vector: &Vec<u64>| {
                let mut row = vec![0u32; degree];
                for (i, &entry) in vector.iter().enumerate() {
                    let scaled = (entry % u64::from(q) * inverse % u64::from(q)) as u32;
                    // X^{−i} = −X^{d−i} for i > 0.
                    row[(degree - i) % degree] = if i == 0 || scaled == 0 { scaled } else { q - scaled };
                }
                row
            };
            vectors.iter().flat_map(reflect).collect()
        };
        Self::new(ring, [transform(q1.value()), transform(q2.value())])
    }

    /// C_f = Σ_k X^{kf}·ãₖ for all odd f.
    pub fn aggregate(mut self, ring: &Ring) -> Aggregate {
        let d = self.degree;
        let mut scratch = vec![0; d];
        for (residues, prime) in self.residues.iter_mut().zip(ring.primes()) {
            for (k, poly) in residues.chunks_exact_mut(d).enumerate() {
                monomial::rotate_mod(&mut scratch, poly, k, prime);
                poly.copy_from_slice(&scratch);
            }
            monomial::dft_mod(residues, d, prime, &mut scratch);
        }
        Aggregate { degree: d, residues: self.residues }
    }
}

/// All C_f for odd f; C_{2i+1} stands at the bit-reversed place of i.
pub struct Aggregate {
    degree: usize,
    residues: [Vec<u32>; 2],
}

impl Aggregate {
    /// The aggregated component that the key share τ_e(s) masks: Σ_k X^k·τ_e(ãₖ) = τ_e(C_{1/e}).
    pub fn component(&self, ring: &Ring, e: usize) -> Poly<Coefficients> {
        let d = self.degree;
        let place = bit_reverse(inverse_exponent(e, d) / 2, d);
        let range = place * d..(place + 1) * d;
        let [first, second] = &self.residues;
        let c = Poly::from_residues([&first[range.clone()], &second[range]].concat());
        ring.automorphism(&c, e)
    }
}
