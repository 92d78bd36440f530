//! The papers' figures with papir's points, as a table or a plot.
//!
//! A figure shows rows of tables ([`crate::tables`]), which are measured or predicted. The papers
//! print no numbers in figures, so their points come from the tables that the figures are based on.

pub mod plot;
mod points;

use std::sync::LazyLock;

pub use points::{FigureReport, Point, Source, run};

use crate::Result;
use crate::printed::{DataFault, Once, once};
use crate::tables::{Block, blocks_of, phases};

/// Kinds of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlotKind {
    /// One point per configuration: total communication against server time.
    Scatter,
    /// Two stacked bars per configuration, one of message sizes and one of the parts of the server
    /// time, by N/t if known.
    Breakdown,
}

/// A figure of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The name on the command line.
    pub name: &'static str,
    /// Its number in the paper, and its content.
    pub what: &'static str,
    /// Differences from the paper's figure.
    pub notes: &'static [&'static str],
    /// The kind of plot.
    pub kind: PlotKind,
    /// The rows it shows, with one colour or panel per block.
    pub blocks: &'static [Block],
    /// Maps papir's stages to the paper's parts: (stage, part). Other stages keep their names.
    pub stages: &'static [(&'static str, &'static str)],
}

static FIGURES: Once<Figure> = LazyLock::new(read);

/// All figures that papir reproduces.
///
/// # Errors
/// [`crate::Error::Usage`] for a fault of the files of printed figures.
pub fn all() -> Result<&'static [Figure]> {
    Ok(once(&FIGURES)?)
}

/// Defines the figures by blocks of tables.
fn read() -> Result<Vec<Figure>, DataFault> {
    let schemes = at_1_gb(&["inspire-2", "inspire-4"])?;
    let two_levels = at_1_gb(&["inspire-8"])?;
    let interpolation = at_1_gb(&["inspire-9"])?;
    let phases = phases()?.leak();

    Ok(vec![
        Figure {
            name: "inspire-1",
            what: "InsPIRe, Figure 1: communication and server time at 1 GB, entries of 1 bit and 32 KB",
            notes: &[],
            kind: PlotKind::Scatter,
            blocks: schemes,
            stages: &[],
        },
        Figure {
            name: "inspire-2",
            what: "InsPIRe, Figure 2: parts of InsPIRe(2) at 1 GB by N/t, entries of 32 B, 64 B and 128 B",
            notes: &[],
            kind: PlotKind::Breakdown,
            blocks: two_levels,
            stages: &[
                ("select", "first product"),
                ("pack_first", "first packing"),
                // Includes the second product of the digits known in advance.
                ("pack_second", "second packing"),
                // Includes the second product of the other digits.
                ("pack_online", "third packing"),
            ],
        },
        Figure {
            name: "inspire-3",
            what: "InsPIRe, Figure 3: parts of InsPIRe at 1 GB by N/t, entries of 1 bit, 64 B and 32 KB",
            notes: &[],
            kind: PlotKind::Breakdown,
            blocks: interpolation,
            stages: &[
                ("select", "matrix product"),
                ("pack", "packing"),
                ("evaluate", "polynomial"),
            ],
        },
        answer_phases(phases),
    ])
}

/// Defines the figure that papir has instead of Pirouette's Figure 3.
fn answer_phases(blocks: &'static [Block]) -> Figure {
    Figure {
        name: "pirouette-3",
        what: "Pirouette, in place of Figure 3: phases of a whole answer, records of 256 B, 256 MB and 8 GB",
        notes: &[
            "The paper's Figure 3 breaks down phase 0 alone, and prints no numbers: papir-papers pirouette-phase0 measures phase 0. The paper's times here are those of whole answers in Table 6.",
        ],
        kind: PlotKind::Breakdown,
        blocks,
        stages: &[
            ("bits", "bit decomposition"),
            ("gates", "LWE to RGSW"),
            ("first", "first dimension"),
        ],
    }
}

/// The blocks of 1 GB in some tables.
fn at_1_gb(tables: &[&str]) -> Result<&'static [Block], DataFault> {
    Ok(blocks_of("1 GB", tables)?.leak())
}

/// Returns the figure with this name.
///
/// # Errors
/// The errors of [`all`].
pub fn by_name(name: &str) -> Result<Option<&'static Figure>> {
    Ok(all()?.iter().find(|figure| figure.name == name))
}
