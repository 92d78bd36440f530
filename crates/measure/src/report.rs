//! Reports of measurements, as JSON objects or as a table.

use std::io::Write;

use serde::{Serialize, Serializer};

use crate::Result;
use papir_plan::units::bytes as display;

/// Results of one measurement. The crate's documentation explains the fields.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct Report {
    pub scheme: &'static str,
    pub records: u64,
    pub record_bytes: u64,
    pub threads: usize,
    pub backend: &'static str,
    pub read_gbps: f64,
    pub read_ms: f64,
    pub answer_ms: f64,
    pub reads: f64,
    pub stages: Stages,
    pub encode_s: f64,
    pub hint_s: f64,
    pub material_s: f64,
    pub offline_s: f64,
    pub keys_bytes: u64,
    pub query_bytes: u64,
    pub query_payload_bytes: u64,
    pub upload_bytes: u64,
    /// Largest number of records in a query.
    pub batch: usize,
    pub download_bytes: u64,
    pub hint_bytes: u64,
    pub material_bytes: u64,
    pub rss_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticket_bytes: Option<u64>,
    /// Bytes of a key that is sent ahead, and of its answer. It is null if no key was sent ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead_bytes: Option<u64>,
    /// Time of the server's answer to a key that is sent ahead. It is null if no key was sent
    /// ahead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ahead_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_cold_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_ready_ms: Option<f64>,
    pub query_ms: f64,
    pub extract_ms: f64,
    pub security_bits: Option<f64>,
    pub failure_log2: Option<f64>,
    pub correct: bool,
    /// Results for several clients on the same database.
    #[serde(flatten)]
    pub group: GroupReport,
}

/// Costs of answering several clients together. The crate's documentation explains the fields.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs)]
pub struct GroupReport {
    pub clients: usize,
    pub group_ms: f64,
    pub core_ms_per_lookup: f64,
    pub alone_ms: f64,
    pub effective_gbps: f64,
    pub floor_ms: f64,
    pub arithmetic_floor_ms: Option<f64>,
    pub once_bytes: u64,
    pub pages: Option<&'static str>,
}

/// Stages of an answer in order, with their times in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Stages(pub Vec<(String, f64)>);

impl Serialize for Stages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, ms)| (name, ms)))
    }
}

/// Row of the table: its title, and the function that formats a report's cell.
type ReportRow = (&'static str, fn(&Report) -> String);

const ROWS: &[ReportRow] = &[
    ("scheme", |r| r.scheme.to_owned()),
    ("records", |r| r.records.to_string()),
    ("record", |r| display(r.record_bytes)),
    ("threads", |r| r.threads.to_string()),
    ("backend", |r| r.backend.to_owned()),
    ("database read", |r| {
        format!("{} ({:.1} GiB/s)", milliseconds(r.read_ms), r.read_gbps)
    }),
    ("answer", |r| milliseconds(r.answer_ms)),
    ("reads", |r| format!("{:.2}", r.reads)),
    ("offline", |r| seconds(r.offline_s)),
    ("  encode", |r| seconds(r.encode_s)),
    ("  hint", |r| seconds(r.hint_s)),
    ("  material", |r| seconds(r.material_s)),
    ("keys", |r| display(r.keys_bytes)),
    ("query without keys", |r| display(r.query_bytes)),
    ("query payload", |r| display(r.query_payload_bytes)),
    ("upload", |r| display(r.upload_bytes)),
    ("records per query", |r| r.batch.to_string()),
    ("download", |r| display(r.download_bytes)),
    ("hint size", |r| display(r.hint_bytes)),
    ("material", |r| display(r.material_bytes)),
    ("resident memory", |r| {
        r.rss_bytes.map_or("-".to_owned(), display)
    }),
    ("ticket preparation", |r| {
        r.ticket_s.map_or("-".to_owned(), seconds)
    }),
    ("ticket size", |r| {
        r.ticket_bytes.map_or("-".to_owned(), display)
    }),
    ("sent ahead", |r| {
        r.ahead_bytes.map_or("-".to_owned(), display)
    }),
    ("answered ahead", |r| {
        r.ahead_ms.map_or("-".to_owned(), milliseconds)
    }),
    ("client precomputation", |r| {
        r.client_cold_s.map_or("-".to_owned(), seconds)
    }),
    ("client query", |r| milliseconds(r.query_ms)),
    ("client extraction", |r| milliseconds(r.extract_ms)),
    ("security", |r| {
        r.security_bits
            .map_or("none".to_owned(), |bits| format!("{bits:.1} bits"))
    }),
    ("failure", |r| {
        r.failure_log2
            .map_or("never".to_owned(), |log2| format!("2^{log2:.1}"))
    }),
    ("clients", |r| r.group.clients.to_string()),
    ("answers together", |r| milliseconds(r.group.group_ms)),
    ("core time of each", |r| {
        milliseconds(r.group.core_ms_per_lookup)
    }),
    ("effective read", |r| {
        format!("{:.1} GiB/s", r.group.effective_gbps)
    }),
    ("floor, memory", |r| milliseconds(r.group.floor_ms)),
    ("floor, arithmetic", |r| {
        r.group
            .arithmetic_floor_ms
            .map_or("-".to_owned(), milliseconds)
    }),
    ("fetched once", |r| display(r.group.once_bytes)),
    ("pages", |r| r.group.pages.unwrap_or("-").to_owned()),
    ("correct", |r| {
        if r.correct { "yes" } else { "NO" }.to_owned()
    }),
];

/// Title of the row after which the stages of an answer are inserted.
const BEFORE_STAGES: &str = "answer";

fn milliseconds(value: f64) -> String {
    if value < 0.1 {
        format!("{:.1} µs", 1e3 * value)
    } else {
        format!("{value:.2} ms")
    }
}

fn seconds(value: f64) -> String {
    format!("{value:.2} s")
}

/// Returns a line for each stage that occurs in a report.
fn stage_lines(reports: &[Report]) -> Vec<Vec<String>> {
    // Reports of different schemes have different stages, and a stage may occur several times: each
    // name gets one line, where it first occurs.
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in reports.iter().flat_map(|report| &report.stages.0) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }

    let mut lines = Vec::with_capacity(names.len());
    for name in names {
        let mut line = vec![format!("  {name}")];
        line.extend(reports.iter().map(|report| stage_cell(report, name)));
        lines.push(line);
    }
    lines
}

