//! Phases 1 to 3: from selections to answers.
//!
//! Gates select the column, then the slot. The result moves to the response ring.

use std::ops::Range;

use papir_core::{Progress, parallel};
use papir_lattice::bootstrap::ring_switch::RingSwitchKey;
use papir_lattice::bootstrap::rotation::rotate;
use papir_lattice::wide::{Gadget, Rlwe, Rows, Workspace};
use papir_ring::CyclotomicRing;
use papir_ring::wide::Ring;

use super::chain::{ORDER, RESPONSE_DEGREE};
use super::common::{Common, RetrievalParams};
use super::layout::{LOG2_GROUP, Layout, SHARE};
use super::polynomials::{self, Polynomials};
use super::wire::RetrievalAnswer;

/// A selection of one item.
pub struct Selection {
    /// RGSW encryptions of the lowest bits: ν₃ bits of the slot, then ν₂ bits of the column.
    pub gates: Vec<Rows>,
    /// RLWE encryptions, one for each row: of q/p for the item's row, and of zero for all other
    /// rows.
    pub selectors: Rows,
}

/// Evaluation of phases 1 to 3 for a batch of selections.
pub(super) struct Retrieval<'a> {
    pub(super) common: &'a Common,
    pub(super) polynomials: &'a Polynomials,
}

impl Retrieval<'_> {
    /// Runs phases 1 and 2 and the rotations of phase 3. Returns, for each selection, the
    /// encryptions of its item's planes in the same ring: signed bytes times q/p at multiples of
    /// d/span.
    pub(super) fn run(&self, selections: &[Selection], progress: &dyn Progress) -> Vec<Vec<Rlwe>> {
        let Layout {
            planes,
            log2_columns,
            ..
        } = self.common.layout;

        // Columns are processed in groups one after another, so that a group stays in the cache.
        let log2_group = log2_columns.min(LOG2_GROUP);
        let groups = 1usize << (log2_columns - log2_group);

        // For each query, the groups of all planes.
        let mut folded: Vec<Vec<Rlwe>> = selections.iter().map(|_| Vec::new()).collect();
        for plane in 0..planes {
            for group in 0..groups {
                progress.stage("first", 1);
                let start = group << log2_group;
                let columns = self.first(plane, start..start + (1 << log2_group), selections);

                progress.stage("fold", 1);
                for ((selection, columns), folded) in
                    selections.iter().zip(columns).zip(&mut folded)
                {
                    let gates = self.column_gates(selection);
                    folded.push(self.gates().fold_in_parallel(gates, columns));
                }
            }
        }

        progress.stage("rotate", selections.len() as u64);
        let mut items = Vec::with_capacity(selections.len());
        for (selection, folded) in selections.iter().zip(folded) {
            let planes = folded
                .chunks(groups)
                .map(|groups| self.rotated(selection, groups, log2_group));
            items.push(planes.collect());
        }

        items
    }

    /// Selects one of the folded groups of a plane, then rotates the slot to the front.
    fn rotated(&self, selection: &Selection, groups: &[Rlwe], log2_group: u32) -> Rlwe {
        let gates = &self.column_gates(selection)[log2_group as usize..];
        let mut rlwe = self.gates().fold_in_parallel(gates, groups.to_vec());

        let slots = &selection.gates[..self.common.layout.log2_slots as usize];
        self.gates().rotate(slots, &mut rlwe);
        rlwe
    }

    /// Computes phase 1. Returns, for each query, the encryptions of a range of columns of a plane.
    fn first(
        &self,
        plane: usize,
        columns: Range<usize>,
        selections: &[Selection],
    ) -> Vec<Vec<Rlwe>> {
        let layout = &self.common.layout;
        let ring = self.common.chain.ring();
        let selectors: Vec<&Rows> = selections
            .iter()
            .map(|selection| &selection.selectors)
            .collect();
        let plane = self.polynomials.plane(plane, layout.polys());

        let parts = parallel::map(0..columns.len().div_ceil(SHARE), |offset| {
            let first = columns.start + offset * SHARE;
            let range = first..(first + SHARE).min(columns.end);
            polynomials::columns(ring, plane, layout.columns(), range, &selectors)
        });

        let mut all: Vec<Vec<Rlwe>> = selections
            .iter()
            .map(|_| Vec::with_capacity(columns.len()))
            .collect();
        for part in parts {
            for (all, mut part) in all.iter_mut().zip(part) {
                all.append(&mut part);
            }
        }

        all
    }

    /// Returns the gates of the column's bits.
    fn column_gates<'a>(&self, selection: &'a Selection) -> &'a [Rows] {
        &selection.gates[self.common.layout.log2_slots as usize..]
    }

    fn gates(&self) -> Gates<'_> {
        Gates::new(self.common.chain.ring(), &self.common.gate)
    }
}

