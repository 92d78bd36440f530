//! Requests right after `/readyz` says that the service is ready again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use crate::shared_registry::{place, registry, synchronous_pair, with_object_store};
use crate::support::clients::{self, QuerySender, SMALL, start_with, stateful, unregistered_at};
use crate::support::files::{build, serving};
use crate::support::process::has_files_for;
use crate::support::{self, Reply, Running, get, key, record, send, value};
use papir_server::{RegistryConfig, ServerConfig};
use papir_store::Verify;
use papir_testkit::postgres::Server;
use tempfile::TempDir;

/// Clients that send requests at the same time.
const CLIENTS: usize = 8;
/// Requests of each kind by all of them.
const ROUNDS: usize = 40;
const ROUNDS_LONG: usize = 1000;
/// Codes with which a service that works refuses a request: the client tries again, or registers anew.
const HEALTHY: [&str; 4] = ["no_ticket", "client_gone", "registry_full", "wrong_version"];

#[track_caller]
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(
            begin.elapsed() < Duration::from_secs(90),
            "not in 90 s: {what}"
        );
        thread::sleep(Duration::from_millis(1));
    }
}

fn is_ready(url: &str) -> bool {
    get(&format!("{url}/readyz")).status == 200
}

#[track_caller]
fn assert_healthy(what: &str, reply: &Reply) {
    let is_healthy = reply.status < 300 || HEALTHY.contains(&reply.code().as_str());
    assert!(
        is_healthy,
        "{what}: {} {}",
        reply.status,
        String::from_utf8_lossy(&reply.body)
    );
}

/// Sends requests of every kind about clients, by several threads at once.
fn ask_all(url: &str, known: &QuerySender, rounds: usize) {
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                for _ in 0..rounds.div_ceil(CLIENTS) {
                    ask_of_databases(url);
                    ask_of_known(known);
                    ask_of_new(url);
                    ask_in_parts(url);
                }
            });
        }
    });
}

fn ask_of_databases(url: &str) {
    for path in [
        "/v1/databases",
        "/v1/databases/table",
        "/v1/databases/table/public",
        "/metrics",
    ] {
        assert_eq!(get(&format!("{url}{path}")).status, 200, "{path}");
    }
}

/// Requests of a client that registered before. Its ticket 0 belongs to another query.
fn ask_of_known(known: &QuerySender) {
    assert_healthy("the status of an old client", &get(&known.at("")));
    let reply = known.ask_with("1000", &[0; 64]);
    let is_refused = [400, 410, 503].contains(&reply.status);
    assert!(
        is_refused && reply.code() != "registry_failed",
        "a bad query: {reply:?}"
    );
}

/// A client that registers in one request, queries, and leaves.
fn ask_of_new(url: &str) {
    let mut client = unregistered_at(url);
    let reply = client.register();
    assert_healthy("a registration", &reply);
    if reply.status != 201 {
        return;
    }
    client.id = reply.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(get(&client.at("")).status, 200);

    let query = client.query(7);
    let reply = client.ask_with(&query.ticket.to_string(), &query.bytes);
    assert_healthy("a query", &reply);
    if reply.status == 200 {
        assert_eq!(
            client.client.extract(query.secret, &reply.body).unwrap(),
            [record(7)]
        );
    }
    assert_eq!(send("DELETE", &client.at(""), &[], &[]).status, 204);
}

/// A client that registers in parts, and leaves.
fn ask_in_parts(url: &str) {
    let mut client = unregistered_at(url);
    let length = client.keys.len().to_string();
    let begin = [("papir-upload-length", length.as_str())];
    let reply = send(
        "POST",
        &format!("{url}/v1/databases/table/clients"),
        &begin,
        &[],
    );
    assert_healthy("an upload", &reply);
    if reply.status != 201 {
        return;
    }
    client.id = reply.json()["id"].as_str().unwrap().to_owned();

    let middle = client.keys.len() / 2;
    assert_eq!(client.part(0, middle).status, 200);
    assert_eq!(client.part(middle, client.keys.len()).status, 200);
    assert_eq!(send("DELETE", &client.at(""), &[], &[]).status, 204);
}

