//! `papir-papers --record`.

use std::fs;
use std::path::{Path, PathBuf};

use papir_core::NoProgress;
use papir_core::cost::Rates;
use papir_measure::effort::Effort;
use papir_papers::record::{RecordRun, record};
use papir_plan::rates_file::LoadedRates;
use serde_json::Value;

/// A folder of this process, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = format!("papir-record-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(folder))
    }

    fn json(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.0.join(format!("{name}.json"))).unwrap();
        serde_json::from_str(&text).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Records these names within a memory, and returns what is printed.
fn run(folder: &Path, memory: u64, only: &[&str]) -> String {
    let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
    let run = RecordRun {
        folder,
        memory,
        largest: u64::MAX,
        only: &only,
        effort: Effort::alone(1, 1),
        command: "papir-papers of a test".to_owned(),
    };
    let rates = LoadedRates {
        rates: Rates::BUILT_IN,
        origin: "of a test",
        description: "of a test".to_owned(),
        device: None,
    };

    let mut out = Vec::new();
    record(&run, rates, &mut out, &NoProgress).unwrap();
    String::from_utf8(out).unwrap()
}

/// Rows that do not fit are predicted and listed with their reason.
#[test]
fn a_record_names_the_rows_that_do_not_fit() {
    let folder = Folder::new("rows");
    let printed = run(&folder.0, 1 << 20, &["inspire-7", "zip-4"]);
    assert!(printed.contains("inspire-7: "), "{printed}");

    let enrollment = folder.json("inspire-7");
    for (field, expected) in [
        ("format", Value::from(1)),
        ("name", "inspire-7".into()),
        ("command", "papir-papers of a test".into()),
        ("threads", 1.into()),
        ("runs", 1.into()),
        ("memory_bytes", (1 << 20).into()),
    ] {
        assert_eq!(enrollment[field], expected, "{field}");
    }
    assert!(enrollment["machine"]["threads"].as_u64() > Some(0));
    assert!(enrollment["date"].as_str().unwrap().ends_with('Z'));
    assert!(enrollment.as_object().unwrap().contains_key("commit"));

    let rows = enrollment["not_measured"].as_array().unwrap();
    assert_eq!(rows.len(), 3, "{rows:?}");
    for row in rows {
        let reason = row["reason"].as_str().unwrap();
        let line = format!("  not measured: {}: {reason}", row["row"].as_str().unwrap());
        assert!(reason.contains("of memory: at most 1.00 MiB"), "{reason}");
        assert!(printed.contains(&line), "{line} is not in {printed}");
    }
    for row in enrollment["report"]["rows"].as_array().unwrap() {
        assert_eq!(row["papir"]["status"], "predicted");
        assert!(row["unmeasured"].is_string());
    }

    // Only rows with a configuration of papir can be missing: three for each of four databases.
    let compression = folder.json("zip-4");
    assert_eq!(compression["not_measured"].as_array().unwrap().len(), 12);
}

/// A second run keeps the files of the first, and adds what is missing.
#[test]
fn an_interrupted_record_continues() {
    let folder = Folder::new("again");
    run(&folder.0, 1 << 20, &["inspire-7"]);
    let first = fs::read(folder.0.join("inspire-7.json")).unwrap();

    let printed = run(&folder.0, 1 << 30, &["depir-2", "inspire-7"]);
    assert!(
        printed.contains("inspire-7.json exists and is kept"),
        "{printed}"
    );
    assert_eq!(fs::read(folder.0.join("inspire-7.json")).unwrap(), first);
    assert_eq!(fs::read_dir(&folder.0).unwrap().count(), 2);

    // Its rows are computed, and none is left out.
    let sheet = folder.json("depir-2");
    assert_eq!(sheet["not_measured"], Value::Array(Vec::new()));
    assert!(!sheet["report"]["rows"].as_array().unwrap().is_empty());
}
