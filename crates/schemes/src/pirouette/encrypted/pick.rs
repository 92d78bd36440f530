//! Phases 1 and 2 over encryptions: gates select one of them.

use papir_lattice::gadget::Gadget;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use papir_ring::Ring;

use super::ciphertexts::Ciphertexts;
use crate::pirouette::fold::Gates;

/// log₂ of the encryptions lifted and folded together. They stay in the second-level cache.
const LOG2_BLOCK: u32 = 4;
/// log₂ of the encryptions of one task.
const LOG2_SHARE: u32 = 8;

/// Selection in one ring under one gadget.
pub(crate) struct Picker<'a> {
    pub(crate) ciphertexts: &'a Ciphertexts,
    pub(crate) ring: &'a Ring,
    pub(crate) gadget: &'a Gadget,
    /// Gates of a polynomial's number, the lowest bit first.
    pub(crate) gates: &'a [Rows],
}

impl Picker<'_> {
    /// Returns the encrypted polynomial of a plane that the gates name. Depth first, so that the
    /// number of intermediate results is that of the gates.
    pub(crate) fn pick(&self, plane: usize) -> Rlwe {
        self.shared(plane, 0, self.gates.len() as u32)
    }

    /// Selects among the existing ones of the 2^level encryptions from `first` on, with all
    /// threads.
    fn shared(&self, plane: usize, first: usize, level: u32) -> Rlwe {
        if level <= LOG2_SHARE {
            return self.alone(&mut Gates::new(self.ring, self.gadget), plane, first, level);
        }
        let [zero, one] = [first, first + (1 << (level - 1))];
        if one >= self.ciphertexts.layout().polys() {
            return self.shared(plane, zero, level - 1);
        }
        let (mut zero, one) =
            rayon::join(|| self.shared(plane, zero, level - 1), || self.shared(plane, one, level - 1));
        let gate = &self.gates[level as usize - 1];
        Gates::new(self.ring, self.gadget).choose(gate, &mut zero, &one);
        zero
    }

    /// [`Self::shared`] on one thread.
    fn alone(&self, work: &mut Gates<'_>, plane: usize, first: usize, level: u32) -> Rlwe {
        let polys = self.ciphertexts.layout().polys();
        if level <= LOG2_BLOCK {
            let block = first..(first + (1 << level)).min(polys);
            let lifted = block.map(|index| self.ciphertexts.lifted(self.ring, plane, index));
            return work.fold(self.gates, &mut lifted.collect::<Vec<_>>());
        }
        let [zero, one] = [first, first + (1 << (level - 1))];
        let mut zero = self.alone(work, plane, zero, level - 1);
        if one < polys {
            let one = self.alone(work, plane, one, level - 1);
            work.choose(&self.gates[level as usize - 1], &mut zero, &one);
        }
        zero
    }
}
