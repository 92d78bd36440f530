//! Building blocks of several scheme families.

pub(crate) mod byte_matrix;
pub(crate) mod certificate;
pub(crate) mod device_copy;
pub mod digits;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod fixtures;
pub mod matrices;
pub mod messages;
pub(crate) mod packs;
pub(crate) mod parameters;
pub mod residues;
pub mod selection;
pub mod stored_records;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
pub mod units;
