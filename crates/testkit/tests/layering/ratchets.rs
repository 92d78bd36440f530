//! Counts of what the code should have less of, which may fall but not rise.

use std::collections::BTreeSet;

use papir_house::{SourceFile, StyleMetric, StyleSurvey};

use crate::{root, source_folders};

/// The most that each metric may count in the whole workspace. Lower a number when its count falls.
const MAXIMA: &[(StyleMetric, usize)] = &[
    (StyleMetric::AirlessFunctions, 24),
    (StyleMetric::Airless, 23),
    (StyleMetric::TupleLets, 2),
    (StyleMetric::Closures, 69),
    (StyleMetric::ClosuresOnce, 0),
    (StyleMetric::FunctionTuples, 17),
    (StyleMetric::ClosureTuples, 0),
    (StyleMetric::WideComments, 27),
    (StyleMetric::TwinTypes, 172),
    (StyleMetric::TripletTypes, 26),
    (StyleMetric::LongFiles, 0),
];

/// The text of a failure: the metric, both counts, and the command that lists the places.
fn rise(metric: StyleMetric, maximum: usize, count: usize) -> String {
    let title = metric.title();
    let name = metric.name();
    format!("{title}: rose from {maximum} to {count} (cargo run -p papir-house -- --list {name})")
}

#[test]
fn style_gets_no_worse() {
    let sources = SourceFile::of_workspace(&root()).unwrap();
    let summary = StyleSurvey::read(&sources).unwrap().summary();
    let rises: Vec<String> = MAXIMA
        .iter()
        .map(|(metric, maximum)| (*metric, *maximum, summary.count(*metric)))
        .filter(|(_, maximum, count)| count > maximum)
        .map(|(metric, maximum, count)| rise(metric, maximum, count))
        .collect();

    assert!(
        rises.is_empty(),
        "{}\nChange the code, not MAXIMA. When a count falls, lower its maximum.",
        rises.join("\n")
    );
}

#[test]
fn every_metric_has_a_maximum() {
    let metrics: Vec<StyleMetric> = MAXIMA.iter().map(|(metric, _)| *metric).collect();
    assert_eq!(metrics, StyleMetric::ALL);
}

#[test]
fn every_crate_is_measured() {
    let sources = SourceFile::of_workspace(&root()).unwrap();
    let measured: BTreeSet<&str> = sources
        .iter()
        .map(|source| source.path.split_once("/src/").unwrap().0)
        .collect();

    let root = root();
    for (name, folder) in source_folders() {
        let folder = folder.parent().unwrap().strip_prefix(&root).unwrap();
        let folder = folder.to_str().unwrap().replace('\\', "/");
        assert!(measured.contains(folder.as_str()), "{name} is not measured");
    }
}
