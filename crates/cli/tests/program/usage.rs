//! Arguments, help and completions.

use std::process::Stdio;

use crate::support::{Folder, fails, fails_with, program, succeeds};

#[test]
fn every_subcommand_has_help_with_examples() {
    let overview = succeeds(&["--help"]);
    for name in [
        "demo",
        "plan",
        "build",
        "update",
        "versions",
        "rollback",
        "checkpoint",
        "serve",
        "relay",
        "issuer",
        "tokens",
        "get",
        "query",
        "answer",
        "extract",
        "pin",
        "inspect",
        "doctor",
        "bench",
        "attack",
        "completions",
    ] {
        assert!(
            overview.contains(&format!("  {name} ")),
            "{name} is not in {overview}"
        );
        let help = succeeds(&[name, "--help"]);
        assert!(
            help.contains("Usage: papir ") && help.contains("Examples:"),
            "{help}"
        );
    }
    assert!(
        overview.contains("Exit codes:") && overview.contains("  3  error that may pass"),
        "{overview}"
    );
    assert_eq!(
        succeeds(&["--version"]),
        format!("papir {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn a_reader_that_ends_early_is_no_failure_to_report() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    for arguments in [
        &["inspect", &words][..],
        &["completions", "bash"],
        &["bench", "--list"],
        &["--help"],
    ] {
        let mut command = program();
        command.args(arguments).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());

        let output = child.wait_with_output().unwrap();

        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message, "", "{arguments:?}");
        // 128 + SIGPIPE, unless all of it was written before the reader ended.
        assert!(
            matches!(output.status.code(), Some(141 | 0)),
            "{arguments:?}: {}",
            output.status
        );
    }
}

#[test]
fn bad_arguments_are_one_line() {
    fails_with(&[], &["subcommand"]);
    fails_with(&["nonsense"], &["nonsense"]);
    fails_with(&["build"], &["--out", "SOURCE"]);
    fails_with(
        &["build", "a.csv", "--out", "b", "--nonsense"],
        &["--nonsense"],
    );
    fails_with(
        &["build", "a.csv", "--out", "b", "--format", "xml"],
        &["xml", "csv", "jsonl", "raw"],
    );
    fails_with(
        &["build", "a.csv", "--out", "b", "--goal", "cheap"],
        &["cheap", "min-communication"],
    );
    fails_with(
        &["build", "a.csv", "--out", "b", "--on-duplicate", "all"],
        &["all", "error", "first", "last"],
    );
    fails_with(&["serve"], &["FILE"]);
    fails_with(&["serve", "a.papir", "--listen", "nowhere"], &["nowhere"]);
    fails_with(&["relay"], &["--to"]);
    fails_with(&["relay", "--to", "http://h.example"], &["https://HOST"]);
    fails_with(
        &["relay", "--to", "https://h", "--to", "https://H:443"],
        &["two services at h"],
    );
    fails_with(&["issuer", "--keys", "a", "--counts", "b"], &["--tokens"]);
    fails_with(&["get", "http://127.0.0.1:1"], &["KEY"]);
    fails_with(
        &["get", "http://127.0.0.1:1", "key", "--index", "1"],
        &["--index"],
    );
    fails_with(&["get", "http://127.0.0.1:1", "--index", "one"], &["one"]);
    fails_with(
        &["get", "http://127.0.0.1:1", "key", "--patches", "yes"],
        &["yes", "auto", "always", "never"],
    );
    fails_with(&["bench", "nonsense"], &["nonsense", "inspire"]);
    fails_with(&["completions", "cmd"], &["cmd", "bash"]);
    assert!(fails(&["inspect"]).contains("FILE"));
}

#[test]
fn completions_name_the_subcommands() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = succeeds(&["completions", shell]);
        assert!(
            script.contains("inspect") && script.contains("on-duplicate"),
            "{shell}"
        );
    }
}

#[test]
fn a_benchmark_runs_and_prints_json() {
    let text = succeeds(&[
        "bench", "simple", "--size", "64KiB", "--runs", "1", "--json",
    ]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(
        (&report["scheme"], &report["correct"]),
        (&"simple".into(), &true.into())
    );
    assert!(report["answer_ms"].as_f64().unwrap() > 0.0, "{text}");
}
