//! Work of an evaluation.

use std::ops::AddAssign;

/// Work of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Points looked up or computed modulo a small prime.
    pub points: u64,
    /// Bytes used from tables.
    pub table_bytes: u64,
    /// Products of small residues.
    pub multiplications: u64,
}

impl AddAssign for Effort {
    fn add_assign(&mut self, other: Self) {
        self.points += other.points;
        self.table_bytes += other.table_bytes;
        self.multiplications += other.multiplications;
    }
}
