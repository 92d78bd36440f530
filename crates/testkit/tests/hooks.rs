//! The check of commit messages that contributors may install.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};
use std::{fs, str};

/// Runs the hook on a message.
fn checked(message: &str) -> Output {
    let hook = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/hooks/commit-msg");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("message");
    fs::write(&file, message).unwrap();

    // Through the shell: an archive of the sources need not keep the permission to execute.
    Command::new("sh").arg(hook).arg(file).output().unwrap()
}

#[test]
fn a_message_has_an_area_a_change_and_a_reason() {
    for message in [
        "server: a query has a name\n\nIts reader could not find it.\n",
        "measure, papers: two crates\n\n# A comment\nOne links a plotter.\n",
        "Merge branch 'other'\n",
    ] {
        let output = checked(message);
        assert!(output.status.success(), "{message}: {output:?}");
    }
}

#[test]
fn a_message_without_one_is_refused_with_what_is_expected() {
    let long = format!("server: {}\n\nWhy.\n", "x".repeat(100));
    for (message, expected) in [
        (
            "Various changes\n\nWhy.\n",
            "expected \"area: what changed\"",
        ),
        ("server: a change\n", "expected an empty line, and then why"),
        (
            "server: a change\nwhy\n",
            "expected an empty line, and then why",
        ),
        (
            "server: a change\n\n# Only a comment\n",
            "expected an empty line",
        ),
        (&long, "expected at most 100"),
    ] {
        let output = checked(message);
        assert!(!output.status.success(), "{message}");

        let error = str::from_utf8(&output.stderr).unwrap();
        assert!(error.contains(expected), "{message}: {error}");
    }
}
