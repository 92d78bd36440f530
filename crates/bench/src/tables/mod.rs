//! The papers' tables: their printed figures, and papir's beside them.
//!
//! Where a row names a configuration that papir has, it is measured on a database of that size; one
//! that exceeds `--size` or the machine's memory is predicted from the rates of the last measured one and
//! marked so. Sizes are exact either way.

pub mod inspire;
mod run;

pub use run::{Row, TableReport, run};

/// A table of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The name on the command line.
    pub name: &'static str,
    /// Where it stands, and what it compares.
    pub what: &'static str,
    /// Its databases.
    pub blocks: &'static [Block],
}

/// One database of a table, and the schemes that the paper compares on it.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// As the paper calls it.
    pub database: &'static str,
    /// Records.
    pub records: u64,
    /// Bytes of each.
    pub record_bytes: u64,
    /// The paper's columns.
    pub published: &'static [Published],
}

/// The paper's figures for one scheme and configuration.
#[derive(Clone, Copy, Debug)]
pub struct Published {
    /// The scheme, as the paper calls it.
    pub scheme: &'static str,
    /// papir's scheme and its first dimension N/t, where it has it.
    pub ours: Option<(&'static str, u64)>,
    /// Offline seconds.
    pub offline_s: f64,
    /// Upload and download in KB of 1024 bytes, keys included.
    pub total_kb: u64,
    /// The server's milliseconds.
    pub server_ms: f64,
}

/// All tables that papir reproduces.
pub const ALL: &[Table] = &[inspire::TABLE_3, inspire::TABLE_4];

/// The table of this name.
pub fn by_name(name: &str) -> Option<&'static Table> {
    ALL.iter().find(|table| table.name == name)
}
