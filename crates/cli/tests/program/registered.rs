//! ZipPIR end to end: registered clients across a restart and a database change.

use crate::support::{Folder, Service, fails_with, papir, succeeds};

const BUILD: [&str; 9] = [
    "--scheme", "zip", "--key", "word", "--value", "meaning", "--room", "10", "--goal",
];

/// Builds a database of 60 keys under `zip`.
pub(crate) fn build(folder: &Folder) -> String {
    let rows: String = (0..60).map(|i| format!("word {i},meaning {i}\n")).collect();
    let source = folder.write("words.csv", format!("word,meaning\n{rows}"));
    let out = folder.path("words.papir");
    succeeds(
        &[
            &["build", &source, "--out", &out][..],
            &BUILD,
            &["min-communication"],
        ]
        .concat(),
    );
    out
}

/// Size in bytes of the answer to a lookup.
#[cfg(unix)]
fn received(service: &Service, state: &str, key: &str) -> u64 {
    let output = papir(&["get", &service.url, key, "--state", state, "--json", "-v"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let found = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        found.contains(&key.replace("word", "meaning")),
        "{key}: {found}"
    );
    let costs = String::from_utf8(output.stderr).unwrap();
    let costs: serde_json::Value = serde_json::from_str(costs.lines().last().unwrap()).unwrap();
    let first = key == "word 8";
    assert_eq!(
        costs["registration_bytes"].as_u64() > Some(0),
        first,
        "the first lookup registers: {costs}"
    );
    costs["download_bytes"].as_u64().unwrap()
}

/// Takes seconds with AVX-512 and longer without: two clients with 3,072-bit keys make four
/// lookups.
#[cfg(unix)]
#[test]
fn registered_clients_survive_a_restart_and_a_change() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let words = build(&folder);
    let registry = folder.path("registry");
    fails_with(&["serve", &words, "--check-config"], &["--registry"]);
    // A client identifies a server by its address, which must survive the restart.
    let listen = sockets.socket();
    let options = [
        "--registry",
        &registry,
        "--tickets-ahead",
        "1",
        "--list-clients",
        "--listen",
        &listen,
    ];
    let states = [folder.path("first"), folder.path("second")];
    let get = |service: &Service, state: &str, key: &str| {
        succeeds(&["get", &service.url, key, "--state", state])
    };
    let service = Service::start(&[&words], &options);
    assert_eq!(get(&service, &states[0], "word 7"), "meaning 7");
    drop(service);

    let service = Service::start(&[&words], &options);
    let whole = received(&service, &states[1], "word 8");
    let held = succeeds(&["hold", &service.url, "--state", &states[1]]);
    assert_eq!(held.trim(), "1 lookup(s) prepared");
    let short = received(&service, &states[1], "word 9");
    assert!(
        10 * short < whole,
        "an answer includes what was sent ahead: {short} of {whole} bytes"
    );
    let listed = succeeds(&["clients", &service.url, "list"]);
    assert_eq!(listed.matches("registered").count(), 2, "{listed}");
    drop(service);

    let changes = folder.write("changes.csv", "word,meaning\nword 7,changed\n");
    succeeds(&["update", &words, "--from", &changes]);
    let service = Service::start(&[&words], &options);
    assert_eq!(get(&service, &states[0], "word 7"), "changed");
    let listed = succeeds(&["clients", &service.url, "list"]);
    assert_eq!(
        listed.matches("registered").count(),
        2,
        "a client registered again: {listed}"
    );
}

/// Keys of tens of megabytes are uploaded once, in parts. Lookups then work across a restart, a
/// change and an eviction.
#[cfg(unix)]
#[test]
fn pirouette_keys_are_uploaded_once() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let rows: String = (0..60).map(|i| format!("word {i},meaning {i}\n")).collect();
    let source = folder.write("words.csv", format!("word,meaning\n{rows}"));
    let words = folder.path("words.papir");
    let build = [
        "--scheme",
        "pirouette",
        "--key",
        "word",
        "--value",
        "meaning",
        "--room",
        "10",
    ];
    succeeds(&[&["build", &source, "--out", &words][..], &build].concat());
    let inspected = succeeds(&["inspect", &words]);
    assert!(inspected.contains("query payload bytes"), "{inspected}");

    let registry = folder.path("registry");
    let state = folder.path("state");
    let listen = sockets.socket();
    let options = [
        "--registry",
        &registry,
        "--list-clients",
        "--listen",
        &listen,
    ];
    let service = Service::start(&[&words], &options);
    let get =
        |service: &Service, key: &str| succeeds(&["get", &service.url, key, "--state", &state]);
    assert_eq!(get(&service, "word 7"), "meaning 7");
    drop(service);

    let changes = folder.write("changes.csv", "word,meaning\nword 7,changed\n");
    succeeds(&["update", &words, "--from", &changes]);
    let service = Service::start(&[&words], &options);
    assert_eq!(get(&service, "word 7"), "changed");
    service.evict_only_client();
    assert_eq!(get(&service, "word 8"), "meaning 8");
}
