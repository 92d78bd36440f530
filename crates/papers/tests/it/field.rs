//! `papir-papers --all`.

use papir_measure::schemes;

use crate::command::output_with;

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
