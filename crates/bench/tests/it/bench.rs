//! Named benchmarks at a small size, their output, and errors.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use clap::Parser;
use papir_bench::cli::{Args, Outcome, perform, run_with};
use papir_bench::effort::{Effort, Plan};
use papir_bench::measure::measure;
use papir_bench::records::Synthetic;
use papir_bench::schemes;
use papir_bench::{Error, definitions, depir, figures, tables};
use papir_core::Choice;
use papir_core::{Goal, NoProgress, Records, Result as CoreResult, Shape, read_record};
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

/// The arguments of a command line, and of a file as the last one, whose path may have white space.
fn parse(line: &str, file: Option<&Path>) -> Result<Args, clap::Error> {
    let words = std::iter::once("bench")
        .chain(line.split_whitespace())
        .map(OsString::from);
    let file = file.map(|file| file.as_os_str().to_owned());
    Program::try_parse_from(words.chain(file)).map(|p| p.args)
}

fn run(args: &Args) -> Result<String, Error> {
    let mut out = Vec::new();
    run_with(args, &mut out, &NoProgress)?;
    Ok(String::from_utf8(out).unwrap())
}

/// The output of a command line.
pub(crate) fn output(line: &str) -> Result<String, Error> {
    run(&parse(line, None).unwrap())
}

/// The output of a command line with a file as the last argument.
pub(crate) fn output_with(line: &str, file: &Path) -> Result<String, Error> {
    run(&parse(line, Some(file)).unwrap())
}

