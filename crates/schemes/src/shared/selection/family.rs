//! Families of packings, and the cost of their instances.

use std::fmt::Debug;

use papir_core::cost::{Counts, Operation};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::cdks::Cdks;

/// A family of packings. Its functions predict the properties of an instance.
pub trait Family: Clone + Copy + Debug + Send + Sync + 'static {
    /// The packing.
    type Packing: RingPacking + Clone + 'static;
    /// Capacities worth comparing at this degree.
    fn capacities(degree: usize) -> Vec<usize>;

    /// Key-switching matrices of a key.
    fn matrices(degree: usize, capacity: usize) -> usize;

    /// Words of a pack, as [`RingPacking::words`] counts them, for a capacity of whole row groups.
    fn pack_words(degree: usize, capacity: usize, levels: usize) -> usize;

    /// Whether a pack has last digits in addition to its words.
    fn has_last(_degree: usize, _capacity: usize) -> bool {
        false
    }

    /// Whether packs under this gadget can be prepared.
    fn takes(degree: usize, capacity: usize, gadget: GadgetParams) -> bool;

    /// Rough seconds of one core for packing one pack online, to compare candidates.
    fn pack_seconds(degree: usize, capacity: usize, levels: usize) -> f64;

    /// Adds the work of packing `packs` packs online.
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

/// Work of a node of the packing tree in external products, measured at d = 2048 with AVX-512:
/// fixed, and for each digit.
struct NodeProducts {
    node: f64,
    digit: f64,
}

const NODE_PRODUCTS: NodeProducts = NodeProducts { node: 0.065, digit: 0.075 };

impl NodeProducts {
    /// Work of all nodes of a pack.
    fn of(&self, capacity: usize, levels: usize) -> f64 {
        (capacity - 1) as f64 * (self.node + self.digit * levels as f64)
    }
}