/// Evaluation of gates under one gadget, with its buffers.
pub(super) struct Gates<'a> {
    ring: &'a Ring,
    gadget: &'a Gadget,
    work: Workspace,
    difference: Rlwe,
    product: Rlwe,
}

impl<'a> Gates<'a> {
    pub(super) fn new(ring: &'a Ring, gadget: &'a Gadget) -> Self {
        let work = Workspace::new(ring, 2 * gadget.levels());
        Self {
            ring,
            gadget,
            work,
            difference: Rlwe::zero(ring),
            product: Rlwe::zero(ring),
        }
    }

    /// Computes CMUX: `zero` becomes `one` if the gate's bit is set.
    pub(super) fn choose(&mut self, gate: &Rows, zero: &mut Rlwe, one: &Rlwe) {
        self.difference.clone_from(one);
        self.difference.sub_assign(self.ring, zero);
        self.work.external_product(
            self.ring,
            self.gadget,
            &self.difference,
            gate,
            &mut self.product,
        );
        zero.add_assign(self.ring, &self.product);
    }

    /// Selects one of up to 2^g encryptions by the first g gates, the lowest bit first. Each gate
    /// halves the list. A last encryption without a neighbour passes through, because no index
    /// names that neighbour.
    pub(super) fn fold(&mut self, gates: &[Rows], list: &mut [Rlwe]) -> Rlwe {
        let mut left = list.len();

        for gate in gates
            .iter()
            .take(left.next_power_of_two().trailing_zeros() as usize)
        {
            for pair in 0..left / 2 {
                let zero = 2 * pair;
                let one = 2 * pair + 1;
                let [zero_part, one_part] = [zero, one].map(|i| std::mem::take(&mut list[i]));
                list[pair] = zero_part;
                self.choose(gate, &mut list[pair], &one_part);
            }

            if left % 2 == 1 {
                list.swap(left / 2, left - 1);
            }
            left = left.div_ceil(2);
        }

        std::mem::take(&mut list[0])
    }

    /// Does the work of [`Self::fold`] with all threads.
    fn fold_in_parallel(&mut self, gates: &[Rows], mut list: Vec<Rlwe>) -> Rlwe {
        let ring = self.ring;
        let gadget = self.gadget;
        let shares = list.chunks_mut(SHARE);
        let mut parts = parallel::map(shares, |share| Gates::new(ring, gadget).fold(gates, share));

        // The lowest gates were used within the shares.
        let used = SHARE.min(list.len()).trailing_zeros() as usize;
        self.fold(&gates[used..], &mut parts)
    }

    /// Multiplies by X^(−slot), with one gate for each bit of the slot.
    pub(super) fn rotate(&mut self, gates: &[Rows], rlwe: &mut Rlwe) {
        let mut rotated = Rlwe::zero(self.ring);
        for (bit, gate) in gates.iter().enumerate() {
            rotate(self.ring, rlwe, ORDER as usize - (1 << bit), &mut rotated);
            self.choose(gate, rlwe, &rotated);
        }
    }
}

/// Computes ModSwitch and RingSwitch. Returns the answer of an item's planes under a client's key.
pub(super) fn respond<P: RetrievalParams>(
    params: &P,
    key: &RingSwitchKey,
    planes: &[Rlwe],
) -> RetrievalAnswer {
    let chain = params.chain();
    let bits = params.common().answer_bits;
    let small = chain.response.ring();
    let mut answer = RetrievalAnswer {
        masks: Vec::new(),
        bodies: Vec::new(),
    };

    for plane in planes {
        let switched = key.switch(chain.ring(), small, plane);
        answer.masks.append(&mut bits.mask(small, &switched.a));

        // The item's bytes are at multiples of this distance; the others are not sent.
        let words = small.to_words(&switched.b).into_iter();
        let item: Vec<u64> = words
            .step_by(RESPONSE_DEGREE / params.layout().span)
            .collect();
        answer.bodies.append(&mut bits.body(small, &item));
    }

    answer
}
