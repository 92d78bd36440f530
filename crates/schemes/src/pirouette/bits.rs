//! Phase 0, first part: extraction of an index's bits, and gates for them.
//!
//! The number has k bits and counts 2^(k+1) parts of a turn. From the lowest bit up, the remaining
//! query is scaled so that the bit is half a turn; a rotation by it returns the bit in several
//! multiples at once: one to subtract it from the query, and the digits of RGSW(bit) or half a
//! turn.

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

/// Bits to extract, and their use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// k, the number's bits.
    pub(crate) index: u32,
    /// Bits to extract, from the lowest up.
    pub(crate) found: u32,
    /// Extracted bits that become gates, from the lowest up; the others stay half turns.
    pub(crate) gates: u32,
}

/// The query without its lower bits.
struct Left {
    lwe: Lwe,
    /// Multiples of the last bits, the newest first, for subtraction: one for each of the next
    /// bits, then one for all later bits.
    recent: VecDeque<Vec<Lwe>>,
    /// Number of next bits with a multiple of their own.
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

    /// Adds a bit's multiples.
    fn subtract(&mut self, parts: Vec<Lwe>) {
        self.recent.push_front(parts);
        if self.recent.len() > self.direct {
            self.settle();
        }
    }

    /// Subtracts the oldest recent bit from all later ones.
    fn settle(&mut self) {
        if let Some(later) = self.recent.pop_back().and_then(|mut parts| parts.pop()) {
            self.lwe.add_shifted(&later, 0);
        }
    }

    /// The query without all bits so far.
    fn all(mut self) -> Lwe {
        while !self.recent.is_empty() {
            self.settle();
        }
        self.lwe
    }
}

/// Results of the bits' rotations.
pub struct Bits {
    /// Rotations whose last outputs are digits of RGSW(bit).
    gates: Vec<Rlwe>,
    /// Half a turn times each bit that does not become a gate, lowest first.
    pub(super) halves: Vec<Lwe>,
    /// The query without all these bits.
    pub(super) rest: Lwe,
}

/// Bit extraction under a client's keys.
pub(crate) struct Finder<'a> {
    pub(super) chain: &'a Chain,
    bits: &'a ShortKey,
    conversion: &'a Conversion,
    gate: &'a Gadget,
}

impl<'a> Finder<'a> {
    /// Extraction with gates of this gadget.
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

    /// Extracts bits from the lowest up, with one rotation each.
    pub(crate) fn bits(&self, query: Lwe, plan: Plan) -> Bits {
        let (levels, places) = (self.gate.levels(), plan.index + 1);
        let direct = direct_subtractions(levels) as usize;
        let (mut gates, mut halves) = (Vec::new(), Vec::new());
        let mut left = Left { lwe: query, recent: VecDeque::new(), direct };
        for place in 0..plan.found {
            // For the next bits the bit's present weight; for all later ones its weight in the
            // query.
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

    /// q less [`Self::turns`].
    fn minus_turns(&self, log2_parts: u32) -> u64 {
        self.ring().modulus() - self.turns(log2_parts)
    }

    /// Coefficient i of the result is `outputs[i]` times the bit that is half a turn in `lwe` (many
    /// tables in one rotation: Chillotti, Ligier, Orfila, Tap, *Improved programmable
    /// bootstrapping*).
    fn rotate_bit(&self, lwe: &Lwe, outputs: &[u64]) -> Rlwe {
        let (ring, q) = (self.ring(), self.ring().modulus());
        let halved = |i: usize| half_modulo(outputs.get(i).copied().unwrap_or(0), q);
        // −output/2 around phase 0 and +output/2 around half a turn; adding output/2 gives 0 or
        // output.
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

    /// Circuit bootstrapping: isolates each digit's coefficient by a trace, then multiplies by the
    /// key.
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

    /// The encryption times 1/d modulo q, because a trace or an expansion multiplies by d.
    pub(super) fn divided_by_degree(&self, rlwe: &Rlwe) -> Rlwe {
        let (ring, q) = (self.ring(), self.ring().modulus());
        let inverse = (0..LOG2_DEGREE).fold(1, |x, _| half_modulo(x, q));
        Rlwe { a: ring.scale(&rlwe.a, inverse), b: ring.scale(&rlwe.b, inverse) }
    }
}
