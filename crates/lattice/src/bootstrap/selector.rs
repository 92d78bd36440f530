//! The paper's v-bit selector (section 3.2): from RGSW encryptions of bits RLWE′ encryptions of 2^v one-hot
//! values, by a tree whose left children are products and whose right ones the rest of their parents.

use papir_ring::Ring;

use crate::gadget::Gadget;
use crate::rlwe::Rlwe;
use crate::rows::{Rows, Workspace};

/// RLWE′(δᵢ) for i below 2^v: encryptions of δᵢ·gⱼ under `levels`, where the bits of `gates`, the lowest first,
/// make i. `gadget` is that of the gates. 2^v − 1 products of ℓ external products each.
pub fn tree(ring: &Ring, (gadget, gates): (&Gadget, &[Rows]), levels: &Gadget) -> Vec<Vec<Rlwe>> {
    let mut work = Workspace::new(ring, 2 * gadget.levels());
    let one = |j: usize| {
        let mut row = Rlwe::zero(ring);
        let constant: Vec<u64> =
            (0..ring.degree()).map(|i| if i == 0 { levels.factor(j) } else { 0 }).collect();
        row.b = ring.from_words(&constant);
        row
    };
    let mut nodes = vec![(0..levels.levels()).map(one).collect::<Vec<_>>()];
    // The highest bit first, so that children stand side by side in the order of their numbers.
    for gate in gates.iter().rev() {
        nodes = nodes.into_iter().flat_map(|node| branch(ring, gadget, gate, node, &mut work)).collect();
    }
    nodes
}

/// The node's children where the bit is clear, and where it is set.
fn branch(
    ring: &Ring,
    gadget: &Gadget,
    gate: &Rows,
    mut node: Vec<Rlwe>,
    work: &mut Workspace,
) -> [Vec<Rlwe>; 2] {
    let multiply = |row: &Rlwe| {
        let mut product = Rlwe::zero(ring);
        work.external_product(ring, gadget, row, gate, &mut product);
        product
    };
    let set: Vec<Rlwe> = node.iter().map(multiply).collect();
    for (row, product) in node.iter_mut().zip(&set) {
        ring.sub_assign(&mut row.a, &product.a);
        ring.sub_assign(&mut row.b, &product.b);
    }
    [node, set]
}
