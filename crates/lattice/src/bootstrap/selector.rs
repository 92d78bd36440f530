//! One-hot selectors from encrypted bits.
//!
//! The paper's v-bit selector (section 3.2): RGSW encryptions of bits become RLWE′ encryptions of
//! 2^v one-hot values, by a binary tree of CMUX gates. The child for a set bit is a product, the
//! other child is the parent minus that product.

use papir_ring::CyclotomicRing;
use papir_ring::wide::Ring;

use crate::wide::{Gadget, Rlwe, Rows, Workspace};

/// Returns RLWE′(δᵢ) for i below 2^v: encryptions of δᵢ·gⱼ under `levels`.
///
/// The bits of `gates`, lowest first, form the index i with δᵢ = 1; `gadget` is the gadget of the
/// gates. This takes 2^v − 1 node products of ℓ external products each.
pub fn tree(ring: &Ring, gadget: &Gadget, gates: &[Rows], levels: &Gadget) -> Vec<Vec<Rlwe>> {
    let mut work = Workspace::new(ring, 2 * gadget.levels());
    let root = (0..levels.levels()).map(|j| trivial(ring, levels.factor(j)));
    let mut nodes = vec![root.collect::<Vec<_>>()];

    // The highest bit comes first, so that the leaves are in the order of their indices.
    for gate in gates.iter().rev() {
        nodes = nodes
            .into_iter()
            .flat_map(|node| branch(ring, gadget, gate, node, &mut work))
            .collect();
    }

    nodes
}

/// Returns the noiseless encryption of a constant.
fn trivial(ring: &Ring, constant: u64) -> Rlwe {
    let mut words = vec![0; ring.degree()];
    words[0] = constant;
    Rlwe {
        a: ring.zero(),
        b: ring.from_words(&words),
    }
}

/// Returns the node's children for a clear bit and for a set bit.
fn branch(
    ring: &Ring,
    gadget: &Gadget,
    gate: &Rows,
    mut node: Vec<Rlwe>,
    work: &mut Workspace,
) -> [Vec<Rlwe>; 2] {
    let set: Vec<Rlwe> = node
        .iter()
        .map(|row| {
            let mut product = Rlwe::zero(ring);
            work.external_product(ring, gadget, row, gate, &mut product);
            product
        })
        .collect();

    // The child of a clear bit is the parent less the product, which saves a second product.
    for (row, product) in node.iter_mut().zip(&set) {
        row.sub_assign(ring, product);
    }
    [node, set]
}
