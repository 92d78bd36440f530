//! Services, stubs and queries of the tests.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hickory_resolver::proto::op::{Edns, Message, Query, ResponseCode};
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use tempfile::TempDir;

/// Longest wait for anything that takes seconds: a busy machine may take minutes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// Blocked names, in the form of a source of papir.
const BLOCKED: &str = "ads.example\ntracker.home.example\n";

/// The zone of the tests. Its name `many` has too many addresses for a message of 512 bytes.
const ZONE: &str = "\
$ORIGIN home.example.
$TTL 600
@       IN SOA ns admin 1 7200 3600 1209600 300
        IN NS  ns
ns      IN A   192.0.2.53
nas     IN A   192.0.2.10
        IN AAAA 2001:db8::10
        IN TXT \"shelf \\\"3\\\"\" \"left\"
www     60 IN CNAME nas
tracker IN A   192.0.2.66
";

/// A command without the settings of the person who runs the tests.
fn isolated(program: impl AsRef<OsStr>, home: &TempDir) -> Command {
    let mut command = Command::new(program);
    for (name, _) in env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        let is_proxy = name.to_ascii_lowercase().ends_with("_proxy");
        if is_proxy || (name.starts_with("PAPIR_") && name != "PAPIR_BACKEND") {
            command.env_remove(&name);
        }
    }
    command
        .env("HOME", home.path())
        .env("XDG_DATA_HOME", home.path())
        .stdin(Stdio::null());
    command
}

/// A program that prints its address when it listens; stopped when dropped.
struct Running {
    child: Child,
    /// What follows `listening on`.
    address: String,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut running = Self {
            child,
            address: String::new(),
        };

        let mut line = String::new();
        BufReader::new(running.child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim().strip_prefix("listening on ");
        running.address = address.expect("the program does not listen").to_owned();
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with the databases of both tables.
pub(crate) struct World {
    home: TempDir,
}

impl World {
    /// Builds both databases. Under this scheme every lookup is a request.
    pub(crate) fn new() -> Self {
        let world = Self {
            home: tempfile::tempdir().unwrap(),
        };
        let many: String = (1..=60)
            .map(|i| format!("many IN A 198.51.100.{i}\n"))
            .collect();
        fs::write(world.path("blocked.txt"), BLOCKED).unwrap();
        fs::write(world.path("home.zone"), format!("{ZONE}{many}")).unwrap();

        let rows = world.stub_command(&["zone", &world.path("home.zone")]);
        fs::write(world.path("zone.jsonl"), succeeds(rows)).unwrap();
        world.build("blocked.txt", "blocked.papir", &["--format", "list"]);
        let columns = ["--key", "name", "--value", "records"];
        world.build("zone.jsonl", "zone.papir", &columns);
        world
    }

    fn build(&self, source: &str, out: &str, more: &[&str]) {
        let mut command = self.papir_command(&["build", &self.path(source), "--out"]);
        command
            .arg(self.path(out))
            .args(["--scheme", "simple"])
            .args(more);
        succeeds(command);
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.home.path().join(name).to_str().unwrap().to_owned()
    }

    fn papir_command(&self, arguments: &[&str]) -> Command {
        let program =
            env::var_os("PAPIR").expect("PAPIR is not set: expected the path of the program papir");
        let mut command = isolated(program, &self.home);
        command.args(arguments);
        command
    }

    pub(crate) fn stub_command(&self, arguments: &[&str]) -> Command {
        let mut command = isolated(env!("CARGO_BIN_EXE_papir-dns"), &self.home);
        command.args(arguments);
        command
    }

    /// Serves both databases at an address.
    pub(crate) fn serve(&self, listen: &str) -> Service {
        let files = [self.path("blocked.papir"), self.path("zone.papir")];
        let mut command = self.papir_command(&["serve", "--listen", listen]);
        command.args(files).env("PAPIR_LOG", "off");
        Service(Running::start(&mut command))
    }

    /// Starts a stub before a service, with further arguments.
    pub(crate) fn stub(&self, service: &Service, more: &[&str]) -> Stub {
        let table = |name: &str| format!("{}/v1/databases/{name}", service.url());
        let mut command = self.stub_command(&["serve", "--listen", "127.0.0.1:0"]);
        // A busy machine takes longer than programs usually wait.
        let timeout = ["--timeout", "50"];
        let is_given = more.contains(&"--timeout");
        command
            .args(["--blocklist", &table("blocked"), "--zone", &table("zone")])
            .args(timeout.iter().filter(|_| !is_given))
            .args(more);
        Stub(Running::start(&mut command))
    }
}

/// Runs a command that succeeds. Returns what it prints.
fn succeeds(mut command: Command) -> String {
    let output = command.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}

/// Runs a command that fails with an exit code. Returns its error.
pub(crate) fn fails(mut command: Command, code: i32) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    let error = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(code), "{command:?}: {error}");
    error
}

