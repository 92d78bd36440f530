//! Figures printed in the papers, read from `data/`.
//!
//! A figure is a cell of a paper's table, named by the table, the row and the column. The files
//! have each as printed, with its unit, and a reader asks for it in the unit that it needs. Each
//! file is checked when it is read: every figure has one cell, and no cell is named twice.

mod fault;
mod figures;
mod paper;

use std::sync::LazyLock;

pub use fault::DataFault;
pub use figures::RowFigures;
pub use paper::{
    Paper, PaperColumn, PaperConfiguration, PaperDatabase, PaperRow, PaperTable, PrintedCell, Role,
    TableListing,
};

use crate::Result;

/// InsPIRe, as its file names it.
pub(crate) const INSPIRE: &str = "InsPIRe";
/// Pirouette.
pub(crate) const PIROUETTE: &str = "Pirouette";
/// ZipPIR.
pub(crate) const ZIP: &str = "ZipPIR";
/// The paper on doubly-efficient PIR.
pub(crate) const DEPIR: &str = "Doubly-efficient PIR";
/// NewtonPIR.
pub(crate) const NEWTON: &str = "NewtonPIR";

/// The files, in the order in which `--list` names their tables.
const FILES: [(&str, &str); 5] = [
    ("inspire.toml", include_str!("../../data/inspire.toml")),
    ("pirouette.toml", include_str!("../../data/pirouette.toml")),
    ("zip.toml", include_str!("../../data/zip.toml")),
    ("depir.toml", include_str!("../../data/depir.toml")),
    ("newton.toml", include_str!("../../data/newton.toml")),
];

/// Data that is read once, or the reason why it cannot be read.
pub(crate) type Once<T> = LazyLock<Result<Vec<T>, DataFault>>;

static PAPERS: Once<Paper> = LazyLock::new(read);

fn read() -> Result<Vec<Paper>, DataFault> {
    let mut papers = Vec::with_capacity(FILES.len());
    for (file, text) in FILES {
        papers.push(Paper::parse(file, text)?);
    }
    Ok(papers)
}

/// The data of a static.
pub(crate) fn once<T>(data: &'static Once<T>) -> Result<&'static [T], DataFault> {
    match &**data {
        Ok(found) => Ok(found.as_slice()),
        // Each reader gets a fault of its own, since the first one stays in the static.
        Err(fault) => Err(fault.clone()),
    }
}

/// All papers.
///
/// # Errors
/// [`DataFault`] for a figure without its cell, or a cell that is named twice.
pub fn papers() -> Result<&'static [Paper], DataFault> {
    once(&PAPERS)
}

/// The table of a paper, as the paper numbers it.
///
/// # Errors
/// The errors of [`papers`]; [`DataFault`] if there is no such table.
pub fn table(paper: &str, table: &str) -> Result<&'static PaperTable, DataFault> {
    let found = papers()?
        .iter()
        .filter(|one| one.paper == paper)
        .flat_map(|one| &one.tables)
        .find(|one| one.table == table);

    found.ok_or_else(|| DataFault::new(format!("{paper}, {table}"), "a table of the data files"))
}
