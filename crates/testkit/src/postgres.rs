//! PostgreSQL servers for tests, each in its own folder, reached by a Unix socket there.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Condvar, Mutex, PoisonError};

use tempfile::TempDir;

/// The user of the servers if the tests run as root: PostgreSQL refuses to run as root.
const NOBODY: u32 = 65534;
/// Most servers of a process at the same time, their standbys aside. Each takes 30 MB of the
/// temporary directory, which may be small.
const MOST_SERVERS: usize = 6;
/// The name of the socket in the server's folder.
const SOCKET: &str = ".s.PGSQL.5432";
/// A socket's path is shorter than this: systems allow 104 bytes and more.
const SOCKET_PATH_LIMIT: usize = 100;
/// Role of the registry. It is no superuser.
const ROLE: &str = "papir";
/// The role's password.
pub const PASSWORD: &str = "correct horse";
/// The role's password counts; the superuser needs none.
const ACCESS: &str =
    "local all papir scram-sha-256\nlocal all all trust\nlocal replication all trust\n";

/// A running server, stopped when dropped.
pub struct Server {
    folder: TempDir,
    /// `None` for a standby, so that its primary's turn suffices.
    _turn: Option<Turn>,
}

impl Server {
    /// A new server with these settings, as in `fsync = off`. It has an empty database `papir`.
    /// Waits while too many other tests have one, so a test must not need two at the same time.
    ///
    /// # Panics
    /// If PostgreSQL is not installed.
    pub fn start(settings: &str) -> Self {
        let turn = Turn::wait();
        let server = Self {
            folder: folder(),
            _turn: Some(turn),
        };

        let data = server.data();
        // The same cluster on each machine, whatever its locale, and small.
        let cluster = ["--locale=C", "--encoding=UTF8", "--wal-segsize=1"];
        let access = ["-U", "postgres", "-A", "trust"];
        run(
            "initdb",
            &[&["-D", &data, "--no-sync"][..], &cluster, &access].concat(),
        );

        fs::write(server.path("data/pg_hba.conf"), ACCESS).unwrap();
        server.configure(settings);

        // The role needs a running server, and its database needs the role.
        server.control("start");
        server.sql(
            "postgres",
            &format!("CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'"),
        );
        server.create_database(ROLE);
        server
    }

    /// A standby of this server with these settings, as in `hot_standby = on`. It is named
    /// `standby`.
    pub fn standby(&self, settings: &str) -> Self {
        let standby = Self {
            folder: folder(),
            _turn: None,
        };

        let host = self
            .socket_folder()
            .replace('\\', r"\\")
            .replace('\'', r"\'");
        let source = format!("host='{host}' user=postgres application_name=standby");

        run(
            "pg_basebackup",
            &[
                "-d",
                &source,
                "-D",
                &standby.data(),
                "-R",
                "--no-sync",
                "-c",
                "fast",
            ],
        );

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
        format!(
            "postgres://{ROLE}@{},{}/{database}",
            self.host(),
            other.host()
        )
    }

    fn host(&self) -> String {
        percent_encoded(self.socket_folder())
    }

    /// Runs a statement as superuser, and returns what it prints.
    pub fn sql(&self, database: &str, statement: &str) -> String {
        let host = self.socket_folder();
        // `-X`: no settings of the person who runs the tests.
        let output = run(
            "psql",
            &[
                "-X", "-h", host, "-U", "postgres", "-d", database, "-Atqc", statement,
            ],
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Changes settings. They count from the next start.
    pub fn configure(&self, settings: &str) {
        // A list of quoted names, in a quoted value.
        let socket = format!("\"{}\"", self.socket_folder().replace('"', "\"\""));
        let socket = socket.replace('\\', r"\\").replace('\'', "''");
        let own = format!("listen_addresses = ''\nunix_socket_directories = '{socket}'\n");
        let replication =
            fs::read_to_string(self.path("data/postgresql.auto.conf")).unwrap_or_default();
        let replication = replication
            .lines()
            .filter(|line| line.starts_with("primary_conninfo"));
        let kept: String = replication.map(|line| format!("{line}\n")).collect();
        fs::write(
            self.path("data/postgresql.auto.conf"),
            format!("{own}{kept}{settings}\n"),
        )
        .unwrap();
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
        let data = self.data();
        let log = self.path("log");

        run(
            "pg_ctl",
            &[
                action,
                "-D",
                &data,
                "-w",
                "-t",
                "180",
                "-m",
                "immediate",
                "-l",
                log.to_str().unwrap(),
            ],
        );
    }

    fn socket_folder(&self) -> &str {
        self.folder.path().to_str().unwrap()
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

/// The number of servers, and a signal that one has ended.
static SERVERS: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Permission to run a server, until it is dropped.
struct Turn;

impl Turn {
    fn wait() -> Self {
        let servers = SERVERS.lock().unwrap_or_else(PoisonError::into_inner);
        let free = ENDED.wait_while(servers, |servers| *servers >= MOST_SERVERS);
        *free.unwrap_or_else(PoisonError::into_inner) += 1;
        Self
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *SERVERS.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        ENDED.notify_one();
    }
}

/// A folder that the server's user owns: in the temporary directory, or in /tmp if a server cannot
/// use it there.
fn folder() -> TempDir {
    // Without links, so that the folder's path names all folders above it.
    let temporary = fs::canonicalize(std::env::temp_dir()).unwrap();
    let folder = TempDir::new_in(temporary).unwrap();
    let folder = if is_usable(folder.path()) {
        folder
    } else {
        TempDir::new_in("/tmp").unwrap()
    };

    if is_root(folder.path()) {
        chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    }
    folder
}

/// Returns true if a server can have its data and its socket in this folder. A socket's path is
/// short, and PostgreSQL reads a comma in it as the end of one path of several. The server's user,
/// another one than root, must be able to enter all folders above.
fn is_usable(folder: &Path) -> bool {
    let socket = folder.join(SOCKET);

    socket
        .to_str()
        .is_some_and(|path| path.len() < SOCKET_PATH_LIMIT && !path.contains(','))
        && (!is_root(folder) || folder.ancestors().skip(1).all(is_reachable))
}

/// Returns true if every user may enter this folder.
fn is_reachable(folder: &Path) -> bool {
    fs::metadata(folder).unwrap().mode() & 0o001 != 0
}

/// A path as the host in a URL.
fn percent_encoded(path: &str) -> String {
    path.bytes().map(encoded_byte).collect()
}

/// A byte of a host in a URL: itself, or its code after a percent sign.
fn encoded_byte(byte: u8) -> String {
    match byte {
        b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        _ if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
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

    // Messages, sorting and servers do not depend on the person who runs the tests.
    command.env("LC_ALL", "C");
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"PG") {
            command.env_remove(name);
        }
    }

    // A started server must not hold the pipes of this process.
    let quiet = program == "pg_ctl";
    let output = |quiet: bool| if quiet { Stdio::null() } else { Stdio::piped() };
    command
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null());

    let child = command
        .stdout(output(quiet))
        .stderr(output(quiet))
        .spawn()
        .unwrap();

    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{program} {arguments:?}: {}\n{error}",
        output.status
    );
    output
}

/// The folder of PostgreSQL's programs: that of the newest version where Debian installs them, or
/// one in the path.
fn programs() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten();
    let mut installed: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    installed.sort();

    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = installed
        .into_iter()
        .rev()
        .chain(std::env::split_paths(&path))
        .collect();

    folders.retain(|folder| folder.join("initdb").is_file());
    folders
        .into_iter()
        .next()
        .expect("this test needs PostgreSQL: install it (apt-get install postgresql)")
}
