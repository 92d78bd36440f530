//! PostgreSQL servers for tests, each in its own folder, reached by a Unix socket there.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// The user of the servers if the tests run as root: PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;
/// Role of the registry. It is no superuser.
const ROLE: &str = "papir";
/// The role's password.
pub const PASSWORD: &str = "correct horse";
/// The role's password counts; the superuser needs none.
const ACCESS: &str = "local all papir scram-sha-256\nlocal all all trust\nlocal replication all trust\n";

/// A running server, stopped when dropped.
pub struct Server {
    folder: TempDir,
}

impl Server {
    /// A new server with these settings, as in `fsync = off`. It has an empty database `papir`.
    ///
    /// # Panics
    /// If PostgreSQL is not installed.
    pub fn start(settings: &str) -> Self {
        let server = Self { folder: folder() };
        let data = server.data();
        run("initdb", &["-D", &data, "-U", "postgres", "-A", "trust", "--no-sync"]);
        fs::write(server.path("data/pg_hba.conf"), ACCESS).unwrap();
        server.configure(settings);
        server.control("start");
        server.sql("postgres", &format!("CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'"));
        server.create_database(ROLE);
        server
    }

    /// A standby of this server with these settings, as in `hot_standby = on`. It is named `standby`.
    pub fn standby(&self, settings: &str) -> Self {
        let standby = Self { folder: folder() };
        let host = self.folder.path().to_str().unwrap();
        let source = format!("host={host} user=postgres application_name=standby");
        run("pg_basebackup", &["-d", &source, "-D", &standby.data(), "-R", "--no-sync", "-c", "fast"]);
        standby.configure(settings);
        standby.control("start");
        standby
    }

    /// Creates a database that the role owns.
    pub fn create_database(&self, name: &str) {
        self.sql("postgres", &format!("CREATE DATABASE {name} OWNER {ROLE}"));
    }

    /// The address of a database, without the password.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://{ROLE}@{}/{database}", self.host())
    }

    /// The address of a database on this server or another one.
    pub fn address_with(&self, other: &Self, database: &str) -> String {
        format!("postgres://{ROLE}@{},{}/{database}", self.host(), other.host())
    }

    fn host(&self) -> String {
        self.folder.path().to_str().unwrap().replace('/', "%2F")
    }

    /// Runs a statement as superuser, and returns what it prints.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let host = self.folder.path().to_str().unwrap();
        let output = run("psql", &["-h", host, "-U", "postgres", "-d", database, "-Atqc", statement]);
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Changes settings. They count from the next start.
    pub fn configure(&self, settings: &str) {
        let socket = self.folder.path().display();
        let own = format!("listen_addresses = ''\nunix_socket_directories = '{socket}'\n");
        let replication = fs::read_to_string(self.path("data/postgresql.auto.conf")).unwrap_or_default();
        let replication = replication.lines().filter(|line| line.starts_with("primary_conninfo"));
        let kept: String = replication.map(|line| format!("{line}\n")).collect();
        fs::write(self.path("data/postgresql.auto.conf"), format!("{own}{kept}{settings}\n")).unwrap();
    }

    /// Stops the server as a crash does: nothing is written any more.
    pub fn crash(&self) {
        self.control("stop");
    }

    /// Starts a stopped server.
    pub fn start_again(&self) {
        self.control("start");
    }

    /// Makes a standby the primary.
    pub fn promote(&self) {
        self.control("promote");
    }

    fn control(&self, action: &str) {
        let (data, log) = (self.data(), self.path("log"));
        run(
            "pg_ctl",
            &[action, "-D", &data, "-w", "-t", "60", "-m", "immediate", "-l", log.to_str().unwrap()],
        );
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn data(&self) -> String {
        self.path("data").to_str().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.path("data/postmaster.pid").exists() {
            self.control("stop");
        }
    }
}

/// A folder that the server's user owns.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    if is_root(folder.path()) {
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    folder
}

fn is_root(own: &Path) -> bool {
    fs::metadata(own).unwrap().uid() == 0
}

/// Runs one of PostgreSQL's programs.
fn run(program: &str, arguments: &[&str]) -> Output {
    let probe = TempDir::new().unwrap();
    let mut command = Command::new(programs().join(program));
    if is_root(probe.path()) {
        command.uid(NOBODY).gid(NOBODY);
    }
    // A started server must not hold the pipes of this process.
    let quiet = program == "pg_ctl";
    let output = |quiet: bool| if quiet { Stdio::null() } else { Stdio::piped() };
    command.args(arguments).current_dir("/").stdin(Stdio::null());
    let child = command.stdout(output(quiet)).stderr(output(quiet)).spawn().unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments:?}: {}\n{error}", output.status);
    output
}

/// The folder of PostgreSQL's programs: that of the newest version where Debian installs them, or one in
/// the path.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut installed: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    installed.sort();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = installed.into_iter().rev().chain(std::env::split_paths(&path)).collect();
    folders.retain(|folder| folder.join("initdb").is_file());
    folders.into_iter().next().expect("this test needs PostgreSQL: install it (apt-get install postgresql)")
}
