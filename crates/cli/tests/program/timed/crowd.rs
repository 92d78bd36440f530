//! A thousand honest clients in a closed loop, and the memory that they cost.
#![cfg(target_os = "linux")]

use std::fs;

use serde_json::Value;

use crate::support::{Folder, Service, loaded_machine, papir};

const CLIENTS: usize = 1000;
const SECONDS: u32 = 30;
/// Clock ticks per second in `/proc`.
const TICKS: f64 = 100.0;

/// The fields of a process's `stat` file after its name, from the state on.
fn stat(process: &str) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    let fields = text.rsplit_once(')').unwrap().1;
    fields.split_whitespace().map(str::to_owned).collect()
}

/// Processor time of a process in seconds.
fn own_seconds(service: &Service) -> f64 {
    ticks(&stat(&service.id().to_string()), 11)
}

/// Processor time of the processes that this one has waited for, in seconds.
fn seconds_of_children() -> f64 {
    ticks(&stat("self"), 13)
}

/// The sum of the user and system time at `first` and the field after it.
fn ticks(fields: &[String], first: usize) -> f64 {
    let field = |index: usize| fields[index].parse::<f64>().unwrap();
    (field(first) + field(first + 1)) / TICKS
}

/// The most memory that the service has had, in bytes.
fn peak(service: &Service) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", service.id())).unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmHWM:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        << 10
}

/// No lookup fails, and hardly any waits longer than two turns. A turn is the time in which as many
/// lookups are answered as there are clients, however fast the machine is, and whatever else it does.
#[test]
#[ignore = "long"]
fn a_thousand_clients_are_answered_in_turn() {
    let _machine = loaded_machine();
    let folder = Folder::new();
    let service = Service::start(
        &[&folder.words(30_000, "inspire")],
        &["--max-connections", "4096"],
    );
    let keys = folder.path("words.csv");
    let few = [
        "load",
        &service.url,
        "--clients",
        "1",
        "--seconds",
        "1",
        "--keys",
        &keys,
        "--json",
    ];
    assert!(papir(&few).status.success());
    let unloaded = peak(&service);
    let service_before = own_seconds(&service);
    let load_before = seconds_of_children();

    let clients = CLIENTS.to_string();
    let output = papir(&[
        "load",
        &service.url,
        "--clients",
        &clients,
        "--seconds",
        &SECONDS.to_string(),
        "--keys",
        &keys,
        "--json",
    ]);
    let report: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    let figure = |name: &str| report[name].as_f64().unwrap();
    let lookups = figure("lookups");
    let work = own_seconds(&service) - service_before + seconds_of_children() - load_before;
    let core_ms = 1000.0 * work / lookups;
    let p99 = report["lookup_ms"]["p99"].as_f64().unwrap();
    let turn = 1000.0 * f64::from(SECONDS) * CLIENTS as f64 / lookups;
    let memory = peak(&service) - unloaded;
    println!(
        "{lookups} lookups of {CLIENTS} clients, {core_ms:.1} core-ms each, service and client; \
         p50 {} ms, p99 {p99:.0} ms, a turn {turn:.0} ms; {} KiB more memory for each client",
        report["lookup_ms"]["p50"],
        (memory / CLIENTS as u64) >> 10
    );
    assert_eq!(figure("failed"), 0.0, "{report}");
    assert!(p99 <= 2.0 * turn, "{p99} > 2 * {turn}: {report}");
    assert!(memory < 512 << 20, "{memory}");
}
