//! The packed schemes by packing: CDKS and InspiRING.

use std::fmt::Debug;

use papir_core::cost::{Counts, Operation};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::Setting;
use papir_lattice::packing::cdks::Cdks;
use papir_lattice::packing::cdks::few::Leaf;
use papir_lattice::packing::inspiring::EitherInspiring;
use papir_lattice::packing::inspiring::matrix::unit_words;
use papir_lattice::packing::{OnlineKey, Packing, PackingError, RingPacking};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::{Stacking, Storage};

use super::ring::SelectionRing;
use crate::shared::parameters::READ_RATE;

/// A client's packing key, expanded.
pub type Key<V> = OnlineKey<<<V as PackedVariant>::Packing as RingPacking>::Expanded>;

/// The message that carries the masks of packed answers. They depend on the database alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masks {
    /// Every answer carries them: nothing to fetch.
    Answers,
    /// The public part has them, for all answers of a version.
    Public,
}

/// A packed SimplePIR as a scheme.
#[derive(Clone, Copy, Debug)]
pub struct SimpleVariant {
    /// Name of the scheme.
    pub name: &'static str,
    /// Number of the scheme in messages.
    pub id: u16,
    /// The ring.
    pub ring: SelectionRing,
    /// Storage of the words.
    pub storage: Storage,
    /// Numbers of words in an entry that are compared, and their distances.
    pub stackings: &'static [Stacking],
    /// Label of the whitening stream.
    pub whitening: &'static str,
    /// Name of the section with the seed.
    pub seed: &'static str,
}

/// A packed DoublePIR as a scheme.
#[derive(Clone, Copy, Debug)]
pub struct DoubleVariant {
    /// Name of the scheme.
    pub name: &'static str,
    /// Number of the scheme in messages.
    pub id: u16,
}

/// A packing, and the schemes that use it. Its functions predict the properties of an instance.
pub trait PackedVariant: Clone + Copy + Debug + Send + Sync + 'static {
    /// The packing.
    type Packing: RingPacking + Clone + 'static;
    /// The message that carries the masks of packs.
    const MASKS: Masks;
    /// SimplePIR whose answers are packed (`crate::simple::packed`).
    const SIMPLE: SimpleVariant;
    /// DoublePIR whose second level is packed (`crate::double::packed`).
    const DOUBLE: DoubleVariant;

    /// Returns the capacities that are compared at this degree.
    fn capacities(degree: usize) -> Vec<usize>;

    /// Nodes of a packing tree on the way from one encryption to the packed one, if a few
    /// encryptions can be packed while a query waits ([`PackedVariant::pack_few`]); 0 if that would
    /// take most of the offline part of packing.
    fn few_nodes(_degree: usize) -> usize {
        0
    }

    /// Packs a few encryptions that a query makes into one; `None` if
    /// [`PackedVariant::few_nodes`] is 0. Its body lacks the bodies of the encryptions.
    ///
    /// # Errors
    /// [`PackingError::Key`] for a key of another packing.
    fn pack_few(
        _packing: &Packing<Self::Packing>,
        _leaves: &[Leaf],
        _key: &Key<Self>,
    ) -> Result<Option<Rlwe>, PackingError> {
        Ok(None)
    }

    /// Returns the number of key-switching matrices in a key.
    fn matrices(degree: usize, capacity: usize) -> usize;

    /// Words of a pack, as [`Packing::words`] counts them, for a capacity of whole row groups.
    fn pack_words(degree: usize, capacity: usize, levels: usize) -> usize;

    /// Returns true if a pack has last digits in addition to its words.
    fn has_last(_degree: usize, _capacity: usize) -> bool {
        false
    }

    /// Returns true if packs under this gadget can be prepared.
    fn takes(degree: usize, capacity: usize, gadget: GadgetParams) -> bool;

    /// Returns the variance that a pack adds. `settings` are the setting of all matrices of the key
    /// but the last, and the setting of the last.
    fn variance(settings: &[Setting; 2], gadget: GadgetParams, capacity: usize) -> f64 {
        Self::Packing::variance(&settings[0], gadget, capacity)
    }

    /// Estimates the seconds of one core for packing one pack online, to compare candidates.
    fn pack_seconds(degree: usize, capacity: usize, levels: usize) -> f64;

    /// Adds the work of packing `packs` packs online.
    fn count_packs(
        counts: Counts,
        packs: usize,
        degree: usize,
        capacity: usize,
        levels: usize,
    ) -> Counts;
}

/// CDKS packing, of d encryptions, and answers that carry their masks: YPIR and SimpleYPIR, whose
/// words have 16 bits.
#[derive(Clone, Copy, Debug)]
pub enum ByCdks {}

impl PackedVariant for ByCdks {
    type Packing = Cdks;
    const MASKS: Masks = Masks::Answers;
    const SIMPLE: SimpleVariant = SimpleVariant {
        name: "simpleypir",
        id: 7,
        ring: SelectionRing::ERROR_LIKE,
        storage: Storage::Words,
        stackings: &[Stacking::NONE],
        whitening: "simpleypir/whitening",
        seed: "simpleypir/seed",
    };
    const DOUBLE: DoubleVariant = DoubleVariant {
        name: "ypir",
        id: 6,
    };

