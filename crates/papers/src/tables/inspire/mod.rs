//! Tables of InsPIRe (Mahdavi, Patel, Seo, Yeo 2025), as printed.
//!
//! The paper's machine: an Intel Xeon at 2.6 GHz, one thread. Tables 2 and 3 repeat rows of Tables
//! 8 and 9 whose entries are longer than the table's own. A long entry can hold several short ones,
//! and these rows have the shortest messages of all entry sizes at a given server time.
//!
//! - The InsPIRe⁽²⁾ rows of 172, 191, 241 and 345 KB are Table 8's rows for 128 B (units of γ₀ = 64
//!   words). Those of 244 and 347 KB are its rows for 64 B (γ₀ = 32), of which the best has 185 KB.
//!   The same holds for the larger databases.
//! - The InsPIRe rows with 96 KB of download are Table 9's rows for 32 KB. papir's row has the same
//!   columns, and records of the table's own length.

mod rows;
mod table_8;
mod table_9;
mod tables_2_to_4;
mod tables_6_and_7;

pub use table_8::TABLE_8;
pub use table_9::TABLE_9;
pub use tables_2_to_4::{TABLE_2, TABLE_3, TABLE_4};
pub use tables_6_and_7::{TABLE_6, TABLE_7};

use super::Table;

/// All tables.
pub const TABLES: &[Table] = &[
    TABLE_2, TABLE_3, TABLE_4, TABLE_6, TABLE_7, TABLE_8, TABLE_9,
];