/// A running `papir serve`.
pub(crate) struct Service(Running);

impl Service {
    pub(crate) fn url(&self) -> &str {
        &self.0.address
    }

    /// Host and port.
    pub(crate) fn address(&self) -> String {
        self.url().strip_prefix("http://").unwrap().to_owned()
    }

    /// Number of queries to a database that were answered.
    pub(crate) fn queries(&self, database: &str) -> u64 {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        let host = self.address();
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

/// A running `papir-dns serve`.
pub(crate) struct Stub(Running);

impl Stub {
    pub(crate) fn address(&self) -> SocketAddr {
        self.0.address.parse().unwrap()
    }

    /// Asks over UDP, with room for a large answer.
    pub(crate) fn ask(&self, name: &str, record_type: RecordType) -> Message {
        let mut query = query(name, record_type);
        let mut edns = Edns::new();
        edns.set_max_payload(4096);
        query.set_edns(edns);
        self.ask_udp(&query)
    }

    pub(crate) fn ask_udp(&self, query: &Message) -> Message {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket.connect(self.address()).unwrap();
        socket.send(&query.to_vec().unwrap()).unwrap();

        let mut buffer = [0; 65_535];
        let length = socket.recv(&mut buffer).unwrap();
        decoded(query, &buffer[..length])
    }

    pub(crate) fn ask_tcp(&self, query: &Message) -> Message {
        let bytes = query.to_vec().unwrap();
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
            .write_all(&u16::try_from(bytes.len()).unwrap().to_be_bytes())
            .unwrap();
        stream.write_all(&bytes).unwrap();

        let mut length = [0; 2];
        stream.read_exact(&mut length).unwrap();
        let mut answer = vec![0; u16::from_be_bytes(length).into()];
        stream.read_exact(&mut answer).unwrap();
        decoded(query, &answer)
    }

    /// The code of the answer for a name's addresses.
    pub(crate) fn code(&self, name: &str) -> ResponseCode {
        self.ask(name, RecordType::A).metadata.response_code
    }
}

pub(crate) fn query(name: &str, record_type: RecordType) -> Message {
    let mut message = Message::query();
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(Name::from_ascii(name).unwrap(), record_type));
    message
}

/// Decodes the answer to a query.
fn decoded(query: &Message, bytes: &[u8]) -> Message {
    let answer = Message::from_vec(bytes).unwrap();
    assert_eq!(answer.metadata.id, query.metadata.id);
    assert_eq!(answer.queries, query.queries);
    answer
}

/// The data of an answer's records, as text.
pub(crate) fn data(answer: &Message) -> Vec<String> {
    let mut data: Vec<String> = Vec::new();
    for record in &answer.answers {
        data.push(match &record.data {
            RData::TXT(text) => format!(
                "{:?}",
                text.txt_data
                    .iter()
                    .map(|one| text_of(one))
                    .collect::<Vec<_>>()
            ),
            other => other.to_string(),
        });
    }
    data.sort();
    data
}

fn text_of(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// Waits until a condition holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(
            begin.elapsed() < PATIENCE,
            "{what}: not within {PATIENCE:?}"
        );
        sleep(Duration::from_millis(20));
    }
}
