//! YPIR (Menon, Wu, *YPIR: High-Throughput Single-Server PIR with Silent Preprocessing*, USENIX Security
//! 2024, ePrint 2024/270): DoublePIR with its second level packed by CDKS, so that nothing is downloaded
//! but the answer.
//!
//! The construction is [`crate::double::packed`], where the paper's algorithms are mapped to functions; here
//! is which packing it takes. For records of 1 bit to 64 bits, as DoublePIR.
//!
//! What differs from the paper, beside what differs there: the gadget of the packing keys drops low bits and
//! may have a single digit, so that keys of 462 KB become less than half of it.

use crate::double::packed::{self, PackedDouble, Variant};
use crate::shared::selection::CdksFamily;

/// Packs by CDKS.
#[derive(Clone, Copy, Debug)]
pub enum ByCdks {}

impl Variant for ByCdks {
    const NAME: &'static str = "ypir";
    const ID: u16 = 6;
    type Family = CdksFamily;
}

/// The scheme.
pub type Ypir = PackedDouble<ByCdks>;
/// Its parameters.
pub type Params = packed::Params<ByCdks>;
/// Its server.
pub type Server = packed::Server<ByCdks>;
/// Its client.
pub type Client = packed::Client<ByCdks>;
