//! Tests that need their own process, such as for its log or signals.

use std::process::Command;

/// The test that a process runs. Set in that process only.
const ALONE: &str = "PAPIR_TEST_ALONE";

/// Whether this process runs the named test only. If not, runs the test in its own process and
/// fails if it fails.
#[track_caller]
pub fn alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return true;
    }
    let mut program = Command::new(std::env::current_exe().unwrap());
    let output = program.args(["--exact", test, "--nocapture"]).env(ALONE, test).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && said.contains("test result: ok. 1 passed");
    assert!(passed, "{test}: {}\n{said}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    false
}
