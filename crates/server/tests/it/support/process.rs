//! Tests that need their own process, for example for its log or its signals.

use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Environment variable with the test that a process runs. Set in that process only.
const ALONE: &str = "PAPIR_TEST_ALONE";
/// Environment variables with proxies to other machines. Not set in that process.
const PROXIES: [&str; 6] = [
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
];

/// Returns whether this process runs only the named test. If not, runs the test in its own process,
/// and panics if the test fails there.
#[track_caller]
pub fn runs_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|alone| alone == test) {
        return true;
    }
    let mut program = Command::new(std::env::current_exe().unwrap());
    for proxy in PROXIES {
        program.env_remove(proxy);
    }
    let output = program
        .args(["--exact", test, "--nocapture", "--include-ignored"])
        .env(ALONE, test)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let passed = output.status.success() && stdout.contains("test result: ok. 1 passed");
    assert!(
        passed,
        "{test}: {}\n{stdout}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

/// Open files that let tests with dozens of connections run side by side.
const PLENTY_OF_FILES: usize = 1024;

/// Returns whether this process runs a test with dozens of connections. If it may open few files,
/// which other tests use too, the test runs in its own process, as [`runs_alone`] does it.
#[track_caller]
pub fn has_files_for(test: &str) -> bool {
    open_files() >= PLENTY_OF_FILES || runs_alone(test)
}

/// Lets this process have as many files open as it may, connections included. Returns their number.
pub fn open_files() -> usize {
    let limit = getrlimit(Resource::Nofile);
    // If it is refused, the lower limit stays.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );

    let current = getrlimit(Resource::Nofile).current;
    current
        .and_then(|files| usize::try_from(files).ok())
        .unwrap_or(usize::MAX)
}
