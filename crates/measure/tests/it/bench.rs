//! Named benchmarks at a small size, their output, and errors.

use std::collections::BTreeSet;

use clap::Parser;
use papir_core::Choice;
use papir_core::{Goal, NoProgress, Records, Result as CoreResult, Shape, read_record};
use papir_measure::cli::{Args, Outcome, perform, run_with};
use papir_measure::cost::Cost;
use papir_measure::effort::{Effort, MeasurementPlan};
use papir_measure::measure::measure;
use papir_measure::records::Synthetic;
use papir_measure::schemes;
use papir_measure::{Error, definitions};
use papir_schemes::registry;
use serde_json::Value;

const EFFORT: Effort = Effort::alone(1, 2);

const FIELDS: [&str; 37] = [
    "scheme",
    "records",
    "record_bytes",
    "threads",
    "backend",
    "read_gbps",
    "read_ms",
    "answer_ms",
    "reads",
    "stages",
    "encode_s",
    "hint_s",
    "material_s",
    "offline_s",
    "keys_bytes",
    "query_bytes",
    "query_payload_bytes",
    "upload_bytes",
    "batch",
    "download_bytes",
    "hint_bytes",
    "material_bytes",
    "rss_bytes",
    "query_ms",
    "extract_ms",
    "security_bits",
    "failure_log2",
    "correct",
    "clients",
    "group_ms",
    "core_ms_per_lookup",
    "alone_ms",
    "effective_gbps",
    "floor_ms",
    "arithmetic_floor_ms",
    "once_bytes",
    "pages",
];

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    args: Args,
}

/// Parses the arguments of a command line.
fn parse(line: &str) -> Result<Args, clap::Error> {
    let words = std::iter::once("bench").chain(line.split_whitespace());
    Program::try_parse_from(words).map(|p| p.args)
}

fn run(args: &Args) -> Result<String, Error> {
    let mut out = Vec::new();
    run_with(args, &mut out, &NoProgress)?;
    Ok(String::from_utf8(out).unwrap())
}

/// Returns the output of a command line.
pub(crate) fn output(line: &str) -> Result<String, Error> {
    run(&parse(line).unwrap())
}

fn error(line: &str) -> String {
    match parse(line) {
        Err(error) => error.to_string(),
        Ok(_) => output(line).unwrap_err().to_string(),
    }
}

#[test]
fn every_scheme_of_the_registry_can_be_measured() {
    let measured = schemes::names().unwrap();
    let registered: Vec<&str> = registry::all().iter().map(|scheme| scheme.name()).collect();
    assert_eq!(measured, registered);
}

#[test]
fn every_benchmark_runs_small_and_is_correct() {
    let names: BTreeSet<&str> = definitions::ALL
        .iter()
        .map(|definition| definition.name)
        .collect();
    assert_eq!(
        names.len(),
        definitions::ALL.len(),
        "two benchmarks have the same name"
    );

    for definition in definitions::ALL {
        assert!(
            registry::by_name(definition.name).is_err(),
            "{} is a scheme",
            definition.name
        );

        let outcome = perform(definition.tiny, EFFORT, &NoProgress).unwrap();
        outcome.check().unwrap();

        if let Outcome::Schemes(reports, _) = outcome {
            for report in reports {
                let parts = report.encode_s + report.hint_s + report.material_s;
                // A setup stage that `measure` does not know would be missing from the sum.
                assert!(
                    (parts - report.offline_s).abs() < 1e-9,
                    "{}: {report:?}",
                    definition.name
                );

                let stages: f64 = report.stages.0.iter().map(|stage| stage.1).sum();
                assert!(
                    report.answer_ms > 0.0 && stages > 0.0,
                    "{}: {report:?}",
                    definition.name
                );
                assert!(
                    (report.reads - report.answer_ms / report.read_ms).abs() < 1e-6 * report.reads
                );
            }
        }
    }
}

#[test]
fn json_has_exactly_the_fields() {
    for scheme in ["inspire", "simple", "double", "plain", "inspire2"] {
        let line = format!("{scheme} --records 1000 --record-bytes 8 --runs 2 --threads 3 --json");
        let report: Value = serde_json::from_str(&output(&line).unwrap()).unwrap();

        let object = report.as_object().unwrap();
        let found: BTreeSet<&str> = object.keys().map(String::as_str).collect();
        assert_eq!(found, BTreeSet::from(FIELDS), "{scheme}");

        assert_eq!(object["scheme"], scheme);
        assert_eq!(
            (&object["records"], &object["record_bytes"]),
            (&1000.into(), &8.into())
        );
        assert_eq!(
            (&object["threads"], &object["correct"]),
            (&3.into(), &true.into())
        );

        assert!(object["stages"].as_object().unwrap().contains_key("parse"));
        let upload = object["upload_bytes"].as_u64().unwrap();
        assert!(upload >= object["query_bytes"].as_u64().unwrap());
        assert_eq!(object["security_bits"].is_null(), scheme == "plain");
    }
}

