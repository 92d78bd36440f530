//! Tests that need their own process, for example for its log or its signals.

use std::process::Command;

/// Environment variable with the test that a process runs. Set in that process only.
const ALONE: &str = "PAPIR_TEST_ALONE";

/// Returns whether this process runs only the named test. If not, runs the test in its own process,
/// and panics if the test fails there.
#[track_caller]
pub fn runs_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return true;
    }
    let mut program = Command::new(std::env::current_exe().unwrap());
    let output = program.args(["--exact", test, "--nocapture"]).env(ALONE, test).output().unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && stdout.contains("test result: ok. 1 passed");
    assert!(passed, "{test}: {}\n{stdout}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    false
}
