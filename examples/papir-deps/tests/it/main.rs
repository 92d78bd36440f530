//! The program before a papir service on this machine, over the sample of this folder.
//!
//! `PAPIR` names the program `papir`, which builds and serves the database.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::fs;

use crate::support::{Audit, Service, World, sample};

/// Keys of a request.
const BATCH: u64 = 16;

/// The lockfiles of the sample.
const LOCKFILES: [&str; 3] = ["Cargo.lock", "package-lock.json", "requirements.txt"];

/// The findings of the sample: package, version, advisory.
const FINDINGS: [[&str; 3]; 3] = [
    ["crates.io/sample_tree", "1.2.3", "SAMPLE-2026-0001"],
    ["npm/@sample/left", "1.1.0", "SAMPLE-2026-0002"],
    ["PyPI/sample_template", "4.0rc1", "SAMPLE-2026-0003"],
];

fn projects(names: &[&str]) -> Vec<String> {
    names
        .iter()
        .map(|name| sample(&format!("project/{name}")))
        .collect()
}

#[test]
fn affected_packages_are_printed_and_the_audit_fails() {
    let world = World::with_sample();
    let service = Service::start(&world);

    let all = Audit::run(&world, &service, &projects(&LOCKFILES), &[]);
    assert_eq!(all.code, 1, "{}", all.error);
    assert_eq!(all.rows(), FINDINGS);
    assert!(all.output.starts_with("package  "), "{}", all.output);
    assert!(
        all.error.contains("7 packages, 64 lookups, 3 findings"),
        "{}",
        all.error
    );

    for (name, finding) in LOCKFILES.iter().zip(FINDINGS) {
        let one = Audit::run(&world, &service, &projects(&[name]), &[]);
        assert_eq!(one.rows(), [finding], "{name}");
    }
}

#[test]
fn without_affected_packages_nothing_is_printed() {
    let world = World::with_sample();
    let service = Service::start(&world);
    let fixed = world.path("Cargo.lock");
    let lock = fs::read_to_string(sample("project/Cargo.lock")).unwrap();
    fs::write(&fixed, lock.replace("1.2.3", "1.2.4")).unwrap();

    let audit = Audit::run(&world, &service, &[fixed], &[]);
    assert_eq!(audit.code, 0, "{}", audit.error);
    assert_eq!(audit.output, "");
}

#[test]
fn the_service_sees_the_number_of_packages_only_to_a_step() {
    let world = World::with_sample();
    let service = Service::start(&world);
    let mut before = service.queries("advisories");

    for (count, step, expected) in [
        (0, 16, 16),
        (1, 16, 16),
        (16, 16, 16),
        (17, 16, 32),
        (3, 5, 5),
    ] {
        let lines: String = (0..count).map(|i| format!("sample-{i}==1.0\n")).collect();
        let file = world.path("requirements.txt");
        fs::write(&file, lines).unwrap();

        let audit = Audit::run(&world, &service, &[file], &["--step", &step.to_string()]);
        assert_eq!(audit.code, 0, "{}", audit.error);
        let after = service.queries("advisories");
        assert_eq!(after - before, expected, "{count} packages");
        before = after;
    }
}

#[test]
fn affected_packages_and_others_look_the_same() {
    let world = World::with_sample();
    let service = Service::start(&world);
    let mut seen = Vec::new();

    for name in ["sample-template", "absent"] {
        let file = world.path("requirements.txt");
        fs::write(&file, format!("{name}==1.0\n")).unwrap();
        let before = service.queries("advisories");
        Audit::run(&world, &service, &[file], &["--step", "16"]);
        seen.push(service.queries("advisories") - before);
    }
    assert_eq!(seen, [BATCH, BATCH]);
}

#[test]
fn without_an_answer_the_audit_is_an_error() {
    let world = World::with_sample();
    let service = Service::start(&world);
    let absent = format!("{}/v1/databases/absent", service.url());
    let files = projects(&LOCKFILES);

    let unknown = Audit::run_at(&world, &absent, &files, &[]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.error.contains("papir-deps: "), "{}", unknown.error);
    let unreadable = Audit::run(&world, &service, &[world.path("absent.txt")], &[]);
    assert_eq!(unreadable.code, 2);
    assert!(
        unreadable.error.contains("absent.txt"),
        "{}",
        unreadable.error
    );
    // Nothing is looked up before all files are read.
    assert_eq!(service.queries("advisories"), 0);
}

#[test]
fn a_value_of_another_form_is_an_error_after_all_lookups() {
    let world = World::new();
    let rows = "{\"key\": \"PyPI/a\", \"advisories\": \"SAMPLE-1 nonsense\"}\n";
    fs::write(world.path("rows.jsonl"), rows).unwrap();
    world.papir(&[
        "build",
        &world.path("rows.jsonl"),
        "--key",
        "key",
        "--value",
        "advisories",
        "--scheme",
        "simple",
        "--out",
        &world.path("advisories.papir"),
    ]);
    let service = Service::start(&world);
    let lines: String = ('a'..='t').map(|name| format!("{name}==1.0\n")).collect();
    let file = world.path("requirements.txt");
    fs::write(&file, lines).unwrap();

    let audit = Audit::run(&world, &service, &[file], &["--step", "16"]);
    assert_eq!(audit.code, 2);
    assert!(audit.error.contains("PyPI/a"), "{}", audit.error);
    assert_eq!(service.queries("advisories"), 2 * BATCH);
}

#[test]
fn a_bad_file_stops_the_build_unless_it_may_be_left_out() {
    let world = World::new();
    let folder = world.path("osv");
    fs::create_dir_all(format!("{folder}/more")).unwrap();
    fs::write(format!("{folder}/bad.json"), "{}").unwrap();
    let good = fs::read(sample("osv/SAMPLE-2026-0001.json")).unwrap();
    fs::write(format!("{folder}/more/good.json"), good).unwrap();

    let refused = world.build(&folder, &[]);
    assert_eq!(refused.code, 2);
    assert!(refused.error.contains("bad.json"), "{}", refused.error);
    let built = world.build(&folder, &["--skip-bad", "1"]);
    assert_eq!(built.code, 0, "{}", built.error);
    assert!(
        built
            .output
            .contains("1 packages, 1 advisories; left out: 1"),
        "{}",
        built.output
    );

    let empty = world.path("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(world.build(&empty, &[]).code, 2);
    assert_eq!(world.build(&world.path("absent"), &[]).code, 2);
}
