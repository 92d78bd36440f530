//! Keys of clients: their upload, whole or in parts.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::scope;
use std::time::Instant;

use papir_core::envelope::{self, Header, Kind};
use papir_server::Database;
use tempfile::TempDir;

use super::gone;
use crate::support::clients::{
    Client, SMALL, clients_url, prepared_stateful, registered, registry, start, start_with,
    stateful, unregistered,
};
use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::{Reply, get, post, send, until};

#[test]
fn rejected_keys_leave_no_trace() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let client = unregistered(&server);
    let url = clients_url(&server);
    let mut bad = client.keys.clone();
    bad[40] ^= 1;
    let payload: Vec<u8> = bad[24..bad.len() - 8].to_vec();
    let version = client.client.version();
    let sealed = |kind, scheme| {
        envelope::seal(
            &Header {
                kind,
                scheme,
                version,
            },
            &payload,
        )
    };
    for (body, code) in [
        (bad.clone(), "checksum"),
        (sealed(Kind::Keys, 0xfff0), "malformed"),
        (sealed(Kind::Keys, 3), "wrong_scheme"),
        (sealed(Kind::Query, 0xfff0), "malformed"),
        (client.keys[1..].to_vec(), "wrong_length"),
        ([&client.keys[..], &[0]].concat(), "wrong_length"),
        (Vec::new(), "wrong_length"),
    ] {
        let reply = post(&url, &body);
        assert_eq!((reply.status, reply.code().as_str()), (400, code));
    }
    for (length, code) in [
        ("431", "wrong_length"),
        ("18446744073709551615", "wrong_length"),
        ("x", "malformed"),
    ] {
        let reply = send("POST", &url, &[("papir-upload-length", length)], &[]);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (400, code),
            "{length}"
        );
    }
    let list = get(&url).json();
    assert_eq!(
        (
            list["clients"].as_array().unwrap().len(),
            &list["counts"]["bytes"]
        ),
        (0, &0.into())
    );
    assert_eq!(
        std::fs::read_dir(directory.path().join("keys"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
fn keys_for_another_version_are_refused_before_their_length_is_checked() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let old = unregistered(&server);
    let version = old.client.version().to_string();
    let newest = server
        .handle
        .replace(stateful(SMALL + 8, 2))
        .unwrap()
        .to_string();
    let length = old.keys.len().to_string();
    let post =
        |headers: &[(&str, &str)], body: &[u8]| send("POST", &clients_url(&server), headers, body);
    for reply in [
        post(&[("papir-version", &version)], &old.keys),
        post(
            &[
                ("papir-version", &version),
                ("papir-upload-length", &length),
            ],
            &[],
        ),
    ] {
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (409, "wrong_version")
        );
        assert_eq!(reply.header("papir-version"), Some(newest.as_str()));
    }
    assert_eq!(post(&[], &old.keys).code(), "wrong_length");
    assert_eq!(
        post(&[("papir-version", "seven")], &old.keys).code(),
        "malformed"
    );
    let new = unregistered(&server);
    assert_eq!(post(&[("papir-version", &newest)], &new.keys).status, 201);
}

/// The keys of a client for another version of the database.
fn resealed(client: &Client, scheme: u16) -> Vec<u8> {
    let header = Header {
        kind: Kind::Keys,
        scheme,
        version: client.client.version(),
    };
    envelope::seal(&header, envelope::payload(&client.keys).unwrap())
}

#[test]
fn keys_of_another_client_are_refused() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut first = registered(&server);
    let url = clients_url(&server);
    let scheme = u16::from_le_bytes([first.keys[6], first.keys[7]]);
    let number = || get(&clients_url(&server)).json()["counts"]["registered"].clone();

    // The response was lost: the same client again.
    let again = first.register();
    assert_eq!(
        (again.status, again.json()["id"].as_str()),
        (201, Some(first.id.as_str()))
    );
    assert_eq!(number(), 1);

    first.check(7);
    let refused = |reply: &Reply| {
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (409, "keys_repeated")
        );
    };
    refused(&first.register());

    let mut in_parts = unregistered(&server);
    in_parts.keys.clone_from(&first.keys);
    in_parts.begin();
    assert_eq!(in_parts.part(0, 100).status, 200);
    refused(&in_parts.part(100, in_parts.keys.len()));
    assert!(gone(&in_parts));
    assert_eq!(number(), 1);
    first.check(8);

    // The version is in the envelope, and not in the keys.
    server.handle.replace(stateful(SMALL, 2)).unwrap();
    let mut newer = unregistered(&server);
    newer.keys.clone_from(&first.keys);
    refused(&post(&url, &resealed(&newer, scheme)));

    assert_eq!(send("DELETE", &first.at(""), &[], &[]).status, 204);
    server.finish();
    let server = start(registry(directory.path()));
    refused(&first.moved_to(&server).register());
    assert_eq!(registered(&server).status()["status"], "registered");
}

