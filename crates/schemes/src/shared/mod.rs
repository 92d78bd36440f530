//! Building blocks of several scheme families.

pub(crate) mod describe;
pub mod empty_public;
#[allow(dead_code)]
pub(crate) mod goals;
pub(crate) mod packs;
pub(crate) mod parameter_errors;
pub mod public_seed;
pub(crate) mod readback;
pub mod residues;
pub mod selection;
pub mod shapes;
pub mod stored_records;
pub(crate) mod units;
pub(crate) mod words;
