//! Bodies of packed encryptions.

use papir_kernels::pointwise::{add_assign, reduce};
use papir_ring::{Coefficients, CyclotomicRing, Poly, Ring};

use crate::mod_switch::PowerSwitch;

/// Bodies of packs, pack after pack, `capacity` significant coefficients each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bodies {
    capacity: usize,
    residues: [Vec<u32>; 2],
}

impl Bodies {
    /// Creates bodies from the first `capacity` coefficients of one ring element for each pack.
    pub(super) fn from_polys(capacity: usize, polys: &[Poly<Coefficients>]) -> Self {
        let residues = [0, 1].map(|i: usize| {
            polys
                .iter()
                .flat_map(|poly| poly.parts()[i][..capacity].iter().copied())
                .collect()
        });
        Self { capacity, residues }
    }

    /// Creates bodies from the bodies of LWE encryptions, any words, reduced modulo q.
    ///
    /// # Panics
    /// If they do not fill packs of `capacity`.
    pub fn from_words(ring: &Ring, capacity: usize, words: &[u64]) -> Self {
        assert!(
            words.len().is_multiple_of(capacity),
            "{} bodies in packs of {capacity}",
            words.len()
        );
        let residues = ring.primes().map(|prime| {
            let mut residues = vec![0; words.len()];
            reduce(ring.backend(), &mut residues, words, prime);
            residues
        });
        Self { capacity, residues }
    }

    /// Creates the bodies of `packs` packs from a matrix's sums for a selector: the sums modulo
    /// 2^bits, one for each row, are lifted to q. Further rows are padding.
    ///
    /// # Panics
    /// If there are fewer rows.
    pub fn from_sums(ring: &Ring, capacity: usize, packs: usize, sums: &[u64], bits: u32) -> Self {
        let switch = PowerSwitch::new(ring.modulus(), bits);
        let words: Vec<u64> = sums[..packs * capacity]
            .iter()
            .map(|&sum| switch.up(sum))
            .collect();
        Self::from_words(ring, capacity, &words)
    }

    /// Number of packs.
    pub fn packs(&self) -> usize {
        self.residues[0].len() / self.capacity
    }

    /// `self += other`.
    ///
    /// # Panics
    /// If they belong to different packs.
    pub fn add_assign(&mut self, ring: &Ring, other: &Self) {
        for ((a, b), prime) in self
            .residues
            .iter_mut()
            .zip(&other.residues)
            .zip(ring.primes())
        {
            add_assign(ring.backend(), a, b, prime);
        }
    }

    /// Returns the coefficients of all packs, in [0, q).
    pub fn to_words(&self, ring: &Ring) -> Vec<u64> {
        ring.to_words(&Poly::from_residues(&self.residues.concat()))
    }

    /// Returns the body of one pack as a ring element; coefficients beyond the capacity are zero.
    pub fn poly(&self, ring: &Ring, pack: usize) -> Poly<Coefficients> {
        let mut poly = ring.zero();
        for (out, residues) in poly.parts_mut().into_iter().zip(&self.residues) {
            let range = pack * self.capacity..(pack + 1) * self.capacity;
            out[..self.capacity].copy_from_slice(&residues[range]);
        }
        poly
    }
}
