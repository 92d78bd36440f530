//! The Python package: its tests, its types and its documentation, in an environment of this test's own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The interpreter, if not the first one in the path.
const INTERPRETER: &str = "PAPIR_PYTHON";

#[test]
fn the_package_passes_its_tests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let target = target();
    let python = environment(folder, &target);
    let package = staged(folder, &target);
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command
            .args(arguments)
            .current_dir(&package)
            .env("PYTHONPATH", &package)
            .env("PAPIR", program())
            .env("RAY_USAGE_STATS_ENABLED", "0")
            .env("JUPYTER_RUNTIME_DIR", package.join("jupyter"))
            .env("IPYTHONDIR", package.join("ipython"));
        succeeds(&mut command);
    };
    run(&["-m", "mypy", "--no-error-summary", "--cache-dir", &cache(&target)]);
    run(&["-m", "pytest", "-q", "-p", "no:cacheprovider"]);
}

/// The folder of cargo's results.
fn target() -> PathBuf {
    // The test is in `TARGET/PROFILE/deps`, beside the library.
    env::current_exe().unwrap().ancestors().nth(3).unwrap().to_owned()
}

fn cache(target: &Path) -> String {
    target.join("python/mypy").display().to_string()
}

/// Runs a command, and prints what it prints.
fn succeeds(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    println!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}", output.status);
}

/// The interpreter of an environment with what the tests need, made anew when that changes.
fn environment(folder: &Path, target: &Path) -> PathBuf {
    let requirements = folder.join("tests/requirements.txt");
    let wanted = fs::read(&requirements).unwrap();
    let made = target.join("python/environment");
    let (python, stamp) = (made.join("bin/python"), made.join("requirements.txt"));
    if fs::read(&stamp).is_ok_and(|had| had == wanted) {
        return python;
    }
    let interpreter = env::var(INTERPRETER).unwrap_or_else(|_| "python3".to_owned());
    let check = "import sys, venv; sys.exit(sys.version_info < (3, 11))";
    let usable = Command::new(&interpreter).args(["-c", check]).output();
    assert!(
        usable.is_ok_and(|output| output.status.success()),
        "Python 3.11 or later with venv is missing: install it (apt install python3-venv), or set {INTERPRETER}"
    );
    let _ = fs::remove_dir_all(&made);
    succeeds(Command::new(&interpreter).args(["-m", "venv"]).arg(&made));
    let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"];
    succeeds(Command::new(&python).args(install).arg(&requirements));
    fs::write(&stamp, wanted).unwrap();
    python
}

/// A folder with the package as a wheel has it, its modules and the library beside them, and with its tests.
fn staged(folder: &Path, target: &Path) -> PathBuf {
    let package = target.join("python/package");
    let _ = fs::remove_dir_all(&package);
    copy(&folder.join("pypapir"), &package.join("pypapir"));
    for more in ["tests", "examples", "demo", "notebooks", "deploy"] {
        copy(&folder.join(more), &package.join(more));
    }
    copy(&folder.join("../docs"), &package.join("docs"));
    fs::copy(folder.join("pyproject.toml"), package.join("pyproject.toml")).unwrap();
    let library = env::current_exe().unwrap().with_file_name(library_name());
    fs::hard_link(&library, package.join("pypapir/_native.abi3.so"))
        .unwrap_or_else(|error| panic!("{}: {error}", library.display()));
    package
}

/// The program, which tests of the whole workspace build.
fn program() -> PathBuf {
    // The test is in `TARGET/PROFILE/deps`.
    let program = env::current_exe().unwrap().ancestors().nth(2).unwrap().join("papir");
    assert!(program.exists(), "{} is missing: run the tests of the whole workspace", program.display());
    program
}

fn library_name() -> String {
    format!("{}_native{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() != "__pycache__" => copy(&from, &to),
            false if from.extension().is_none_or(|extension| extension != "so") => {
                fs::copy(from, to).unwrap();
            }
            _ => {}
        }
    }
}
