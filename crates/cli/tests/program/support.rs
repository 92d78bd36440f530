//! Runs the compiled program as a user would.

use std::env;
use std::ffi::OsStr;
use std::fmt::Write;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Child;
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

#[cfg(unix)]
use papir_client::{Connection, Options, Pin};
use papir_testkit::GuardedChild;
#[cfg(unix)]
use rustix::process::{Pid, Signal, kill_process};

/// Longest wait for anything that takes seconds: a busy machine may take minutes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Beginnings of the names of variables that papir, its libraries or clouds read.
const PREFIXES: [&str; 6] = ["AWS_", "AZURE_", "GOOGLE_", "OTEL_", "PAPIR_", "PG"];
/// Other variables that change what a program does or prints.
const NAMES: [&str; 10] = [
    "BASH_ENV",
    "CLICOLOR_FORCE",
    "COLUMNS",
    "ENV",
    "NOTIFY_SOCKET",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "WATCHDOG_PID",
    "WATCHDOG_USEC",
    "XDG_CACHE_HOME",
];
/// The backend of the kernels: whoever sets it wants the tests to run with it.
const BACKEND: &str = "PAPIR_BACKEND";

thread_local! {
    /// The home of the test of this thread. Two services of different tests may have had the same port, and
    /// a client refuses a service that is not the one it has pinned.
    static HOME: Folder = Folder::new();
}

/// Held by tests that load the machine for minutes and by tests that limit waiting times, so that these do
/// not run at the same time.
pub(crate) fn loaded_machine() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns whether a variable is a setting of the person who runs the tests.
fn is_setting(name: &str) -> bool {
    let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
    let is_known = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    (is_proxy || is_known) && name != BACKEND
}

/// A command that is free of the settings of the person who runs the tests. Its stdin is empty.
pub(crate) fn isolated(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.stdin(Stdio::null());
    for (name, _) in env::vars_os() {
        if is_setting(&name.to_string_lossy()) {
            command.env_remove(name);
        }
    }
    command
}

/// An isolated command that runs papir itself or in a shell. Its home is empty at the start of a test.
pub(crate) fn at_home(program: impl AsRef<OsStr>) -> Command {
    let home = HOME.with(|home| home.path(""));
    let mut command = isolated(program);
    command.env("HOME", &home).env("XDG_DATA_HOME", home);
    command
}

/// A command of papir.
pub(crate) fn program() -> Command {
    at_home(env!("CARGO_BIN_EXE_papir"))
}

