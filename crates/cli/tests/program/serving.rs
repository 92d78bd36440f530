//! `papir serve`: startup failures, signals, damaged files.

use std::fs;
use std::net::TcpListener;

#[cfg(unix)]
use rustix::process::Signal;

use crate::support::{Folder, Service, fails_with, succeeds};
#[cfg(unix)]
use crate::support::{has_metric, papir, send, until};

const OPEN: &str = "--allow-not-private";

/// A free port: tests must not collide on the default port.
const ANY_PORT: &str = "127.0.0.1:0";

#[test]
fn unservable_files_are_refused() {
    let folder = Folder::new();
    let words = folder.words(100, "plain");
    fails_with(
        &["serve", "--listen", ANY_PORT, &folder.path("missing.papir")],
        &["missing.papir"],
    );
    fails_with(
        &[
            "serve",
            "--listen",
            ANY_PORT,
            &folder.write("text.papir", "no snapshot"),
        ],
        &["text.papir"],
    );
    fails_with(
        &[
            "serve",
            "--listen",
            ANY_PORT,
            &folder.write("empty.papir", ""),
        ],
        &["empty.papir"],
    );
    fails_with(
        &["serve", "--listen", ANY_PORT, &words],
        &["words", "plain", "not private"],
    );
    fails_with(
        &["serve", "--listen", ANY_PORT, OPEN, &words, &words],
        &["words"],
    );
    fails_with(
        &[
            "serve",
            "--listen",
            ANY_PORT,
            OPEN,
            &words,
            &folder.numbers(5, "plain"),
            "--name",
            "x",
        ],
        &["--name"],
    );
    fails_with(
        &["serve", "--listen", ANY_PORT, OPEN, &words, "--name", "a/b"],
        &["a/b"],
    );
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    fails_with(&["serve", OPEN, &words, "--listen", &address], &[&address]);
}

#[test]
fn a_damaged_file_is_not_served() {
    let folder = Folder::new();
    let whole = fs::read(folder.words(200, "inspire")).unwrap();
    for place in [0, 9, whole.len() / 3, whole.len() / 2, whole.len() - 1] {
        let mut bytes = whole.clone();
        bytes[place] ^= 1;
        let path = folder.write("flipped.papir", &bytes);
        fails_with(&["serve", "--listen", ANY_PORT, &path], &["flipped.papir"]);
    }
    for length in [1, whole.len() / 2, whole.len() - 1] {
        fails_with(
            &[
                "serve",
                "--listen",
                ANY_PORT,
                &folder.write("short.papir", &whole[..length]),
            ],
            &["short.papir"],
        );
    }
}

#[test]
fn a_database_is_served_under_a_given_name() {
    let folder = Folder::new();
    let service = Service::start(
        &[&folder.words(10, "plain")],
        &[OPEN, "--name", "terms", "--threads", "1"],
    );
    let url = format!("{}/v1/databases/terms", service.url);
    assert_eq!(succeeds(&["get", &url, OPEN, "key-3"]), "value-3");
}

#[cfg(unix)]
#[test]
fn signals_stop_the_server_gracefully() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    for signal in [Signal::TERM, Signal::INT] {
        let mut service = Service::start(&[&words], &[OPEN]);
        assert_eq!(succeeds(&["get", &service.url, OPEN, "key-3"]), "value-3");
        send(signal, &service);
        assert_eq!(service.wait(), Some(0), "{signal:?}");
    }
}

#[cfg(unix)]
#[test]
fn sighup_reloads_the_file_and_keeps_the_old_one_if_it_is_bad() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let mut service = Service::start(&[&words], &[OPEN]);
    let url = service.url.clone();
    let get = || papir(&["get", &url, OPEN, "key-20"]).status.code();
    assert_eq!(get(), Some(1));

    folder.words(30, "plain");
    send(Signal::HUP, &service);
    until("the new snapshot is served", || get() == Some(0));

    fs::write(folder.path("damaged"), "damaged").unwrap();
    fs::rename(folder.path("damaged"), &words).unwrap();
    send(Signal::HUP, &service);
    let failing = "papir_load_failing{database=\"words\"} 1";
    until("the failed load is reported", || has_metric(&url, failing));
    assert_eq!(get(), Some(0));
    send(Signal::TERM, &service);
    assert_eq!(service.wait(), Some(0));
}
