//! Tables and lists for people.

use std::collections::BTreeSet;

use crate::{Spread, StyleMetric, StyleSummary, StyleSurvey};

/// A table of the figures of the whole, one in a row.
#[must_use]
pub fn whole(survey: &StyleSurvey) -> String {
    let summary = survey.summary();
    let mut rows = sizes(&summary);
    for metric in StyleMetric::ALL {
        rows.push(row(metric.title(), counted(&summary, *metric)));
    }
    table(&rows)
}

/// A table of what is counted, one crate in a row.
#[must_use]
pub fn crates(survey: &StyleSurvey) -> String {
    let titles = StyleMetric::ALL
        .iter()
        .map(|metric| metric.column().to_owned());
    let mut rows = vec![["crate".to_owned()].into_iter().chain(titles).collect()];
    for (name, summary) in survey.crates() {
        rows.push(counts(name, &summary));
    }
    rows.push(counts("all", &survey.summary()));
    table(&rows)
}

/// A line for each place that a metric counts, as `path:line name`. `None` if no metric has this
/// name.
#[must_use]
pub fn list(survey: &StyleSurvey, name: &str) -> Option<String> {
    let metrics: Vec<StyleMetric> = StyleMetric::ALL
        .iter()
        .copied()
        .filter(|metric| metric.name() == name)
        .collect();
    if metrics.is_empty() {
        return None;
    }

    let found = metrics.iter().flat_map(|metric| survey.offences(*metric));
    Some(
        found
            .map(|place| format!("{}:{} {}\n", place.path, place.line, place.name))
            .collect(),
    )
}

/// The names that [`list`] knows, in alphabetical order.
#[must_use]
pub fn names() -> Vec<&'static str> {
    let names: BTreeSet<&str> = StyleMetric::ALL
        .iter()
        .map(|metric| metric.name())
        .collect();
    names.into_iter().collect()
}

/// The rows of figures that are not counts of a metric.
fn sizes(summary: &StyleSummary) -> Vec<Vec<String>> {
    let comments = percent(summary.comments, summary.code);
    vec![
        row("files", summary.files),
        row("lines of a file", spread(summary.file_lines)),
        row("tokens of code", summary.tokens),
        row("functions", summary.functions),
        row("lines of a function", spread(summary.function_lines)),
        row("tokens of a function", spread(summary.function_tokens)),
        row("code lines in bodies", summary.code),
        row(
            "comment lines in bodies",
            format!("{} ({comments} of the code lines)", summary.comments),
        ),
    ]
}

/// The value of a metric, with the functions that it is a part of.
fn counted(summary: &StyleSummary, metric: StyleMetric) -> String {
    let count = summary.count(metric);
    if metric != StyleMetric::AirlessFunctions {
        return count.to_string();
    }
    let part = percent(count, summary.long_functions);
    format!("{count} of {} ({part})", summary.long_functions)
}

fn spread(spread: Spread) -> String {
    let Spread { median, p90, max } = spread;
    format!("median {median}, p90 {p90}, max {max}")
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

fn row(title: &str, value: impl ToString) -> Vec<String> {
    vec![title.to_owned(), value.to_string()]
}

fn counts(name: &str, summary: &StyleSummary) -> Vec<String> {
    let counts = StyleMetric::ALL.iter().map(|metric| summary.count(*metric));
    let counts = counts.map(|count| count.to_string());
    [name.to_owned()].into_iter().chain(counts).collect()
}

/// Aligns the columns of `rows` to the left.
fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let widths: Vec<usize> = (0..columns).map(|column| width(rows, column)).collect();

    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths);
        let line: String = cells
            .map(|(cell, width)| format!("{cell:width$}  "))
            .collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The characters of the longest cell in a column.
fn width(rows: &[Vec<String>], column: usize) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(column));
    let widths = cells.map(|cell| cell.chars().count());
    widths.max().unwrap_or_default()
}
