//! The files of printed figures.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use papir_papers::printed::{self, Paper, PrintedCell, RowFigures};
use papir_papers::tables;

/// A file with two tables of one row each.
const FILE: &str = r#"
paper = "A paper"
authors = "Its authors"

[[tables]]
table = "Table 1"
columns = [{ column = "Query", unit = "KB" }, { column = "Time", unit = "ms" }]
rows = [{ row = "ours", cells = [3.5, "> 2.0 s"] }, { row = "theirs", cells = [7, 1] }]

[[tables]]
table = "Table 2"
columns = [{ column = "Query", unit = "KB" }]

[[tables.databases]]
database = "1 GB"
entry = "1 bit"
entries = 8
entry_bits = 1
rows = [{ row = "ours", at = "N/t = 4", cells = [3] }, { row = "ours", at = "N/t = 8", cells = [4] }]
"#;

fn fault(text: &str) -> String {
    let fault = Paper::parse("file.toml", text).unwrap_err();
    format!("{}: expected {}", fault.found, fault.expected)
}

#[test]
fn every_file_is_read() {
    let papers = printed::papers().unwrap();
    let names: Vec<&str> = papers.iter().map(|paper| paper.paper.as_str()).collect();
    assert_eq!(
        names,
        [
            "InsPIRe",
            "Pirouette",
            "ZipPIR",
            "Doubly-efficient PIR",
            "NewtonPIR"
        ]
    );

    // Every file of the folder is among those that the program reads.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    assert_eq!(fs::read_dir(folder).unwrap().count(), papers.len());
}

