//! Variants of packed SimplePIR.

use std::fmt::Debug;
use std::marker::PhantomData;

use papir_lattice::selection::Storage;

use crate::shared::selection::{CdksFamily, Family, InspiringFamily, Masks, SelectionRing};

/// A variant of packed SimplePIR: its packing, its words, and the message that carries masks.
pub trait Form: Clone + Copy + Debug + Send + Sync + 'static {
    /// The scheme's name.
    const NAME: &'static str;
    /// The scheme's number.
    const ID: u16;
    /// The ring.
    const RING: SelectionRing;
    /// Packing of the selected words.
    type Family: Family;
    /// Storage of the words.
    const STORAGE: Storage;
    /// The message that carries the masks of answers.
    const MASKS: Masks;
    /// Label of the whitening stream.
    const WHITENING: &'static str;
    /// Name of the section with the seed.
    const SEED: &'static str;
}

/// A packed SimplePIR as a scheme.
pub struct Packed<F>(PhantomData<F>);

/// SimpleYPIR: words of 16 bits, CDKS, and answers that carry their masks.
#[derive(Clone, Copy, Debug)]
pub enum ByCdks {}

impl Form for ByCdks {
    const NAME: &'static str = "simpleypir";
    const ID: u16 = 7;
    const RING: SelectionRing = SelectionRing::ERROR_LIKE;
    type Family = CdksFamily;
    const STORAGE: Storage = Storage::Words;
    const MASKS: Masks = Masks::Answers;
    const WHITENING: &'static str = "simpleypir/whitening";
    const SEED: &'static str = "simpleypir/seed";
}

/// InsPIRe without its second step, t = 1: words of 4 bits, InspiRING, and masks that clients fetch
/// once for a version.
#[derive(Clone, Copy, Debug)]
pub enum ByInspiring {}

impl Form for ByInspiring {
    const NAME: &'static str = "inspire1";
    const ID: u16 = 19;
    const RING: SelectionRing = SelectionRing::TERNARY;
    type Family = InspiringFamily;
    const STORAGE: Storage = Storage::Nibbles;
    const MASKS: Masks = Masks::Public;
    const WHITENING: &'static str = "inspire1/whitening";
    const SEED: &'static str = "inspire1/seed";
}
