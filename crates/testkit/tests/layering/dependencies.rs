//! Rules for dependencies: licences and registries of deny.toml, oldest Rust release, audit core.
//!
//! `make audit` checks more, with cargo-deny.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand, Package};
use spdx::{Expression, Licensee};
use toml::Table;

use crate::root;

/// All packages of a build on this machine, including development dependencies.
fn dependencies() -> Metadata {
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .unwrap();
    let options = ["--filter-platform", host, "--locked"]
        .map(str::to_owned)
        .to_vec();
    MetadataCommand::new()
        .manifest_path(root().join("Cargo.toml"))
        .other_options(options)
        .exec()
        .unwrap()
}

/// The third-party packages among `metadata`.
fn third_party(metadata: &Metadata) -> Vec<&Package> {
    let built = metadata.resolve.as_ref().unwrap();
    let packages = built.nodes.iter().map(|node| &metadata[&node.id]);
    packages
        .filter(|package| package.source.is_some())
        .collect()
}

fn strings(table: &Table, section: &str, key: &str) -> Vec<String> {
    let list = table[section][key].as_array().unwrap();
    list.iter()
        .map(|entry| entry.as_str().unwrap().to_owned())
        .collect()
}

/// Licences that single packages may have besides the allowed ones, by the package's name.
fn exceptions(policy: &Table) -> BTreeMap<String, Vec<String>> {
    let rows = policy["licenses"]["exceptions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row.as_table().unwrap());
    let licences = |row: &Table| {
        let allowed = row["allow"].as_array().unwrap();
        allowed
            .iter()
            .map(|licence| licence.as_str().unwrap().to_owned())
            .collect()
    };
    rows.map(|row| (row["crate"].as_str().unwrap().to_owned(), licences(row)))
        .collect()
}

#[test]
fn dependencies_have_allowed_licences_and_sources() {
    let policy: Table = fs::read_to_string(root().join("deny.toml"))
        .unwrap()
        .parse()
        .unwrap();
    let allowed = strings(&policy, "licenses", "allow");
    let parsed = |licence: &String| Licensee::parse(licence).unwrap();
    let allowed: Vec<Licensee> = allowed.iter().map(parsed).collect();
    let exceptions = exceptions(&policy);
    let registries = strings(&policy, "sources", "allow-registry");
    let metadata = dependencies();
    let packages = third_party(&metadata);
    assert!(packages.len() > 100, "only {} dependencies", packages.len());
    let mut wrong = Vec::new();
    for package in packages {
        let name = &package.name;
        let source = package.source.as_ref().unwrap().repr.clone();
        if !registries
            .iter()
            .any(|registry| source == format!("registry+{registry}"))
        {
            wrong.push(format!("{name}: from {source}"));
        }
        let licence = package
            .license
            .clone()
            .unwrap_or_default()
            .replace('/', " OR ");
        let expression = Expression::parse(&licence);
        let more: Vec<Licensee> = exceptions
            .get(name.as_str())
            .into_iter()
            .flatten()
            .map(parsed)
            .collect();
        let satisfied = expression.is_ok_and(|expression| {
            expression.evaluate(|wanted| {
                allowed
                    .iter()
                    .chain(&more)
                    .any(|licence| licence.satisfies(wanted))
            })
        });
        if !satisfied {
            wrong.push(format!("{name}: licence `{licence}`"));
        }
    }
    assert!(wrong.is_empty(), "not allowed by deny.toml: {wrong:#?}");
}

/// Crates of other schemes and of transports, which the audit core lacks.
const NOT_IN_THE_CORE: &[&str] = &[
    "papir-paillier",
    "papir-tls",
    "papir-ohttp",
    "papir-privacy-pass",
    "flate2",
    "rustls",
    "socket2",
    "tokio",
    "ureq",
];

/// `docs/audit.md` names this command.
#[test]
fn the_audit_core_has_no_crate_of_other_schemes_and_of_transports() {
    let output = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["tree", "--locked", "--package", "papir-client"])
        .arg("--no-default-features")
        .args(["--edges", "normal", "--prefix", "none"])
        .output()
        .unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "cargo tree: {errors}");

    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: BTreeSet<&str> = tree.lines().map(first_word).collect();
    for needed in ["papir-client", "papir-schemes", "papir-lattice"] {
        assert!(crates.contains(needed), "{needed} is missing in {crates:?}");
    }
    for other in NOT_IN_THE_CORE {
        assert!(!crates.contains(other), "{other} is in the audit core");
    }
}

/// The name in a line of `cargo tree`, before version and path.
fn first_word(line: &str) -> &str {
    line.split(' ').next().unwrap_or(line)
}

/// Checks dependencies only. Clippy's `incompatible_msrv` finds newer functions of the standard
/// library in papir's own code.
#[test]
fn dependencies_support_the_oldest_rust() {
    let metadata = dependencies();
    let ours = metadata.workspace_packages()[0]
        .rust_version
        .clone()
        .unwrap();
    let newer: Vec<String> = third_party(&metadata)
        .iter()
        .filter(|package| {
            package
                .rust_version
                .as_ref()
                .is_some_and(|version| *version > ours)
        })
        .map(|package| {
            format!(
                "{} needs {}",
                package.name,
                package.rust_version.as_ref().unwrap()
            )
        })
        .collect();
    assert!(newer.is_empty(), "papir supports Rust {ours}: {newer:#?}");
}