#[test]
fn a_figure_without_its_cell_is_refused() {
    assert!(Paper::parse("file.toml", FILE).is_ok());

    for (from, to, words) in [
        (
            "[3.5, \"> 2.0 s\"]",
            "[3.5]",
            "Table 1, ours: expected 2, one for each column",
        ),
        ("[7, 1]", "[7, 1, 2]", "3 figures in Table 1, theirs"),
        (
            "cells = [3] }",
            "cells = [] }",
            "0 figures in Table 2, 1 GB, 1 bit, ours, N/t = 4",
        ),
        ("\"Time\"", "\"\"", "a column of Table 1 without a name"),
        ("row = \"theirs\"", "row = \"\"", "a row of Table 1 without"),
        ("\"Table 1\"", "\"\"", "a table without a name"),
        ("row = \"theirs\", ", "", "missing field `row`"),
        ("column = \"Time\", ", "", "missing field `column`"),
        ("table = \"Table 1\"\n", "", "missing field `table`"),
        ("\"A paper\"", "\"\"", "the paper without a name"),
    ] {
        assert!(FILE.contains(from), "{from}");
        let found = fault(&FILE.replacen(from, to, 1));
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn a_cell_named_twice_is_refused() {
    for (from, to, words) in [
        ("\"theirs\"", "\"ours\"", "Table 1, ours twice"),
        ("\"Time\"", "\"Query\"", "Table 1, Query twice"),
        ("\"Table 2\"", "\"Table 1\"", "Table 1 twice"),
        ("= 8\"", "= 4\"", "1 bit, ours, N/t = 4 twice"),
        (
            "table = \"Table 1\"",
            "table = \"Table 1\"\ntable = \"Table 3\"",
            "duplicate key",
        ),
    ] {
        assert!(FILE.contains(from), "{from}");
        let found = fault(&FILE.replacen(from, to, 1));
        assert!(found.contains(words), "{found}");
    }
}

#[test]
fn figures_are_converted_to_the_unit_that_is_asked_for() {
    let paper = Paper::parse("file.toml", FILE).unwrap();
    let figures = RowFigures::of(&paper.tables[0], "ours").unwrap();

    assert_eq!(figures.number("Query", "KB"), Ok(3.5));
    assert_eq!(figures.number("Time", "ms"), Ok(2000.0));
    assert_eq!(figures.text("Time"), Ok("> 2.0 s"));

    // Another quantity, a fraction as a count, a column and a row that do not exist.
    assert!(figures.number("Query", "ms").is_err());
    assert!(figures.count("Query").is_err());
    assert!(figures.number("Answer", "KB").is_err());
    assert!(RowFigures::of(&paper.tables[0], "others").is_err());
}

#[test]
fn a_corrected_figure_replaces_the_misprint() {
    let corrected = "cells = [7, 1], corrected = { \"Time\" = 2 }";
    let text = FILE.replacen("cells = [7, 1]", corrected, 1);
    let paper = Paper::parse("file.toml", &text).unwrap();
    let figures = RowFigures::of(&paper.tables[0], "theirs").unwrap();
    assert_eq!(figures.number("Time", "ms"), Ok(2.0));
    assert_eq!(
        paper.tables[0].corrections(),
        ["Misprint: Table 1, theirs, Time: printed 1 ms, used 2 ms."]
    );
    assert!(paper.tables[1].corrections().is_empty());

    let unknown = text.replacen("{ \"Time\" = 2 }", "{ \"Times\" = 2 }", 1);
    let found = fault(&unknown);
    assert!(
        found.contains("Times corrected: expected a column"),
        "{found}"
    );
}

/// A table says which of its figures differ from the paper's.
#[test]
fn misprints_are_named_below_their_tables() {
    for (name, words) in [
        ("inspire-9", "32 GB, 1 bit, the row of 7348 KB"),
        (
            "zip-4",
            "512 MB, 16 KB, HintlessPIR, Total Comm.: printed 1452 KB, used 1412 KB.",
        ),
        (
            "zip-5",
            "2^20, 288 B, XPSIR, Online Total: printed 895 KB, used 859 KB.",
        ),
        (
            "pirouette-5",
            "T-Respire (par.), 8 GB, Offline Comm.: printed 91 GB, used 91 MB.",
        ),
    ] {
        let notes = tables::by_name(name).unwrap().unwrap().notes;
        assert!(notes.iter().any(|note| note.contains(words)), "{notes:?}");
    }

    let large = printed::table("Doubly-efficient PIR", "Table 3").unwrap();
    assert_eq!(
        large.corrections(),
        ["Misprint: Table 3, large, Amortized: printed 4000 ms, used 40000 ms."]
    );
}

/// The numbers of all files with at least three significant digits that are no multiple of 64, which
/// is a size more often than a figure.
fn telling_figures() -> BTreeSet<u64> {
    let tables = printed::papers()
        .unwrap()
        .iter()
        .flat_map(|one| &one.tables);
    let rows = tables.flat_map(|table| table.all_rows());
    rows.flat_map(|row| &row.cells)
        .filter_map(|cell| match cell {
            PrintedCell::Number(number) => Some(*number),
            PrintedCell::Text(_) => None,
        })
        .filter(|number| is_telling(*number))
        .map(f64::to_bits)
        .collect()
}

fn is_telling(number: f64) -> bool {
    let digits = format!("{number:e}");
    let (mantissa, _) = digits.split_once('e').unwrap();
    let significant = mantissa.chars().filter(char::is_ascii_digit).count();
    significant >= 3 && number % 64.0 != 0.0
}

/// The source files of a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    files
}

/// The literals of numbers in a source's code: not in comments, strings, names and tests.
fn literals(source: &str) -> Vec<f64> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    let mut found = Vec::new();
    for line in code.lines() {
        let line = line.split("//").next().unwrap_or_default();
        // Every second part is within quotes.
        for part in line.split('"').step_by(2) {
            let words = part.split(|c: char| !(c.is_alphanumeric() || "._".contains(c)));
            let numbers = words.map(|word| word.replace('_', ""));
            found.extend(numbers.filter_map(|word| word.parse::<f64>().ok()));
        }
    }
    found
}

/// The source has no figure of the files again. Sizes of sets, which are measured, may be equal.
#[test]
fn code_quotes_no_figures() {
    let sets = printed::table("Doubly-efficient PIR", "Table 3").unwrap();
    let sizes: Vec<f64> = sets
        .rows
        .iter()
        .map(|set| RowFigures::new(sets, set).number("N", "").unwrap())
        .collect();

    let figures = telling_figures();
    assert!(figures.len() > 200, "{} figures", figures.len());

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    // The numbers of plots are colours and pixels.
    let plots = root.join("figures/plot");
    for path in sources(&root) {
        if path.starts_with(&plots) {
            continue;
        }
        for literal in literals(&fs::read_to_string(&path).unwrap()) {
            let quoted = figures.contains(&literal.to_bits()) && !sizes.contains(&literal);
            assert!(!quoted, "{}: {literal}", path.display());
        }
    }
}
