//! The Python package: its tests, its types and its documentation, in an environment of this test's own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ffi::OsStr;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use papir_testkit::postgres::{PASSWORD, Server};
use tempfile::TempDir;

/// The interpreter, if not the first one in the path.
const INTERPRETER: &str = "PAPIR_PYTHON";

/// The file of an environment that says what it was made of.
const STAMP: &str = "made-for.txt";

/// Variables of papir that the tests are meant to see.
const OF_TESTS: [&str; 2] = ["PAPIR_BACKEND", INTERPRETER];

/// A person's settings of Python, pip, pytest and Ray: other modules, other folders, another cluster.
const SETTINGS: [&str; 6] = [
    "PYTHONHOME",
    "PYTHONPATH",
    "PIP_TARGET",
    "PIP_USER",
    "PYTEST_ADDOPTS",
    "RAY_ADDRESS",
];

/// Variables for the address of a PostgreSQL server with a table of words, and for the password.
const POSTGRES: &str = "PAPIR_POSTGRES";
const POSTGRES_PASSWORD: &str = "PAPIR_POSTGRES_PASSWORD";

/// Ray ends what starts or answers slowly, and what runs while little memory is free: all of that
/// happens on a busy machine. A process that does not reach Ray's own server for a minute exits
/// without a word. (`raylet_client_connect_timeout_milliseconds` is no limit but the pause between
/// two attempts.)
const PATIENT_RAY: [(&str, &str); 11] = [
    ("RAY_USAGE_STATS_ENABLED", "0"),
    ("RAY_memory_monitor_refresh_ms", "0"),
    ("RAY_agent_register_timeout_ms", "600000"),
    ("RAY_gcs_server_port_wait_time_s", "600"),
    ("RAY_gcs_rpc_server_reconnect_timeout_s", "600"),
    ("RAY_gcs_server_request_timeout_seconds", "600"),
    ("RAY_health_check_timeout_ms", "600000"),
    ("RAY_raylet_client_num_connect_attempts", "600"),
    ("RAY_worker_register_timeout_seconds", "600"),
    ("RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S", "600"),
    ("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "600"),
];

/// No proxy is asked for a service of this machine.
const WITHOUT_PROXY: [(&str, &str); 2] = [
    ("NO_PROXY", "127.0.0.1,localhost,::1"),
    ("no_proxy", "127.0.0.1,localhost,::1"),
];

/// The folder of tests that start a cluster.
const CLUSTER: &str = "tests/cluster";

#[test]
fn the_package_passes_its_tests() {
    let package = Package::new();

    let cache = package.kept.join("mypy").display().to_string();
    package.run(
        &["-m", "mypy", "--no-error-summary", "--cache-dir", &cache],
        &[],
    );

    let server = server_of_words();
    let address = server.address("papir");
    package.pytest(
        &["--ignore", CLUSTER],
        &[(POSTGRES, address.as_str()), (POSTGRES_PASSWORD, PASSWORD)],
    );
}

#[test]
#[ignore = "starts a cluster of Ray, which has time limits of its own"]
fn the_package_builds_and_serves_on_a_cluster() {
    Package::new().pytest(&[CLUSTER], &[]);
}

/// A PostgreSQL server whose table of words the tests may read.
fn server_of_words() -> Server {
    let server = Server::start("fsync = off");
    for statement in [
        "CREATE TABLE words (word text, meaning text, n int)",
        "INSERT INTO words VALUES ('one', 'a \"first\",\nword', 1), ('two', NULL, 2), ('drei', 'ü', 3)",
        "CREATE TABLE holes (word text, meaning text)",
        "INSERT INTO holes VALUES (NULL, '1'), ('a', '2')",
        "GRANT SELECT, INSERT ON words, holes TO papir",
    ] {
        server.sql("papir", statement);
    }
    server
}

/// The package as a wheel has it, with its tests, and an environment that runs them.
struct Package {
    python: PathBuf,
    /// The folder of what later runs use.
    kept: PathBuf,
    folder: PathBuf,
    _temporary: TempDir,
}

impl Package {
    fn new() -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"));
        let temporary = tempfile::tempdir().unwrap();
        let kept = kept(temporary.path());

        Self {
            python: environment(source, &kept),
            kept,
            folder: staged(source, temporary.path()),
            _temporary: temporary,
        }
    }

    fn pytest(&self, arguments: &[&str], variables: &[(&str, &str)]) {
        let pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"];
        self.run(&[&pytest, arguments].concat(), variables);
    }

    /// Runs the interpreter with these variables. It must succeed.
    fn run(&self, arguments: &[&str], variables: &[(&str, &str)]) {
        let mut command = command(&self.python);
        command
            .args(arguments)
            .current_dir(&self.folder)
            .env("PYTHONPATH", &self.folder)
            .env("PAPIR", program())
            .env("XDG_DATA_HOME", self.folder.join("data"))
            .env("JUPYTER_RUNTIME_DIR", self.folder.join("jupyter"))
            .env("IPYTHONDIR", self.folder.join("ipython"))
            .envs(PATIENT_RAY)
            .envs(WITHOUT_PROXY)
            .envs(variables.iter().copied());
        succeeds(&mut command);
    }
}

