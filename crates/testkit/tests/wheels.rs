//! The check of the wheels of a release.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::{env, fs, str};

use tempfile::TempDir;

const PROMISED: [&str; 2] = ["manylinux_2_17_x86_64", "musllinux_1_2_x86_64"];
/// Names of symbols' versions as a library for glibc has them, and one for musl.
const OLD: &str = "\0GLIBC_2.2.5\0GLIBC_2.17\0";
const NEW: &str = "\0GLIBC_2.2.5\0GLIBC_2.34\0";
const MUSL: &str = "\0libc.so\0";

/// A folder of wheels.
struct WheelFolder(TempDir);

impl WheelFolder {
    /// Makes a wheel for each platform, with these bytes as its library.
    fn of(wheels: &[(&str, &str)]) -> Self {
        let folder = Self(TempDir::new().unwrap());
        let library = folder.0.path().join("_native.abi3.so");
        for (platform, bytes) in wheels {
            fs::write(&library, bytes).unwrap();
            let mut zip = python();
            zip.args(["-m", "zipfile", "-c"]);
            zip.arg(folder.wheel(platform)).arg(&library);
            assert!(zip.status().unwrap().success());
        }
        folder
    }

    fn wheel(&self, platform: &str) -> PathBuf {
        let name = format!("pypapir-0.1.0-cp310-abi3-{platform}.whl");
        self.0.path().join(name)
    }

    fn checked(&self) -> Output {
        let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools");
        let mut check = python();
        check.arg(tools.join("wheel_tags.py")).arg(self.0.path());
        check.args(PROMISED).output().unwrap()
    }
}

/// The interpreter, as `tools/setup` chooses it.
fn python() -> Command {
    Command::new(env::var_os("PAPIR_PYTHON").unwrap_or_else(|| "python3".into()))
}

#[test]
fn wheels_for_the_promised_systems_or_older_ones_pass() {
    for glibc in [
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
        "manylinux_2_17_x86_64",
    ] {
        let wheels = [(glibc, OLD), ("musllinux_1_1_x86_64", MUSL)];
        let output = WheelFolder::of(&wheels).checked();
        let printed = str::from_utf8(&output.stdout).unwrap();
        assert!(output.status.success(), "{output:?}");
        assert!(printed.contains("needs glibc 2.17\n"), "{printed}");
        assert!(printed.contains("needs musl\n"), "{printed}");
    }
}

#[test]
fn wheels_that_some_promised_systems_cannot_load_are_refused() {
    let glibc = (PROMISED[0], OLD);
    let musl = (PROMISED[1], MUSL);
    for (wheels, expected) in [
        (vec![glibc], "no wheel for musllinux_1_2_x86_64"),
        (vec![musl], "no wheel for manylinux_2_17_x86_64"),
        (
            vec![glibc, musl, ("manylinux_2_34_x86_64", OLD)],
            "it is for manylinux_2_34_x86_64: expected manylinux_2_17_x86_64",
        ),
        (
            vec![glibc, musl, ("manylinux_2_17_aarch64", OLD)],
            "it is for manylinux_2_17_aarch64: expected",
        ),
        (
            vec![glibc, musl, ("linux_x86_64", OLD)],
            "its tag has no version of a C library",
        ),
        (
            vec![(PROMISED[0], NEW), musl],
            "it needs glibc 2.34: expected at most 2.17",
        ),
        (
            vec![(PROMISED[0], MUSL), musl],
            "its libraries name no version of glibc",
        ),
        (
            vec![glibc, (PROMISED[1], OLD)],
            "it needs glibc 2.17: expected musl only",
        ),
    ] {
        let output = WheelFolder::of(&wheels).checked();
        let error = str::from_utf8(&output.stderr).unwrap();
        assert!(!output.status.success(), "{expected}");
        assert!(error.contains(expected), "{expected}: {error}");
    }
}
