//! Phase 0: from the query's one LWE encryption to gates and selectors.
//!
//! The item's number has k bits, in 2^(k+1) parts of a turn. From the lowest bit up, what is left of the query
//! is multiplied so that the bit is half a turn, and a rotation by it gives the bit anew, in several
//! multiples at once: to subtract it from the query, and as digits of RGSW(bit) or as half a turn. What is
//! left at last is the digit of the top four bits, which rotates a box to one of sixteen places.
//!
//! A box's place comes with a sign that the τ bits below the digit turn at will: for each χ in {0, 1}^τ a
//! rotation by the digit and half a turn for each bit of χ that is set in the index gives the box times
//! (−1)^⟨χ, bits⟩, and the sum over χ of these times (−1)^⟨χ, t⟩ is 2^τ boxes where the bits are t, else none.

use std::collections::VecDeque;

use papir_lattice::bootstrap::lwe::Lwe;
use papir_lattice::bootstrap::rotation::rotate;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use papir_ring::Ring;
use rayon::prelude::*;

use super::Lengths;
use super::chain::{Chain, DEGREE, LOG2_DEGREE, LOG2_DIGIT, LOG2_P, ORDER, OUTPUTS, half_modulo};
use super::keys::Evaluation;
use super::noise::direct_subtractions;
use super::params::PirouetteParams;
use super::retrieval::Selection;
use super::wire::PirouetteQuery;

/// log₂ of the distance between a box's places.
const LOG2_BOX: u32 = LOG2_DEGREE - LOG2_DIGIT;

/// The parts of phase 0, one after the other.
pub struct Expansion<'a, T> {
    params: &'a PirouetteParams<T>,
    chain: &'a Chain,
    keys: &'a Evaluation,
}

/// What is left of the query while its lower bits are subtracted.
struct Left {
    lwe: Lwe,
    /// Of the last bits, the newest first, what is to be subtracted: from each of the next bits, and from all
    /// later ones.
    recent: VecDeque<Vec<Lwe>>,
    /// How many of the next bits have their own.
    direct: usize,
}

impl Left {
    /// The next bit as half a turn.
    fn shifted(&self, shift: u32) -> Lwe {
        let mut bit = self.lwe.shifted(shift);
        let own = self.recent.iter().enumerate().filter_map(|(age, parts)| parts.get(age));
        own.for_each(|part| bit.add_shifted(part, 0));
        bit
    }

    /// Takes a bit's parts over.
    fn subtract(&mut self, parts: Vec<Lwe>) {
        self.recent.push_front(parts);
        if self.recent.len() > self.direct {
            self.settle();
        }
    }

    /// The oldest recent bit is subtracted from all later ones.
    fn settle(&mut self) {
        if let Some(later) = self.recent.pop_back().and_then(|mut parts| parts.pop()) {
            self.lwe.add_shifted(&later, 0);
        }
    }

    /// Without all bits so far.
    fn all(mut self) -> Lwe {
        while !self.recent.is_empty() {
            self.settle();
        }
        self.lwe
    }
}

/// What the bits' rotations leave.
pub struct Bits {
    /// Rotations whose last outputs are digits of RGSW(bit).
    gates: Vec<Rlwe>,
    /// Half a turn times each of the τ bits below the digit, lowest first.
    halves: Vec<Lwe>,
    /// The query without all these bits: the digit's.
    digit: Lwe,
}

impl<'a, T: Lengths> Expansion<'a, T> {
    pub(super) fn new(params: &'a PirouetteParams<T>, keys: &'a Evaluation) -> Self {
        Self { params, chain: &params.chain, keys }
    }

    /// All of it.
    pub fn run(&self, query: &PirouetteQuery) -> Selection {
        let bits = self.bits(query);
        let (gates, selectors) = rayon::join(|| self.gates(&bits), || self.selectors(&bits));
        Selection { gates, selectors }
    }

