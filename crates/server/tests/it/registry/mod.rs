//! Registered clients: keys, tickets, quotas, expiry and persistence.

mod keys;
mod tickets;

use std::time::{Duration, Instant};

use papir_server::{Database, Error, RegistryConfig, ServerConfig, StoredRegistry};
use tempfile::TempDir;

use crate::support::clients::{
    Client, SMALL, clients_url, prepared_stateful, registered, registry, start, stateful,
    unregistered,
};
use crate::support::{self, Running, config, get, indexed, post, send};

fn gone(client: &Client) -> bool {
    let reply = get(&client.at(""));
    assert!(reply.status == 200 || (reply.status == 410 && reply.code() == "client_gone"));
    reply.status == 410
}

#[test]
fn a_registered_client_queries_and_its_status_reflects_it() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    client.wait_for("tickets_ready", 1);
    let status = client.status();
    assert_eq!(
        (&status["status"], &status["keys_bytes"]),
        (&"registered".into(), &(SMALL + 32).into())
    );
    assert_eq!(
        (&status["next_ticket"], &status["tickets_ahead"]),
        (&0.into(), &1.into())
    );
    let month = 30 * 24 * 3600;
    assert_eq!(
        status["expires"].as_u64().unwrap() - status["used"].as_u64().unwrap(),
        month
    );
    for index in [0, 49, 7, 7, 20, 3] {
        client.check(index);
    }
    client.wait_for("tickets_ready", 4);
    assert_eq!(
        (
            &client.status()["next_ticket"],
            &client.status()["tickets_used"]
        ),
        (&6.into(), &6.into())
    );
    assert_eq!(client.status()["tickets_ahead"], 4);

    let metrics = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    for (name, state, count) in [
        ("clients", "registered", 1),
        ("clients", "uploading", 0),
        ("tickets", "ready", 4),
        ("tickets", "used", 6),
    ] {
        let line = format!("papir_{name}{{database=\"table\",state=\"{state}\"}} {count}\n");
        assert!(metrics.contains(&line), "no {line} in {metrics}");
    }

    assert_eq!(send("DELETE", &client.at(""), &[], &[]).status, 204);
    assert!(gone(&client));
    assert_eq!(
        send("DELETE", &client.at(""), &[], &[]).code(),
        "client_gone"
    );
    let query = client.query(1);
    assert_eq!(client.ask(&query).code(), "client_gone");
}

#[test]
fn a_client_is_not_removed_by_way_of_another_database() {
    let directory = TempDir::new().unwrap();
    let config = ServerConfig {
        registry: Some(registry(directory.path())),
        ..config()
    };
    let other = Database::new("other", prepared_stateful(SMALL, 2), None);
    let server = Running::start(config, vec![stateful(SMALL, 1), other]);
    let mut client = registered(&server);
    let elsewhere = format!("{}/v1/databases/other/clients/{}", server.url(), client.id);
    assert_eq!(send("DELETE", &elsewhere, &[], &[]).code(), "client_gone");
    assert_eq!(
        std::fs::read_dir(directory.path().join("keys"))
            .unwrap()
            .count(),
        1
    );
    client.check(3);
}

#[test]
fn a_registry_survives_a_restart() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    let used = client.query(7);
    let reply = client.ask(&used);
    let backup = client.registration().save_state(&client.state).unwrap();
    client.wait_for("tickets_ready", 4);
    let status = client.status();
    server.finish();

    let server = start(registry(directory.path()));
    let mut client = client.moved_to(&server);
    assert_eq!(client.status(), status);
    assert!(
        client.ask(&used).body == reply.body,
        "a retry after a restart"
    );
    let other = client.query(8);
    let stolen = client.ask_with("0", &other.bytes);
    assert_eq!(stolen.code(), "ticket_used");
    client.state = client.registration().load_state(&backup).unwrap();
    client.check(9);
}

#[test]
fn a_new_version_keeps_compatible_keys_and_refuses_others() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let mut client = registered(&server);
    client.check(1);
    client.wait_for("tickets_ready", 4);
    let old = client.query(2);
    server.handle.replace(stateful(SMALL, 2)).unwrap();
    assert_eq!(client.ask(&old).code(), "wrong_version");
    let state = client.registration().save_state(&client.state).unwrap();
    let fresh = unregistered(&server);
    client.state = fresh.registration().load_state(&state).unwrap();
    client.client = fresh.client;
    client.check(3);
    assert_eq!(
        client.status()["next_ticket"],
        3,
        "a number is used in one version only"
    );

    server.handle.replace(stateful(SMALL + 1, 3)).unwrap();
    let mut moved = unregistered(&server);
    moved.id.clone_from(&client.id);
    let named = moved.client.version().to_string();
    let status = send("GET", &moved.at(""), &[("papir-version", &named)], &[]);
    assert_eq!(
        (status.status, status.code().as_str()),
        (410, "client_gone")
    );
    let query = moved.query(4);
    let reply = moved.ask_with("9", &query.bytes);
    assert_eq!((reply.status, reply.code().as_str()), (410, "client_gone"));
    // The version that accepted the keys may still be answered, so the client stays until it
    // expires.
    assert!(!gone(&moved));
}

