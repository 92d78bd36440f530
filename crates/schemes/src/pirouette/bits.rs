//! Phase 0, first part: the bits of an index one after the other, and gates of them.
//!
//! The number has k bits, in 2^(k+1) parts of a turn. From the lowest bit up, what is left of the query
//! is multiplied so that the bit is half a turn, and a rotation by it gives the bit anew, in several
//! multiples at once: to subtract it from the query, and as digits of RGSW(bit) or as half a turn.

use std::collections::VecDeque;

use papir_lattice::bootstrap::lwe::Lwe;
use papir_lattice::bootstrap::rotation::rotate;
use papir_lattice::gadget::Gadget;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use papir_ring::Ring;
use rayon::prelude::*;

use super::chain::{Chain, DEGREE, LOG2_DEGREE, ORDER, OUTPUTS, half_modulo};
use super::keys::{Conversion, Evaluation, ShortKey};
use super::noise::direct_subtractions;

/// Which bits are found, and what becomes of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// k, the number's bits.
    pub(crate) index: u32,
    /// How many of them are found, from the lowest up.
    pub(crate) found: u32,
    /// How many of these become gates, from the lowest up; the others stay half turns.
    pub(crate) gates: u32,
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
    /// Half a turn times each bit that becomes no gate, lowest first.
    pub(super) halves: Vec<Lwe>,
    /// The query without all these bits.
    pub(super) rest: Lwe,
}

/// Finds bits under a client's keys.
pub(crate) struct Finder<'a> {
    pub(super) chain: &'a Chain,
    bits: &'a ShortKey,
    conversion: &'a Conversion,
    gate: &'a Gadget,
}

impl<'a> Finder<'a> {
    /// For gates of a gadget.
    pub(crate) fn new<const SHORTS: usize>(
        chain: &'a Chain,
        keys: &'a Evaluation<SHORTS>,
        gate: &'a Gadget,
    ) -> Self {
        Self { chain, bits: &keys.shorts[0], conversion: &keys.conversion, gate }
    }

    pub(super) fn ring(&self) -> &'a Ring {
        self.chain.ring()
    }

    /// One rotation a bit, from the lowest up.
    pub(crate) fn bits(&self, query: Lwe, plan: Plan) -> Bits {
        let (levels, places) = (self.gate.levels(), plan.index + 1);
        let direct = direct_subtractions(levels) as usize;
        let (mut gates, mut halves) = (Vec::new(), Vec::new());
        let mut left = Left { lwe: query, recent: VecDeque::new(), direct };
        for place in 0..plan.found {
            // For the next bits as much as it is there; for all later ones in the query's parts of a turn.
            let mut outputs: Vec<u64> = (2..).take(direct).map(|log2| self.minus_turns(log2)).collect();
            outputs.push(self.minus_turns(places - place));
            match place < plan.gates {
                true => outputs.extend((0..levels).map(|i| self.gate.factor(i))),
                false => outputs.push(self.turns(1)),
            }
            let bit = self.rotate_bit(&left.shifted(places - 1 - place), &outputs);
            let extract = |output| Lwe::extract(self.ring(), &bit, output);
            left.subtract((0..=direct).map(extract).collect());
            match place < plan.gates {
                true => gates.push(bit),
                false => halves.push(extract(direct + 1)),
            }
        }
        Bits { gates, halves, rest: left.all() }
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
        let exponents = self.bits.switch.exponents(lwe, ORDER, OUTPUTS as u32);
        self.bits.rotation.rotate(ring, &mut accumulator, &exponents);
        let rest: Vec<u64> = (0..DEGREE).map(|i| if i < OUTPUTS { halved(i) } else { 0 }).collect();
        ring.add_assign(&mut accumulator.b, &ring.from_words(&rest));
        accumulator
    }

    /// Circuit bootstrapping: each digit's coefficient alone, by a trace, then times the key.
    pub(crate) fn gates(&self, bits: &Bits) -> Vec<Rows> {
        let (ring, levels) = (self.ring(), self.gate.levels());
        let first = direct_subtractions(levels) as usize + 1;
        let gate = |bit: &Rlwe| {
            let levels = (0..levels).into_par_iter().map(|level| {
                let mut digit = Rlwe::zero(ring);
                rotate(ring, bit, ORDER as usize - first - level, &mut digit);
                let mut digit = self.divided_by_degree(&digit);
                self.conversion.galois.trace(ring, &mut digit, LOG2_DEGREE as usize);
                digit
            });
            self.conversion.square.rgsw(ring, levels.collect())
        };
        bits.gates.par_iter().map(gate).collect()
    }

    /// The encryption times 1/d modulo q: what a trace or an expansion multiplies with d.
    pub(super) fn divided_by_degree(&self, rlwe: &Rlwe) -> Rlwe {
        let (ring, q) = (self.ring(), self.ring().modulus());
        let inverse = (0..LOG2_DEGREE).fold(1, |x, _| half_modulo(x, q));
        Rlwe { a: ring.scale(&rlwe.a, inverse), b: ring.scale(&rlwe.b, inverse) }
    }
}