    fn ring(&self) -> &'a Ring {
        self.chain.ring()
    }

    /// One rotation a bit, from the lowest up.
    pub fn bits(&self, query: &PirouetteQuery) -> Bits {
        let layout = &self.params.layout;
        let (places, gates) = (layout.index_bits() + 1, layout.log2_columns + layout.log2_slots);
        let direct = direct_subtractions(self.params.gate.levels()) as usize;
        let (mut rotated, mut halves) = (Vec::new(), Vec::new());
        let mut left = Left { lwe: query.lwe(), recent: VecDeque::new(), direct };
        for place in 0..layout.index_bits() - LOG2_DIGIT {
            let is_gate = place < gates;
            // For the next bits as much as it is there; for all later ones in the query's parts of a turn.
            let mut outputs: Vec<u64> = (2..).take(direct).map(|log2| self.minus_turns(log2)).collect();
            outputs.push(self.minus_turns(places - place));
            match is_gate {
                true => outputs.extend((0..self.params.gate.levels()).map(|i| self.params.gate.factor(i))),
                false => outputs.push(self.turns(1)),
            }
            let bit = self.rotate_bit(&left.shifted(places - 1 - place), &outputs);
            let extract = |output| Lwe::extract(self.ring(), &bit, output);
            left.subtract((0..=direct).map(extract).collect());
            match is_gate {
                true => rotated.push(bit),
                false => halves.push(extract(direct + 1)),
            }
        }
        Bits { gates: rotated, halves, digit: left.all() }
    }

    /// round(q/2^log2_parts), for 1 to 63.
    fn turns(&self, log2_parts: u32) -> u64 {
        (self.ring().modulus() + (1 << (log2_parts - 1))) >> log2_parts
    }

    /// q less that.
    fn minus_turns(&self, log2_parts: u32) -> u64 {
        self.ring().modulus() - self.turns(log2_parts)
    }

    /// Coefficient i of the result is `outputs[i]` times the bit that is half a turn in `lwe` (Chillotti,
    /// Ligier, Orfila, Tap, *Improved programmable bootstrapping*: many tables in one rotation).
    fn rotate_bit(&self, lwe: &Lwe, outputs: &[u64]) -> Rlwe {
        let (ring, q) = (self.ring(), self.ring().modulus());
        let halved = |i: usize| half_modulo(outputs.get(i).copied().unwrap_or(0), q);
        // −output/2 around a phase of 0, +output/2 around half a turn; then half an output more.
        let table =
            |i: usize| if i < DEGREE / 2 { (q - halved(i % OUTPUTS)) % q } else { halved(i % OUTPUTS) };
        let mut accumulator = Rlwe::zero(ring);
        accumulator.b = ring.from_words(&(0..DEGREE).map(table).collect::<Vec<_>>());
        let exponents = self.keys.bits.switch.exponents(lwe, ORDER, OUTPUTS as u32);
        self.keys.bits.rotation.rotate(ring, &mut accumulator, &exponents);
        let rest: Vec<u64> = (0..DEGREE).map(|i| if i < OUTPUTS { halved(i) } else { 0 }).collect();
        ring.add_assign(&mut accumulator.b, &ring.from_words(&rest));
        accumulator
    }

    /// Circuit bootstrapping: each digit's coefficient alone, by a trace, then times the key.
    pub fn gates(&self, bits: &Bits) -> Vec<Rows> {
        let ring = self.ring();
        let first = direct_subtractions(self.params.gate.levels()) as usize + 1;
        let gate = |bit: &Rlwe| {
            let levels = (0..self.params.gate.levels()).into_par_iter().map(|level| {
                let mut digit = Rlwe::zero(ring);
                rotate(ring, bit, ORDER as usize - first - level, &mut digit);
                let mut digit = self.divided_by_degree(&digit);
                self.keys.conversion.galois.trace(ring, &mut digit, LOG2_DEGREE as usize);
                digit
            });
            self.keys.conversion.square.rgsw(ring, levels.collect())
        };
        bits.gates.par_iter().map(gate).collect()
    }

    /// The encryption times 1/d modulo q: what a trace or an expansion multiplies with d.
    fn divided_by_degree(&self, rlwe: &Rlwe) -> Rlwe {
        let (ring, q) = (self.ring(), self.ring().modulus());
        let inverse = (0..LOG2_DEGREE).fold(1, |x, _| half_modulo(x, q));
        Rlwe { a: ring.scale(&rlwe.a, inverse), b: ring.scale(&rlwe.b, inverse) }
    }

    /// One-hot encryptions of the row.
    pub fn selectors(&self, bits: &Bits) -> Rows {
        let ring = self.ring();
        let tau = bits.halves.len();
        let boxes: Vec<Rlwe> =
            (0..1usize << tau).into_par_iter().map(|chi| self.rotate_box(bits, chi)).collect();
        let expand = |t: usize| {
            let mut sum = self.divided_by_degree(&signed_sum(ring, &boxes, t));
            self.keys.conversion.galois.trace(ring, &mut sum, LOG2_BOX as usize);
            self.keys.conversion.galois.expand(ring, sum, LOG2_BOX as usize)
        };
        let columns: Vec<Vec<Rlwe>> = (0..1usize << tau).into_par_iter().map(expand).collect();
        // Row r has digit r/2^τ and bits r mod 2^τ.
        let row = |r: usize| columns[r % (1 << tau)][r >> tau].clone();
        Rows::of(ring, (0..self.params.layout.rows).map(row).collect())
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
        let mut lwe = bits.digit.clone();
        let set = bits.halves.iter().enumerate().filter(|(i, _)| chi >> i & 1 == 1);
        set.for_each(|(_, half)| lwe.add_shifted(half, 0));
        let exponents = self.keys.digits.switch.exponents(&lwe, ORDER, 1);
        self.keys.digits.rotation.rotate(ring, &mut accumulator, &exponents);
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