#[test]
fn several_clients_are_answered_together() {
    for scheme in ["inspire", "simple", "zip"] {
        let line = format!("{scheme} --records 500 --record-bytes 8 --runs 2 --clients 3 --json");
        let report: Value = serde_json::from_str(&output(&line).unwrap()).unwrap();
        let figure = |name: &str| report[name].as_f64().unwrap();
        assert_eq!(
            (&report["clients"], &report["correct"]),
            (&3.into(), &true.into()),
            "{scheme}"
        );

        assert_eq!(figure("alone_ms"), figure("answer_ms"));
        assert!(
            figure("group_ms") > 0.0
                && figure("core_ms_per_lookup") > 0.0
                && figure("floor_ms") > 0.0
        );

        let expected = 3.0 * figure("read_gbps") * figure("read_ms") / figure("group_ms");
        assert!(
            (figure("effective_gbps") / expected - 1.0).abs() < 1e-6,
            "{report}"
        );
        assert!(report["once_bytes"].as_u64().unwrap() > 0);
    }

    assert!(error("inspire --clients 0 --records 10").contains("1 to 4096 clients"));
    assert!(error("psi --clients 2").contains("expected a scheme"));
    assert!(error("--clients 2 batch").contains("expected a scheme"));
}

#[test]
fn newtons_digests_and_batches_are_measured() {
    for scheme in ["newtonsym", "newtonsym-batch"] {
        let line = format!("{scheme} --records 64 --record-bytes 300 --digests --runs 1 --json");
        let with = output(&line).unwrap();
        let without = output(&line.replace("--digests ", "")).unwrap();
        let [with, without] =
            [with, without].map(|json| serde_json::from_str::<Value>(&json).unwrap());

        assert_eq!(
            [&with["correct"], &without["correct"]],
            [true, true],
            "{scheme}"
        );
        assert_eq!(with["scheme"], without["scheme"]);
    }

    let line = "batch --over newtonsym --records 64 --record-bytes 4 --batch 4 --runs 1 --json";
    let report: Value = serde_json::from_str(&output(line).unwrap()).unwrap();
    assert_eq!(
        (&report["capacity"], &report["correct"]),
        (&4.into(), &true.into())
    );
}

#[test]
fn inspire_reports_the_stages_of_its_server() {
    let line = "inspire --records 4096 --dim0 32 --runs 1 --json";
    let report: Value = serde_json::from_str(&output(line).unwrap()).unwrap();

    let stages: BTreeSet<&str> = report["stages"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "parse",
        "select",
        "read_keys",
        "pack",
        "evaluate",
        "switch",
        "seal",
    ];
    assert_eq!(stages, BTreeSet::from(expected));

    // A key is sent with each query, and counted apart from it.
    let keys = report["keys_bytes"].as_u64().unwrap();
    let query = report["query_bytes"].as_u64().unwrap();
    assert!(keys > 0 && query > 0);
    assert_eq!(report["upload_bytes"].as_u64().unwrap(), keys + query);
}

#[test]
fn a_comparison_is_one_table_or_one_array() {
    let line = "--compare simple,plain --size 64KiB --record-bytes 64 --runs 1";
    let table = output(line).unwrap();

    let first = table
        .lines()
        .next()
        .unwrap()
        .split_whitespace()
        .collect::<Vec<_>>();
    assert_eq!(first, ["scheme", "simple", "plain"]);
    assert!(
        table
            .lines()
            .any(|line| line.split_whitespace().eq(["correct", "yes", "yes"])),
        "{table}"
    );
    assert_eq!(
        table
            .lines()
            .filter(|line| line.starts_with("  parse "))
            .count(),
        1,
        "{table}"
    );

    let reports: Value = serde_json::from_str(&output(&format!("{line} --json")).unwrap()).unwrap();
    let shapes: Vec<_> = reports
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["records"].as_u64())
        .collect();
    assert_eq!(shapes, [Some(1024), Some(1024)]);
}

#[test]
fn the_list_is_complete() {
    let list = output("--list").unwrap();
    assert_eq!(list.lines().count(), definitions::ALL.len());
    assert!(
        list.lines().any(|line| line.starts_with("inspire-1gib  ")),
        "{list}"
    );

    let json: Value = serde_json::from_str(&output("--list --json").unwrap()).unwrap();
    assert_eq!(
        (&json[0]["kind"], &json[0]["name"]),
        (&"benchmark".into(), &definitions::ALL[0].name.into())
    );

    let named: BTreeSet<String> = json
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["kind"], one["name"]))
        .collect();
    assert_eq!(
        named.len(),
        list.lines().count(),
        "two entries of one kind have the same name"
    );
}

