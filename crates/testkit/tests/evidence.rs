//! The vectors by which Rust code is tied to the models of `reference/smt`.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::env;
use std::path::Path;
use std::process::Command;

/// The committed vectors are those that the script computes today. It needs no solver.
#[test]
fn vectors_of_the_models_are_up_to_date() {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../reference/smt");
    // The interpreter, as `tools/setup` chooses it.
    let python = env::var_os("PAPIR_PYTHON").unwrap_or_else(|| "python3".into());

    let mut check = Command::new(python);
    check.arg("-B").arg(models.join("vectors.py")).arg("--check");
    let output = check.output().unwrap();
    assert!(output.status.success(), "{output:?}");
}
