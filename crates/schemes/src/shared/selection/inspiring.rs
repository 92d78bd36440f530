//! InspiRING of any capacity, full for d and partial below, and its family.

use papir_core::cost::{Counts, Operation};
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::noise::Setting;
use papir_lattice::packing::inspiring::{Inspiring, OnlineKey, PartialInspiring, matrix::unit_words};
use papir_lattice::packing::{Bodies, LweMasks, PackingError, Preprocessed, RingPacking, Scratch, Setup};
use papir_lattice::params::RlweParams;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly, Values};

use super::family::Family;

/// log₂ of what sums of absolute entries of a packing matrix's rows stay below, with room for chance: the
/// packing refuses 2³⁶.
const MAX_ROW_SUM_LOG2: f64 = 35.7;

/// Bytes a second of one core reading packing matrices, for comparing candidates.
const READ_RATE: f64 = 2e10;

/// The packing of a capacity. Keys say which they are for.
#[derive(Clone, Debug)]
pub enum AnyInspiring {
    /// Of d encryptions.
    Full(Inspiring),
    /// Of γ ≤ d/2.
    Partial(PartialInspiring),
}

impl RingPacking for AnyInspiring {
    const NAME: &'static str = "InspiRING, full or partial";
    type Word = i32;
    type Expanded = OnlineKey;

    fn new(params: &RlweParams, gadget: &Gadget, capacity: usize, seed: &Seed) -> Result<Self, PackingError> {
        if capacity == params.ring().degree() {
            return Inspiring::new(params, gadget, capacity, seed).map(Self::Full);
        }
        PartialInspiring::new(params, gadget, capacity, seed).map(Self::Partial)
    }

    fn setup(&self) -> &Setup {
        match self {
            Self::Full(packing) => packing.setup(),
            Self::Partial(packing) => packing.setup(),
        }
    }

    fn slots(&self) -> usize {
        match self {
            Self::Full(packing) => packing.slots(),
            Self::Partial(packing) => packing.slots(),
        }
    }

    fn unit_words(&self) -> usize {
        match self {
            Self::Full(packing) => packing.unit_words(),
            Self::Partial(packing) => packing.unit_words(),
        }
    }

    fn last_elements(&self) -> usize {
        match self {
            Self::Full(packing) => packing.last_elements(),
            Self::Partial(packing) => packing.last_elements(),
        }
    }

    fn prepare_slot(
        &self,
        lwe: LweMasks,
        slot: usize,
        unit: &mut [i32],
        scratch: &Scratch,
    ) -> Result<Preprocessed, PackingError> {
        match self {
            Self::Full(packing) => packing.prepare_slot(lwe, slot, unit, scratch),
            Self::Partial(packing) => packing.prepare_slot(lwe, slot, unit, scratch),
        }
    }

    fn expand(&self, bodies: &[Poly<Coefficients>]) -> OnlineKey {
        match self {
            Self::Full(packing) => packing.expand(bodies),
            Self::Partial(packing) => packing.expand(bodies),
        }
    }

    fn apply(
        &self,
        words: &[i32],
        packs: usize,
        last: &[&[Poly<Values>]],
        keys: &[&OnlineKey],
    ) -> Vec<Bodies> {
        match self {
            Self::Full(packing) => packing.apply(words, packs, last, keys),
            Self::Partial(packing) => packing.apply(words, packs, last, keys),
        }
    }

    fn variance(setting: &Setting, gadget: GadgetParams, capacity: usize) -> f64 {
        if capacity == setting.degree {
            return Inspiring::variance(setting, gadget, capacity);
        }
        PartialInspiring::variance(setting, gadget, capacity)
    }
}

/// InspiRING: full packs, and partial ones of half as many, are compared. Fewer encryptions a pack take as
/// many words of masks, and no less of keys.
#[derive(Clone, Copy, Debug)]
pub enum InspiringFamily {}

impl Family for InspiringFamily {
    type Packing = AnyInspiring;

    fn capacities(degree: usize) -> Vec<usize> {
        vec![degree, degree / 2]
    }

    fn matrices(degree: usize, capacity: usize) -> usize {
        if capacity == degree { 2 } else { 1 }
    }

    fn pack_words(degree: usize, capacity: usize, levels: usize) -> usize {
        unit_words(degree, capacity, levels)
    }

    fn has_last(degree: usize, capacity: usize) -> bool {
        capacity == degree
    }

    /// Entries of the packing matrix are sums of n digits of at most half a base, and fit 32 bits; a row's
    /// absolute entries have an expected sum of ℓ·d·√n·z·√(2/π)/√12.
    fn takes(degree: usize, capacity: usize, gadget: GadgetParams) -> bool {
        let base = 2f64.powi(gadget.log_base.min(64) as i32);
        let mean = base * (capacity as f64 / (6.0 * std::f64::consts::PI)).sqrt();
        let row = mean * (gadget.levels * degree) as f64;
        (2..=degree).contains(&capacity)
            && capacity as f64 * base / 2.0 < 2f64.powi(31)
            && row.log2() < MAX_ROW_SUM_LOG2
    }

    fn pack_seconds(degree: usize, capacity: usize, levels: usize) -> f64 {
        4.0 * Self::pack_words(degree, capacity, levels) as f64 / READ_RATE
    }

    fn count_packs(counts: Counts, packs: usize, degree: usize, capacity: usize, levels: usize) -> Counts {
        let bytes = 4 * packs * Self::pack_words(degree, capacity, levels);
        counts.with(Operation::Matrix, bytes as f64, packs)
    }
}
