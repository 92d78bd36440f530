//! Registries of killed services.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::thread;

use crate::support::clients::{
    Client, Query, SMALL, prepared_stateful, registry, start_with, unregistered_at, unregistered_of,
};
use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::zip::{ZIP, prepared_zip};
use crate::support::{record, send};
use papir_core::erased::ErasedClientScheme;
use papir_server::Database;
use papir_testkit::GuardedChild;
use tempfile::TempDir;

/// Bytes of keys, whether answers block, and the registry's directory. Set in the service's process
/// only. Zero bytes of keys stand for ZipPIR.
const SERVICE: &str = "PAPIR_REGISTRY_TEST_SERVICE";

/// The line of a service that serves, before its address.
const SERVING: &str = "serving ";
/// The line of a service that computes an answer that never comes.
const ANSWERING: &str = "answering";

/// A service in its own process.
struct Service {
    child: GuardedChild,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    url: String,
}

impl Service {
    fn start(directory: &Path, keys_bytes: u64, waits: bool) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "registry_killed::service_process", "--nocapture"])
            .env(
                SERVICE,
                format!("{keys_bytes} {waits} {}", directory.display()),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = GuardedChild::spawn(&mut command).unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| line.split(SERVING).nth(1).map(str::to_owned))
            .expect("the service did not start");

        Self { child, lines, url }
    }

    /// Waits until a service that never answers computes an answer. The use is then on disk: a status
    /// counts it as soon as it is committed, which is before.
    fn wait_for_the_answer(&mut self) {
        let answers = self
            .lines
            .by_ref()
            .map_while(Result::ok)
            .any(|line| line.contains(ANSWERING));
        assert!(answers, "the service ended before it computed an answer");
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn service_process() {
    let Ok(told) = std::env::var(SERVICE) else {
        return;
    };
    let mut told = told.splitn(3, ' ');
    let keys_bytes = told.next().unwrap().parse().unwrap();
    let fault = if told.next() == Some("true") {
        let latch = Latch::default();
        let answers = latch.clone();
        thread::spawn(move || {
            answers.wait_for(1);
            println!("{ANSWERING}");
        });
        Fault::Wait(latch)
    } else {
        Fault::Honest
    };
    let directory = told.next().unwrap();
    let (inner, scheme) = match keys_bytes {
        0 => (prepared_zip(1), ZIP.properties().id),
        _ => (prepared_stateful(keys_bytes, 1), 0xfff0),
    };
    let table = Database::new(
        "table",
        Box::new(FaultyDatabase {
            inner,
            scheme,
            fault,
        }),
        None,
    );
    let server = start_with(registry(Path::new(directory)), table);
    println!("{SERVING}{}", server.url());
    // Runs until the parent process is gone.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

#[test]
fn an_upload_survives_a_killed_service() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(directory.path(), 300_000, false);
    let mut client = unregistered_at(&service.url);
    client.begin();
    assert_eq!(client.part(0, 100_000).status, 200);
    // Send half of a part, then kill the service.
    let host = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let path = client
        .at("/keys")
        .strip_prefix(&service.url)
        .unwrap()
        .to_owned();
    let head = format!(
        "PATCH {path} HTTP/1.1\r\nhost: x\r\npapir-upload-offset: 100000\r\ncontent-length: 200032\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&client.keys[100_000..150_000]).unwrap();
    service.kill();

    let service = Service::start(directory.path(), 300_000, false);
    let mut client = client.moved_to_url(&service.url);
    let head = send("HEAD", &client.at("/keys"), &[], &[]);
    assert_eq!(head.header("papir-upload-offset"), Some("100000"));
    assert_eq!(
        client.part(100_000, client.keys.len()).json()["status"],
        "registered"
    );
    client.check(7);
    service.kill();
}

#[test]
fn a_use_is_on_disk_before_the_answer_is_computed() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(directory.path(), SMALL, false);
    let mut client: Client = unregistered_at(&service.url);
    let reply = client.register();
    client.id = reply.json()["id"].as_str().unwrap().to_owned();
    client.wait_for("tickets_ready", 1);
    let backup = client.registration().save_state(&client.state).unwrap();
    service.kill();

    let mut service = Service::start(directory.path(), SMALL, true);
    let mut client = client.moved_to_url(&service.url);
    let query = client.query(7);
    let stream = send_only(&service, &client, &query);
    // The answer never arrives, but the use is stored.
    service.wait_for_the_answer();
    service.kill();
    drop(stream);

    let service = Service::start(directory.path(), SMALL, false);
    let mut client = client.moved_to_url(&service.url);
    client.state = client.registration().load_state(&backup).unwrap();
    let other = client.query(8);
    assert_eq!(client.ask(&other).code(), "ticket_used");
    let answer = client.ask(&query);
    assert_eq!(answer.status, 200);
    assert_eq!(
        client.client.extract(query.secret, &answer.body).unwrap(),
        [record(7)]
    );
    client.check(9);
    service.kill();
}

/// Sends a query without waiting for its answer.
fn send_only(service: &Service, client: &Client, query: &Query) -> TcpStream {
    let mut stream = TcpStream::connect(service.url.strip_prefix("http://").unwrap()).unwrap();
    let head = format!(
        "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\npapir-client: {}\r\npapir-ticket: {}\r\ncontent-length: {}\r\n\r\n",
        client.id,
        query.ticket,
        query.bytes.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&query.bytes).unwrap();
    stream
}

/// Kills a ZipPIR service while it prepares tickets, after a use is stored, and after an answer.
#[test]
fn tickets_of_zip_survive_a_kill_at_every_step() {
    let directory = TempDir::new().unwrap();
    let start = |waits| Service::start(directory.path(), 0, waits);
    let service = start(false);
    let mut client = unregistered_of(&ZIP, &service.url);
    client.id = client.register().json()["id"].as_str().unwrap().to_owned();
    service.kill();

    // Missing tickets are prepared now.
    let service = start(false);
    let mut client = client.moved_to_url(&service.url);
    let first = client.query(7);
    let answer = client.ask(&first);
    assert_eq!(answer.status, 200);
    service.kill();

    // The answer is lost: the identical query returns the identical answer.
    let service = start(false);
    let client = client.moved_to_url(&service.url);
    assert_eq!(client.ask(&first).body, answer.body);
    client.wait_for("tickets_ready", 4);
    let backup = client.registration().save_state(&client.state).unwrap();
    service.kill();

    // Its use is stored, but the answer never arrives.
    let mut service = start(true);
    let mut client = client.moved_to_url(&service.url);
    let second = client.query(8);
    let stream = send_only(&service, &client, &second);
    service.wait_for_the_answer();
    service.kill();
    drop(stream);

    let service = start(false);
    let mut client = client.moved_to_url(&service.url);
    client.state = client.registration().load_state(&backup).unwrap();
    let other = client.query(9);
    assert_eq!(
        (other.ticket, client.ask(&other).code().as_str()),
        (second.ticket, "ticket_used")
    );
    for (query, index) in [(first, 7), (second, 8)] {
        let answer = client.ask(&query).body;
        assert_eq!(
            client.client.extract(query.secret, &answer).unwrap(),
            [record(index)]
        );
    }
    client.check(9);
    service.kill();
}

/// A key that was sent ahead is in the client's state, and its use in the service's tables: both survive
/// a kill, and an old copy of the state is found.
#[test]
fn a_key_sent_ahead_survives_a_kill_of_both_sides_and_is_used_once() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(directory.path(), 0, false);
    let mut client = unregistered_of(&ZIP, &service.url);
    client.id = client.register().json()["id"].as_str().unwrap().to_owned();
    client.check(9);
    for _ in 0..2 {
        client.hold();
    }
    let saved = client.registration().save_state(&client.state).unwrap();
    service.kill();

    let service = Service::start(directory.path(), 0, false);
    let mut client = client.moved_to_url(&service.url);
    client.state = client.registration().load_state(&saved).unwrap();
    assert_eq!(client.status()["next_sent_ahead"], 0);
    let lengths: Vec<usize> = (0..3)
        .map(|index| {
            let query = client.query(index);
            let answer = client.ask(&query);
            assert_eq!(
                client.ask(&query).body,
                answer.body,
                "the identical query is answered again"
            );
            assert_eq!(
                client.client.extract(query.secret, &answer.body).unwrap(),
                [record(index)]
            );
            answer.body.len()
        })
        .collect();
    assert!(
        lengths[0] == lengths[1] && 10 * lengths[1] < lengths[2],
        "{lengths:?}"
    );
    service.kill();

    let service = Service::start(directory.path(), 0, false);
    let mut client = client.moved_to_url(&service.url);
    assert_eq!(client.status()["next_sent_ahead"], 3);
    client.state = client.registration().load_state(&saved).unwrap();
    let second = client.query(7);
    assert_eq!(client.ask(&second).code(), "ticket_used");
    service.kill();
}
