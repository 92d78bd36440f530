//! `papir bench --all`.

use papir_bench::schemes;
use serde_json::Value;

use crate::bench::{output, output_with};

fn schemes_of(report: &Value) -> Vec<&str> {
    report["schemes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["scheme"].as_str().unwrap())
        .collect()
}

/// 2²⁰ records of 256 bytes in the table of a paper, predicted since no machine measures 2³⁰ of them.
#[test]
fn every_scheme_has_a_row() {
    let large: Value = serde_json::from_str(
        &output("--all --records 1073741824 --record-bytes 256 --json").unwrap(),
    )
    .unwrap();
    assert_eq!(schemes_of(&large), schemes::names().unwrap());
    for entry in large["schemes"].as_array().unwrap() {
        let status = entry["status"].as_str().unwrap();
        let refused = status == "no_parameters" && !entry["reason"].as_str().unwrap().is_empty();
        assert!(refused || status == "predicted", "{entry}");
        assert_eq!(
            entry["private"],
            !["plain", "newton", "newtonsym", "newtonsym-batch"]
                .contains(&entry["scheme"].as_str().unwrap())
        );
    }
    let text = output("--all --records 1073741824 --record-bytes 256").unwrap();
    for part in [
        "1073741824 records of 256 B",
        "predicted, NOT PRIVATE",
        "refuses this database",
        "Predicted with",
    ] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
}

#[test]
#[ignore = "prepares a database of every scheme"]
fn every_scheme_is_measured_listed_and_drawn() {
    let svg = std::env::temp_dir().join(format!("papir-all-{}.svg", std::process::id()));
    let csv = output_with(
        "--all --records 4096 --record-bytes 2 --runs 1 --csv --svg",
        &svg,
    )
    .unwrap();
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 1 + schemes::names().unwrap().len());
    let measured = rows
        .iter()
        .filter(|row| row.contains("measured, right"))
        .count();
    assert!(measured > 15, "{csv}");
    let drawn = std::fs::read_to_string(&svg).unwrap();
    std::fs::remove_file(svg).unwrap();
    assert!(
        drawn.matches("<circle").count() >= measured,
        "a point for each scheme"
    );
    assert!(
        ["inspire", "pirouette", "depir"]
            .iter()
            .all(|name| drawn.contains(name))
    );
}
