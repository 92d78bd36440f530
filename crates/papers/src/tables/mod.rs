//! The papers' tables, with papir's figures next to the printed ones.
//!
//! A row may name a configuration of papir, which is then measured on a database of the row's size.
//! If the database exceeds `--size` or free memory, times are predicted by the cost model
//! ([`papir_core::cost`]) and marked as predicted. Sizes are always exact. A configuration is
//! measured only once, even if several rows use it.
//!
//! The papers' KB are 1024 bytes: 84 KB is six polynomials of 2048 coefficients of 56 bits, 86,016
//! bytes.

mod block;
pub mod inspire;
pub mod pirouette;
mod print;
mod print_scaling;
mod quoted;
mod run;
pub mod scaling;
pub mod zip;

pub use block::{Block, Ours, Published, Scaling, Shared, Table};
pub use quoted::{ALL as ALL_QUOTED, Quoted, QuotedReport};
pub use run::{Bench, Row, TableReport, run};

/// All tables that papir reproduces, by paper. The benchmark `packing` is Table 5 of InsPIRe, and
/// `compress` is Tables 2 and 3 of ZipPIR.
pub const ALL: &[&[Table]] = &[inspire::TABLES, pirouette::TABLES, zip::TABLES];

/// The note of tables with schemes that papir does not implement.
pub const QUOTED: &str = "Rows without figures of papir's are quoted from the paper: none of these schemes was run here.";

/// All tables.
pub fn all() -> impl Iterator<Item = &'static Table> {
    ALL.iter().copied().flatten()
}

/// Returns the table with this name.
pub fn by_name(name: &str) -> Option<&'static Table> {
    all().find(|table| table.name == name)
}
