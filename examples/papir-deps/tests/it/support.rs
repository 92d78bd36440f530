//! Services and audits of the tests.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// The path of a file of the sample.
pub(crate) fn sample(name: &str) -> String {
    format!("{}/sample/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// The program papir.
fn papir_program() -> OsString {
    env::var_os("PAPIR").expect("PAPIR is not set: expected the path of the program papir")
}

/// A folder for a test's files and for the state of its clients.
pub(crate) struct World {
    home: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        Self {
            home: tempfile::tempdir().unwrap(),
        }
    }

    /// A folder with the database of the sample's advisories.
    pub(crate) fn with_sample() -> Self {
        let world = Self::new();
        let built = world.build(&sample("osv"), &[]);
        assert_eq!(built.code, 0, "{}", built.error);
        assert!(
            built
                .output
                .contains("3 packages, 3 advisories; left out: 0"),
            "{}",
            built.output
        );
        world
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }

    /// A command without the settings of the person who runs the tests.
    fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        for (name, _) in env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
            if is_proxy || (name.starts_with("PAPIR_") && name != "PAPIR_BACKEND") {
                command.env_remove(&name);
            }
        }
        command
            .env("HOME", self.home.path())
            .env("XDG_DATA_HOME", self.home.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the program papir, which succeeds.
    pub(crate) fn papir(&self, arguments: &[&str]) {
        let ran = Audit::of(self.command(papir_program()).args(arguments));
        assert_eq!(ran.code, 0, "papir {arguments:?}: {}", ran.error);
    }

    /// Builds the database of a folder's advisories. Under this scheme every lookup is a request.
    pub(crate) fn build(&self, folder: &str, more: &[&str]) -> Audit {
        let mut command = self.command(env!("CARGO_BIN_EXE_papir-deps"));
        command
            .args([
                "build",
                folder,
                "--out",
                &self.path("advisories.papir"),
                "--papir",
            ])
            .arg(papir_program())
            .args(more)
            .args(["--", "--scheme", "simple"]);
        Audit::of(&mut command)
    }
}

/// A program that has ended.
pub(crate) struct Audit {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) error: String,
}

impl Audit {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap();
        Self {
            code: output.status.code().unwrap(),
            output: String::from_utf8(output.stdout).unwrap(),
            error: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Audits lockfiles against the only database of a service.
    pub(crate) fn run(world: &World, service: &Service, files: &[String], more: &[&str]) -> Self {
        Self::run_at(world, service.url(), files, more)
    }

    pub(crate) fn run_at(world: &World, url: &str, files: &[String], more: &[&str]) -> Self {
        let mut command = world.command(env!("CARGO_BIN_EXE_papir-deps"));
        command
            .args(["check", "--service", url])
            .args(files)
            .args(more);
        Self::of(&mut command)
    }

    /// The first three columns of the rows below the head.
    pub(crate) fn rows(&self) -> Vec<[&str; 3]> {
        let mut rows = Vec::new();
        for line in self.output.lines().skip(1) {
            let mut words = line.split_whitespace();
            rows.push([(); 3].map(|()| words.next().unwrap_or("")));
        }
        rows
    }
}

/// A running `papir serve` of the advisories; stopped when dropped.
pub(crate) struct Service {
    child: Child,
    url: String,
}

impl Service {
    pub(crate) fn start(world: &World) -> Self {
        let child = world
            .command(papir_program())
            .args([
                "serve",
                &world.path("advisories.papir"),
                "--listen",
                "127.0.0.1:0",
            ])
            .env("PAPIR_LOG", "off")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut service = Self {
            child,
            url: String::new(),
        };

        let mut line = String::new();
        BufReader::new(service.child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let url = line.trim().strip_prefix("listening on ");
        service.url = url.expect("the service does not start").to_owned();
        service
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// Number of queries to a database that were answered.
    pub(crate) fn queries(&self, database: &str) -> u64 {
        let host = self.url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();

        let name = format!("papir_queries_total{{database=\"{database}\"}} ");
        let line = response.lines().find_map(|line| line.strip_prefix(&name));
        // A database without queries may have no line yet.
        line.map_or(0, |count| count.trim().parse().unwrap())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
