//! Masks of LWE encryptions as ring elements.
//!
//! This is TRANSFORM of InsPIRe's Algorithms 1 and 2, line 2.

use papir_kernels::pointwise::{self, Modulus};
use papir_ring::prime::inverse_mod;
use papir_ring::{Coefficients, CyclotomicRing, Poly, Ring};

/// The masks of n LWE encryptions in packing form: ãₖ = n⁻¹·Σᵢ aₖ\[i\]·X^{−i} in coefficients, all
/// residues modulo q₁ first, then modulo q₂.
///
/// n is the capacity of a pack: d, or γ for partial packing.
#[derive(Clone, Debug)]
pub struct LweMasks {
    degree: usize,
    residues: [Vec<u32>; 2],
}

impl LweMasks {
    /// Creates masks from n contiguous polynomials of d coefficients for each prime: n·d residues
    /// in each vector. The caller has already applied the factor n⁻¹.
    ///
    /// # Panics
    /// If n is not a power of two from 2 to d, or the vectors differ in length.
    pub fn new(ring: &Ring, residues: [Vec<u32>; 2]) -> Self {
        let degree = ring.degree();
        let count = residues[0].len() / degree;
        let whole = residues.iter().all(|part| part.len() == count * degree);
        assert!(
            whole,
            "polynomials of {degree} residues a prime, equally many"
        );

        let range = 2..=degree;
        assert!(
            count.is_power_of_two() && range.contains(&count),
            "2 to d masks, a power of two: {count}"
        );

        Self { degree, residues }
    }

    /// Concatenates parts into the masks of one pack. The caller has applied n⁻¹ for the total n.
    ///
    /// # Panics
    /// In the cases of [`LweMasks::new`].
    pub fn joined(ring: &Ring, parts: impl Iterator<Item = Self>) -> Self {
        let mut residues = [Vec::new(), Vec::new()];
        for part in parts {
            residues
                .iter_mut()
                .zip(part.residues)
                .for_each(|(all, part)| all.extend(part));
        }
        Self::new(ring, residues)
    }

    /// Creates masks from n mask vectors of d entries below q.
    ///
    /// # Panics
    /// In the cases of [`LweMasks::new`], and if a vector has another length.
    pub fn from_vectors(ring: &Ring, vectors: &[Vec<u64>]) -> Self {
        Self::new(
            ring,
            ring.primes().map(|prime| transform(ring, prime, vectors)),
        )
    }

    /// n.
    pub fn count(&self) -> usize {
        self.residues[0].len() / self.degree
    }

    /// Returns ãₖ.
    pub fn poly(&self, k: usize) -> Poly<Coefficients> {
        let range = k * self.degree..(k + 1) * self.degree;
        Poly::from_residues(
            &self
                .residues
                .each_ref()
                .map(|part| &part[range.clone()])
                .concat(),
        )
    }

    /// Returns the residues modulo q₁ and modulo q₂.
    pub fn into_residues(self) -> [Vec<u32>; 2] {
        self.residues
    }
}

/// Returns n⁻¹·Σᵢ a\[i\]·X^{−i} for all vectors modulo one prime, with X^{−i} = −X^{d−i} for i > 0.
fn transform(ring: &Ring, prime: Modulus, vectors: &[Vec<u64>]) -> Vec<u32> {
    let backend = ring.backend();
    let degree = ring.degree();
    // n is a power of two and the prime odd, so 1/n exists.
    let inverse = inverse_mod(vectors.len() as u64, prime.value().into()) as u32;
    let mut residues = vec![0; vectors.len() * degree];
    let mut reduced = vec![0; degree];
    let mut scaled = vec![0; degree];

    for (row, vector) in residues.chunks_exact_mut(degree).zip(vectors) {
        pointwise::reduce(backend, &mut reduced, vector, prime);
        pointwise::scale(backend, &mut scaled, &reduced, inverse, prime);
        row[0] = scaled[0];
        for (out, &entry) in row[1..].iter_mut().zip(scaled[1..].iter().rev()) {
            *out = prime.sub(0, entry);
        }
    }

    residues
}