/// A way to lose the client registry, and to get it back.
struct Loss<'a> {
    name: &'static str,
    lose: &'a dyn Fn(),
    regain: &'a dyn Fn(),
}

/// Loses the registry of a service, gets it back, and sends requests as soon as the service is ready.
fn check(registry: RegistryConfig, loss: &Loss<'_>, rounds: usize) {
    let service = start_with(registry, stateful(SMALL, 1));
    let url = service.url();
    let mut known = clients::registered(&service);
    known.check(7);
    let known = known.sender();
    // So that there are connections, and tickets to prepare.
    ask_all(&url, &known, CLIENTS);
    assert!(is_ready(&url), "{}", loss.name);

    (loss.lose)();
    until(loss.name, || {
        unregistered_at(&url).register();
        !is_ready(&url)
    });
    // While it is lost, the service does not claim to be ready.
    for _ in 0..20 {
        assert!(!is_ready(&url), "{}", loss.name);
        thread::sleep(Duration::from_millis(150));
    }

    (loss.regain)();
    until(loss.name, || is_ready(&url));
    ask_all(&url, &known, rounds);
    assert!(is_ready(&url), "{}", loss.name);
}

fn of_postgres(server: &Server) -> RegistryConfig {
    registry(place(server.address("papir")))
}

fn check_restart(rounds: usize) {
    let server = Server::start("");
    let loss = Loss {
        name: "a crash of PostgreSQL",
        lose: &|| server.crash(),
        regain: &|| server.start_again(),
    };
    check(of_postgres(&server), &loss, rounds);
}

fn check_failover(rounds: usize) {
    let (primary, standby) = synchronous_pair();
    let address = primary.address_with(&standby, "papir");
    let loss = Loss {
        name: "a failover",
        lose: &|| primary.crash(),
        regain: &|| standby.promote(),
    };
    check(registry(place(address)), &loss, rounds);
}

/// A server that accepts reads only, as one whose disk is full.
fn check_read_only(rounds: usize) {
    let server = Server::start("");
    let set = |value: &str| {
        let change = format!("ALTER DATABASE papir SET default_transaction_read_only = {value}");
        server.sql("postgres", &change);
        server.sql(
            "postgres",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'papir'",
        );
    };
    let loss = Loss {
        name: "a read-only server",
        lose: &|| set("on"),
        regain: &|| set("off"),
    };
    check(of_postgres(&server), &loss, rounds);
}

/// Moves a folder away, and puts a file in its place.
fn replace_by_file(folder: &Path) {
    fs::rename(folder, folder.with_extension("away")).unwrap();
    fs::write(folder, "").unwrap();
}

fn put_back(folder: &Path) {
    fs::remove_file(folder).unwrap();
    fs::rename(folder.with_extension("away"), folder).unwrap();
}

fn check_key_files(rounds: usize) {
    let folder = TempDir::new().unwrap();
    let keys = folder.path().join("keys");
    let loss = Loss {
        name: "no folder for keys",
        lose: &|| replace_by_file(&keys),
        regain: &|| put_back(&keys),
    };
    check(clients::registry(folder.path()), &loss, rounds);
}

/// Keys of more than 64 KiB in an object store that goes away.
fn check_object_store() {
    let server = Server::start("");
    let folder = TempDir::new().unwrap();
    let with_store = with_object_store(&server, folder.path());
    let service = start_with(with_store, stateful(300_000, 1));
    let upload = || {
        let mut client = unregistered_at(&service.url());
        client.begin();
        client.part(0, 200_000).status
    };
    assert_eq!(upload(), 200);

    let stored = folder.path().join("client-keys");
    replace_by_file(&stored);
    assert_eq!(upload(), 503);
    assert!(!is_ready(&service.url()));
    put_back(&stored);
    until("the object store is back", || is_ready(&service.url()));
    (0..20).for_each(|_| assert_eq!(upload(), 200));
}

