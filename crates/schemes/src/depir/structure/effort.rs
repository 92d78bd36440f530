//! Work of an evaluation.

use std::ops::AddAssign;

/// Counts of the work of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Number of points looked up or computed modulo a small prime.
    pub points: u64,
    /// Bytes read from tables.
    pub table_bytes: u64,
    /// Number of products of small residues.
    pub multiplications: u64,
}

impl AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.points += other.points;
        self.table_bytes += other.table_bytes;
        self.multiplications += other.multiplications;
    }
}
