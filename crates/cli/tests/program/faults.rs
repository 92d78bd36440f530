//! Faults around a running service: files, stores, disks and signals. No lookup is answered wrongly.
#![cfg(unix)]

use std::fs;
#[cfg(feature = "cloud")]
use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::{
    Folder, Service, agent, fails_with, fetch, has_metric, papir, send, succeeds, until,
};

const SCHEME: &str = "simple";

/// The status of a path, and the body.
fn get(url: &str, path: &str) -> (u16, String) {
    fetch(&format!("{url}{path}"))
}

#[test]
fn a_served_file_may_be_overwritten_truncated_and_removed() {
    let folder = Folder::new();
    let words = folder.words(200, SCHEME);
    let length = fs::read(&words).unwrap().len();
    let service = Service::start(&[&words], &[]);
    let right = || assert_eq!(succeeds(&["get", &service.url, "key-7"]), "value-7");
    right();
    let failing = "papir_load_failing{database=\"words\"} 1";
    for bytes in [vec![7; length], vec![7; 100], Vec::new()] {
        // In place, as a careless copy does.
        fs::write(&words, bytes).unwrap();
        right();
        send(Signal::HUP, &service);
        until("a failed load is reported", || {
            has_metric(&service.url, failing)
        });
        right();
    }
    fs::remove_file(&words).unwrap();
    send(Signal::HUP, &service);
    right();
    assert_eq!(
        get(&service.url, "/readyz").0,
        200,
        "the version in memory is answered"
    );
    folder.words(300, SCHEME);
    send(Signal::HUP, &service);
    until("the new file is loaded", || {
        !has_metric(&service.url, failing)
    });
    assert_eq!(succeeds(&["get", &service.url, "key-250"]), "value-250");
}

#[cfg(feature = "cloud")]
#[test]
fn a_store_that_is_away_at_the_start_does_not_end_the_service() {
    let folder = Folder::new();
    let store = Folder::new();
    let url = format!("file://{}", store.path("words.papir"));
    let cache = folder.path("cache");
    succeeds(&["push", &folder.words(10, SCHEME), &url]);
    drop(Service::start(&[&url], &["--cache", &cache]));
    let manifest = store.path("words.papir.manifest.json");
    let away = store.path("away");
    fs::rename(&manifest, &away).unwrap();

    let service = Service::start(&[&url], &["--cache", &cache]);
    assert_eq!(succeeds(&["get", &service.url, "key-3"]), "value-3");
    assert!(has_metric(
        &service.url,
        "papir_store_failing{database=\"words\"} 1"
    ));
    fs::rename(&away, &manifest).unwrap();
    succeeds(&["push", &folder.words(30, SCHEME), &url]);
    send(Signal::HUP, &service);
    until("the store is back", || {
        has_metric(&service.url, "papir_store_failing{database=\"words\"} 0")
    });
    assert_eq!(succeeds(&["get", &service.url, "key-20"]), "value-20");
}

/// Starts a service of databases of which some are in a store at this URL, without waiting.
#[cfg(feature = "cloud")]
fn serve_from(store: &str, address: &str, arguments: &[&str]) -> papir_testkit::GuardedChild {
    use std::process::Stdio;

    use crate::support::program;

    let mut command = program();
    command
        .arg("serve")
        .args(arguments)
        .args(["--listen", address])
        .envs([
            ("AWS_ENDPOINT_URL", store),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_REGION", "us-east-1"),
        ])
        .stdout(Stdio::null());
    papir_testkit::GuardedChild::spawn(&mut command).unwrap()
}

/// Starts a service of a database in a store that never answers, and stops it while it loads.
/// Returns the time that it took to stop.
#[cfg(feature = "cloud")]
fn stopped_while_loading(store: &str, signal: Signal) -> Duration {
    use crate::support::{lasting_address, send_to};

    let folder = Folder::new();
    let cache = folder.path("cache");
    let address = lasting_address();
    let ready = format!("http://{address}/readyz");
    let remote = ["s3://bucket/words.papir", "--cache", &cache];
    let mut child = serve_from(store, &address, &remote);

    // A service listens before it loads.
    until("the service is loading", || {
        assert_eq!(
            child.try_wait().unwrap(),
            None,
            "{signal:?}: the service ended"
        );
        agent()
            .get(&ready)
            .call()
            .is_ok_and(|response| response.status() == 503)
    });

    let begin = Instant::now();
    send_to(signal, &child);
    assert_eq!(child.wait().unwrap().code(), Some(0), "{signal:?}");
    begin.elapsed()
}

