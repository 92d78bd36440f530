//! Benchmarks, tables and figures of doubly-efficient PIR, with the smallest parameter set.

use papir_core::NoProgress;
use papir_measure::effort::Effort;
use papir_papers::depir::sheet::SheetKind;
use papir_papers::depir::{self, DepirConfig, Set};
use papir_schemes::depir::evaluation::{Points, Tables, Tabulated};
use papir_schemes::depir::structure::levels::Steps;
use serde_json::Value;

const EFFORT: Effort = Effort::alone(2, 1);
const LEAST: DepirConfig<'static> = DepirConfig::of(Set::Least);

#[test]
fn every_method_measures_a_set() {
    let folder = std::env::temp_dir().join(format!("papir-tables-{}", std::process::id()));
    let lines = depir::measure(LEAST, EFFORT, &NoProgress).unwrap();
    assert!(lines.correct && lines.compared == lines.batch && lines.table_bytes == 0);
    assert!(lines.work.multiplications > 0 && lines.work.table_bytes_read == 0);

    for (tabulated, steps, points) in [
        (0, None, Points::OnLines),
        (1, Some(Steps::One), Points::OfPaper),
        (2, Some(Steps::Mixture(4)), Points::OnLines),
        (4, Some(Steps::Two), Points::OfPaper),
    ] {
        let by = Some(Tables {
            tabulated: Tabulated::First(tabulated),
            steps,
            points,
        });
        let config = DepirConfig {
            by,
            tables: Some(&folder),
            ..LEAST
        };

        let report = depir::measure(config, EFFORT, &NoProgress).unwrap();
        assert!(report.correct, "{tabulated} tabulated");
        assert_eq!(report.table_bytes > 0, tabulated > 0);
        assert_eq!(report.work.table_bytes_read > 0, tabulated > 0);
        assert_eq!(
            (report.query_bytes, report.answer_bytes),
            (lines.query_bytes, lines.answer_bytes)
        );

        let mut text = Vec::new();
        report.write_table(&mut text).unwrap();
        assert!(
            String::from_utf8(text)
                .unwrap()
                .contains("variables tabulated")
        );

        let json: Value = serde_json::to_value(&report).unwrap();
        for field in [
            "batch",
            "table_bytes",
            "preprocess_s",
            "work",
            "answer_s",
            "set",
        ] {
            assert!(!json[field].is_null(), "{field}");
        }
    }

    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn rows_of_sheets_have_a_cell_per_title() {
    for sheet in depir::all_sheets() {
        let report = sheet.make([Set::Least; 2], EFFORT, &NoProgress).unwrap();
        assert!(report.correct && !report.rows.is_empty(), "{}", sheet.name);

        for row in &report.rows {
            assert_eq!(row.len(), report.columns.len(), "{}: {row:?}", sheet.name);
        }

        let mut text = Vec::new();
        report.write_table(&mut text).unwrap();
        assert!(text.len() > 100);
        match sheet.kind {
            SheetKind::Table => assert!(depir::draw(&report).is_err()),
            SheetKind::Figure => {
                let picture = depir::draw(&report).unwrap();
                let points: usize = report.curves.iter().map(|curve| curve.points.len()).sum();
                assert_eq!(picture.matches("<circle").count(), points, "{}", sheet.name);
            }
        }
    }
}

/// Propositions 5.3 and 5.4 give the figures of Table 2, except that its entries lack a factor and
/// its last row is off by a factor of ten.
#[test]
fn table_2_follows_the_propositions() {
    let table = depir::sheet_by_name(SheetKind::Table, "depir-2").unwrap();
    let report = table.make([Set::Least; 2], EFFORT, &NoProgress).unwrap();
    // Bounds are printed with their sign.
    let number = |cell: &str| cell.trim_start_matches("> ").parse::<f64>().unwrap();

    // Nothing is tabulated on lines alone, so the propositions have no figures for that row.
    for row in report.rows.iter().filter(|row| row[1] != "papir: on lines") {
        let printed = number(&row[3]);
        let formula = number(&row[4]);
        assert!(
            (0.7..1.5).contains(&(formula / printed)),
            "look-ups: {row:?}"
        );

        let variables = number(&row[2]);
        let printed = number(&row[6]);
        let formula = number(&row[7]);
        let last = (row[0].as_str(), row[2].as_str()) == ("two", "4");
        let lacking = (variables + 1.0) / if last { 10.0 } else { 1.0 };
        assert!(
            (0.7..1.7).contains(&(formula * lacking / printed)),
            "entries: {row:?}"
        );
    }
}

/// Rows of the paper have the cells of its Table 3.
#[test]
fn table_3_quotes_the_papers_rows() {
    let table = depir::sheet_by_name(SheetKind::Table, "depir-3").unwrap();
    let report = table.make([Set::Least; 2], EFFORT, &NoProgress).unwrap();

    let rows = report.rows.iter().filter(|row| row[1].starts_with("paper"));
    let cells: Vec<String> = rows.map(|row| row[2..].join(", ")).collect();
    assert_eq!(
        cells,
        [
            "7315, 4, 18, 518, 10, 19, 10 GB + 0 TB, 720, 236, 7.2",
            "46376, 4, 30, 804, 14.5, 54.25, 36 GB + 1 TB, 166680, 1789, 54.6",
            "15020334, 5, 68, 1817, 75, 483, 253 GB + 873 TB, 46800000000, 2100000, 32300",
            "185250786, 6, 68, 1817, 90, 483, 253 GB + 411744 TB, 266400000000000, 2600000, 40000",
        ]
    );
}

/// Rows marked as printed have the figures of the paper's Table 4, and none that is computed.
#[test]
fn table_4_quotes_the_papers_rows() {
    let table = depir::sheet_by_name(SheetKind::Table, "depir-4").unwrap();
    let report = table.make([Set::Least; 2], EFFORT, &NoProgress).unwrap();

    let own = report.rows.iter().filter(|row| row[0] == "DEPIR, printed");
    let cells: Vec<String> = own.map(|row| row[1..].join(", ")).collect();
    assert_eq!(
        cells,
        [
            "870 TB, 65536, 32300, 8.9, 15020334, 2 B",
            "412 PB, 65536, 40000, 9.1, 185250786, 2 B"
        ]
    );

    let quoted = report
        .rows
        .iter()
        .filter(|row| row[0].ends_with(", printed"));
    assert_eq!(quoted.count(), 5);
}
