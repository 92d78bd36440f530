//! Every scheme on one database, beside what papers print for it.

use papir_core::Shape;
use papir_measure::field::{FieldReport, PrintedRow};
use papir_measure::report::Stages;

use crate::figures::{FigureReport, PlotKind, Point, Source};
use crate::{Result, tables};

/// Entries of the plot: colours of schemes that are private, and of others.
const PRIVATE: &str = "private";
const NOT_PRIVATE: &str = "NOT private";

/// Rows of all tables for databases of this shape.
///
/// # Errors
/// The errors of [`tables::all`].
pub fn printed(shape: Shape) -> Result<Vec<PrintedRow>> {
    let mut printed = Vec::new();

    for table in tables::all()? {
        for block in table.blocks {
            // A longer record would cost more: only figures of the very shape are beside papir's.
            if (block.entries, block.entry_bits) != (shape.records(), shape.record_bits()) {
                continue;
            }
            let rows = block.published.iter().filter(|row| !row.repeated);
            printed.extend(rows.map(|row| PrintedRow {
                table: table.what.split(':').next().unwrap_or(table.what),
                scheme: row.scheme,
                total_kib: row.total_kb,
                server_ms: row.server_ms,
            }));
        }
    }
    Ok(printed)
}

/// The scatter plot of bytes against server time.
pub fn figure(report: &FieldReport) -> FigureReport {
    let ours = report.schemes.iter().filter_map(|entry| {
        let cost = entry.status.cost()?;
        // The colours of a figure's entry sizes serve for privacy here: all points have one size.
        let shade = if entry.private { PRIVATE } else { NOT_PRIVATE };
        Some(Point {
            entry: shade,
            scheme: entry.scheme,
            source: Source::Papir,
            total_kb: cost.total_kib,
            server_ms: cost.server_ms?,
            ..BLANK
        })
    });
    let theirs = report.papers.iter().flatten().map(|row| Point {
        scheme: row.scheme,
        total_kb: row.total_kib,
        server_ms: row.server_ms,
        ..BLANK
    });

    FigureReport {
        figure: "all",
        what: format!(
            "{}, {} thread(s), {}",
            report.database(),
            report.threads,
            report.backend
        ),
        notes: Vec::new(),
        kind: PlotKind::Scatter,
        rates: report.rates.clone(),
        missing: Vec::new(),
        correct: report.correct(),
        // papir's points last, above those of the papers.
        points: theirs.chain(ours).collect(),
    }
}

/// A point of a paper without figures.
const BLANK: Point = Point {
    entry: PRIVATE,
    scheme: "",
    columns: None,
    source: Source::Paper,
    how: "",
    kb: None,
    total_kb: 0.0,
    stages: Stages(Vec::new()),
    server_ms: 0.0,
};
