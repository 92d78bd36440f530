//! YPIR: DoublePIR with a second level packed by CDKS, without a hint to download.
//!
//! Menon, Wu, *YPIR: High-Throughput Single-Server PIR with Silent Preprocessing*, USENIX Security
//! 2024, ePrint 2024/270. The construction is [`crate::double::packed`], which maps the paper's
//! algorithms to functions. For records of 1 bit to 64 bits, as DoublePIR.
//!
//! Further differences from the paper: the gadget of the packing keys drops low bits and may have a
//! single digit, which reduces keys of 462 KB to less than half.

use crate::double::packed::{self, PackedDouble, Variant};
use crate::shared::selection::CdksFamily;

/// CDKS packing.
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
