//! Phase 0: gates and selectors from a query.
//!
//! The query encrypts an item's number of k bits, which counts 2^(k+1) parts of a turn. From the
//! lowest bit up, the remaining query is scaled so that the bit is half a turn. A rotation by it
//! returns the bit in several multiples at once: one multiple to subtract it from the query, and
//! either the digits of RGSW(bit) or half a turn.
//!
//! All bits except the top four are extracted this way. The rest is the digit of the top four bits,
//! which rotates a box to one of sixteen places. The τ bits below the digit control the sign of a
//! box. For each χ in {0, 1}^τ, a rotation by the digit, and by half a turn for each bit of χ that
//! is set in the index, gives the box times (−1)^⟨χ, bits⟩. The sum over χ of these boxes times
//! (−1)^⟨χ, t⟩ is 2^τ boxes if the bits are t, and otherwise zero.

use std::collections::VecDeque;

use papir_core::{Progress, parallel};
use papir_lattice::bootstrap::lwe::Lwe;
use papir_lattice::bootstrap::rotation::rotate;
use papir_lattice::wide::{Gadget, Rlwe, Rows};
use papir_ring::CyclotomicRing;
use papir_ring::wide::Ring;

use super::chain::{
    Chain, DEGREE, LOG2_DEGREE, LOG2_DIGIT, LOG2_P, ORDER, OUTPUTS, ParameterSet, half_modulo,
};
use super::common::RetrievalParams;
use super::keys::Evaluation;
use super::noise::direct_subtractions;
use super::params::PirouetteParams;
use super::retrieval::Selection;
use super::wire::PirouetteQuery;

/// log₂ of the distance between a box's places.
const LOG2_BOX: u32 = LOG2_DEGREE - LOG2_DIGIT;

/// Computes the selections of several queries, each under the keys of its client.
pub(super) fn select<T: ParameterSet>(
    params: &PirouetteParams<T>,
    batch: &[(&Evaluation, &PirouetteQuery)],
    progress: &dyn Progress,
) -> Vec<Selection> {
    let layout = params.layout();
    let count = batch.len() as u64;
    let index = layout.index_bits();
    let plan = ExtractionPlan {
        index,
        found: index - LOG2_DIGIT,
        gates: layout.log2_columns + layout.log2_slots,
    };
    let finders: Vec<Finder<'_>> = batch
        .iter()
        .map(|(keys, _)| Finder::new(params, keys))
        .collect();

    progress.stage("bits", count);
    let bits = parallel::map(finders.iter().zip(batch), |(finder, (_, query))| {
        finder.bits(query.lwe(), plan)
    });

    progress.stage("gates", count);
    let gates = parallel::map(finders.iter().zip(&bits), |(finder, bits)| {
        finder.gates(bits)
    });

    progress.stage("selectors", count);
    let selectors = parallel::map(finders.iter().zip(&bits), |(finder, bits)| {
        finder.selectors(bits, layout.rows)
    });

    gates
        .into_iter()
        .zip(selectors)
        .map(|(gates, selectors)| Selection { gates, selectors })
        .collect()
}

/// Plan of an extraction: the bits to extract, and their use.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExtractionPlan {
    /// k, the number of bits of an item's number.
    pub(super) index: u32,
    /// Number of bits to extract, from the lowest up.
    pub(super) found: u32,
    /// Number of extracted bits that become gates, from the lowest up. The other bits stay half
    /// turns.
    pub(super) gates: u32,
}

/// The query without the lower bits that were extracted.
struct Left {
    lwe: Lwe,
    /// Multiples of the last bits, the newest first, for subtraction: one multiple for each of the
    /// next bits, then one for all later bits.
    recent: VecDeque<Vec<Lwe>>,
    /// Number of next bits with a multiple of their own.
    direct: usize,
}

impl Left {
    /// Returns the next bit as half a turn.
    fn shifted(&self, shift: u32) -> Lwe {
        let mut bit = self.lwe.shifted(shift);
        for (age, parts) in self.recent.iter().enumerate() {
            if let Some(part) = parts.get(age) {
                bit.add_shifted(part, 0);
            }
        }

        bit
    }

    /// Subtracts a bit: keeps its multiples for the next bits, and subtracts the oldest recent bit
    /// if there are too many.
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

    /// Returns the query without all bits so far.
    fn all(mut self) -> Lwe {
        while !self.recent.is_empty() {
            self.settle();
        }

        self.lwe
    }
}

