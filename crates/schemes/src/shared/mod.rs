//! Building blocks of several scheme families.

pub(crate) mod byte_matrix;
pub(crate) mod changes;
pub(crate) mod describe;
pub mod digits;
pub mod empty_public;
pub(crate) mod encode;
pub(crate) mod goals;
pub(crate) mod packs;
pub(crate) mod parameter_errors;
pub mod place;
pub mod public_seed;
pub(crate) mod readback;
pub mod residues;
pub(crate) mod ring_bytes;
pub(crate) mod row_masks;
pub mod selection;
pub mod selector;
pub mod shapes;
pub mod stored_records;
pub(crate) mod units;
pub(crate) mod words;
