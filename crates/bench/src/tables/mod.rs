//! The papers' tables, with papir's figures next to the printed ones.
//!
//! If a row names a configuration of papir, it is measured on a database of that size. A database
//! that exceeds `--size` or free memory is predicted by the cost model ([`papir_core::cost`]) and
//! marked so. Sizes are always exact. A configuration is measured only once, even if several rows
//! use it.
//!
//! The papers' KB are 1024 bytes: 84 KB is six polynomials of 2048 coefficients of 56 bits, 86,016
//! bytes.

mod block;
pub mod inspire;
pub mod pirouette;
mod print;
mod run;
mod standing;
pub mod zip;

pub use block::{Block, Ours, Published, Table};
pub use run::{Bench, Row, TableReport, run};
pub use standing::{Cost, Standing};

/// All tables that papir reproduces, by paper. Table 5 of InsPIRe is the benchmark `packing`,
/// Tables 2 and 3 of ZipPIR are `compress`.
pub const ALL: &[&[Table]] = &[inspire::TABLES, pirouette::TABLES, zip::TABLES];

/// All tables.
pub fn all() -> impl Iterator<Item = &'static Table> {
    ALL.iter().copied().flatten()
}

/// The table of this name.
pub fn by_name(name: &str) -> Option<&'static Table> {
    all().find(|table| table.name == name)
}
