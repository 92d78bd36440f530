//! Printed form of times on several threads, throughput and ratios of query sizes.

use std::io::Write;

use papir_measure::report::{titles, write_columns};

use super::scaling::{How, SMALLEST, Scaled};
use super::{Row, Shared};
use crate::Result;

/// Writes the times of rows with a scaling as a table, and the ratios of query sizes as another.
///
/// # Errors
/// I/O errors from `out`.
pub(super) fn write(out: &mut dyn Write, rows: &[Row]) -> Result<()> {
    let scaled: Vec<(&Row, &Scaled)> = rows
        .iter()
        .filter_map(|row| Some((row, row.scaled.as_ref()?)))
        .collect();
    let Some((_, first)) = scaled.first() else {
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
    header.extend([
        format!("{} threads s", first.threads),
        "speed-up".to_owned(),
    ]);
    header.extend(titles(&[
        "on as many threads as cores, predicted s",
        "speed-up",
        "MB/s",
        "papir's figures",
    ]));
    let lines: Vec<_> = std::iter::once(header)
        .chain(scaled.iter().map(|one| time_cells(*one, &scaled)))
        .collect();
    write_columns(out, &lines)?;
    writeln!(
        out,
        "\nQuery bytes without envelopes, and how many times Pirouette's they are (Table 7)"
    )?;
    let header = titles(&["database", "scheme", "paper", "factor", "papir", "factor"]);
    let queries = scaled
        .iter()
        .filter(|(_, scaled)| scaled.paper_reduction.is_some());
    let lines: Vec<_> = std::iter::once(header)
        .chain(queries.map(|one| query_cells(*one, &scaled)))
        .collect();
    write_columns(out, &lines)
}

/// A number of seconds, or a dash.
fn seconds(milliseconds: Option<f64>) -> String {
    milliseconds.map_or("-".to_owned(), |ms| format!("{:.2}", ms / 1e3))
}

fn ratio(one: Option<f64>, other: Option<f64>) -> String {
    one.zip(other).map_or("-".to_owned(), |(one, other)| {
        format!("{:.1}x", one / other)
    })
}

fn time_cells((row, scaled): (&Row, &Scaled), all: &[(&Row, &Scaled)]) -> Vec<String> {
    let throughput = |milliseconds: Option<f64>| {
        let mebibytes = scaled.database_bytes as f64 / f64::from(1 << 20);
        milliseconds.map_or("-".to_owned(), |ms| format!("{:.0}", 1e3 * mebibytes / ms))
    };
    // The same scheme on one core.
    let alone = all.iter().find(|(other, one)| {
        other.database == row.database
            && one.shared == Shared::Nothing
            && (&one.configuration, one.blocks) == (&scaled.configuration, scaled.blocks)
    });
    let parallel = scaled.shared != Shared::Nothing;
    let paper_alone = alone.map(|(_, one)| one.paper_ms).filter(|_| parallel);
    let shared = match scaled.shared {
        Shared::Nothing => "-",
        Shared::PhaseZero => "phase 0",
        Shared::Everything => "all",
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
        throughput(Some(scaled.paper_ms)),
        seconds(scaled.one_ms),
        throughput(scaled.one_ms),
        seconds(scaled.all_ms),
        ratio(scaled.one_ms, scaled.all_ms),
        seconds(scaled.cores_ms),
        ratio(scaled.one_ms, scaled.cores_ms),
        throughput(scaled.cores_ms),
        how.to_owned(),
    ]
}

fn query_cells((row, scaled): (&Row, &Scaled), all: &[(&Row, &Scaled)]) -> Vec<String> {
    let smallest = all.iter().find(|(other, one)| {
        other.database == row.database && one.configuration.starts_with(&format!("{SMALLEST},"))
    });
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64);
    vec![
        row.database.to_owned(),
        row.scheme.to_owned(),
        row.paper_kb.map_or("-".to_owned(), |[_, query, _]| {
            format!("{:.0} B", 1024.0 * query)
        }),
        scaled
            .paper_reduction
            .map_or("-".to_owned(), |factor| format!("{factor}x")),
        scaled
            .query_bytes
            .map_or("-".to_owned(), |bytes| format!("{bytes} B")),
        ratio(
            bytes(scaled.query_bytes),
            bytes(smallest.and_then(|(_, one)| one.query_bytes)),
        ),
    ]
}
