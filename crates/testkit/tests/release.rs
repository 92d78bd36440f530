//! The scripts that write a release and compare two builds of one.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, str};

use tempfile::TempDir;

/// Prints the hash of a tar archive with the files of a folder.
const ARCHIVE: &str = "
import hashlib, pathlib, sys
import archives
tree = archives.Tree(1)
tree.copy(pathlib.Path(sys.argv[1]), 'top')
tree.folder('var/cache/papir', owner=65532)
for pack in [archives.gzipped, archives.xz]:
    print(hashlib.sha256(pack(tree.bytes())).hexdigest())
";
/// Prints the manual page of `papir get` with this help.
const PAGE: &str = "
import sys
import man
print(man.page(['get'], sys.argv[1]), end='')
";
/// The help of a subcommand, as clap prints it.
const HELP: &str = "Look up keys.

Without telling -which-.

Usage: papir get [OPTIONS] <COMMAND>

Commands:
  all   Look up all keys
  help  Print this message

Options:
      --goal <GOAL>
          What matters

          Possible values:
          - time: Least work

          [env: PAPIR_GOAL=]

Examples:
  papir get 'a' \\b
";

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/dist")
}

/// The interpreter, as `tools/setup` chooses it. It finds the modules of the scripts, and leaves
/// nothing beside them.
fn python() -> Command {
    let mut command = Command::new(env::var_os("PAPIR_PYTHON").unwrap_or_else(|| "python3".into()));
    command.arg("-B").env("PYTHONPATH", scripts());
    command.env("SOURCE_DATE_EPOCH", "86400");
    command
}

/// What a few lines of Python print for an argument.
fn snippet(code: &str, argument: &str) -> String {
    let output = python().args(["-c", code, argument]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a script of a release.
fn run(script: &str, arguments: &[&str]) -> Output {
    let mut command = python();
    command.arg(scripts().join(script)).args(arguments);
    command.output().unwrap()
}

fn succeeds(script: &str, arguments: &[&str]) -> String {
    let output = run(script, arguments);
    assert!(
        output.status.success(),
        "{script} {arguments:?}: {output:?}"
    );
    String::from_utf8(output.stdout).unwrap()
}

fn fails_with(script: &str, arguments: &[&str], expected: &str) {
    let output = run(script, arguments);
    let error = str::from_utf8(&output.stderr).unwrap();
    assert!(!output.status.success(), "{script} {arguments:?}");
    assert!(error.contains(expected), "{expected}: {error}");
}

/// A folder of a release, with its sums.
struct ReleaseFolder(TempDir);

impl ReleaseFolder {
    fn of(files: &[(&str, &str)]) -> Self {
        let release = Self(TempDir::new().unwrap());
        for (name, content) in files {
            release.write(name, content);
        }
        succeeds("sums.py", &[release.path()]);
        release
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn path(&self) -> &str {
        self.0.path().to_str().unwrap()
    }
}

#[test]
fn sums_name_each_file_that_was_changed_added_or_removed() {
    let release = ReleaseFolder::of(&[("a.deb", "a"), ("wheels/b.whl", "b")]);
    succeeds("sums.py", &["--check", release.path()]);
    let list = fs::read_to_string(release.0.path().join("SHA256SUMS")).unwrap();
    let names: Vec<&str> = list.lines().filter_map(|line| line.get(64..)).collect();
    assert_eq!(names, ["  a.deb", "  wheels/b.whl"]);

    // A signature of the list is no part of it.
    release.write("SHA256SUMS.minisig", "signature");
    succeeds("sums.py", &["--check", release.path()]);

    release.write("wheels/b.whl", "c");
    fails_with("sums.py", &["--check", release.path()], "wheels/b.whl");
    release.write("wheels/b.whl", "b");
    release.write("new", "");
    fails_with(
        "sums.py",
        &["--check", release.path()],
        "there, and not listed",
    );
    fs::remove_file(release.0.path().join("new")).unwrap();
    fs::remove_file(release.0.path().join("a.deb")).unwrap();
    fails_with(
        "sums.py",
        &["--check", release.path()],
        "listed, and not there",
    );
}

#[test]
fn two_builds_are_equal_or_the_files_that_differ_are_named() {
    let files = [("a.deb", "a"), ("b.jar", "b")];
    let first = ReleaseFolder::of(&files);
    let same = ReleaseFolder::of(&files);
    let printed = succeeds("compare.py", &[first.path(), same.path()]);
    assert!(printed.contains("2 files are the same"), "{printed}");

    let changed = ReleaseFolder::of(&[("a.deb", "a"), ("b.jar", "c")]);
    fails_with(
        "compare.py",
        &[first.path(), changed.path()],
        "differs: b.jar",
    );
    let fewer = ReleaseFolder::of(&files[..1]);
    fails_with(
        "compare.py",
        &[first.path(), fewer.path()],
        "1 files differ",
    );
}

/// Hashes of archives of a folder with files of these names and modes, written in this order.
fn archive_hashes(files: &[(&str, u32)]) -> String {
    let folder = TempDir::new().unwrap();
    for (name, mode) in files {
        let path = folder.path().join(name);
        fs::write(&path, name).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(*mode)).unwrap();
    }
    snippet(ARCHIVE, folder.path().to_str().unwrap())
}

#[test]
fn an_archive_does_not_depend_on_times_modes_and_the_order_of_writing() {
    let first = archive_hashes(&[("a", 0o644), ("b", 0o755)]);
    assert_eq!(first, archive_hashes(&[("b", 0o700), ("a", 0o600)]));

    assert_ne!(first, archive_hashes(&[("a", 0o755), ("b", 0o755)]));
    assert_ne!(first, archive_hashes(&[("a", 0o644)]));
}

#[test]
fn a_manual_page_has_what_the_help_has() {
    let page = snippet(PAGE, HELP);
    for expected in [
        ".TH \"PAPIR-GET\" 1 \"1970-01-02\"",
        "papir\\-get \\- Look up keys\n",
        "Without telling \\-which\\-.\n",
        "\\fB\\-\\-goal <GOAL>\\fR\nWhat matters\n",
        "time: Least work\n",
        "[env: PAPIR_GOAL]\n",
        "papir get 'a' \\eb\n",
        "\\fBpapir\\-get\\-all\\fR(1)",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    assert!(!page.contains("get\\-help"), "{page}");
}
