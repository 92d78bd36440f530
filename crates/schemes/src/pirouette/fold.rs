//! Phases 2 and 3: gates select the column, then the slot; the result moves to the response ring.

use papir_core::Result;
use papir_lattice::bootstrap::rotation::rotate;
use papir_lattice::gadget::Gadget;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::{Rows, Workspace};
use papir_ring::Ring;
use rayon::prelude::*;

use super::chain::{ORDER, RESPONSE_DEGREE};
use super::common::RetrievalParams;
use super::keys::{Expanded, Keys};
use super::wire::RetrievalAnswer;

/// Evaluation of gates under one gadget, with its buffers.
pub(crate) struct Gates<'a> {
    ring: &'a Ring,
    gadget: &'a Gadget,
    work: Workspace,
    difference: Rlwe,
    product: Rlwe,
}

impl<'a> Gates<'a> {
    pub(crate) fn new(ring: &'a Ring, gadget: &'a Gadget) -> Self {
        let work = Workspace::new(ring, 2 * gadget.levels());
        Self { ring, gadget, work, difference: Rlwe::zero(ring), product: Rlwe::zero(ring) }
    }

    /// CMUX: `zero` becomes `one` where the gate's bit is set.
    pub(crate) fn choose(&mut self, gate: &Rows, zero: &mut Rlwe, one: &Rlwe) {
        self.difference.clone_from(one);
        self.ring.sub_assign(&mut self.difference.a, &zero.a);
        self.ring.sub_assign(&mut self.difference.b, &zero.b);
        self.work.external_product(self.ring, self.gadget, &self.difference, gate, &mut self.product);
        zero.add_assign(self.ring, &self.product);
    }

    /// Selects one of up to 2^g encryptions by the first g gates, the lowest bit first. Each gate
    /// halves the list; a last encryption without a neighbour passes through, because no index
    /// names that neighbour.
    pub(crate) fn fold(&mut self, gates: &[Rows], list: &mut [Rlwe]) -> Rlwe {
        let mut left = list.len();
        for gate in gates.iter().take(left.next_power_of_two().trailing_zeros() as usize) {
            for pair in 0..left / 2 {
                let (zero, one) = (2 * pair, 2 * pair + 1);
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

    /// [`Self::fold`] with shares of `share` encryptions for threads, a power of two.
    pub(crate) fn fold_in_parallel(&mut self, gates: &[Rows], mut list: Vec<Rlwe>, share: usize) -> Rlwe {
        let (ring, gadget) = (self.ring, self.gadget);
        let shares = list.par_chunks_mut(share).map(|share| Gates::new(ring, gadget).fold(gates, share));
        let mut parts: Vec<Rlwe> = shares.collect();
        self.fold(&gates[share.min(list.len()).trailing_zeros() as usize..], &mut parts)
    }

    /// Multiplies by X^(−slot), with one gate for each bit of the slot.
    pub(crate) fn rotate(&mut self, gates: &[Rows], rlwe: &mut Rlwe) {
        let mut rotated = Rlwe::zero(self.ring);
        for (bit, gate) in gates.iter().enumerate() {
            rotate(self.ring, rlwe, ORDER as usize - (1 << bit), &mut rotated);
            self.choose(gate, rlwe, &rotated);
        }
    }
}

/// ModSwitch and RingSwitch: returns the answer of an item's planes under a client's keys.
///
/// # Errors
/// [`papir_core::Error::Malformed`] for malformed keys.
pub(crate) fn respond<P: RetrievalParams, E: Expanded>(
    params: &P,
    keys: &Keys<E>,
    planes: &[Rlwe],
) -> Result<RetrievalAnswer> {
    let (chain, bits) = (params.chain(), params.common().answer_bits);
    let (small, key) = (chain.response.ring(), &keys.expanded(chain)?.conversion().ring_switch);
    let mut answer = RetrievalAnswer { masks: Vec::new(), bodies: Vec::new() };
    for plane in planes {
        let switched = key.switch(chain.ring(), small, plane);
        let words = small.to_words(&switched.b).into_iter();
        let item = words.step_by(RESPONSE_DEGREE / params.layout().span);
        answer.masks.append(&mut bits.mask(small, &switched.a));
        answer.bodies.append(&mut bits.body(small, &item.collect::<Vec<_>>()));
    }
    Ok(answer)
}
