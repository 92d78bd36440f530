//! Builds from tables of a program.

use papir_core::{NoProgress, RecordBuffer, Run};
use papir_store::{Build, BuildOptions, Cell, Error, Given, GivenRows, Result, Snapshot};

use crate::common::{by_index, by_key, folder, rng, run, source};

/// Three columns; row i has i, its name, and nothing in the last.
struct Numbers(u64);

impl GivenRows for Numbers {
    fn columns(&self) -> Vec<String> {
        ["number", "name", "nothing"].map(str::to_owned).into()
    }

    fn count(&self) -> u64 {
        self.0
    }

    fn each(&self, wanted: &[&str], on_row: &mut dyn FnMut(Vec<Cell>) -> Result<()>) -> Result<()> {
        let cell = |name: &str, i: u64| match name {
            "number" => Cell::Json(i.to_string()),
            "name" => Cell::text(format!("name {i}")),
            _ => Cell::Null,
        };
        (0..self.0).try_for_each(|i| on_row(wanted.iter().map(|name| cell(name, i)).collect()))
    }
}

fn options(folder: &std::path::Path, key: Option<&str>, values: &[&str]) -> BuildOptions {
    let mut options = BuildOptions::new("numbers of a program", folder.join("numbers.papir"));
    options.given = Some(Given::new(Numbers(2000)));
    options.scheme = "plain".to_owned();
    options.allow_not_private = true;
    options.key = key.map(str::to_owned);
    options.values = values.iter().map(|&name| name.to_owned()).collect();
    options
}

#[test]
fn given_rows_are_built_as_those_of_a_file() {
    let folder = folder();
    let given = options(folder.path(), Some("name"), &["number", "nothing"]);
    let report = run(&given).unwrap();
    assert_eq!(
        (
            report.metadata.source.file.as_str(),
            report.metadata.source.entries
        ),
        ("numbers of a program", 2000)
    );
    assert_eq!(report.metadata.source.format, "given");
    let rows: String = (0..2000)
        .map(|i| format!("{{\"name\":\"name {i}\",\"number\":{i},\"nothing\":null}}\n"))
        .collect();
    let mut file = options(folder.path(), Some("name"), &["number", "nothing"]);
    (file.given, file.source) = (None, source(folder.path(), "numbers.jsonl", rows));
    file.out = folder.path().join("file.papir");
    run(&file).unwrap();
    let [given, file] = [&given.out, &file.out].map(|path| Snapshot::open(path).unwrap());
    for key in ["name 0", "name 1999", "name 2000"] {
        assert_eq!(by_key(&given, key), by_key(&file, key), "{key}");
    }
    assert_eq!(
        by_key(&given, "name 7").as_deref(),
        Some(&br#"{"number":7,"nothing":null}"#[..])
    );
}

#[test]
fn given_rows_without_keys_are_records() {
    let folder = folder();
    let options = options(folder.path(), None, &["number"]);
    run(&options).unwrap();
    assert_eq!(
        by_index(&Snapshot::open(&options.out).unwrap(), 1234),
        b"1234"
    );
}

#[test]
fn records_of_a_program_are_built_without_a_file() {
    let folder = folder();
    let records = RecordBuffer::from_records((0u32..500).map(u32::to_le_bytes)).unwrap();
    let mut options = options(folder.path(), None, &[]);
    options.source = "an array".into();
    let report = Build::new(&options)
        .records(&records)
        .run(&mut Run::new(&mut rng(1), &NoProgress))
        .unwrap();
    assert_eq!(
        (
            report.metadata.source.file.as_str(),
            report.metadata.records
        ),
        ("an array", 500)
    );
    assert_eq!(
        by_index(&Snapshot::open(&options.out).unwrap(), 499),
        499u32.to_le_bytes()
    );
    options.memory = Some(1 << 30);
    let refused = Build::new(&options)
        .records(&records)
        .run(&mut Run::new(&mut rng(1), &NoProgress));
    assert!(matches!(
        refused,
        Err(Error::Options { .. } | Error::Core(_))
    ));
}

#[test]
fn faults_name_the_table_and_the_row() {
    let folder = folder();
    let missing = run(&options(folder.path(), Some("id"), &["number"])).unwrap_err();
    assert!(
        matches!(&missing, Error::MissingColumn { available, .. } if available == "number, name, nothing")
    );
    let null = run(&options(folder.path(), Some("nothing"), &["number"]))
        .unwrap_err()
        .to_string();
    assert!(
        null.contains("numbers of a program")
            && null.contains("row 1")
            && null.contains("key is null"),
        "{null}"
    );
    let mut long = options(folder.path(), None, &["name"]);
    long.record_bytes = Some(6);
    let long = run(&long).unwrap_err().to_string();
    assert!(
        long.contains("row 11") && long.contains("7 bytes: expected at most 6"),
        "{long}"
    );
    let mut both = options(folder.path(), Some("name"), &["number"]);
    both.format = Some(papir_store::Format::Csv);
    assert!(matches!(run(&both), Err(Error::Options { .. })));
}