/// A comparison skips schemes that fail and reports the reasons.
#[test]
fn a_comparison_reports_failing_schemes() {
    let line = "--compare plain,depir,simple --records 64 --record-bytes 64 --runs 1";
    let table = output(line).unwrap();
    assert!(
        table
            .contains("depir not measured: the record length in bits is 512: expected at most 256"),
        "{table}"
    );
    assert_eq!(
        table.lines().next().unwrap().split_whitespace().count(),
        3,
        "{table}"
    );

    let json: Value = serde_json::from_str(&output(&format!("{line} --json")).unwrap()).unwrap();
    assert_eq!(
        (&json[1]["scheme"], &json[2]["scheme"]),
        (&"simple".into(), &"depir".into())
    );
    assert!(json[2]["reason"].as_str().unwrap().contains("at most 256"));
}

#[test]
fn units_are_refused_by_schemes_without_them() {
    for name in schemes::names()
        .unwrap()
        .into_iter()
        .filter(|name| *name != "inspire2")
    {
        let line = format!("{name} --records 64 --dim0 8 --gamma0 16");
        let expected = format!("--gamma0 with {name}: expected none");
        assert!(error(&line).contains(&expected), "{}", error(&line));
    }
}

/// Checks that each line fails, and that its error contains these words.
fn assert_named(cases: &[(&str, &str)]) {
    for &(line, words) in cases {
        let error = error(line);
        assert!(error.contains(words), "`{line}`: {error}");
    }
}

#[test]
fn wrong_arguments_are_named() {
    assert_named(&[
        ("", "the following required arguments were not provided"),
        (
            "nonsense",
            "`nonsense`: expected a scheme (plain, simple, inspire, double, inspire2, inspire0, ypir, simpleypir, zip, newton, newtonsym, zipdouble, inspire-batch, simple-batch, pirouette, respire, pirouette-encrypted, depir, download, inspire1, newtonsym-batch), or a benchmark named by --list",
        ),
        ("--compare plain,packing", "`packing`: expected a scheme"),
        ("plain --size 1GB", "the size `1GB`: expected bytes above 0"),
        ("plain --size 0", "the size `0`: expected bytes above 0"),
        (
            "plain --size 63 --record-bytes 64",
            "a database of 63 bytes with records of 64: expected room",
        ),
        ("plain --records 0", "the database is empty"),
        (
            "plain --records 1 --record-bytes 1MiB",
            "the record length in bits is 8388608",
        ),
        (
            "plain --records 64 --goal fastest",
            "a goal is malformed: found fastest",
        ),
        (
            "plain --records 64 --threads 0",
            "0 threads: expected 1 to 1024 threads",
        ),
        ("plain --records 64 --runs 0", "0 runs: expected 1 to"),
        (
            "plain --records 4294967296 --record-bytes 64KiB",
            "plain needs 256 TiB of memory: expected at most",
        ),
        ("inspire-1gib --size 1MiB", "`inspire-1gib` with a size"),
        (
            "--compare plain,depir --records 9 --record-bytes 300KiB",
            "the record length in bits",
        ),
    ]);
}

/// Options that the scheme does not have, or that exclude each other.
#[test]
fn wrong_options_are_named() {
    assert_named(&[
        ("plain --records 5 --size 1MiB", "cannot be used with"),
        (
            "plain --records 64 --dim0 8",
            "--dim0 with plain: expected none",
        ),
        (
            "simple --records 64 --digests",
            "--digests with simple: expected none",
        ),
        (
            "newtonsym --records 64 --digests --goal min-time",
            "cannot be used with",
        ),
        ("simple --records 64 --dim0 0", "invalid value '0'"),
        (
            "simple --records 64 --dim0 8 --goal min-time",
            "cannot be used with",
        ),
        ("--list --compare plain", "cannot be used with"),
        ("inspire --gamma0 16 --goal balanced", "cannot be used with"),
        ("inspire --gamma0 16", "--dim0 <N>"),
        ("inspire --records 64 --batch 4", "unexpected argument"),
        ("batch --dim0 4", "unexpected argument"),
        ("--size 1MiB batch", "expected all of them after it"),
    ]);
}