#[test]
fn requests_after_a_crash_of_postgresql_are_answered() {
    if !has_files_for("readiness::requests_after_a_crash_of_postgresql_are_answered") {
        return;
    }
    check_restart(ROUNDS);
}

#[test]
fn requests_after_a_failover_are_answered() {
    if !has_files_for("readiness::requests_after_a_failover_are_answered") {
        return;
    }
    check_failover(ROUNDS);
}

#[test]
fn requests_after_a_server_accepts_changes_again_are_answered() {
    if !has_files_for("readiness::requests_after_a_server_accepts_changes_again_are_answered") {
        return;
    }
    check_read_only(ROUNDS);
}

#[test]
fn requests_after_key_files_can_be_written_again_are_answered() {
    check_key_files(ROUNDS);
}

#[test]
fn uploads_after_the_object_store_is_back_are_answered() {
    if !has_files_for("readiness::uploads_after_the_object_store_is_back_are_answered") {
        return;
    }
    check_object_store();
}

#[test]
#[ignore = "long"]
fn a_thousand_requests_of_each_kind_are_answered_long() {
    check_restart(ROUNDS_LONG);
    check_failover(ROUNDS_LONG);
    check_read_only(ROUNDS_LONG);
    check_key_files(ROUNDS_LONG);
}

/// A small disk, unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    /// A disk of 16 MiB; `None` without the right to mount one.
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let options = ["-t", "tmpfs", "-o", "size=16m", "papir-test"];
        let mounted = Command::new("mount").args(options).arg(at).output().ok()?;
        mounted.status.success().then(|| Self(at.to_owned()))
    }

    /// Writes a file until nothing more fits.
    fn fill(&self) {
        let mut file = fs::File::create(self.0.join("filler")).unwrap();
        while std::io::Write::write_all(&mut file, &[7; 4096]).is_ok() {}
    }

    fn make_room(&self) {
        fs::remove_file(self.0.join("filler")).unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Needs the right to mount a small disk.
#[test]
fn requests_after_a_full_disk_has_room_are_answered() {
    let folder = TempDir::new().unwrap();
    let Some(disk) = Disk::mount(&folder.path().join("disk")) else {
        eprintln!("skipped: mounting a small disk needs root");
        return;
    };
    let loss = Loss {
        name: "a full disk",
        lose: &|| disk.fill(),
        regain: &|| disk.make_room(),
    };
    check(clients::registry(&disk.0.join("registry")), &loss, ROUNDS);
}

/// A start, a new version, and a damaged one that is replaced.
#[test]
fn lookups_after_databases_are_loaded_are_answered() {
    let folder = TempDir::new().unwrap();
    let path = build(folder.path(), "words.papir", 6000, &"a".repeat(1000));
    let lazy = ServerConfig {
        verify: Verify::Lazy,
        mapped: true,
        ..serving(&[&path])
    };
    let service = Running::start_files(lazy).unwrap();
    until("a start", || is_ready(&service.url()));
    look_up(&service, &"a".repeat(1000));

    // In the middle of the longest section.
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let next = path.with_extension("next");
    fs::write(&next, bytes).unwrap();
    fs::rename(&next, &path).unwrap();
    reload(&service);
    until("the damage is found", || !is_ready(&service.url()));

    build(folder.path(), "words.papir", 6000, &"b".repeat(1000));
    thread::scope(|scope| {
        scope.spawn(|| reload(&service));
        until("another file is loaded", || is_ready(&service.url()));
        look_up(&service, &"b".repeat(1000));
    });
    build(folder.path(), "words.papir", 6000, &"c".repeat(1000));
    reload(&service);
    look_up(&service, &"c".repeat(1000));
}

/// Looks up keys by several clients at once.
fn look_up(service: &Running, salt: &str) {
    thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                let mut connection = support::open(&service.url(), Some("words")).unwrap();
                for number in 0..5 {
                    assert_eq!(
                        connection.get_key(&key(number)).unwrap(),
                        Some(value(number, salt))
                    );
                }
            });
        }
    });
}

fn reload(service: &Running) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    drop(runtime.block_on(service.handle.reload()).unwrap());
}
