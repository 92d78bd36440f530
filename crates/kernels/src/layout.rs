//! Row groups of the database kernels.

/// Rows in a group: four registers of sixteen 32-bit lanes.
pub const ROWS: usize = 64;
