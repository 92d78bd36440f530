//! Phase 0: from the query's LWE encryption to gates and selectors.
//!
//! All bits except the top four are extracted one after another ([`super::bits`]). The rest is the
//! digit of the top four bits, which rotates a box to one of sixteen places.
//!
//! The τ bits below the digit control the sign of a box. For each χ in {0, 1}^τ, a rotation by the
//! digit, and by half a turn for each bit of χ that is set in the index, gives the box times
//! (−1)^⟨χ, bits⟩. The sum over χ of these times (−1)^⟨χ, t⟩ is 2^τ boxes if the bits are t, and
//! otherwise zero.

use papir_core::Progress;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use papir_ring::Ring;
use rayon::prelude::*;

use super::bits::{Bits, Finder, Plan};
use super::chain::{DEGREE, LOG2_DEGREE, LOG2_DIGIT, LOG2_P, ORDER, ParameterSet, half_modulo};
use super::common::RetrievalParams;
use super::keys::Evaluation;
use super::params::PirouetteParams;
use super::retrieval::Selection;
use super::wire::PirouetteQuery;

/// log₂ of the distance between a box's places.
const LOG2_BOX: u32 = LOG2_DEGREE - LOG2_DIGIT;

/// Phase 0 of several queries, each under the keys of its client.
pub(super) fn select<T: ParameterSet>(
    params: &PirouetteParams<T>,
    batch: &[(&Evaluation<2>, &PirouetteQuery)],
    progress: &dyn Progress,
) -> Vec<Selection> {
    let count = batch.len() as u64;
    let expansions: Vec<_> = batch.iter().map(|(keys, _)| Expansion::new(params, keys)).collect();
    progress.stage("bits", count);
    let bits: Vec<Bits> =
        expansions.par_iter().zip(batch).map(|(expansion, (_, query))| expansion.bits(query)).collect();
    progress.stage("gates", count);
    let gates: Vec<Vec<Rows>> =
        expansions.par_iter().zip(&bits).map(|(expansion, bits)| expansion.gates(bits)).collect();
    progress.stage("selectors", count);
    let selectors = expansions.par_iter().zip(&bits).map(|(expansion, bits)| expansion.selectors(bits));
    let selectors: Vec<Rows> = selectors.collect();
    gates.into_iter().zip(selectors).map(|(gates, selectors)| Selection { gates, selectors }).collect()
}

/// The parts of phase 0, one after the other.
pub struct Expansion<'a, T> {
    params: &'a PirouetteParams<T>,
    finder: Finder<'a>,
    keys: &'a Evaluation<2>,
}

impl<'a, T: ParameterSet> Expansion<'a, T> {
    pub(super) fn new(params: &'a PirouetteParams<T>, keys: &'a Evaluation<2>) -> Self {
        Self { params, finder: Finder::new(params.chain(), keys, params.gate()), keys }
    }

    fn ring(&self) -> &'a Ring {
        self.finder.ring()
    }

    /// Extracts bits, from the lowest up.
    pub fn bits(&self, query: &PirouetteQuery) -> Bits {
        let layout = self.params.layout();
        let (index, gates) = (layout.index_bits(), layout.log2_columns + layout.log2_slots);
        self.finder.bits(query.lwe(), Plan { index, found: index - LOG2_DIGIT, gates })
    }

    /// Circuit bootstrapping.
    pub fn gates(&self, bits: &Bits) -> Vec<Rows> {
        self.finder.gates(bits)
    }

    /// One-hot encryptions of the row.
    pub fn selectors(&self, bits: &Bits) -> Rows {
        let ring = self.ring();
        let tau = bits.halves.len();
        let boxes: Vec<Rlwe> =
            (0..1usize << tau).into_par_iter().map(|chi| self.rotate_box(bits, chi)).collect();
        let expand = |t: usize| {
            let mut sum = self.finder.divided_by_degree(&signed_sum(ring, &boxes, t));
            self.keys.conversion.galois.trace(ring, &mut sum, LOG2_BOX as usize);
            self.keys.conversion.galois.expand(ring, sum, LOG2_BOX as usize)
        };
        let columns: Vec<Vec<Rlwe>> = (0..1usize << tau).into_par_iter().map(expand).collect();
        // Row r has digit r/2^τ and bits r mod 2^τ.
        let row = |r: usize| columns[r % (1 << tau)][r >> tau].clone();
        Rows::of(ring, (0..self.params.layout().rows).map(row).collect())
    }

    /// (−1)^⟨χ, bits⟩ · q/(p·2^τ) around the digit's place.
    fn rotate_box(&self, bits: &Bits, chi: usize) -> Rlwe {
        let (ring, q) = (self.ring(), self.ring().modulus());
        let scale = (q + (1 << (LOG2_P - 1))) >> LOG2_P;
        let height = (0..bits.halves.len()).fold(scale, |x, _| half_modulo(x, q));
        let half = 1usize << (LOG2_BOX - 1);
        // X^(−i) is −X^(d − i).
        let table = |i: usize| match i {
            i if i < half => height,
            i if i >= DEGREE - half => q - height,
            _ => 0,
        };
        let mut accumulator = Rlwe::zero(ring);
        accumulator.b = ring.from_words(&(0..DEGREE).map(table).collect::<Vec<_>>());
        let mut lwe = bits.rest.clone();
        let set = bits.halves.iter().enumerate().filter(|(i, _)| chi >> i & 1 == 1);
        set.for_each(|(_, half)| lwe.add_shifted(half, 0));
        let exponents = self.keys.shorts[1].switch.exponents(&lwe, ORDER, 1);
        self.keys.shorts[1].rotation.rotate(ring, &mut accumulator, &exponents);
        accumulator
    }
}

/// Σ_χ (−1)^⟨χ, t⟩ · boxes[χ].
fn signed_sum(ring: &Ring, boxes: &[Rlwe], t: usize) -> Rlwe {
    let mut sum = Rlwe::zero(ring);
    for (chi, part) in boxes.iter().enumerate() {
        match (chi & t).count_ones() % 2 {
            0 => sum.add_assign(ring, part),
            _ => {
                ring.sub_assign(&mut sum.a, &part.a);
                ring.sub_assign(&mut sum.b, &part.b);
            }
        }
    }
    sum
}