/// The database in the store comes first, and its download never begins.
#[cfg(feature = "cloud")]
#[test]
fn a_store_that_hangs_holds_up_no_other_database() {
    use crate::support::lasting_address;

    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let store = format!("http://{}", silent.local_addr().unwrap());
    let folder = Folder::new();
    let cache = folder.path("cache");
    let words = folder.words(10, SCHEME);
    let others = ["second", "third"].map(|name| folder.path(&format!("{name}.papir")));
    for other in &others {
        fs::copy(&words, other).unwrap();
    }

    let address = lasting_address();
    let url = format!("http://{address}");
    let [second, third] = others.each_ref().map(String::as_str);
    let files = ["s3://bucket/first.papir", second, third];
    let service = serve_from(
        &store,
        &address,
        &[&files[..], &["--cache", &cache]].concat(),
    );
    let list = format!("{url}/v1/databases");
    until("the other databases are loaded", || {
        agent()
            .get(&list)
            .call()
            .is_ok_and(|response| response.status() == 200)
    });

    for name in ["second", "third"] {
        let found = succeeds(&["get", &url, "key-7", "--database", name]);
        assert_eq!(found, "value-7");
    }
    assert_eq!(get(&url, "/readyz").0, 503);
    assert_eq!(get(&url, "/v1/databases/first").0, 503);
    drop(service);
}

/// Connections to a listener that nobody accepts are open, and wait for ever.
#[cfg(feature = "cloud")]
#[test]
fn a_service_that_is_loading_stops_at_once() {
    let silent = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let store = format!("http://{}", silent.local_addr().unwrap());
    for signal in [Signal::TERM, Signal::INT] {
        // A busy machine may take longer, but not each time.
        let at_once =
            (0..5).any(|_| stopped_while_loading(&store, signal) < Duration::from_secs(10));
        assert!(at_once, "{signal:?}");
    }
}

/// A pipe without a writer would take for ever to load, and stop every reload.
#[test]
fn a_pipe_in_the_place_of_a_database_is_refused() {
    let folder = Folder::new();
    let pipe = folder.path("words.papir");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    fails_with(
        &["serve", &pipe, "--listen", "127.0.0.1:0"],
        &["words.papir", "a pipe, a device or a socket"],
    );
}

#[test]
fn a_lame_duck_answers_while_it_is_not_ready() {
    let folder = Folder::new();
    let words = folder.words(10, SCHEME);
    // A busy machine may need minutes for what follows.
    let service = Service::start(&[&words], &["--lame-duck", "1h"]);
    assert_eq!(get(&service.url, "/readyz").0, 200);
    send(Signal::TERM, &service);
    until("the service is stopping", || {
        get(&service.url, "/readyz").0 == 503
    });
    assert!(get(&service.url, "/readyz").1.contains("\"stopping\""));
    assert_eq!(succeeds(&["get", &service.url, "key-3"]), "value-3");
    drop(service);

    let mut service = Service::start(&[&words], &["--lame-duck", "2s"]);
    let begin = Instant::now();
    send(Signal::TERM, &service);
    assert_eq!(service.wait(), Some(0));
    assert!(begin.elapsed() >= Duration::from_secs(2));
}

/// Needs root, to mount a small disk.
#[test]
#[ignore = "long"]
fn a_full_disk_refuses_registrations_until_there_is_room() {
    let folder = Folder::new();
    let disk = folder.path("disk");
    fs::create_dir(&disk).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=8m", "papir-test", &disk])
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mounting a small disk needs root");
        return;
    }
    let unmount = Unmount(disk.clone());
    let words = folder.words(50, "zip");
    let registry = format!("{disk}/registry");
    let filler = format!("{disk}/filler");
    let service = Service::start(&[&words], &["--registry", &registry]);
    let state = |name: &str| folder.path(name);
    let look_up = |name: &str| papir(&["get", &service.url, "key-7", "--state", &state(name)]);
    assert_eq!(look_up("first").stdout, b"value-7");

    // Until nothing more fits.
    let block = vec![7; 4096];
    let mut file = fs::File::create(&filler).unwrap();
    while std::io::Write::write_all(&mut file, &block).is_ok() {}
    let refused = papir(&["inspect", &service.url]);
    assert!(refused.status.success(), "descriptions need no registry");
    until("a full disk is noticed", || {
        let url = format!("{}/v1/databases/words/clients", service.url);
        let request = agent()
            .post(&url)
            .header("papir-upload-length", &keys_length(&service));
        let mut response = request.send_empty().unwrap();
        response
            .body_mut()
            .read_to_string()
            .unwrap()
            .contains("registry_failed")
            && get(&service.url, "/readyz").0 == 503
            && has_metric(&service.url, "papir_registry_failing 1")
    });

    drop(file);
    fs::remove_file(&filler).unwrap();
    until("the service recovers by itself", || {
        get(&service.url, "/readyz").0 == 200
    });
    for client in ["first", "second"] {
        let found = look_up(client);
        assert_eq!(
            found.stdout,
            b"value-7",
            "{}",
            String::from_utf8_lossy(&found.stderr)
        );
    }
    drop(service);
    drop(unmount);
}

/// The length of a client's keys.
fn keys_length(service: &Service) -> String {
    let text = get(&service.url, "/v1/databases/words").1;
    let info: serde_json::Value = serde_json::from_str(&text).unwrap();
    info["sizes"]["keys"].to_string()
}

/// A disk that is unmounted when dropped.
struct Unmount(String);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", &self.0]).status();
    }
}
