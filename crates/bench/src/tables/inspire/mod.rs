//! Tables of InsPIRe (Mahdavi, Patel, Seo, Yeo 2025), as printed.
//!
//! The paper's machine: an Intel Xeon at 2.6 GHz, one thread. Tables 2 and 3 contain rows from
//! Tables 8 and 9 with entries longer than the table's. They are the shortest messages of all entry
//! sizes at a given server time, as a long entry can hold several short ones.
//!
//! - InsPIRe⁽²⁾ at 172, 191, 241 and 345 KB is Table 8's 128 B (units of γ₀ = 64 words), at 244
//!   and 347 KB its 64 B (γ₀ = 32). Table 8's best for 64 B is 185 KB. The same holds for the
//!   larger databases.
//! - InsPIRe with 96 KB of download is Table 9's 32 KB. papir's row has the same columns, and
//!   records of the table's own length.

mod applications;
mod interpolation;
mod large;
mod medium;
mod rows;
mod second;
mod small;

pub use applications::{TABLE_6, TABLE_7};
pub use interpolation::TABLE_9;
pub use large::TABLE_4;
pub use medium::TABLE_3;
pub use second::TABLE_8;
pub use small::TABLE_2;

use super::Table;

/// All tables.
pub const TABLES: &[Table] = &[TABLE_2, TABLE_3, TABLE_4, TABLE_6, TABLE_7, TABLE_8, TABLE_9];