/// Results of the bits' rotations.
pub(super) struct Bits {
    /// Rotations whose last outputs are digits of RGSW(bit).
    gates: Vec<Rlwe>,
    /// Half a turn times each bit that does not become a gate, lowest bit first.
    halves: Vec<Lwe>,
    /// The query without all extracted bits.
    rest: Lwe,
}

/// Phase 0 under a client's keys.
pub(super) struct Finder<'a> {
    chain: &'a Chain,
    keys: &'a Evaluation,
    gate: &'a Gadget,
}

impl<'a> Finder<'a> {
    pub(super) fn new<P: RetrievalParams>(params: &'a P, keys: &'a Evaluation) -> Self {
        Self {
            chain: params.chain(),
            keys,
            gate: params.gate(),
        }
    }

    pub(super) fn ring(&self) -> &'a Ring {
        self.chain.ring()
    }

    /// Extracts bits from the lowest up, with one rotation each.
    pub(super) fn bits(&self, query: Lwe, plan: ExtractionPlan) -> Bits {
        let ring = self.ring();
        let direct = direct_subtractions(self.gate.levels()) as usize;
        let mut gates = Vec::new();
        let mut halves = Vec::new();
        let mut left = Left {
            lwe: query,
            recent: VecDeque::new(),
            direct,
        };

        for place in 0..plan.found {
            let shifted = left.shifted(plan.index - place);
            let bit = self.rotate_bit(&shifted, &self.outputs(plan, place));

            let multiples = (0..=direct).map(|output| Lwe::extract(ring, &bit, output));
            left.subtract(multiples.collect());

            if place < plan.gates {
                gates.push(bit);
            } else {
                halves.push(Lwe::extract(ring, &bit, direct + 1));
            }
        }

        Bits {
            gates,
            halves,
            rest: left.all(),
        }
    }

    /// Returns the multiples of the bit at `place` that its rotation returns: to subtract it, then
    /// the digits of its gate or half a turn.
    fn outputs(&self, plan: ExtractionPlan, place: u32) -> Vec<u64> {
        let levels = self.gate.levels();
        let direct = direct_subtractions(levels) as usize;

        // For the next bits the bit's present weight; for all later ones its weight in the query.
        let mut outputs: Vec<u64> = (2..)
            .take(direct)
            .map(|log2| self.minus_turns(log2))
            .collect();
        outputs.push(self.minus_turns(plan.index + 1 - place));

        if place < plan.gates {
            outputs.extend((0..levels).map(|i| self.gate.factor(i)));
        } else {
            outputs.push(self.turns(1));
        }

        outputs
    }

    /// Returns round(q/2^log2_parts), for `log2_parts` from 1 to 63.
    fn turns(&self, log2_parts: u32) -> u64 {
        (self.ring().modulus() + (1 << (log2_parts - 1))) >> log2_parts
    }

    /// Returns q less [`Self::turns`].
    fn minus_turns(&self, log2_parts: u32) -> u64 {
        self.ring().modulus() - self.turns(log2_parts)
    }

    /// Rotates by a bit that is half a turn in `lwe`. Coefficient i of the result is `outputs[i]`
    /// times the bit (many tables in one rotation: Chillotti, Ligier, Orfila, Tap, *Improved
    /// programmable bootstrapping*).
    pub(super) fn rotate_bit(&self, lwe: &Lwe, outputs: &[u64]) -> Rlwe {
        let ring = self.ring();
        let q = self.ring().modulus();
        let halved = |i: usize| half_modulo(outputs.get(i).copied().unwrap_or(0), q);

        // −output/2 around phase 0 and +output/2 around half a turn; adding output/2 gives 0 or
        // output.
        let table: Vec<u64> = (0..DEGREE)
            .map(|i| {
                if i < DEGREE / 2 {
                    (q - halved(i % OUTPUTS)) % q
                } else {
                    halved(i % OUTPUTS)
                }
            })
            .collect();

        let mut accumulator = Rlwe::zero(ring);
        accumulator.b = ring.from_words(&table);
        let short = &self.keys.shorts[0];
        let exponents = short.switch.exponents(lwe, ORDER, OUTPUTS as u32);
        short.rotation.rotate(ring, &mut accumulator, &exponents);

        let rest: Vec<u64> = (0..DEGREE)
            .map(|i| if i < OUTPUTS { halved(i) } else { 0 })
            .collect();
        ring.add_assign(&mut accumulator.b, &ring.from_words(&rest));
        accumulator
    }

    /// Makes the gates by circuit bootstrapping: isolates each digit's coefficient by a trace, then
    /// multiplies by the key.
    pub(super) fn gates(&self, bits: &Bits) -> Vec<Rows> {
        let ring = self.ring();
        let levels = self.gate.levels();
        let first = direct_subtractions(levels) as usize + 1;

        parallel::map(&bits.gates, |bit| {
            let levels = parallel::map(0..levels, |level| self.isolated(bit, first + level));
            self.keys.square.rgsw(ring, levels)
        })
    }

    /// Returns an encryption of one coefficient as a constant.
    pub(super) fn isolated(&self, rlwe: &Rlwe, coefficient: usize) -> Rlwe {
        let ring = self.ring();
        let exponent = (ORDER as usize - coefficient) % ORDER as usize;

        let mut constant = Rlwe::zero(ring);
        rotate(ring, rlwe, exponent, &mut constant);

        let mut constant = self.divided_by_degree(&constant);
        self.keys
            .galois
            .trace(ring, &mut constant, LOG2_DEGREE as usize);
        constant
    }

    /// Returns the encryption times 1/d modulo q, because a trace or an expansion multiplies by d.
    fn divided_by_degree(&self, rlwe: &Rlwe) -> Rlwe {
        let ring = self.ring();
        let q = self.ring().modulus();
        let inverse = (0..LOG2_DEGREE).fold(1, |x, _| half_modulo(x, q));

        Rlwe {
            a: ring.scale(&rlwe.a, inverse),
            b: ring.scale(&rlwe.b, inverse),
        }
    }

    /// Makes one-hot encryptions of the row, one of `rows`.
    fn selectors(&self, bits: &Bits, rows: usize) -> Rows {
        let ring = self.ring();
        let tau = bits.halves.len();

        let boxes = parallel::map(0..1usize << tau, |chi| self.rotate_box(bits, chi));
        let columns = parallel::map(0..1usize << tau, |t| {
            let mut sum = self.divided_by_degree(&signed_sum(ring, &boxes, t));
            self.keys.galois.trace(ring, &mut sum, LOG2_BOX as usize);
            self.keys.galois.expand(ring, sum, LOG2_BOX as usize)
        });

        // Row r has digit r/2^τ and bits r mod 2^τ.
        let rows = (0..rows).map(|r| columns[r % (1 << tau)][r >> tau].clone());
        Rows::of(ring, rows.collect())
    }

    /// Rotates a box to the digit's place. Its height is (−1)^⟨χ, bits⟩ · q/(p·2^τ).
    fn rotate_box(&self, bits: &Bits, chi: usize) -> Rlwe {
        let ring = self.ring();
        let q = self.ring().modulus();
        let scale = (q + (1 << (LOG2_P - 1))) >> LOG2_P;
        let height = (0..bits.halves.len()).fold(scale, |x, _| half_modulo(x, q));

        // X^(−i) is −X^(d − i).
        let half = 1usize << (LOG2_BOX - 1);
        let table: Vec<u64> = (0..DEGREE)
            .map(|i| match i {
                i if i < half => height,
                i if i >= DEGREE - half => q - height,
                _ => 0,
            })
            .collect();
        let mut accumulator = Rlwe::zero(ring);
        accumulator.b = ring.from_words(&table);

        let mut lwe = bits.rest.clone();
        for (i, half) in bits.halves.iter().enumerate() {
            if chi >> i & 1 == 1 {
                lwe.add_shifted(half, 0);
            }
        }

        let digits = &self.keys.shorts[1];
        digits.rotation.rotate(
            ring,
            &mut accumulator,
            &digits.switch.exponents(&lwe, ORDER, 1),
        );
        accumulator
    }
}

/// Computes Σ_χ (−1)^⟨χ, t⟩ · boxes[χ].
fn signed_sum(ring: &Ring, boxes: &[Rlwe], t: usize) -> Rlwe {
    let mut sum = Rlwe::zero(ring);
    for (chi, part) in boxes.iter().enumerate() {
        match (chi & t).count_ones() % 2 {
            0 => sum.add_assign(ring, part),
            _ => sum.sub_assign(ring, part),
        }
    }

    sum
}
