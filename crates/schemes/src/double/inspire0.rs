//! InsPIRe₀ (Mahdavi, Patel, Seo, Yeo 2025, section 4): DoublePIR with its second level packed by InspiRING,
//! full or partial, so that nothing is downloaded but the answer, and the packing key is small.
//!
//! The construction is [`crate::double::packed`], where the paper's algorithms are mapped to functions; here
//! is which packing it takes ([`crate::shared::selection::inspiring`]): InspiRING (Algorithm 1) for packs of d,
//! PartialInspiRING (Algorithm 2) for packs of γ ≤ d/2, which takes one key-switching matrix instead of two.
//! For records of 1 bit to 64 bits, as DoublePIR.

use crate::double::packed::{self, PackedDouble, Variant};
use crate::shared::selection::InspiringFamily;

/// Packs by InspiRING.
#[derive(Clone, Copy, Debug)]
pub enum ByInspiring {}

impl Variant for ByInspiring {
    const NAME: &'static str = "inspire0";
    const ID: u16 = 5;
    type Family = InspiringFamily;
}

/// The scheme.
pub type Inspire0 = PackedDouble<ByInspiring>;
/// Its parameters.
pub type Params = packed::Params<ByInspiring>;
/// Its server.
pub type Server = packed::Server<ByInspiring>;
/// Its client.
pub type Client = packed::Client<ByInspiring>;