fn error(line: &str) -> String {
    match parse(line, None) {
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
    assert!(error("packing --clients 2").contains("expected a scheme"));
    assert!(error("inspire-1gib --clients 2 --table inspire-3").contains("cannot be used with"));
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
    let computed = tables::all().count();
    let quoted = tables::ALL_QUOTED.len();
    let papers = computed + quoted + figures::ALL.len() + depir::all_sheets().count();
    assert_eq!(list.lines().count(), definitions::ALL.len() + papers);
    assert!(
        list.contains("\n--table inspire-2  ") && list.contains("\n--figure inspire-2  "),
        "{list}"
    );
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

#[test]
fn tables_and_figures_are_printed_as_text_json_and_svg() {
    let table = output("--table inspire-7 --size 1").unwrap();
    assert_eq!(
        table
            .lines()
            .filter(|line| line.contains("predicted"))
            .count(),
        3,
        "{table}"
    );
    let json: Value =
        serde_json::from_str(&output("--table inspire-7 --size 1 --json").unwrap()).unwrap();
    assert_eq!(
        (&json["table"], &json["above"]),
        (&"inspire-7".into(), &0.into())
    );
    assert_eq!(json["rows"][0]["papir"]["status"], "predicted");
    assert!(json["rows"][0]["papir"]["total_kib"].as_f64().unwrap() > 0.0);
    let json: Value =
        serde_json::from_str(&output("--figure inspire-3 --size 1 --json").unwrap()).unwrap();
    assert_eq!(
        (&json["figure"], &json["correct"]),
        (&"inspire-3".into(), &true.into())
    );
    assert_eq!(json["points"][0]["stages"]["packing"], 1070.0);
    let path = std::env::temp_dir().join(format!("papir-figure-{}.svg", std::process::id()));
    assert_eq!(
        output_with("--figure inspire-3 --size 1 --svg", &path).unwrap(),
        ""
    );
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("<svg "));
    std::fs::remove_file(path).unwrap();
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

#[test]
fn wrong_arguments_are_named() {
    for (line, words) in [
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
        ("plain --records 5 --size 1MiB", "cannot be used with"),
        (
            "plain --records 1 --record-bytes 1MiB",
            "the record length in bits is 8388608",
        ),
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
        ("newton-tables --digests", "expected none of them"),
        ("simple --records 64 --dim0 0", "invalid value '0'"),
        (
            "simple --records 64 --dim0 8 --goal min-time",
            "cannot be used with",
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
        ("--list --compare plain", "cannot be used with"),
        (
            "--table inspire-1",
            "table `inspire-1`: expected inspire-2 or inspire-3",
        ),
        (
            "--figure inspire-9",
            "figure `inspire-9`: expected inspire-1 or inspire-2 or inspire-3 or pirouette-3 or depir-3 or depir-tabulated or depir-crossing",
        ),
        (
            "inspire --set tiny",
            "--set with inspire: expected the scheme depir",
        ),
        (
            "depir --set huge",
            "the set `huge`: expected tiny, small, medium or large",
        ),
        (
            "depir --set large --tabulated all --steps one",
            "no such tables",
        ),
        ("depir --set tiny --record-bytes 4", "cannot be used with"),
        ("--table depir-3 --set tiny", "cannot be used with"),
        (
            "--table depir-3 --size 1MiB",
            "`depir-3` with --size: expected none",
        ),
        ("depir --tabulated 2", "--set <SET>"),
        ("depir --set tiny --steps two", "--tabulated <J|all>"),
        ("depir --set tiny --tabulated 5", "no such tables"),
        (
            "depir --set tiny --tabulated 4 --steps half",
            "expected one, two or a number of primes",
        ),
        (
            "depir --set tiny --tabulated all --steps one --paper-points",
            "the free memory",
        ),
        (
            "--compare plain,depir --records 9 --record-bytes 300KiB",
            "the record length in bits",
        ),
        (
            "--table inspire-2 --figure inspire-2",
            "cannot be used with",
        ),
        ("--figure inspire-1 --dim0 4", "cannot be used with"),
        ("--table inspire-2 --svg x.svg", "cannot be used with"),
        ("inspire --svg x.svg", "cannot be used with"),
        ("--svg x.svg", "--figure <FIGURE>"),
        ("inspire --gamma0 16 --goal balanced", "cannot be used with"),
        (
            "--figure inspire-1 --size 1 --svg /nowhere/x.svg",
            "/nowhere/x.svg: No such file",
        ),
        ("inspire --gamma0 16", "--dim0 <N>"),
    ] {
        let error = error(line);
        assert!(error.contains(words), "`{line}`: {error}");
    }
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
        let wrong = Plan {
            records: &faulty,
            expected: &records,
            choice,
            effort: EFFORT,
        };
        let report = measure(&*scheme, &wrong, &NoProgress).unwrap();
        assert!(!report.correct, "{name}");
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
}

#[test]
fn a_database_of_one_record_is_measured() {
    let line = "inspire --records 1 --record-bytes 1 --runs 3 --json";
    let report: Value = serde_json::from_str(&output(line).unwrap()).unwrap();
    assert_eq!(report["correct"], true);
}

#[test]
#[ignore = "long"]
fn phase_zero_is_measured_beside_the_papers() {
    let report =
        papir_bench::phase0::measure(papir_bench::phase0::Config::TINY, EFFORT, &NoProgress)
            .unwrap();
    assert!(
        report.correct
            && report
                .variants
                .iter()
                .all(|one| one.correct && one.total_ms > 0.0)
    );
    let [ours, together, single] = &report.variants[..] else {
        panic!("{report:?}")
    };
    // Two digits take four rotations, and RGSW encryptions of three digits one for each digit or bit.
    assert_eq!(
        (
            together.digit_rotations,
            together.bit_rotations,
            single.bit_rotations
        ),
        (4, 6, 18)
    );
    assert!(ours.external_products < together.external_products);
    assert_eq!(
        (
            ours.gates + ours.selectors.trailing_zeros() as usize,
            single.gates
        ),
        (6, 6)
    );
    let mut out = Vec::new();
    report.write_table(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let read = |line: &str| {
        line.split_whitespace()
            .eq(["index", "read", "back", "yes", "yes", "yes"])
    };
    assert!(text.lines().any(read), "{text}");
    for words in [
        "118.9 bits of security",
        "48.5 bits of security",
        "n = 840",
        "n = 648",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    assert!(error("pirouette-phase0 --size 1MiB").contains("`pirouette-phase0` with a size"));
}

#[test]
fn packing_refuses_partial_packs() {
    let error = papir_bench::packing::measure(100, EFFORT, &NoProgress)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "100 encryptions to pack: expected a multiple of 2048 up to 65536"
    );
}
