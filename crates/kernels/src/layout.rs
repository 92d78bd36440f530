//! Shape of the row groups in which the database kernels store a matrix.

/// Rows of a group: four registers of sixteen 32-bit lanes.
pub const ROWS: usize = 64;
