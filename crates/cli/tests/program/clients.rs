//! `papir clients`, and the options of registries and of client state.

use crate::support::{Folder, Service, fails_with, papir, succeeds};

#[test]
fn a_registry_created_by_the_server_is_readable_without_it() {
    let folder = Folder::new();
    let words = folder.words(20, "inspire");
    let registry = folder.path("registry");
    fails_with(
        &["clients", &registry, "list"],
        &["client registry", "registry.redb"],
    );
    fails_with(&["serve", &words, "--tickets-ahead", "2"], &["--registry"]);
    let service = Service::start(
        &[&words],
        &[
            "--registry",
            &registry,
            "--client-ttl",
            "7d",
            "--list-clients",
        ],
    );
    // Clients of this scheme do not register.
    fails_with(&["clients", &service.url, "list"], &["no_registry"]);
    fails_with(
        &["clients", &service.url, "show", "../query"],
        &["32 hexadecimal digits"],
    );
    fails_with(
        &["clients", &registry, "list"],
        &["if its service is running, query the service instead"],
    );
    drop(service);
    assert_eq!(succeeds(&["clients", &registry, "list"]), "");
    for action in ["show", "evict"] {
        let absent = papir(&[
            "clients",
            &registry,
            action,
            "00000000000000000000000000000000",
        ]);
        assert_eq!(
            (absent.status.code(), absent.stderr.as_slice()),
            (Some(1), &b"no such client\n"[..])
        );
    }
}

#[test]
fn schemes_without_client_keys_keep_no_state() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(20, "inspire")], &[]);
    let state = folder.path("state");
    let empty = folder.write("empty", "\nsecond line\n");
    let passphrase = folder.write("passphrase", "a b c\n");
    let get = [
        "get",
        &service.url,
        "key-7",
        "--state",
        &state,
        "--passphrase-file",
    ];
    assert_eq!(
        succeeds(&[&get[..], &[passphrase.as_str()]].concat()),
        "value-7"
    );
    assert!(!folder.names().contains(&"state".to_owned()));
    fails_with(
        &[&get[..], &[empty.as_str()]].concat(),
        &["the first line is empty"],
    );
    fails_with(
        &[&get[..], &[folder.path("none").as_str()]].concat(),
        &["none: No such file"],
    );
}

/// The operator sees the clients while services run, which a registry in a directory does not allow.
#[cfg(unix)]
#[test]
fn a_registry_in_postgresql_is_shared_by_services_and_the_operator() {
    let server = papir_testkit::postgres::Server::start("");
    // The superuser needs no password there.
    let address = server.address("papir").replace("papir@", "postgres@");
    let folder = Folder::new();
    let words = folder.words(20, "inspire");
    let keys = format!("file://{}", folder.path("keys"));
    let one = Service::start(&[&words], &["--registry", &address, "--max-clients", "5"]);
    let two = Service::start(
        &[&words],
        &["--registry", &address, "--registry-keys", &keys],
    );
    for service in [&one, &two] {
        assert_eq!(succeeds(&["get", &service.url, "key-7"]), "value-7");
    }
    assert_eq!(succeeds(&["clients", &address, "list"]), "");
    let absent = papir(&[
        "clients",
        &address,
        "evict",
        "00000000000000000000000000000000",
    ]);
    assert_eq!(absent.status.code(), Some(1));
    assert!(succeeds(&["doctor", &words, "--registry", &address]).contains("PostgreSQL keeps"));

    let secret = address.replace("postgres@", "postgres:secret@");
    fails_with(
        &["serve", &words, "--registry", &secret],
        &["client registry", "PGPASSFILE"],
    );
    let registry = folder.path("registry");
    fails_with(
        &[
            "serve",
            &words,
            "--registry",
            &registry,
            "--registry-keys",
            "s3://bucket/keys",
        ],
        &["registry-keys", "in PostgreSQL"],
    );
    server.crash();
    fails_with(&["clients", &address, "list"], &["client registry"]);
}