    fn capacities(degree: usize) -> Vec<usize> {
        vec![degree]
    }

    fn few_nodes(degree: usize) -> usize {
        degree.ilog2() as usize
    }

    fn pack_few(
        packing: &Packing<Cdks>,
        leaves: &[Leaf],
        key: &Key<Self>,
    ) -> Result<Option<Rlwe>, PackingError> {
        packing.pack_few(leaves, key).map(Some)
    }

    fn matrices(degree: usize, _: usize) -> usize {
        degree.ilog2() as usize
    }

    fn pack_words(degree: usize, capacity: usize, levels: usize) -> usize {
        // A tree has capacity − 1 nodes, each with ℓ digits of residues modulo two primes.
        (capacity - 1) * levels * 2 * degree
    }

    fn takes(degree: usize, capacity: usize, gadget: GadgetParams) -> bool {
        capacity == degree && (1..=30).contains(&gadget.log_base)
    }

    fn pack_seconds(_: usize, capacity: usize, levels: usize) -> f64 {
        node_products(capacity, levels) * 2.2e-5
    }

    fn count_packs(
        counts: Counts,
        packs: usize,
        _: usize,
        capacity: usize,
        levels: usize,
    ) -> Counts {
        let products = packs as f64 * node_products(capacity, levels);
        counts.with(Operation::ExternalProduct, products, packs)
    }
}

/// Entries of one to four words of 4 bits. The closer words are, the fewer bits a selector has; the
/// further apart they are, the more noise an answer may have.
const STACKINGS: [Stacking; 6] = [
    Stacking::NONE,
    Stacking { words: 2, step: 6 },
    Stacking { words: 2, step: 7 },
    Stacking { words: 3, step: 6 },
    Stacking { words: 3, step: 7 },
    Stacking { words: 4, step: 5 },
];

/// Returns the work of a pack in external products, measured at d = 2048 with AVX-512: each node of
/// the packing tree takes a fixed part, and a part for each digit.
fn node_products(capacity: usize, levels: usize) -> f64 {
    (capacity - 1) as f64 * (0.065 + 0.075 * levels as f64)
}

/// InspiRING packing, and masks that clients fetch once for a version: InsPIRe₀, and InsPIRe
/// without its second step, t = 1, whose words have 4 bits.
///
/// Packs are full, or partial ones of d/2. Packs of fewer encryptions take as many mask words and
/// no fewer key words.
#[derive(Clone, Copy, Debug)]
pub enum ByInspiring {}

impl PackedVariant for ByInspiring {
    type Packing = EitherInspiring;
    const MASKS: Masks = Masks::Public;
    const SIMPLE: SimpleVariant = SimpleVariant {
        name: "inspire1",
        id: 19,
        ring: SelectionRing::TERNARY,
        storage: Storage::Nibbles,
        stackings: &STACKINGS,
        whitening: "inspire1/whitening",
        seed: "inspire1/seed",
    };
    const DOUBLE: DoubleVariant = DoubleVariant {
        name: "inspire0",
        id: 5,
    };

    fn capacities(degree: usize) -> Vec<usize> {
        vec![degree, degree / 2]
    }

    fn matrices(degree: usize, capacity: usize) -> usize {
        // y_g and y_h, or y_g alone.
        if capacity == degree { 2 } else { 1 }
    }

    fn pack_words(degree: usize, capacity: usize, levels: usize) -> usize {
        unit_words(degree, capacity, levels)
    }

    fn has_last(degree: usize, capacity: usize) -> bool {
        capacity == degree
    }

    /// Returns true if packs can be prepared: entries of the packing matrix are sums of n digits of
    /// at most half a base, and they must fit 32 bits.
    fn takes(degree: usize, capacity: usize, gadget: GadgetParams) -> bool {
        let base = 2f64.powi(gadget.log_base.min(64) as i32);
        (2..=degree).contains(&capacity) && capacity as f64 * base / 2.0 < 2f64.powi(31)
    }

    /// Returns the variance of a pack. A full pack has d − 2 key switches under y_g and one under
    /// y_h.
    fn variance([y_g, y_h]: &[Setting; 2], gadget: GadgetParams, capacity: usize) -> f64 {
        if capacity < y_g.degree {
            return Self::Packing::variance(y_g, gadget, capacity);
        }
        y_g.partial_packing(gadget, capacity - 1) + y_h.partial_packing(gadget, 2)
    }

    fn pack_seconds(degree: usize, capacity: usize, levels: usize) -> f64 {
        4.0 * Self::pack_words(degree, capacity, levels) as f64 / READ_RATE
    }

    fn count_packs(
        counts: Counts,
        packs: usize,
        degree: usize,
        capacity: usize,
        levels: usize,
    ) -> Counts {
        let bytes = 4 * packs * Self::pack_words(degree, capacity, levels);
        counts.with(Operation::Matrix, bytes as f64, packs)
    }
}
