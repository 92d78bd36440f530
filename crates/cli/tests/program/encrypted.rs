//! Encrypted databases, from build to update.
#![cfg(unix)]

use std::fs;

use crate::support::{Folder, Service, fails_with, succeeds};

/// Rows with long values, which are easy to find in a file that stores them unencrypted.
fn rows(of: impl Iterator<Item = u32>) -> String {
    let row = |i: u32| format!("word {i},a rather long meaning {i}\n");
    format!("word,meaning\n{}", of.map(row).collect::<String>())
}

/// The owner, the server and clients of a keyed database.
#[test]
fn a_server_answers_from_records_it_cannot_read() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let source = folder.write("words.csv", rows(0..60));
    let key = folder.path("words.key");
    let words = folder.path("words.papir");
    let columns = ["--key", "word", "--value", "meaning", "--room", "10"];
    let build = ["build", &source, "--encrypt", &key, "--out", &words];
    let built = succeeds(&[&build[..], &columns].concat());
    assert!(built.contains("pirouette-encrypted"), "{built}");
    let text = fs::read_to_string(&key).unwrap();
    assert!(text.starts_with("papir-owner-key-1-") && text.ends_with('\n'));
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&key).unwrap().permissions()) & 0o77,
        0
    );

    let inspected = succeeds(&["inspect", &words]);
    assert!(
        inspected.contains("parameter owner's key") && inspected.contains("for updates"),
        "{inspected}"
    );
    let plain = folder.path("plain.papir");
    succeeds(
        &[
            &[
                "build",
                &source,
                "--scheme",
                "plain",
                "--insecure-plain",
                "--out",
                &plain,
            ],
            &columns[..],
        ]
        .concat(),
    );
    let holds = |file: &str| {
        let bytes = fs::read(file).unwrap();
        bytes
            .windows(19)
            .any(|window| window == b"rather long meaning")
    };
    assert!(
        holds(&plain) && !holds(&words),
        "an encrypted file contains plain records"
    );

    // Only the owner and the clients have the key; the server has only the file.
    let listen = format!("unix:{}", sockets.path("papir.sock"));
    let registry = folder.path("registry");
    let options = [
        "--registry",
        &registry,
        "--list-clients",
        "--listen",
        &listen,
    ];
    let service = Service::start(&[&words], &options);
    let states = ["first", "second"].map(|name| folder.path(name));
    let get = |service: &Service, word: &str, more: &[&str]| {
        succeeds(&[&["get", &service.url, word, "--state", &states[0]], more].concat())
    };
    let ask = ["get", &service.url, "word 7", "--state", &states[1]];
    fails_with(
        &ask,
        &[
            "no query was sent: an encrypted database needs its owner's key, ",
            "found none",
            "--decrypt",
        ],
    );
    let other = folder.path("other.key");
    let elsewhere = folder.path("elsewhere.papir");
    succeeds(
        &[
            &["build", &source, "--encrypt", &other, "--out", &elsewhere][..],
            &columns,
        ]
        .concat(),
    );
    fails_with(
        &[&ask[..], &["--decrypt", &other]].concat(),
        &["needs its owner's key", "found key"],
    );
    fails_with(
        &[&ask[..], &["--decrypt", &source]].concat(),
        &["words.csv: an owner's key is malformed"],
    );
    assert_eq!(
        get(&service, "word 7", &["--decrypt", &key]),
        "a rather long meaning 7"
    );
    // Afterwards, the client's state is sufficient.
    assert_eq!(get(&service, "word 59", &[]), "a rather long meaning 59");
    drop(service);

    // Updates need the owner's key.
    let changes = folder.write("changes.csv", "word,meaning\nword 7,changed\nword 60,new\n");
    let update = ["update", &words, "--from", &changes];
    fails_with(&update, &["needs its owner's key: found none", "--encrypt"]);
    fails_with(
        &[&update[..], &["--encrypt", &other]].concat(),
        &["needs its owner's key", "found key"],
    );
    succeeds(&[&update[..], &["--encrypt", &key]].concat());
    let service = Service::start(&[&words], &options);
    assert_eq!(get(&service, "word 7", &[]), "changed");
    assert_eq!(get(&service, "word 60", &[]), "new");
    let listed = succeeds(&["clients", &service.url, "list"]);
    assert_eq!(
        listed.matches("registered").count(),
        1,
        "a client registered again: {listed}"
    );

    // An evicted client registers again from its state.
    let id = listed
        .split_whitespace()
        .find(|word| word.len() == 32)
        .unwrap_or_default();
    succeeds(&["clients", &service.url, "evict", id]);
    assert_eq!(get(&service, "word 8", &[]), "a rather long meaning 8");
}

/// Updates of records by index, and options that conflict with encryption.
#[test]
fn owner_keys_are_only_for_encrypted_databases() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let numbers: Vec<u8> = (0..50u32).flat_map(u32::to_le_bytes).collect();
    let source = folder.write("numbers.bin", numbers);
    let key = folder.path("numbers.key");
    let out = folder.path("numbers.papir");
    let raw = [
        "build",
        &source,
        "--format",
        "raw",
        "--record-bytes",
        "4",
        "--out",
        &out,
    ];
    let build = |more: &[&'static str], key: Option<&str>| {
        let key: Vec<&str> = key.into_iter().flat_map(|key| ["--encrypt", key]).collect();
        [&raw[..], more, &key]
            .concat()
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let refused = |more: &[&'static str], key: Option<&str>, words: &[&str]| {
        fails_with(
            &build(more, key)
                .iter()
                .map(String::as_str)
                .collect::<Vec<_>>(),
            words,
        );
    };
    refused(
        &["--scheme", "pirouette-encrypted"],
        None,
        &["give --encrypt KEYFILE"],
    );
    refused(
        &["--scheme", "inspire"],
        Some(&key),
        &["inspire does not encrypt records"],
    );
    refused(&["--batch", "8"], Some(&key), &["--batch", "--encrypt"]);
    refused(&[], Some(&source), &["numbers.bin"]);
    assert!(!fs::exists(&out).unwrap());
    succeeds(&[&raw[..], &["--encrypt", &key]].concat());
    refused(
        &["--verifiable"],
        Some(&key),
        &["--verifiable", "--encrypt"],
    );

    let changes = folder.write("changes.csv", "index,value\n7,7777\n50,last\n");
    fails_with(
        &["update", &out, "--from", &changes],
        &["an encrypted database needs", "found none", "--encrypt"],
    );
    succeeds(&["update", &out, "--from", &changes, "--encrypt", &key]);
    let listen = format!("unix:{}", sockets.path("papir.sock"));
    let service = Service::start(
        &[&out],
        &["--registry", &folder.path("registry"), "--listen", &listen],
    );
    let state = folder.path("state");
    let asked = [
        "get",
        &service.url,
        "--index",
        "7",
        "50",
        "--state",
        &state,
        "--decrypt",
        &key,
    ];
    let found = succeeds(&asked);
    assert!(
        found.contains("\"7777\"") && found.contains("\"last\""),
        "{found}"
    );
    drop(service);

    let plain = folder.numbers(50, "inspire");
    let service = Service::start(&[&plain], &[]);
    fails_with(
        &["get", &service.url, "--index", "7", "--decrypt", &key],
        &["no parameters of inspire fit: its databases are not encrypted"],
    );
}
