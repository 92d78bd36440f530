//! The papers' figures with papir's points, as a table or a plot.
//!
//! A figure shows rows of tables ([`crate::tables`]), which are measured or predicted. The papers
//! print no numbers in figures, so their points come from the tables that the figures are based on.

pub mod plot;
mod points;

pub use points::{FigureReport, Point, Source, run};

use crate::tables::Block;
use crate::tables::inspire::{TABLE_2, TABLE_4, TABLE_8, TABLE_9};
use crate::tables::pirouette::PHASES;

/// Kinds of plots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
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
    /// The kind of plot.
    pub kind: Kind,
    /// The rows it shows, with one colour or panel per block.
    pub blocks: &'static [Block],
    /// Maps papir's stages to the paper's parts: (stage, part). Other stages keep their names.
    pub stages: &'static [(&'static str, &'static str)],
}

/// All figures that papir reproduces.
pub const ALL: &[Figure] = &[
    Figure {
        name: "inspire-1",
        what: "InsPIRe, Figure 1: communication and server time at 1 GB, entries of 1 bit and 32 KB",
        kind: Kind::Scatter,
        blocks: &[TABLE_2.blocks[0], TABLE_4.blocks[0]],
        stages: &[],
    },
    Figure {
        name: "inspire-2",
        what: "InsPIRe, Figure 2: parts of InsPIRe(2) at 1 GB by N/t, entries of 32 B, 64 B and 128 B",
        kind: Kind::Breakdown,
        blocks: &[TABLE_8.blocks[0], TABLE_8.blocks[1], TABLE_8.blocks[2]],
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
        kind: Kind::Breakdown,
        blocks: &[TABLE_9.blocks[0], TABLE_9.blocks[1], TABLE_9.blocks[2]],
        stages: &[
            ("select", "matrix product"),
            ("pack", "packing"),
            ("evaluate", "polynomial"),
        ],
    },
    Figure {
        name: "pirouette-3",
        what: "Pirouette, Figure 3: phases of an answer, records of 256 B, 256 MB and 8 GB",
        kind: Kind::Breakdown,
        blocks: PHASES,
        stages: &[
            ("bits", "bit decomposition"),
            ("gates", "LWE to RGSW"),
            ("first", "first dimension"),
        ],
    },
];

/// Returns the figure with this name.
pub fn by_name(name: &str) -> Option<&'static Figure> {
    ALL.iter().find(|figure| figure.name == name)
}
