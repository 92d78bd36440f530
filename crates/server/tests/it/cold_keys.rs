//! Large keys that are not in memory delay their own client only.

use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use papir_server::{Database, RegistryConfig};
use tempfile::TempDir;

use crate::support::clients::{
    Client, Query, prepared_stateful, registry, start_with, unregistered,
};
use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::{Reply, Running, get, record, send, until};

/// Bytes of a client's keys.
const LARGE: u64 = 5 << 20;
/// More clients than load their keys at the same time.
const COLD: usize = 10;

/// A client that has uploaded its keys.
fn registered(server: &Running) -> Client {
    let mut client = unregistered(server);
    client.begin();
    let part = papir_protocol::limit::PART_BYTES;
    for start in (0..client.keys.len()).step_by(part) {
        let reply = client.part(start, client.keys.len().min(start + part));
        assert!(
            reply.status < 300,
            "{:?}",
            String::from_utf8_lossy(&reply.body)
        );
    }
    client
}

fn metrics(server: &Running) -> String {
    String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap()
}

fn ask(server: &Running, id: String, query: Vec<u8>) -> Reply {
    let url = format!("{}/v1/databases/table/query", server.url());
    send("POST", &url, &[("papir-client", &id)], &query)
}

fn check(server: &Running, client: &Client, (query, index): (Query, u64), reply: &Reply) {
    assert_eq!(
        reply.status,
        200,
        "{}: {:?}",
        server.url(),
        String::from_utf8_lossy(&reply.body)
    );
    assert_eq!(
        client.client.extract(query.secret, &reply.body).unwrap(),
        [record(index)]
    );
}

/// A client that leaves must not let others begin: each check of large keys needs much memory.
#[test]
fn keys_are_checked_one_at_a_time_even_if_their_client_leaves() {
    let directory = TempDir::new().unwrap();
    let latch = Latch::default();
    let armed = Arc::new(AtomicBool::new(true));
    let fault = Fault::ColdKeys(armed, latch.clone());
    let inner = prepared_stateful(50_000, 1);
    let table = Database::new(
        "table",
        Box::new(FaultyDatabase {
            inner,
            scheme: 0xfff0,
            fault,
        }),
        None,
    );
    let server = start_with(registry(directory.path()), table);
    let [mut leaving, mut staying] = [(); 2].map(|()| unregistered(&server));
    leaving.begin();
    staying.begin();
    let head = format!(
        "PATCH /v1/databases/table/clients/{}/keys HTTP/1.1\r\nhost: x\r\npapir-upload-offset: 0\r\n\
         content-length: {}\r\n\r\n",
        leaving.id,
        leaving.keys.len()
    );
    let mut stream = TcpStream::connect(server.address).unwrap();
    stream
        .write_all(&[head.as_bytes(), &leaving.keys].concat())
        .unwrap();
    latch.wait_for(1);
    drop(stream);
    let length = staying.keys.len();
    scope(|scope| {
        let checked = scope.spawn(move || staying.part(0, length));
        until("the second upload has arrived whole", || {
            metrics(&server).contains(&format!("papir_upload_bytes {length}\n"))
        });
        // The time that its check would need to begin.
        sleep(Duration::from_millis(100));
        assert_eq!(latch.count(), 1, "the first check still runs");
        latch.release();
        assert_eq!(checked.join().unwrap().json()["status"], "registered");
    });
}

#[test]
fn other_clients_are_answered_while_cold_keys_are_parsed_one_at_a_time() {
    let directory = TempDir::new().unwrap();
    let latch = Latch::default();
    let armed = Arc::new(AtomicBool::new(false));
    let fault = Fault::ColdKeys(Arc::clone(&armed), latch.clone());
    let inner = prepared_stateful(LARGE, 1);
    let table = Database::new(
        "table",
        Box::new(FaultyDatabase {
            inner,
            scheme: 0xfff0,
            fault,
        }),
        None,
    );
    // Parsed keys of one client stay in memory: those of the last one to register.
    let server = start_with(
        RegistryConfig {
            cached_bytes: 0,
            ..registry(directory.path())
        },
        table,
    );
    let mut cold = [(); COLD].map(|()| registered(&server));
    let mut warm = registered(&server);
    armed.store(true, Ordering::SeqCst);
    let server = &server;
    scope(|scope| {
        let queries = cold.each_mut().map(|client| client.query(3));
        let waiting: Vec<_> = queries
            .iter()
            .zip(&cold)
            .map(|(query, client)| {
                let bytes = query.bytes.clone();
                let id = client.id.clone();
                scope.spawn(move || ask(server, id, bytes))
            })
            .collect();
        latch.wait_for(1);
        // They would wait for the latch as well if keys were parsed by the threads that answer.
        for index in 0..4 {
            let query = warm.query(index);
            let reply = ask(server, warm.id.clone(), query.bytes.clone());
            check(server, &warm, (query, index), &reply);
        }
        assert_eq!(get(&format!("{}/readyz", server.url())).status, 200);
        let all = format!("papir_requests_queued {COLD}\n");
        until("all of them wait", || metrics(server).contains(&all));
        // The time that further keys would need to be parsed.
        sleep(Duration::from_millis(100));
        assert_eq!(
            latch.count(),
            1,
            "the keys of one client are parsed at a time"
        );
        assert!(waiting.iter().all(|one| !one.is_finished()));
        latch.release();
        let replies: Vec<Reply> = waiting.into_iter().map(|one| one.join().unwrap()).collect();
        for ((client, query), reply) in cold.iter().zip(queries).zip(&replies) {
            check(server, client, (query, 3), reply);
        }
    });
}