/// The folder of cargo's results.
fn target() -> PathBuf {
    // The test is in `TARGET/PROFILE/deps`, beside the library.
    env::current_exe()
        .unwrap()
        .ancestors()
        .nth(3)
        .unwrap()
        .to_owned()
}

/// The folder of what later runs use, in that of cargo's results; a temporary one if another user owns those.
fn kept(temporary: &Path) -> PathBuf {
    let folder = target().join("python");
    let is_writable = fs::create_dir_all(&folder).is_ok() && tempfile::tempfile_in(&folder).is_ok();
    if is_writable {
        folder
    } else {
        temporary.to_owned()
    }
}

/// A command without a person's own settings.
fn command(program: impl AsRef<OsStr>) -> Command {
    let is_setting = |name: &str| {
        SETTINGS.contains(&name) || (name.starts_with("PAPIR_") && !OF_TESTS.contains(&name))
    };
    let mut command = Command::new(program);
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_setting)) {
        command.env_remove(name);
    }
    command
}

/// Runs a command, and prints what it prints.
fn succeeds(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    println!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?}: {}", output.status);
}

/// The interpreter of an environment with what the tests need, made anew when that changes or it does not run.
fn environment(folder: &Path, kept: &Path) -> PathBuf {
    let requirements = folder.join("tests/requirements.txt");
    let (interpreter, version) = interpreter();
    let needed = format!("{}{version}", fs::read_to_string(&requirements).unwrap());
    // Another run of this test may be making it. Not every file system has locks.
    let lock = fs::File::create(kept.join("environment.lock")).unwrap();
    let _ = lock.lock();

    // Another user's is as good as one's own.
    for made in [target().join("python"), kept.to_owned()].map(|folder| folder.join("environment"))
    {
        let python = made.join("bin/python");
        let is_same =
            fs::read_to_string(made.join(STAMP)).is_ok_and(|had| had == stamp(&needed, &made));
        if is_same
            && command(&python)
                .args(["-c", ""])
                .output()
                .is_ok_and(|output| output.status.success())
        {
            return python;
        }
    }

    let made = kept.join("environment");
    let python = made.join("bin/python");
    let _ = fs::remove_dir_all(&made);
    succeeds(command(&interpreter).args(["-m", "venv"]).arg(&made));
    let install = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "-r",
    ];
    succeeds(command(&python).args(install).arg(&requirements));
    fs::write(made.join(STAMP), stamp(&needed, &made)).unwrap();
    python
}

/// The requirements, interpreter and folder of an environment. Its scripts contain the folder.
fn stamp(needed: &str, made: &Path) -> String {
    format!("{needed}{}\n", made.display())
}

/// The interpreter, and its path and version.
fn interpreter() -> (String, String) {
    let interpreter = env::var(INTERPRETER).unwrap_or_else(|_| "python3".to_owned());
    let check = "import sys, venv, ensurepip; print(sys.executable, sys.version); \
                 sys.exit(sys.version_info < (3, 11))";
    let usable = command(&interpreter)
        .args(["-c", check])
        .output()
        .ok()
        .filter(|output| output.status.success());
    let version = usable.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = version.unwrap_or_else(|| {
        panic!(
            "Python 3.11 or later with venv is missing: install it (apt install python3-venv), or set {INTERPRETER}"
        )
    });
    (interpreter, version)
}

/// A folder with the package as a wheel has it, its modules and the library beside them, and with its tests.
fn staged(folder: &Path, temporary: &Path) -> PathBuf {
    let package = temporary.join("package");
    copy(&folder.join("pypapir"), &package.join("pypapir"));
    for more in ["tests", "examples", "demo", "notebooks", "deploy"] {
        copy(&folder.join(more), &package.join(more));
    }
    copy(&folder.join("../docs"), &package.join("docs"));
    copy(&folder.join("../reference"), &package.join("reference"));
    fs::copy(
        folder.join("pyproject.toml"),
        package.join("pyproject.toml"),
    )
    .unwrap();
    let library = env::current_exe().unwrap().with_file_name(library_name());
    assert!(
        library.exists(),
        "{} is missing: run the tests of the whole workspace",
        library.display()
    );
    symlink(&library, package.join("pypapir/_native.abi3.so")).unwrap();
    package
}

/// The program, which tests of the whole workspace build.
fn program() -> PathBuf {
    // The test is in `TARGET/PROFILE/deps`.
    let program = env::current_exe()
        .unwrap()
        .ancestors()
        .nth(2)
        .unwrap()
        .join("papir");
    assert!(
        program.exists(),
        "{} is missing: run the tests of the whole workspace",
        program.display()
    );
    program
}

fn library_name() -> String {
    format!(
        "{}_native{}",
        env::consts::DLL_PREFIX,
        env::consts::DLL_SUFFIX
    )
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let from = entry.path();
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true if entry.file_name() != "__pycache__" => copy(&from, &to),
            false if from.extension().is_none_or(|extension| extension != "so") => {
                fs::copy(from, to).unwrap();
            }
            _ => {}
        }
    }
}
