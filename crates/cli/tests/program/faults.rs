//! Faults around a running service: files, stores, disks and signals. No lookup is answered wrongly.
#![cfg(unix)]

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::support::{Folder, Service, papir, send, succeeds, until};

const SCHEME: &str = "simple";

/// The status of a path, and the body.
fn get(url: &str, path: &str) -> (u16, String) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let mut response = agent.get(format!("{url}{path}")).call().unwrap();
    (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
}

fn metric(url: &str, line: &str) -> bool {
    get(url, "/metrics").1.contains(&format!("{line}\n"))
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
        send("-HUP", &service);
        until("a failed load is reported", || metric(&service.url, failing));
        right();
    }
    fs::remove_file(&words).unwrap();
    send("-HUP", &service);
    right();
    assert_eq!(get(&service.url, "/readyz").0, 200, "the version in memory is answered");
    folder.words(300, SCHEME);
    send("-HUP", &service);
    until("the new file is loaded", || !metric(&service.url, failing));
    assert_eq!(succeeds(&["get", &service.url, "key-250"]), "value-250");
}

#[cfg(feature = "cloud")]
#[test]
fn a_store_that_is_away_at_the_start_does_not_end_the_service() {
    let (folder, store) = (Folder::new(), Folder::new());
    let (url, cache) = (format!("file://{}", store.path("words.papir")), folder.path("cache"));
    succeeds(&["push", &folder.words(10, SCHEME), &url]);
    drop(Service::start(&[&url], &["--cache", &cache]));
    let (manifest, away) = (store.path("words.papir.manifest.json"), store.path("away"));
    fs::rename(&manifest, &away).unwrap();

    let service = Service::start(&[&url], &["--cache", &cache]);
    assert_eq!(succeeds(&["get", &service.url, "key-3"]), "value-3");
    assert!(metric(&service.url, "papir_store_failing{database=\"words\"} 1"));
    fs::rename(&away, &manifest).unwrap();
    succeeds(&["push", &folder.words(30, SCHEME), &url]);
    send("-HUP", &service);
    until("the store is back", || metric(&service.url, "papir_store_failing{database=\"words\"} 0"));
    assert_eq!(succeeds(&["get", &service.url, "key-20"]), "value-20");
}

/// A pipe without a writer is a file that takes for ever to load.
#[test]
fn a_service_that_is_loading_stops_at_once() {
    let folder = Folder::new();
    let pipe = folder.path("words.papir");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for signal in ["-TERM", "-INT"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_papir"))
            .args(["serve", &pipe, "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        sleep(Duration::from_millis(300));
        let begin = Instant::now();
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(0), "{signal}");
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    }
}

#[test]
fn a_lame_duck_answers_while_it_is_not_ready() {
    let folder = Folder::new();
    let mut service = Service::start(&[&folder.words(10, SCHEME)], &["--lame-duck", "2s"]);
    assert_eq!(get(&service.url, "/readyz").0, 200);
    let begin = Instant::now();
    send("-TERM", &service);
    until("the service is stopping", || get(&service.url, "/readyz").0 == 503);
    assert!(get(&service.url, "/readyz").1.contains("\"stopping\""));
    assert_eq!(succeeds(&["get", &service.url, "key-3"]), "value-3");
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
    let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "papir-test", &disk]).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: mounting a small disk needs root");
        return;
    }
    let unmount = Unmount(disk.clone());
    let words = folder.words(50, "zip");
    let (registry, filler) = (format!("{disk}/registry"), format!("{disk}/filler"));
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
    // Reopened, the registry may write a little, and is ready until the next failure.
    until("a full disk is noticed", || {
        let url = format!("{}/v1/databases/words/clients", service.url);
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let mut response =
            agent.post(&url).header("papir-upload-length", &keys_length(&service)).send_empty().unwrap();
        response.body_mut().read_to_string().unwrap().contains("registry_failed")
            && get(&service.url, "/readyz").0 == 503
            && metric(&service.url, "papir_registry_failing 1")
    });

    drop(file);
    fs::remove_file(&filler).unwrap();
    until("the service recovers by itself", || get(&service.url, "/readyz").0 == 200);
    for client in ["first", "second"] {
        let found = look_up(client);
        assert_eq!(found.stdout, b"value-7", "{}", String::from_utf8_lossy(&found.stderr));
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
