//! The points of a figure, from rows of tables.

use std::io::Write;

use papir_measure::cost::{Cost, Status};
use papir_measure::report::{Stages, titles, write_rows};
use serde::Serialize;

use super::{Figure, PlotKind};
use crate::Result;
use crate::tables::{Bench, TableRow};

/// The origin of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Printed in the paper.
    Paper,
    /// Measured or predicted for papir.
    Papir,
}

/// One configuration of one scheme.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// The entry size, in the paper's words.
    pub entry: &'static str,
    /// The scheme, in the paper's words.
    pub scheme: &'static str,
    /// N/t, if known.
    pub columns: Option<u64>,
    /// The origin of the figures.
    pub source: Source,
    /// "printed" for the paper's points, [`Status::label`] for papir's.
    pub how: &'static str,
    /// Keys, query and download in KB of 1024 bytes; the download includes what papir's clients
    /// fetch once per version.
    pub kb: Option<[f64; 3]>,
    /// Their sum.
    pub total_kb: f64,
    /// The parts of the server time in ms; a single part if they are not known.
    pub stages: Stages,
    /// The server time in ms.
    pub server_ms: f64,
}

/// A whole figure.
#[derive(Clone, Debug, Serialize)]
pub struct FigureReport {
    /// Its name.
    pub figure: &'static str,
    /// Its number in the paper, and its content.
    pub what: String,
    /// Differences from the paper's figure.
    pub notes: Vec<String>,
    /// The kind of plot.
    #[serde(skip)]
    pub kind: PlotKind,
    /// Origin of the rates used for predictions.
    pub rates: String,
    /// papir's configurations without a point, each with the reason.
    pub missing: Vec<String>,
    /// True if every returned record was correct.
    pub correct: bool,
    /// Its points.
    pub points: Vec<Point>,
}

/// papir's stages below this fraction of an answer are combined as `other`.
const SMALL: f64 = 0.02;

/// Computes the points of a figure.
///
/// # Errors
/// Errors of the measurement.
pub fn run(figure: &Figure, bench: &mut Bench<'_>) -> Result<FigureReport> {
    let mut rows = Vec::new();
    for block in figure.blocks {
        rows.extend(bench.rows(block)?);
    }

    Ok(FigureReport {
        figure: figure.name,
        what: figure.what.to_owned(),
        notes: titles(figure.notes),
        kind: figure.kind,
        rates: bench.rates().to_owned(),
        missing: rows.iter().filter_map(missing).collect(),
        correct: !rows
            .iter()
            .filter_map(|row| row.papir.cost())
            .any(|cost| cost.correct == Some(false)),
        points: rows.iter().flat_map(|row| points(figure, row)).collect(),
    })
}

/// The paper's point of a row, and papir's, which rows without a time do not have.
fn points(figure: &Figure, row: &TableRow) -> Vec<Point> {
    let paper = Point {
        entry: row.entry,
        scheme: row.scheme,
        columns: row.columns,
        source: Source::Paper,
        how: "printed",
        kb: row.paper_kb,
        total_kb: row.paper_total_kb,
        stages: row.paper_stages.clone(),
        server_ms: row.paper_server_ms,
    };

    // The paper's point is drawn also without papir's; the report says why there is none.
    let Some(cost) = row.papir.cost() else {
        return vec![paper];
    };
    let Some(server_ms) = cost.server_ms else {
        return vec![paper];
    };

    let ours = Point {
        source: Source::Papir,
        how: row.papir.label(),
        kb: Some(kb(cost)),
        total_kb: cost.total_kib,
        stages: stages(figure, cost, server_ms),
        server_ms,
        ..paper.clone()
    };
    vec![paper, ours]
}

/// Keys, query and download (including the hint), in KB of 1024 bytes.
fn kb(cost: &Cost) -> [f64; 3] {
    [
        cost.keys_bytes,
        cost.query_bytes,
        cost.download_bytes + cost.hint_bytes,
    ]
    .map(|b| b as f64 / 1024.0)
}

/// papir's stages under the names of the paper's parts, with small ones combined. A predicted cost
/// has the single stage "predicted".
fn stages(figure: &Figure, cost: &Cost, server_ms: f64) -> Stages {
    if cost.stages.0.is_empty() {
        return Stages(vec![("predicted".to_owned(), server_ms)]);
    }

    let mut parts: Vec<(String, f64)> = Vec::new();
    for (stage, milliseconds) in &cost.stages.0 {
        // The paper's names, so that parts of both bars have one colour.
        let known = figure
            .stages
            .iter()
            .find(|known| known.0 == stage.as_str())
            .map(|known| known.1);
        // Slivers of a bar have no room, and their names would fill the legend.
        let own = if *milliseconds < SMALL * server_ms {
            "other"
        } else {
            stage.as_str()
        };

        let name = known.unwrap_or(own);
        match parts.iter_mut().find(|part| part.0 == name) {
            Some(part) => part.1 += milliseconds,
            None => parts.push((name.to_owned(), *milliseconds)),
        }
    }

    // Last, so that a bar shows it above the named parts.
    parts.sort_by_key(|part| part.0 == "other");
    Stages(parts)
}

/// Describes why papir has no point for a row; `None` if it has one, or no configuration.
fn missing(row: &TableRow) -> Option<String> {
    // A scheme that papir does not have is not missing.
    let configuration = row.configuration.as_ref()?;
    let reason = match &row.papir {
        Status::NoParameters { reason } => reason,
        Status::Predicted(Cost {
            server_ms: None, ..
        }) => "the cost model does not count its work",
        papir if papir.cost().is_none() => papir.label(),
        _ => return None,
    };
    Some(format!("{}, {configuration}: {reason}", row.entry))
}

const HEADER: [&str; 10] = [
    "entry",
    "scheme",
    "N/t",
    "figures",
    "keys KB",
    "query",
    "download",
    "total",
    "server ms",
    "parts",
];

impl FigureReport {
    /// Writes the points as a table.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn Write) -> Result<()> {
        write_rows(out, titles(&HEADER), self.points.iter().map(Point::cells))?;

        for note in &self.notes {
            writeln!(out, "{note}")?;
        }
        if self.points.iter().any(|point| point.how == "predicted") {
            writeln!(out, "Predicted with rates {}.", self.rates)?;
        }
        for missing in &self.missing {
            writeln!(out, "No point for {missing}")?;
        }
        Ok(())
    }
}

fn dash() -> String {
    "-".to_owned()
}

impl Point {
    fn cells(&self) -> Vec<String> {
        let [keys, query, download] = self.kb.map_or_else(
            || [dash(), dash(), dash()],
            |kb| kb.map(|kb| format!("{kb:.1}")),
        );

        let figures = match self.source {
            Source::Paper => "paper".to_owned(),
            Source::Papir => format!("papir, {}", self.how),
        };

        let parts: Vec<String> = self
            .stages
            .0
            .iter()
            .map(|(name, ms)| format!("{name} {ms:.1}"))
            .collect();

        vec![
            self.entry.to_owned(),
            self.scheme.to_owned(),
            self.columns
                .map_or_else(dash, |columns| columns.to_string()),
            figures,
            keys,
            query,
            download,
            format!("{:.1}", self.total_kb),
            format!("{:.1}", self.server_ms),
            parts.join(", "),
        ]
    }
}
