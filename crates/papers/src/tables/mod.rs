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
mod compared;
mod pirouette;
mod print;
mod print_scaling;
mod quoted;
mod run;
pub mod scaling;

use std::sync::LazyLock;

pub use block::{Block, Ours, Published, Scaling, SharedWork, Table};
pub use quoted::{Quoted, QuotedReport, quoted};
pub use run::{Bench, TableReport, TableRow, run};

pub(crate) use pirouette::phases;

use crate::Result;
use crate::printed::{DataFault, Once, once};

/// The note of tables with schemes that papir does not implement.
pub const QUOTED: &str = "Rows without figures of papir's are quoted from the paper: none of these schemes was run here.";

static TABLES: Once<Table> = LazyLock::new(compared::read);

/// All tables that papir reproduces, by paper. The benchmark `packing` is Table 5 of InsPIRe, and
/// `compress` is Tables 2 and 3 of ZipPIR.
///
/// # Errors
/// [`crate::Error::Usage`] for a fault of the files of printed figures.
pub fn all() -> Result<&'static [Table]> {
    Ok(once(&TABLES)?)
}

/// Returns the table with this name.
///
/// # Errors
/// The errors of [`all`].
pub fn by_name(name: &str) -> Result<Option<&'static Table>> {
    Ok(all()?.iter().find(|table| table.name == name))
}

/// The blocks of a database in some tables. A name that no table has is a fault.
pub(crate) fn blocks_of(database: &str, names: &[&str]) -> Result<Vec<Block>, DataFault> {
    let tables = once(&TABLES)?;
    for name in names {
        if !tables.iter().any(|table| table.name == *name) {
            return Err(DataFault::new(*name, "the name of a table"));
        }
    }

    let named = tables.iter().filter(|table| names.contains(&table.name));
    let blocks = named.flat_map(|table| table.blocks);
    Ok(blocks
        .filter(|block| block.database == database)
        .copied()
        .collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_a_table_that_does_not_exist_are_a_fault() {
        let fault = blocks_of("1 GB", &["inspire-2", "inspire-99"]).unwrap_err();
        assert_eq!(fault.found, "inspire-99");
        assert!(!blocks_of("1 GB", &["inspire-2"]).unwrap().is_empty());
    }
}
