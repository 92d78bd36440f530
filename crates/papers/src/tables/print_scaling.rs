//! Printed form of times on several threads, throughput and ratios of query sizes.

use std::io::Write;

use papir_core::{envelope, short};
use papir_measure::report::{titles, write_rows};

use super::scaling::{How, SMALLEST, Scaled};
use super::{SharedWork, TableRow};
use crate::Result;

/// A row with a scaling.
#[derive(Clone, Copy)]
struct ScalingRow<'a> {
    row: &'a TableRow,
    scaled: &'a Scaled,
}

/// Writes the times of rows with a scaling as a table, and the ratios of query sizes as another.
pub(super) fn write(out: &mut dyn Write, rows: &[TableRow]) -> Result<()> {
    let mut scaled = Vec::new();
    for row in rows {
        if let Some(times) = &row.scaled {
            scaled.push(ScalingRow { row, scaled: times });
        }
    }
    // Most tables compare no numbers of cores, and have no second part.
    let Some(first) = scaled.first() else {
        return Ok(());
    };

    writeln!(
        out,
        "\nThreads and throughput (Tables 5 and 6); MB = 2^20 bytes"
    )?;

    let mut header = titles(&[
        "database",
        "scheme",
        "cores share",
        "paper: cores",
        "s",
        "speed-up",
        "MB/s",
    ]);
    header.extend(titles(&["papir: 1 thread s", "MB/s"]));
    // The number of threads is this machine's, so the title has it.
    header.extend([
        format!("{} threads s", first.scaled.threads),
        "speed-up".to_owned(),
    ]);
    header.extend(titles(&[
        "on as many threads as cores, predicted s",
        "speed-up",
        "MB/s",
        "papir's figures",
    ]));

    let times = scaled.iter().map(|one| time_cells(*one, &scaled));
    write_rows(out, header, times)?;

    writeln!(
        out,
        "\nQuery bytes alone, and how many times Pirouette's they are (Table 7); then papir's on the wire, to which HTTP adds its headers"
    )?;

    let header = titles(&[
        "database",
        "scheme",
        "paper",
        "factor",
        "papir",
        "factor",
        "in a short message",
        "in an envelope",
    ]);
    // The others are Pirouette's own, and those on several cores, which send the same queries.
    let queries = scaled
        .iter()
        .filter(|line| line.scaled.paper_reduction.is_some());
    let queries = queries.map(|one| query_cells(*one, &scaled));
    write_rows(out, header, queries)
}

/// A number of seconds, or a dash.
fn seconds(milliseconds: Option<f64>) -> String {
    milliseconds.map_or("-".to_owned(), |ms| format!("{:.2}", ms / 1e3))
}

/// papir's time in seconds, marked if it is an estimate, or a dash.
fn own_seconds(scaled: &Scaled, milliseconds: Option<f64>) -> String {
    let cell = seconds(milliseconds);
    match scaled.how {
        How::Estimated if milliseconds.is_some() => format!("~{cell}"),
        _ => cell,
    }
}

fn ratio(one: Option<f64>, other: Option<f64>) -> String {
    one.zip(other).map_or("-".to_owned(), |(one, other)| {
        format!("{:.1}x", one / other)
    })
}

/// MiB of the database per second.
fn throughput(database_bytes: u64, milliseconds: Option<f64>) -> String {
    let mebibytes = database_bytes as f64 / f64::from(1 << 20);
    milliseconds.map_or("-".to_owned(), |ms| format!("{:.0}", 1e3 * mebibytes / ms))
}

fn time_cells(line: ScalingRow<'_>, all: &[ScalingRow<'_>]) -> Vec<String> {
    let ScalingRow { row, scaled } = line;
    let bytes = scaled.database_bytes;

    // The same scheme on one core.
    let alone = all.iter().find(|other| {
        let one = other.scaled;
        other.row.database == row.database
            && one.shared == SharedWork::Nothing
            && (&one.configuration, one.blocks) == (&scaled.configuration, scaled.blocks)
    });
    // A speed-up of one core over itself would say nothing.
    let parallel = scaled.shared != SharedWork::Nothing;
    let paper_alone = alone.map(|one| one.scaled.paper_ms).filter(|_| parallel);

    let shared = match scaled.shared {
        SharedWork::Nothing => "-",
        SharedWork::PhaseZero => "phase 0",
        SharedWork::Everything => "all",
    };
    let how = match scaled.how {
        How::Measured => "measured",
        How::Predicted => "predicted",
        How::Estimated => "estimated",
    };

    vec![
        row.database.to_owned(),
        row.scheme.to_owned(),
        shared.to_owned(),
        scaled.cores.to_string(),
        seconds(Some(scaled.paper_ms)),
        ratio(paper_alone, Some(scaled.paper_ms)),
        throughput(bytes, Some(scaled.paper_ms)),
        own_seconds(scaled, scaled.one_ms),
        throughput(bytes, scaled.one_ms),
        own_seconds(scaled, scaled.all_ms),
        ratio(scaled.one_ms, scaled.all_ms),
        own_seconds(scaled, scaled.cores_ms),
        ratio(scaled.one_ms, scaled.cores_ms),
        throughput(bytes, scaled.cores_ms),
        how.to_owned(),
    ]
}

fn query_cells(line: ScalingRow<'_>, all: &[ScalingRow<'_>]) -> Vec<String> {
    let ScalingRow { row, scaled } = line;
    // Pirouette's queries are the smallest, and the unit of the factors.
    let smallest = all.iter().find(|other| {
        other.row.database == row.database
            && other
                .scaled
                .configuration
                .starts_with(&format!("{SMALLEST},"))
    });
    let query_bytes = scaled.query_bytes.map(|bytes| bytes as f64);
    let smallest_bytes = smallest
        .and_then(|one| one.scaled.query_bytes)
        .map(|bytes| bytes as f64);

    vec![
        row.database.to_owned(),
        row.scheme.to_owned(),
        row.paper_kb.map_or("-".to_owned(), |[_, query, _]| {
            format!("{:.0} B", 1024.0 * query)
        }),
        scaled
            .paper_reduction
            .map_or("-".to_owned(), |factor| format!("{factor}x")),
        sent(scaled.query_bytes, 0),
        ratio(query_bytes, smallest_bytes),
        sent(scaled.query_bytes, short::OVERHEAD),
        sent(scaled.query_bytes, envelope::OVERHEAD),
    ]
}

/// The bytes of a query with those around it, or a dash.
fn sent(query_bytes: Option<u64>, around: usize) -> String {
    query_bytes.map_or("-".to_owned(), |bytes| {
        format!("{} B", bytes + around as u64)
    })
}