#[test]
fn clients_expire_and_a_full_registry_refuses_others() {
    let directory = TempDir::new().unwrap();
    let short = RegistryConfig {
        upload_ttl: Duration::from_millis(1),
        ..registry(directory.path())
    };
    let server = start(short.clone());
    let mut client = unregistered(&server);
    client.begin();
    let start_time = Instant::now();
    while !gone(&client) {
        assert!(
            start_time.elapsed() < Duration::from_secs(60),
            "the upload did not expire"
        );
    }
    server.finish();

    let server = start(RegistryConfig {
        max_clients: 2,
        ..registry(directory.path())
    });
    let mut first = registered(&server);
    let second = registered(&server);
    first.check(1);
    let third = unregistered(&server);
    let refused = third.register();
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (429, "registry_full")
    );
    // The second client will have had its 10 minutes for a query.
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((500..=600).contains(&wait), "{wait}");
    assert!(
        !gone(&first) && !gone(&second),
        "clients that are in use stay"
    );
    assert_eq!(send("DELETE", &second.at(""), &[], &[]).status, 204);
    assert_eq!(third.register().status, 201);
    server.finish();

    // A client has 432 bytes of keys. Both are of one network, which may have a quarter.
    let other = registry(&directory.path().join("other"));
    let server = start(RegistryConfig {
        max_bytes: 1700,
        ..other
    });
    let _fourth = registered(&server);
    let fifth = unregistered(&server);
    assert_eq!(fifth.register().code(), "registry_full");
    server.finish();

    let server = start(RegistryConfig {
        max_bytes: 100,
        ..registry(&directory.path().join("small"))
    });
    let reply = unregistered(&server).register();
    assert_eq!((reply.status, reply.code().as_str()), (413, "over_quota"));
}

#[test]
fn a_query_of_another_version_is_told_the_newest() {
    let directory = TempDir::new().unwrap();
    let server = start(registry(directory.path()));
    let client = registered(&server);
    let other = send(
        "GET",
        &client.at(""),
        &[("papir-version", "0123456789abcdef")],
        &[],
    );
    assert_eq!(
        (other.status, other.code().as_str()),
        (409, "wrong_version")
    );
}

#[test]
fn the_list_of_clients_is_reserved_for_the_operator() {
    let directory = TempDir::new().unwrap();
    let server = start(RegistryConfig {
        allow_list: false,
        ..registry(directory.path())
    });
    let reply = get(&clients_url(&server));
    assert_eq!((reply.status, reply.code().as_str()), (403, "not_allowed"));
    let mut client = registered(&server);
    client.check(1);
    client.wait_for("tickets_ready", 4);
    assert!(
        StoredRegistry::open(&registry(directory.path()).place).is_err(),
        "a running service has it open"
    );
    server.finish();

    let offline = StoredRegistry::open(&registry(directory.path()).place).unwrap();
    let databases = offline.list().unwrap();
    let [(name, counts, clients)] = databases.as_slice() else {
        panic!("{databases:?}")
    };
    assert_eq!(
        (name.as_str(), clients[0].id.as_str()),
        ("table", client.id.as_str())
    );
    assert_eq!(
        (counts.registered, counts.tickets_ready, counts.tickets_used),
        (1, 4, 1)
    );
    assert_eq!(counts.bytes, SMALL + 32 + 5 * (8 + 16 + 24));
    assert!(offline.evict(&client.id).unwrap() && !offline.evict(&client.id).unwrap());
    drop(offline);
    let server = start(registry(directory.path()));
    assert!(gone(&client.moved_to(&server)));
    assert!(StoredRegistry::open(&registry(&directory.path().join("none")).place).is_err());
}

#[test]
fn databases_without_client_keys_and_services_without_a_registry_refuse_clients() {
    let directory = TempDir::new().unwrap();
    let config = ServerConfig {
        registry: Some(registry(directory.path())),
        ..config()
    };
    let server = Running::start(config, vec![indexed("table", "plain", 10)]);
    for reply in [
        post(&clients_url(&server), b"keys"),
        get(&clients_url(&server)),
    ] {
        assert_eq!((reply.status, reply.code().as_str()), (404, "no_registry"));
    }
    let refused = Running::try_start(support::config(), vec![stateful(SMALL, 1)]);
    let error = refused.err().unwrap();
    assert!(matches!(error, Error::NeedsRegistry { .. }), "{error}");
    assert!(error.to_string().contains("--registry"), "{error}");
    let plain = Running::start(support::config(), vec![indexed("table", "plain", 10)]);
    assert!(matches!(
        plain.handle.replace(stateful(SMALL, 1)),
        Err(Error::NeedsRegistry { .. })
    ));
}
