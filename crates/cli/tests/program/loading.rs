//! `papir load` against a running server.

use std::process::Output;
use std::thread;
use std::time::{Duration, Instant};

#[cfg(unix)]
use rustix::process::Signal;
use serde_json::Value;

#[cfg(unix)]
use crate::support::send;
use crate::support::{Folder, Service, fails_with, papir, succeeds};

const OPEN: &str = "--allow-not-private";

fn report(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {output:?}");
    })
}

/// Loads a service, for longer if the machine is so busy that no lookup starts.
fn load(url: &str, more: &[&str]) -> Output {
    let mut runs = ["1", "10", "100"].into_iter().map(|seconds| {
        papir(
            &[
                &[
                    "load",
                    url,
                    "--seconds",
                    seconds,
                    "--clients",
                    "3",
                    "--json",
                ],
                more,
            ]
            .concat(),
        )
    });
    let has_begun = |output: &Output| {
        let report = report(output);
        report["lookups"].as_u64() > Some(0) || report["failed"].as_u64() > Some(0)
    };
    runs.find(has_begun).expect("a load with lookups")
}

#[test]
fn known_values_and_absent_keys_are_verified() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(100, "inspire")], &[]);
    for more in [&["--keys", &folder.path("words.csv")][..], &[]] {
        let output = load(&service.url, more);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let report = report(&output);
        let figure = |name: &str| report[name].as_f64().unwrap();
        assert!(
            figure("lookups") >= 1.0 && figure("lookups_per_second") > 0.0,
            "{report}"
        );
        assert!(figure("core_ms_per_lookup") > 0.0, "{report}");
        assert_eq!(
            (figure("clients"), figure("failed"), figure("went_on")),
            (3.0, 0.0, 0.0)
        );
        assert!(
            figure("seconds") >= 1.0
                && figure("unloaded_ms") > 0.0
                && figure("p99_over_unloaded") > 0.0
        );
        for times in ["lookup_ms", "round_trip_ms", "client_ms"] {
            let time = |name: &str| report[times][name].as_f64().unwrap();
            assert!(0.0 < time("p50") && time("p50") <= time("p95"), "{report}");
            assert!(
                time("p95") <= time("p99") && time("p99") <= time("longest"),
                "{report}"
            );
        }
        assert!(
            report["round_trip_ms"]["p50"].as_f64() < report["lookup_ms"]["p50"].as_f64(),
            "{report}"
        );
    }
}

#[test]
fn wrong_values_are_failures() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(10, "plain")], &[OPEN]);
    let wrong = folder.write("wrong.csv", "word,meaning\nkey-3,value-4\n");
    // Before the load, and during it.
    let output = load(&service.url, &[OPEN, "--keys", &wrong]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = report(&output);
    assert!(
        report["errors"]["wrong_answer"].as_u64() > Some(0),
        "{report}"
    );
    assert_eq!(
        (report["lookups"].as_u64(), &report["failed"]),
        (Some(0), &report["errors"]["wrong_answer"])
    );
}

/// Loads a server, replaces its database, then kills it. Returns `None` if the load ended before
/// that.
#[cfg(unix)]
fn changed_and_ended_under_load(seconds: &str) -> Option<Output> {
    let folder = Folder::new();
    let mut service = Service::start(&[&folder.numbers(300, "plain")], &[OPEN, "--keep-old", "0"]);
    let url = service.url.clone();
    let load = [
        "load",
        &url,
        "--clients",
        "2",
        "--json",
        "--index",
        OPEN,
        "--seconds",
        seconds,
    ]
    .map(str::to_owned);
    let running = thread::spawn(move || papir(&load.each_ref().map(String::as_str)));
    let begin = Instant::now();
    let more = |service: &Service| {
        let goal = service.answered("numbers") + 40;
        while service.answered("numbers") < goal && !running.is_finished() {
            thread::sleep(Duration::from_millis(5));
        }
    };
    more(&service);
    folder.numbers(301, "plain");
    if !running.is_finished() {
        service.reload();
        more(&service);
    }
    send(Signal::KILL, &service);
    service.wait();
    // Some lookups must start after the stop, on a busy machine, too.
    let in_time = begin.elapsed() < Duration::from_secs(seconds.parse().unwrap()) / 2;
    running.join().ok().filter(|_| in_time)
}

#[cfg(unix)]
#[test]
fn lookups_continue_after_a_database_change_and_fail_after_a_stop() {
    let output = ["3", "12", "60", "600"]
        .into_iter()
        .find_map(changed_and_ended_under_load);
    let output = output.expect("a load that outlasts the server");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let report = report(&output);
    assert!(report["went_on"].as_u64() > Some(0), "{report}");
    assert!(report["errors"]["transport"].as_u64() > Some(0), "{report}");
}

#[test]
fn results_are_lines_without_json() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.numbers(300, "plain")], &[OPEN]);
    let text = succeeds(&[
        "load",
        &service.url,
        OPEN,
        "--seconds",
        "1",
        "--clients",
        "2",
    ]);
    for word in [
        "lookups",
        "per second",
        "unloaded lookup",
        "p50",
        "p95",
        "p99",
        "round trip",
        "p99 over unloaded",
    ] {
        assert!(text.contains(word), "no `{word}` in {text}");
    }
}

#[test]
fn invalid_loads_are_refused_in_one_line() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let numbers = folder.numbers(10, "plain");
    let service = Service::start(&[&words, &numbers], &[OPEN]);
    let url = service.url.as_str();
    fails_with(&["load", url, "--seconds", "3601"], &["3601", "1..=3600"]);
    fails_with(&["load", url, "--clients", "0"], &["0", "1..=1024"]);
    fails_with(&["load", url, OPEN], &["`numbers`", "`words`"]);
    fails_with(&["load", url, "--database", "words"], &["not private"]);
    fails_with(
        &["load", url, OPEN, "--database", "words", "--index"],
        &["indices", "keys"],
    );
    let empty = folder.write("empty.csv", "word,meaning\n");
    fails_with(
        &["load", url, OPEN, "--database", "words", "--keys", &empty],
        &["empty.csv", "no keys"],
    );
    let keys = folder.path("words.csv");
    fails_with(
        &["load", url, OPEN, "--database", "numbers", "--keys", &keys],
        &["no keys"],
    );
}
