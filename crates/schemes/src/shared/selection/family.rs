//! Packings of one kind, as parameters are chosen for them: what follows before there is a key.

use std::fmt::Debug;

use papir_core::cost::{Counts, Operation};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::cdks::Cdks;

/// A kind of packing. Its functions say beforehand what an instance has.
pub trait Family: Clone + Copy + Debug + Send + Sync + 'static {
    /// What packs.
    type Packing: RingPacking + Clone + 'static;
    /// The capacities that are worth comparing at this degree.
    fn capacities(degree: usize) -> Vec<usize>;

    /// Key-switching matrices of a key.
    fn matrices(degree: usize, capacity: usize) -> usize;

    /// Words of a pack, as [`RingPacking::words`] counts them, for a capacity of whole row groups.
    fn pack_words(degree: usize, capacity: usize, levels: usize) -> usize;

    /// Whether a pack has last digits beside its words.
    fn has_last(_degree: usize, _capacity: usize) -> bool {
        false
    }

    /// Whether packs under this gadget can be prepared.
    fn takes(degree: usize, capacity: usize, gadget: GadgetParams) -> bool;

    /// Seconds of one core for packing one pack online, roughly: for comparing candidates only.
    fn pack_seconds(degree: usize, capacity: usize, levels: usize) -> f64;

    /// Adds what packing online takes, for so many packs.
    fn count_packs(counts: Counts, packs: usize, degree: usize, capacity: usize, levels: usize) -> Counts;
}

/// CDKS packing, of d encryptions.
#[derive(Clone, Copy, Debug)]
pub enum CdksFamily {}

impl Family for CdksFamily {
    type Packing = Cdks;

    fn capacities(degree: usize) -> Vec<usize> {
        vec![degree]
    }

    fn matrices(degree: usize, _: usize) -> usize {
        degree.ilog2() as usize
    }

    fn pack_words(degree: usize, capacity: usize, levels: usize) -> usize {
        (capacity - 1) * levels * 2 * degree
    }

    fn takes(degree: usize, capacity: usize, gadget: GadgetParams) -> bool {
        capacity == degree && (1..=30).contains(&gadget.log_base)
    }

    fn pack_seconds(_: usize, capacity: usize, levels: usize) -> f64 {
        NODE_PRODUCTS.of(capacity, levels) * 2.2e-5
    }

    fn count_packs(counts: Counts, packs: usize, _: usize, capacity: usize, levels: usize) -> Counts {
        let products = packs as f64 * NODE_PRODUCTS.of(capacity, levels);
        counts.with(Operation::ExternalProduct, products, packs)
    }
}

/// A node of the packing tree in external products (measured at d = 2048 with AVX-512): for itself, and for
/// each digit.
struct NodeProducts {
    node: f64,
    digit: f64,
}

const NODE_PRODUCTS: NodeProducts = NodeProducts { node: 0.065, digit: 0.075 };

impl NodeProducts {
    /// Of all nodes of a pack.
    fn of(&self, capacity: usize, levels: usize) -> f64 {
        (capacity - 1) as f64 * (self.node + self.digit * levels as f64)
    }
}
