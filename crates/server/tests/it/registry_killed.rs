//! A service that is killed while keys are uploaded and while a query is answered.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::clients::{Client, SMALL, prepared_stateful, registry, start_with, unregistered_at};
use crate::support::rigged::{Door, Rig, Rigged};
use crate::support::{record, send};
use papir_server::Database;
use tempfile::TempDir;

/// The registry's directory, the bytes of keys and whether answers wait for ever; set in the
/// service's process only.
const SERVICE: &str = "PAPIR_REGISTRY_TEST_SERVICE";

/// A service in a process of its own.
struct Service {
    child: Child,
    url: String,
}

impl Service {
    fn start(directory: &Path, keys_bytes: u64, waits: bool) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "registry_killed::this_process_is_the_service", "--nocapture"])
            .env(SERVICE, format!("{keys_bytes} {waits} {}", directory.display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url =
            lines.map_while(Result::ok).find_map(|line| line.split("serving ").nth(1).map(str::to_owned));
        Self { child, url: url.expect("the service does not start") }
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

#[test]
fn this_process_is_the_service() {
    let Ok(told) = std::env::var(SERVICE) else {
        return;
    };
    let mut told = told.splitn(3, ' ');
    let keys_bytes = told.next().unwrap().parse().unwrap();
    let rig = if told.next() == Some("true") { Rig::Wait(Door::default()) } else { Rig::Honest };
    let directory = told.next().unwrap();
    let inner = prepared_stateful(keys_bytes, 1);
    let table = Database::new("table", Box::new(Rigged { inner, scheme: 0xfff0, rig }), None);
    let server = start_with(registry(Path::new(directory)), table);
    println!("serving {}", server.url());
    // Until the one who started it is gone.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

#[test]
fn an_upload_survives_a_killed_service() {
    let directory = TempDir::new().unwrap();
    let service = Service::start(directory.path(), 300_000, false);
    let mut client = unregistered_at(&service.url);
    client.begin();
    assert_eq!(client.part(0, 100_000).status, 200);
    // Half a part, and then the service dies.
    let host = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let path = client.at("/keys").strip_prefix(&service.url).unwrap().to_owned();
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
    assert_eq!(client.part(100_000, client.keys.len()).json()["status"], "registered");
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
    client.wait_for("tickets_ready", 4);
    let backup = client.client.save_state(&client.state).unwrap();
    service.kill();

    let service = Service::start(directory.path(), SMALL, true);
    let mut client = client.moved_to_url(&service.url);
    let query = client.query(7);
    let host = service.url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let head = format!(
        "POST /v1/databases/table/query HTTP/1.1\r\nhost: x\r\npapir-client: {}\r\npapir-ticket: 0\r\ncontent-length: {}\r\n\r\n",
        client.id,
        query.bytes.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&query.bytes).unwrap();
    // Its answer never comes; the mark does.
    client.wait_for("tickets_used", 1);
    thread::sleep(Duration::from_millis(10));
    service.kill();

    let service = Service::start(directory.path(), SMALL, false);
    let mut client = client.moved_to_url(&service.url);
    client.state = client.client.load_state(&backup).unwrap();
    let other = client.query(8);
    assert_eq!(client.ask(&other).code(), "ticket_used");
    let answer = client.ask(&query);
    assert_eq!(answer.status, 200);
    assert_eq!(client.client.extract(query.secret, &answer.body).unwrap(), [record(7)]);
    client.check(9);
    service.kill();
}
