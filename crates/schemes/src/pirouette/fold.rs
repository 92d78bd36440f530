//! Phases 2 and 3: gates pick the column, then the slot; the result moves to the response ring.

use papir_lattice::bootstrap::rotation::rotate;
use papir_lattice::gadget::Gadget;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::{Rows, Workspace};
use papir_ring::Ring;

use super::chain::{ORDER, RESPONSE_DEGREE};
use super::keys::Evaluation;
use super::params::PirouetteParams;

/// Gates under one gadget, with their buffers.
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
        Self { ring, gadget, work, difference: Rlwe::zero(ring), product: Rlwe::zero(ring) }
    }

    /// CMUX: `zero` becomes `one` where the gate's bit is set.
    fn choose(&mut self, gate: &Rows, zero: &mut Rlwe, one: &Rlwe) {
        self.difference.clone_from(one);
        self.ring.sub_assign(&mut self.difference.a, &zero.a);
        self.ring.sub_assign(&mut self.difference.b, &zero.b);
        self.work.external_product(self.ring, self.gadget, &self.difference, gate, &mut self.product);
        zero.add_assign(self.ring, &self.product);
    }

    /// Of 2^g encryptions the one that g gates name, the lowest bit first: halves the list with each gate.
    pub(super) fn fold(&mut self, gates: &[Rows], mut list: Vec<Rlwe>) -> Vec<Rlwe> {
        for gate in gates.iter().take(list.len().trailing_zeros() as usize) {
            let mut pairs = list.into_iter();
            list = Vec::new();
            while let (Some(mut zero), Some(one)) = (pairs.next(), pairs.next()) {
                self.choose(gate, &mut zero, &one);
                list.push(zero);
            }
        }
        list
    }

    /// Times X^(−slot), by a gate for each bit of the slot.
    pub(super) fn rotate(&mut self, gates: &[Rows], rlwe: &mut Rlwe) {
        let mut rotated = Rlwe::zero(self.ring);
        for (bit, gate) in gates.iter().enumerate() {
            rotate(self.ring, rlwe, ORDER as usize - (1 << bit), &mut rotated);
            self.choose(gate, rlwe, &rotated);
        }
    }
}

/// RingSwitch and ModSwitch: the words of an answer's mask, and those of the item in its body.
pub(super) fn respond(params: &PirouetteParams, keys: &Evaluation, rlwe: &Rlwe) -> (Vec<u64>, Vec<u64>) {
    let (chain, bits) = (&params.chain, params.answer_bits);
    let small = chain.response.ring();
    let answer = keys.ring_switch.switch(chain.ring(), small, rlwe);
    let item = small.to_words(&answer.b).into_iter().step_by(RESPONSE_DEGREE / params.layout.span);
    (bits.mask(small, &answer.a), bits.body(small, &item.collect::<Vec<_>>()))
}