/// The error names the program that has the benchmark now.
#[test]
fn moved_benchmarks_are_named() {
    assert_named(&[
        ("packing", "is now `papir-papers packing`"),
        ("newton-tables --digests", "`papir-papers newton-tables`"),
        (
            "--table inspire-3 --size 1",
            "`papir bench --table inspire-3` is now `papir-papers --table inspire-3`",
        ),
        (
            "--figure inspire-1 --svg x.svg",
            "`papir-papers --figure inspire-1 --svg x.svg`",
        ),
        (
            "--all --records 64 --svg x.svg",
            "`papir-papers --all --svg x.svg`",
        ),
        ("inspire --svg x.svg", "`papir-papers --svg x.svg`"),
        ("inspire --set tiny", "`papir-papers depir --set tiny`"),
        (
            "depir --set tiny --tabulated all --paper-points",
            "`papir-papers depir --set tiny --tabulated all --paper-points`",
        ),
    ]);
}

/// A source with one wrong bit in every record.
struct Faulty(Synthetic);

impl Records for Faulty {
    fn shape(&self) -> Shape {
        self.0.shape()
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> CoreResult<()> {
        self.0.read_packed(first, count, out)?;
        out.chunks_exact_mut(self.shape().record_bytes())
            .for_each(|record| record[0] ^= 1);
        Ok(())
    }
}

fn wrong_records_are_found_in(names: &[&str]) {
    let records = Synthetic::new(300, 8).unwrap();
    let faulty = Faulty(records);
    assert_ne!(
        read_record(&records, 7).unwrap(),
        read_record(&faulty, 7).unwrap()
    );

    for name in names {
        let scheme = schemes::by_name(name).unwrap();
        let choice = Choice::Goal(Goal::Balanced);
        let wrong = MeasurementPlan {
            records: &faulty,
            expected: &records,
            choice,
            effort: EFFORT,
        };

        let report = measure(&*scheme, &wrong, &NoProgress).unwrap();
        assert!(!report.correct, "{name}");

        // A report with wrong records is made nonetheless. The exit status of the command comes
        // from `check`.
        let checked = Outcome::Schemes(vec![report], Vec::new())
            .check()
            .unwrap_err()
            .to_string();
        assert_eq!(checked, format!("{name} returned wrong records"));
    }
}

#[test]
fn wrong_records_are_not_correct() {
    // The answers of all schemes are compared in the same way: some that take little time.
    wrong_records_are_found_in(&["simple", "inspire", "simple-batch", "depir", "download"]);
}

#[test]
#[ignore = "long"]
fn wrong_records_of_no_scheme_are_correct() {
    let mut names = schemes::names().unwrap();

    // A ticket of zipdouble takes seconds per byte of a record.
    names.retain(|name| *name != "zipdouble");
    wrong_records_are_found_in(&names);
}

#[test]
#[ignore = "long"]
fn zipdouble_is_measured() {
    let line = "zipdouble --records 300 --record-bytes 1 --runs 1 --hold --json";
    let report: Value = serde_json::from_str(&output(line).unwrap()).unwrap();
    assert_eq!(
        (&report["correct"], &report["scheme"]),
        (&true.into(), &"zipdouble".into())
    );
    let bytes = |name: &str| report[name].as_u64().unwrap();
    assert!(
        bytes("download_bytes") < 6000 + bytes("ticket_bytes") / 2,
        "{report}"
    );
    assert!(
        bytes("upload_bytes") + bytes("download_bytes") < bytes("ahead_bytes") / 10,
        "{report}"
    );
    assert!(report["ahead_ms"].as_f64() > Some(0.0), "{report}");
}

#[test]
fn costs_include_what_was_sent_and_answered_ahead() {
    let records = Synthetic::new(300, 8).unwrap();
    let plan = MeasurementPlan {
        records: &records,
        expected: &records,
        choice: Choice::Goal(Goal::Balanced),
        effort: EFFORT,
    };

    let scheme = schemes::by_name("simple").unwrap();
    let report = measure(&*scheme, &plan, &NoProgress).unwrap();
    let mut held = report.clone();
    held.ahead_bytes = Some(2048);
    held.ahead_ms = Some(7.0);

    let whole = Cost::measured(report);
    let held = Cost::measured(held);
    assert_eq!((whole.ahead_bytes, held.ahead_bytes), (0, 2048));
    assert!((held.total_kib - whole.total_kib - 2.0).abs() < 1e-9);
    let apart = held.server_ms.unwrap() - whole.server_ms.unwrap();
    assert!((apart - 7.0).abs() < 1e-9);
}

#[test]
fn a_database_of_one_record_is_measured() {
    let line = "inspire --records 1 --record-bytes 1 --runs 3 --json";
    let report: Value = serde_json::from_str(&output(line).unwrap()).unwrap();
    assert_eq!(report["correct"], true);
}