/// Returns the time of a stage in a report, or a dash if it does not occur.
fn stage_cell(report: &Report, name: &str) -> String {
    let stage = report.stages.0.iter().find(|stage| stage.0 == name);
    stage.map_or("-".to_owned(), |stage| milliseconds(stage.1))
}

/// Writes one table with a column for each report.
///
/// # Errors
/// The I/O errors of `out`.
pub fn write_table(out: &mut dyn Write, reports: &[Report]) -> Result<()> {
    let mut lines: Vec<Vec<String>> = Vec::new();
    for (name, cell) in ROWS {
        lines.push(
            std::iter::once((*name).to_owned())
                .chain(reports.iter().map(cell))
                .collect(),
        );
        if *name == BEFORE_STAGES {
            lines.extend(stage_lines(reports));
        }
    }
    write_columns(out, &lines)
}

/// Writes a value as one line of JSON.
///
/// # Errors
/// The I/O errors of `out`, and [`Error::Json`](crate::Error).
pub fn write_json(out: &mut dyn Write, value: &impl Serialize) -> Result<()> {
    writeln!(out, "{}", serde_json::to_string(value)?)?;
    Ok(())
}

/// Converts titles to cells.
pub fn titles(titles: &[&str]) -> Vec<String> {
    titles.iter().map(|title| (*title).to_owned()).collect()
}

/// Writes lines as aligned columns. All lines must have the same number of cells.
///
/// # Errors
/// The I/O errors of `out`.
pub fn write_columns(out: &mut dyn Write, lines: &[Vec<String>]) -> Result<()> {
    let columns = lines.first().map_or(0, Vec::len);
    let widths: Vec<usize> = (0..columns).map(|i| width(lines, i)).collect();

    for line in lines {
        let cells: Vec<String> = line
            .iter()
            .zip(&widths)
            .map(|(cell, &width)| format!("{cell:width$}"))
            .collect();
        // The last column is not padded.
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

/// Writes a header and rows as aligned columns. All must have the same number of cells.
///
/// # Errors
/// The I/O errors of `out`.
pub fn write_rows(
    out: &mut dyn Write,
    header: Vec<String>,
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Result<()> {
    let lines: Vec<Vec<String>> = std::iter::once(header).chain(rows).collect();
    write_columns(out, &lines)
}

/// Returns the number of characters in the widest cell of column `i`.
fn width(lines: &[Vec<String>], i: usize) -> usize {
    lines
        .iter()
        .map(|line| line[i].chars().count())
        .max()
        .unwrap_or_default()
}
