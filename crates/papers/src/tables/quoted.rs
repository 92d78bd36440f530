//! Quoted tables of properties: Table 1 of three papers.

use std::io::Write;

use papir_measure::report::{titles, write_columns};
use serde::Serialize;

use crate::Result;

/// A table that is quoted whole.
#[derive(Clone, Copy, Debug)]
pub struct Quoted {
    /// The name on the command line.
    pub name: &'static str,
    /// Its number in the paper, and what it compares.
    pub what: &'static str,
    /// The columns' titles.
    pub columns: &'static [&'static str],
    /// The rows' cells.
    pub rows: &'static [&'static [&'static str]],
    /// Explanations for the reader.
    pub notes: &'static [&'static str],
}

/// The content of a quoted table.
#[derive(Clone, Debug, Serialize)]
pub struct QuotedReport {
    /// Its name.
    pub name: &'static str,
    /// Its number in the paper, and what it compares.
    pub what: &'static str,
    /// Explanations for the reader.
    pub notes: Vec<String>,
    /// The columns' titles.
    pub columns: Vec<String>,
    /// The rows' cells.
    pub rows: Vec<Vec<String>>,
}

/// All quoted tables.
pub const ALL: &[Quoted] = &[ZIP_1, DEPIR_1, NEWTON_1];

/// The note of every quoted table.
const NOT_RUN: &str = "All figures are quoted from the paper: none of these schemes was run here.";

const ZIP_1: Quoted = Quoted {
    name: "zip-1",
    what: "ZipPIR, Table 1: kinds of PIR on a database of 1 GB (quoted)",
    columns: &[
        "",
        "PIR with keys",
        "stateful PIR",
        "SimplePIR",
        "Piano",
        "ZipPIR",
    ],
    rows: &[
        &["client-side storage", "-", "1 MB", "128 MB", "66 MB", "-"],
        &[
            "offline communication",
            "600 KB to 13 MB",
            "1 GB",
            "128 MB",
            "1 GB",
            "400 B",
        ],
        &[
            "throughput",
            "< 1 GB/s",
            "< 500 MB/s",
            "10 GB/s",
            "126 GB/s",
            "3 GB/s",
        ],
    ],
    notes: &[
        "Stateful PIR is extrapolated by the paper. Clients with keys, and of ZipPIR, store a secret key.",
        "papir's ZipPIR and SimplePIR on 1 GB: papir bench --compare zip,simple --record-bytes 16KiB",
    ],
};

const DEPIR_1: Quoted = Quoted {
    name: "depir-1",
    what: "Doubly-efficient PIR, Table 1: asymptotic costs of single-server PIR, without logarithms (quoted)",
    columns: &[
        "",
        "offline computation",
        "storage",
        "offline, each client",
        "communication",
        "hint",
        "online computation",
        "communication",
    ],
    rows: &[
        &["stateless, classical", "N", "N", "-", "-", "-", "N", "√N"],
        &[
            "stateless, state of the art",
            "N",
            "N",
            "-",
            "-",
            "-",
            "N",
            "1",
        ],
        &["stateful, classical", "N", "N", "N", "N", "√N", "√N", "√N"],
        &[
            "stateful, state of the art",
            "N",
            "N",
            "N",
            "√N",
            "√N",
            "√N",
            "1",
        ],
        &["DEPIR", "N", "N", "-", "-", "-", "1", "1"],
    ],
    notes: &[
        "papir's lookups in tables, and what they cost: papir-papers depir --set tiny --tabulated all",
    ],
};

const NEWTON_1: Quoted = Quoted {
    name: "newton-1",
    what: "NewtonPIR, Table 1: communication of single-server PIR (quoted)",
    columns: &["scheme", "hardness", "communication", "batches"],
    rows: &[
        &["SealPIR", "RLWE", "√N", "no"],
        &["MulPIR", "RLWE", "√N", "no"],
        &["FastPIR", "RLWE", "N", "no"],
        &["OnionPIR", "RLWE", "log N", "yes"],
        &["Spiral", "RLWE", "log N", "no"],
        &["SimplePIR", "LWE", "√N", "no"],
        &["Yi et al.", "approximate GCD", "log N", "no"],
        &["NewtonPIR", "RSA", "1", "yes"],
    ],
    notes: &["NewtonPIR is NOT PRIVATE, whatever the hardness of RSA: papir attack newton."],
};

impl Quoted {
    /// The table's content.
    pub fn report(&self) -> QuotedReport {
        let notes = self
            .notes
            .iter()
            .chain([&NOT_RUN])
            .map(|note| (*note).to_owned());
        let rows = self.rows.iter().map(|row| titles(row));

        let Self { name, what, .. } = *self;

        QuotedReport {
            name,
            what,
            notes: notes.collect(),
            columns: titles(self.columns),
            rows: rows.collect(),
        }
    }
}

impl QuotedReport {
    /// Writes the table, followed by its notes.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn Write) -> Result<()> {
        writeln!(out, "{}", self.what)?;
        let header = std::iter::once(self.columns.clone());
        let lines: Vec<_> = header.chain(self.rows.iter().cloned()).collect();
        write_columns(out, &lines)?;

        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        Ok(())
    }
}
