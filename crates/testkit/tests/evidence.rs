//! The models of `reference/smt`, without a solver: their vectors and their page.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, str};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a script of the models.
fn run(script: &str, argument: &str) -> Output {
    // The interpreter, as `tools/setup` chooses it.
    let python = env::var_os("PAPIR_PYTHON").unwrap_or_else(|| "python3".into());
    let script = root().join("reference/smt").join(script);

    let output = Command::new(python)
        .arg("-B")
        .arg(script)
        .arg(argument)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

/// The committed vectors are those that the script computes today.
#[test]
fn vectors_of_the_models_are_up_to_date() {
    run("vectors.py", "--check");
}

/// The script also checks that each property names a test that exists.
#[test]
fn the_page_has_the_table_of_all_properties() {
    let output = run("prove.py", "--table");
    let table = str::from_utf8(&output.stdout).unwrap();
    let page = fs::read_to_string(root().join("docs/evidence.md")).unwrap();
    assert!(page.contains(table), "docs/evidence.md lacks: {table}");
}
