//! The command line, and named experiments at a small size.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Parser;
use papir_core::{NoProgress, Progress};
use papir_measure::cli::MOVED;
use papir_measure::effort::Effort;
use papir_papers::cli::{PapersArguments, run_with};
use papir_papers::compress::{self, CompressionConfig};
use papir_papers::experiments::{self, perform};
use papir_papers::phase0::{self, Phase0Config};
use papir_papers::{Error, depir, figures, packing, tables};
use papir_schemes::registry;
use serde_json::Value;

const EFFORT: Effort = Effort::alone(1, 2);

/// The arguments of a command line, and of a file as the last one, whose path may have white space.
fn parse(line: &str, file: Option<&Path>) -> Result<PapersArguments, clap::Error> {
    let words = std::iter::once("papir-papers")
        .chain(line.split_whitespace())
        .map(OsString::from);
    let file = file.map(|file| file.as_os_str().to_owned());
    PapersArguments::try_parse_from(words.chain(file))
}

fn run(args: &PapersArguments) -> Result<String, Error> {
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
fn every_benchmark_runs_small_and_is_correct() {
    let names: BTreeSet<&str> = experiments::ALL.iter().map(|named| named.name).collect();
    assert_eq!(
        names.len(),
        experiments::ALL.len(),
        "two experiments have the same name"
    );
    // papir bench names those that it had once.
    let moved = BTreeSet::from(MOVED);
    assert!(moved.is_subset(&names), "{moved:?}");

    for named in experiments::ALL {
        assert!(
            registry::by_name(named.name).is_err(),
            "{} is a scheme",
            named.name
        );
        let report = perform(named.tiny, EFFORT, &NoProgress).unwrap();
        report.check().unwrap();
    }
}

#[test]
fn the_list_is_complete() {
    let list = output("--list").unwrap();
    let computed = tables::all().unwrap().len();
    let quoted = tables::quoted().unwrap().len();
    let figures = figures::all().unwrap().len();
    let papers = computed + quoted + figures + depir::all_sheets().count();
    assert_eq!(list.lines().count(), experiments::ALL.len() + papers);

    assert!(
        list.contains("\n--table inspire-2  ") && list.contains("\n--figure inspire-2  "),
        "{list}"
    );
    assert!(
        list.lines().any(|line| line.starts_with("packing  ")),
        "{list}"
    );

    let json: Value = serde_json::from_str(&output("--list --json").unwrap()).unwrap();
    assert_eq!(
        (&json[0]["kind"], &json[0]["name"]),
        (&"benchmark".into(), &experiments::ALL[0].name.into())
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

    let plain = output("--table pirouette-5 --size 1").unwrap();
    let estimated = plain.lines().filter(|line| line.contains("  ~"));
    assert_eq!(estimated.count(), 6, "{plain}");

    // Keys are nearly all of the total, which is below the paper's.
    let encrypted = output("--table pirouette-8 --size 1").unwrap();
    assert!(
        encrypted.contains(
            "Queries and answers without keys: below in 0 of 3 configurations, above in 3."
        ),
        "{encrypted}"
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
    let phases = output("--figure pirouette-3 --size 1").unwrap();
    assert!(
        phases.contains("whole answer (Table 6) 19000.0")
            && phases.contains("Figure 3 breaks down phase 0 alone"),
        "{phases}"
    );

    // The name has the process's number, since other tests of the workspace share the folder.
    let path = std::env::temp_dir().join(format!("papir-figure-{}.svg", std::process::id()));
    assert_eq!(
        output_with("--figure inspire-3 --size 1 --svg", &path).unwrap(),
        ""
    );
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("<svg "));
    std::fs::remove_file(path).unwrap();
}

#[test]
fn wrong_arguments_are_named() {
    for (line, words) in [
        ("", "the following required arguments were not provided"),
        ("nonsense", "`nonsense`: expected packing, compress"),
        ("inspire", "papir bench measures schemes"),
        ("--list --table inspire-2", "cannot be used with"),
        ("--table inspire-3 --clients 2", "cannot be used with"),
        ("--table inspire-3 --csv", "cannot be used with"),
        ("packing --clients 2", "cannot be used with"),
        ("packing --size 1MiB", "cannot be used with"),
        ("newton-tables --digests", "unexpected argument"),
        (
            "--table inspire-5",
            "table `inspire-5`: expected inspire-2 or inspire-3",
        ),
        (
            "--figure inspire-9",
            "figure `inspire-9`: expected inspire-1 or inspire-2 or inspire-3 or pirouette-3 or depir-3 or depir-tabulated or depir-crossing",
        ),
        ("inspire --set tiny", "unexpected argument"),
        (
            "depir --set huge",
            "the set `huge`: expected tiny, small, medium or large",
        ),
        (
            "depir --set large --tabulated all --steps one",
            "no such tables",
        ),
        ("depir --set tiny --record-bytes 4", "unexpected argument"),
        ("--table depir-3 --set tiny", "unexpected argument"),
        (
            "--table depir-3 --size 1MiB",
            "`depir-3` with --size: expected none",
        ),
        (
            "--table depir-3 --memory 1GiB",
            "`depir-3` with --memory: expected none",
        ),
        ("packing --memory 1GiB", "cannot be used with"),
        ("--record x", "--memory <BYTES>"),
        ("--record x --memory 1GiB --table zip-4", "cannot be used"),
        ("--only zip-4", "--record <FOLDER>"),
        ("--table zip-4 --only zip-4", "cannot be used"),
        (
            "--record /dev/null/x --memory 1GiB --only zip-9",
            "`zip-9`: expected inspire-2, inspire-3",
        ),
        (
            "--record /dev/null/x --memory 1GiB --only inspire-7",
            "/dev/null/x: ",
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
            "--table inspire-2 --figure inspire-2",
            "cannot be used with",
        ),
        ("--figure inspire-1 --records 4", "cannot be used with"),
        ("--table inspire-2 --svg x.svg", "cannot be used with"),
        ("packing --svg x.svg", "cannot be used with"),
        ("--svg x.svg", "--figure <FIGURE>"),
        (
            "--figure inspire-1 --size 1 --svg /nowhere/x.svg",
            "/nowhere/x.svg: No such file",
        ),
    ] {
        let error = error(line);
        assert!(error.contains(words), "`{line}`: {error}");
    }
}

#[test]
#[ignore = "long"]
fn phase_zero_is_measured_beside_the_papers() {
    let report = phase0::measure(Phase0Config::TINY, EFFORT, &NoProgress).unwrap();
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

    assert!(error("pirouette-phase0 --size 1MiB").contains("cannot be used with"));
}

#[test]
fn packing_refuses_partial_packs() {
    let error = packing::measure(100, EFFORT, &NoProgress)
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        "100 encryptions to pack: expected a multiple of 2048 up to 65536"
    );
}

/// The threads of the pool in which the last stage was announced.
#[derive(Default)]
struct StageThreads(AtomicUsize);

impl Progress for StageThreads {
    fn stage(&self, _name: &str, _total: u64) {
        self.0
            .store(rayon::current_num_threads(), Ordering::Relaxed);
    }

    fn advance(&self, _steps: u64) {}
}

#[test]
fn compression_runs_on_the_given_threads() {
    let used = StageThreads::default();
    let effort = Effort::alone(3, 1);
    let report = compress::measure(CompressionConfig::TINY, effort, &used).unwrap();
    assert_eq!((report.threads, used.0.into_inner()), (3, 3));

    let mut out = Vec::new();
    report.write_table(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert!(text.contains("384 bits, 3 threads, "), "{text}");

    // Both count the n + 1 residues of an encryption, also of one from a ring.
    for one in &report.single {
        let kilobytes = one.uncompressed_bytes as f64 / 1e3;
        assert!(
            (kilobytes - one.paper_uncompressed_kb).abs() < 0.006,
            "{one:?}"
        );
    }

    let none = Effort::alone(0, 1);
    let error = compress::measure(CompressionConfig::TINY, none, &NoProgress).unwrap_err();
    assert_eq!(error.to_string(), "0 threads: expected 1 to 1024 threads");
}
