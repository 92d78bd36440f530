//! Child processes of the demo: one server, one client per lookup.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde::Deserialize;

use crate::failure::Failure;
use crate::service::observed_query::ObservedQuery;

/// A `papir serve` process on a free loopback port. It exits when its stdin is closed, which
/// happens at the latest when this process exits.
pub(crate) struct ServerProcess {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    url: String,
}

impl ServerProcess {
    /// Starts the server and waits until it listens.
    pub(crate) fn start(snapshot: &Path) -> Result<Self, Failure> {
        let options = [
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--show-queries",
            "--until-stdin-ends",
            "--",
        ];

        let mut child = papir()?
            .args(options.map(OsStr::new))
            .arg(snapshot)
            .env("PAPIR_LOG", "warn")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdin = child.stdin.take();
        let Some(stdout) = child.stdout.take() else {
            return Err(Failure::new("the server has no stdout"));
        };

        // Owned before the wait: dropping it kills the process if the wait fails.
        let mut server = Self {
            child,
            stdin,
            stdout: BufReader::new(stdout),
            url: String::new(),
        };
        let line = server.line()?;
        let url = line
            .strip_prefix("listening on ")
            .ok_or_else(|| Failure::new(format!("unexpected output of the server: {line}")))?;
        server.url = url.to_owned();
        Ok(server)
    }

    /// Its process ID.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The next line of its output.
    fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        if self.stdout.read_line(&mut line)? == 0 {
            return Err(Failure::new("the server exited"));
        }
        Ok(line.trim_end().to_owned())
    }

    /// Closes the server's stdin and waits for it to exit.
    pub(crate) fn stop(&mut self) -> Result<(), Failure> {
        self.stdin = None;
        let status = self.child.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(Failure::new(format!("the server exited with {status}")))
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Both fail if the process has already exited, which is fine.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The costs of a lookup, as reported by the client process.
#[derive(Deserialize)]
pub(crate) struct LookupCosts {
    pub(crate) public_bytes: f64,
    pub(crate) upload_bytes: f64,
    pub(crate) download_bytes: f64,
    pub(crate) requests: u64,
    pub(crate) fetch_ms: f64,
    pub(crate) query_ms: f64,
    pub(crate) round_trip_ms: f64,
    pub(crate) extract_ms: f64,
}

/// One lookup: the client's result, and the queries that the server received.
pub(crate) struct DemoLookup {
    pub(crate) key: String,
    pub(crate) value: Option<String>,
    pub(crate) costs: LookupCosts,
    pub(crate) queries: Vec<ObservedQuery>,
}

#[derive(Deserialize)]
#[serde(expecting = "struct Line")]
struct LookupLine {
    value: Option<String>,
}

/// Looks up a key from a client process.
pub(crate) fn look_up(server: &mut ServerProcess, key: &str) -> Result<DemoLookup, Failure> {
    let output = papir()?
        .args(["get", "--json", "--verbose", &server.url, "--", key])
        .stdin(Stdio::null())
        .output()?;
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(Failure::new(String::from_utf8_lossy(&output.stderr)));
    }

    let LookupLine { value } = serde_json::from_slice(&output.stdout)?;
    let costs: LookupCosts = serde_json::from_slice(&output.stderr)?;
    let mut queries = Vec::new();
    for _ in 0..costs.requests {
        queries.push(serde_json::from_str(&server.line()?)?);
    }

    Ok(DemoLookup {
        key: key.to_owned(),
        value,
        costs,
        queries,
    })
}

/// A command that runs this program.
fn papir() -> std::io::Result<Command> {
    std::env::current_exe().map(Command::new)
}
