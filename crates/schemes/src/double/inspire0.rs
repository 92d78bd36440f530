//! InsPIRe₀: DoublePIR with a second level packed by InspiRING, with small packing keys.
//!
//! Mahdavi, Patel, Seo, Yeo 2025, section 4. The construction is [`crate::double::packed`], which
//! maps the paper's algorithms to functions. The packing ([`crate::shared::selection::inspiring`])
//! is InspiRING (Algorithm 1) for packs of d, and PartialInspiRING (Algorithm 2) for packs of γ ≤
//! d/2, with one key-switching matrix instead of two. For records of 1 bit to 64 bits, as
//! DoublePIR.

use crate::double::packed::{self, PackedDouble, Variant};
use crate::shared::selection::InspiringFamily;

/// InspiRING packing.
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