/// Runs papir with arguments and an empty stdin.
pub(crate) fn papir(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

/// Runs papir, expecting exit code 0 and an empty stderr. Returns its stdout.
pub(crate) fn succeeds(arguments: &[&str]) -> String {
    let output = papir(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        output.status.code(),
        Some(0),
        "papir {arguments:?}: {stderr}"
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Runs papir, expecting exit code 2, an empty stdout and one line on stderr. Returns the line.
pub(crate) fn fails(arguments: &[&str]) -> String {
    fails_by(2, arguments)
}

/// Runs papir, expecting exit code 3, of errors that may pass, and otherwise the same as [`fails`].
/// The line must contain all of `parts`.
pub(crate) fn fails_for_now(arguments: &[&str], parts: &[&str]) {
    contains(arguments, &fails_by(3, arguments), parts);
}

fn fails_by(code: i32, arguments: &[&str]) -> String {
    let output = papir(arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "papir {arguments:?}: {stderr}"
    );
    assert!(
        output.stdout.is_empty(),
        "papir {arguments:?} wrote to stdout"
    );
    assert!(
        stderr.starts_with("papir: ") && stderr.ends_with('\n'),
        "papir {arguments:?}: {stderr}"
    );
    assert_eq!(stderr.lines().count(), 1, "papir {arguments:?}: {stderr}");
    stderr
}

/// Same as [`fails`]; the line must contain all of `parts`.
pub(crate) fn fails_with(arguments: &[&str], parts: &[&str]) {
    contains(arguments, &fails(arguments), parts);
}

fn contains(arguments: &[&str], line: &str, parts: &[&str]) {
    for part in parts {
        assert!(
            line.contains(part),
            "papir {arguments:?}: no `{part}` in {line}"
        );
    }
}

/// A path as UTF-8.
pub(crate) fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A temporary folder, removed when dropped.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder for Unix sockets, whose paths have at most about 100 bytes, and for lists of paths, which
    /// are separated by `:`. The path of the system's temporary files may be longer, or have a `:`.
    pub(crate) fn short() -> Self {
        let folder = tempfile::tempdir_in("/tmp").or_else(|_| tempfile::tempdir());
        Self(folder.unwrap())
    }

    /// A folder for hundreds of megabytes, in cargo's folder for tests: the one for temporary files may be in
    /// memory. Whoever may not write to cargo's gets a temporary one.
    pub(crate) fn large() -> Self {
        let folder =
            tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).or_else(|_| tempfile::tempdir());
        Self(folder.unwrap())
    }

    /// The path of a file in the folder.
    pub(crate) fn path(&self, name: &str) -> String {
        text(&self.0.path().join(name)).to_owned()
    }

    /// The address of a Unix socket in the folder.
    pub(crate) fn socket(&self) -> String {
        format!("unix:{}", self.path("papir.sock"))
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// The names of all files but those that are only locked.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names
            .filter(|name| !name.ends_with(".delta-lock"))
            .collect()
    }

    /// A prepared database of `count` keys `key-0`… with values `value-0`…, named `words`.
    pub(crate) fn words(&self, count: usize, scheme: &str) -> String {
        let mut csv = String::from("word,meaning\n");
        for i in 0..count {
            writeln!(csv, "key-{i},value-{i}").unwrap();
        }
        let source = self.write("words.csv", csv);
        let out = self.path("words.papir");
        let keyed = ["--key", "word", "--value", "meaning"];
        let mut arguments = vec!["build", &source, "--out", &out, "--scheme", scheme];
        arguments.extend(keyed);
        arguments.extend((scheme == "plain").then_some("--insecure-plain"));
        succeeds(&arguments);
        out
    }

    /// A prepared database of `count` records of 4 bytes, record i being i, named `numbers`.
    pub(crate) fn numbers(&self, count: u32, scheme: &str) -> String {
        let bytes: Vec<u8> = (0..count).flat_map(u32::to_le_bytes).collect();
        let source = self.write("numbers.bin", bytes);
        let out = self.path("numbers.papir");
        let mut arguments = vec!["build", &source, "--out", &out, "--scheme", scheme];
        arguments.extend(["--format", "raw", "--record-bytes", "4"]);
        arguments.extend((scheme == "plain").then_some("--insecure-plain"));
        succeeds(&arguments);
        out
    }
}

/// The address that a service prints when it listens.
pub(crate) fn listening(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    line.trim()
        .strip_prefix("listening on ")
        .expect("the service does not start")
        .to_owned()
}

/// Looks up `key-0`… with the state in this folder, and compares the values with those of
/// [`Folder::words`].
#[cfg(unix)]
pub(crate) fn look_up(url: &str, state: String, keys: usize) {
    let options = Options {
        pin: Pin::Nothing,
        state: Some(state.into()),
        patience: Some(PATIENCE),
        ..Options::default()
    };
    let mut connection = Connection::open_with(url, &options).unwrap();
    for key in 0..keys {
        let value = connection
            .get_key(format!("key-{key}").as_bytes())
            .unwrap()
            .unwrap();
        assert_eq!(value, format!("value-{key}").as_bytes());
    }
}

/// A running `papir serve` on a free port; stopped when dropped.
pub(crate) struct Service {
    child: GuardedChild,
    pub(crate) url: String,
}

impl Service {
    /// Evicts the service's only client.
    #[cfg(unix)]
    pub(crate) fn evict_only_client(&self) {
        let listed = succeeds(&["clients", &self.url, "list"]);
        assert_eq!(
            listed.matches("registered").count(),
            1,
            "a client registered again: {listed}"
        );

        let id = listed
            .split_whitespace()
            .find(|word| word.len() == 32)
            .unwrap_or_default();
        succeeds(&["clients", &self.url, "evict", id]);
    }

    /// Number of queries to a database that were answered.
    pub(crate) fn answered(&self, database: &str) -> u64 {
        let name = format!("papir_queries_total{{database=\"{database}\"}} ");
        metrics(&self.url)
            .lines()
            .find_map(|line| line.strip_prefix(&name))
            .unwrap()
            .parse()
            .unwrap()
    }

    /// Serves files, with further arguments, on a free port unless the arguments contain --listen.
    pub(crate) fn start(files: &[&str], more: &[&str]) -> Self {
        Self::spawn(&[&["serve"], files].concat(), more)
    }

    /// Like [`Service::start`], with these environment variables.
    pub(crate) fn start_in(environment: &[(&str, &str)], files: &[&str], more: &[&str]) -> Self {
        Self::spawn_in(environment, &[&["serve"], files].concat(), more)
    }

    /// Serves a set for private set intersection. Otherwise like [`Service::start`].
    pub(crate) fn psi(file: &str, more: &[&str]) -> Self {
        Self::spawn(&["psi", "serve", file], more)
    }

    fn spawn(command: &[&str], more: &[&str]) -> Self {
        Self::spawn_in(&[], command, more)
    }

    fn spawn_in(environment: &[(&str, &str)], command: &[&str], more: &[&str]) -> Self {
        let listen: &[&str] = if more.contains(&"--listen") {
            &[]
        } else {
            &["--listen", "127.0.0.1:0"]
        };
        let mut service = program();
        service
            .args([command, listen, more].concat())
            .env("PAPIR_LOG", "off")
            .envs(environment.iter().copied())
            .stdout(Stdio::piped());
        let mut child = GuardedChild::spawn(&mut service).unwrap();
        let url = listening(&mut child);
        Self { child, url }
    }

    /// The process ID.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Sends SIGHUP, and waits until another version is served.
    #[cfg(unix)]
    pub(crate) fn reload(&self) {
        let before = self.version();
        send(Signal::HUP, self);
        until("the new snapshot is served", || self.version() != before);
    }

    /// The version of the server's only database.
    fn version(&self) -> String {
        let inspected = succeeds(&["inspect", &self.url]);
        inspected
            .lines()
            .find(|line| line.starts_with("version "))
            .expect("a version")
            .to_owned()
    }

    /// Waits until the process exits by itself; returns its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// Sends a signal to a service.
#[cfg(unix)]
pub(crate) fn send(signal: Signal, service: &Service) {
    send_to(signal, &service.child);
}

/// Sends a signal to a process that has not been waited for.
#[cfg(unix)]
pub(crate) fn send_to(signal: Signal, child: &Child) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// An address of this machine for a service that stops and starts again. A port of 127.0.0.1 may meanwhile be
/// given to another test: where there are more such addresses, as on Linux, this is a random one.
pub(crate) fn lasting_address() -> String {
    let [first, second, third, ..] = RandomState::new().hash_one(()).to_le_bytes();
    let host = Ipv4Addr::new(127, first, second, third);
    let listener =
        TcpListener::bind((host, 0)).or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    listener.unwrap().local_addr().unwrap().to_string()
}

/// A client of services of this machine, which uses no proxy. It returns responses of every status.
pub(crate) fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .build()
        .new_agent()
}

/// The status and the body of a response.
pub(crate) fn fetch(url: &str) -> (u16, String) {
    let mut response = agent().get(url).call().unwrap();
    (
        response.status().as_u16(),
        response.body_mut().read_to_string().unwrap(),
    )
}

/// The metrics of the service at a URL.
pub(crate) fn metrics(url: &str) -> String {
    let (status, text) = fetch(&format!("{url}/metrics"));
    assert_eq!(status, 200, "{text}");
    text
}

/// Returns whether the metrics of the service at a URL have a line.
pub(crate) fn has_metric(url: &str, line: &str) -> bool {
    metrics(url).lines().any(|found| found == line)
}

/// The repository's root.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Waits until a condition holds, at most for [`PATIENCE`].
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}");
        sleep(Duration::from_millis(20));
    }
}