/// The service still checks the keys of the first attempt when the client makes the second one.
#[test]
fn two_attempts_of_a_client_at_once_register_one_client() {
    let directory = TempDir::new().unwrap();
    let latch = Latch::default();
    let fault = Fault::ColdKeys(Arc::new(AtomicBool::new(true)), latch.clone());
    let table = FaultyDatabase {
        inner: prepared_stateful(SMALL, 1),
        scheme: 0xfff0,
        fault,
    };
    let server = start_with(
        registry(directory.path()),
        Database::new("table", Box::new(table), None),
    );
    let keys = unregistered(&server).keys;
    let url = clients_url(&server);
    let counts = || get(&url).json()["counts"].clone();

    let [first, second] = scope(|scope| {
        let attempts = [(); 2].map(|()| scope.spawn(|| post(&url, &keys)));
        until("both attempts have begun", || counts()["uploading"] == 2);
        latch.release();
        attempts.map(|attempt| attempt.join().unwrap())
    });

    assert_eq!([first.status, second.status], [201; 2]);
    assert_eq!(first.json()["id"], second.json()["id"]);
    let counts = counts();
    assert_eq!(
        (&counts["registered"], &counts["uploading"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn an_upload_resumes_even_after_a_restart() {
    let directory = TempDir::new().unwrap();
    let large = 9 << 20;
    let server = start_with(registry(directory.path()), stateful(large, 1));
    let mut client = unregistered(&server);
    assert_eq!(
        (client.register().status, client.register().code().as_str()),
        (413, "too_long")
    );
    client.begin();
    let part = client.status()["part_bytes"].as_u64().unwrap() as usize;
    assert_eq!(client.part(0, part + 1).code(), "too_long");
    assert_eq!(client.part(0, part).status, 200);
    let wrong = client.part(0, 100);
    assert_eq!((wrong.status, wrong.code().as_str()), (409, "wrong_offset"));
    assert_eq!(
        wrong.header("papir-upload-offset"),
        Some(part.to_string().as_str())
    );
    let query = client.query(0);
    let early = client.ask_with("0", &query.bytes);
    assert_eq!(
        (early.status, early.code().as_str()),
        (409, "upload_incomplete")
    );
    server.finish();

    let server = start_with(registry(directory.path()), stateful(large, 1));
    let mut client = client.moved_to(&server);
    let head = send("HEAD", &client.at("/keys"), &[], &[]);
    assert_eq!(
        head.header("papir-upload-offset"),
        Some(part.to_string().as_str())
    );
    assert_eq!(
        head.header("papir-upload-length"),
        Some(client.keys.len().to_string().as_str())
    );
    assert_eq!(client.part(part, 2 * part).status, 200);
    assert_eq!(client.status()["status"], "uploading");
    assert_eq!(
        client.part(2 * part, client.keys.len()).json()["status"],
        "registered"
    );
    // The response was lost: the same part again, and others.
    let again = client.part(2 * part, client.keys.len());
    assert_eq!(
        (again.status, &again.json()["status"]),
        (200, &"registered".into())
    );
    assert_eq!(client.part(part, 2 * part).code(), "already_registered");
    client.keys[2 * part] ^= 1;
    assert_eq!(
        client.part(2 * part, client.keys.len()).code(),
        "already_registered"
    );
    client.keys[2 * part] ^= 1;
    assert_eq!(client.ask(&query).status, 200);
    client.check(8);
}

#[test]
fn a_part_whose_response_was_lost_is_answered_again() {
    let directory = TempDir::new().unwrap();
    let server = start_with(registry(directory.path()), stateful(100_000, 1));
    let mut client = unregistered(&server);
    client.begin();
    let length = client.keys.len();

    for (offset, end, status) in [(0, 50_000, "uploading"), (50_000, length, "registered")] {
        for attempt in 0..2 {
            let reply = client.part(offset, end);
            assert_eq!(reply.status, 200, "{offset} {attempt}");
            let found = reply.json();
            assert_eq!(found["status"], status, "{offset} {attempt}");
            assert_eq!(found["uploaded_bytes"], end, "{offset} {attempt}");
        }
    }
    assert_eq!(client.part(length, length).json()["status"], "registered");
    assert_eq!(client.part(0, 50_000).code(), "already_registered");
    client.check(5);
}

#[test]
fn an_empty_part_changes_nothing() {
    let directory = TempDir::new().unwrap();
    let server = start_with(registry(directory.path()), stateful(100_000, 1));
    let mut client = unregistered(&server);
    client.begin();
    assert_eq!(
        [client.part(0, 0).status, client.part(0, 0).status],
        [200; 2]
    );
    assert_eq!(
        client.part(0, client.keys.len()).json()["status"],
        "registered"
    );
}

#[test]
fn a_damaged_part_is_detected_at_the_end_of_an_upload() {
    let directory = TempDir::new().unwrap();
    let server = start_with(registry(directory.path()), stateful(100_000, 1));
    let mut client = unregistered(&server);
    client.begin();
    assert_eq!(client.part(0, 50_000).status, 200);
    client.keys[70_000] ^= 1;
    let refused = client.part(50_000, client.keys.len());
    assert_eq!((refused.status, refused.code().as_str()), (400, "checksum"));
    assert!(gone(&client));
    assert_eq!(
        std::fs::read_dir(directory.path().join("keys"))
            .unwrap()
            .count(),
        0
    );
}

#[test]
#[ignore = "long"]
fn keys_of_200_mib_are_registered() {
    let directory = TempDir::new().unwrap();
    let server = start_with(registry(directory.path()), stateful(200 << 20, 1));
    let mut client = unregistered(&server);
    client.begin();
    let start = Instant::now();
    let part = client.status()["part_bytes"].as_u64().unwrap() as usize;
    for offset in (0..client.keys.len()).step_by(part) {
        assert_eq!(
            client
                .part(offset, client.keys.len().min(offset + part))
                .status,
            200
        );
    }
    println!("uploaded and accepted in {:?}", start.elapsed());
    client.check(3);
    server.finish();
    let server = start_with(registry(directory.path()), stateful(200 << 20, 1));
    let mut client = client.moved_to(&server);
    let start = Instant::now();
    client.check(4);
    println!("first answer after a restart in {:?}", start.elapsed());
    let start = Instant::now();
    client.check(5);
    println!("second in {:?}", start.elapsed());
}
