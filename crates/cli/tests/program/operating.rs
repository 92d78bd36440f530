//! `papir serve` in operation: watching files, old versions, logs, metrics.

use std::fs::{self, File};
use std::process::Stdio;
use std::thread::sleep;
use std::time::{Duration, Instant};

use papir_testkit::GuardedChild;
use serde_json::Value;

use crate::support::{
    Folder, PATIENCE, fails_with, fetch, has_metric, listening, papir, program, succeeds,
};

const OPEN: &str = "--allow-not-private";

/// A running server whose log goes to a file.
pub(crate) struct Logged {
    _child: GuardedChild,
    url: String,
    log: String,
}

impl Logged {
    pub(crate) fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let log = folder.path("log");
        let mut command = program();
        command
            .args([&["serve", "--listen", "127.0.0.1:0", OPEN], arguments].concat())
            .env("PAPIR_LOG", "info")
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap());
        let mut child = GuardedChild::spawn(&mut command).unwrap();
        let url = listening(&mut child);
        Self {
            _child: child,
            url,
            log,
        }
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap()
    }

    /// The lines of a log in JSON that have a message. The last line may still be written.
    fn lines(&self, message: &str) -> Vec<Value> {
        let log = self.log();
        let complete = log
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'));
        let lines = complete.map(|line| serde_json::from_str::<Value>(line).expect(line));
        lines.filter(|line| line["message"] == message).collect()
    }

    fn get(&self, path: &str) -> (u16, String) {
        fetch(&format!("{}{path}", self.url))
    }

    pub(crate) fn until(&self, what: &str, done: impl Fn() -> bool) {
        let begin = Instant::now();
        while !done() {
            assert!(
                begin.elapsed() < PATIENCE,
                "not in {PATIENCE:?}: {what}\n{}",
                self.log()
            );
            sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn invalid_flag_values_are_refused() {
    let folder = Folder::new();
    let words = folder.words(5, "plain");
    for (flag, value) in [
        ("--keep-old", "10"),
        ("--keep-old", "soon"),
        ("--watch", "0"),
        ("--log-format", "xml"),
    ] {
        fails_with(&["serve", OPEN, &words, flag, value], &[flag, value]);
    }
}

#[test]
fn a_replaced_file_is_served() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let service = Logged::start(
        &folder,
        &[
            &words,
            "--watch",
            "--keep-old",
            "1h",
            "--log-format",
            "json",
        ],
    );
    folder.words(30, "plain");
    service.until("the new file is served", || {
        papir(&["get", &service.url, OPEN, "key-20"])
            .status
            .success()
    });
    let info: Value = serde_json::from_str(&service.get("/v1/databases/words").1).unwrap();
    let left = info["previous_versions"][0]["seconds_left"]
        .as_u64()
        .unwrap();
    assert!((3000..=3600).contains(&left), "{info}");
    assert_eq!(info["memory"]["versions"], 2);
    // A version is counted and logged after it is served.
    let loads = "papir_loads_total{database=\"words\",outcome=\"ok\"} 2";
    service.until("the load is counted", || has_metric(&service.url, loads));
    service.until("the memory is logged", || service.lines("memory").len() > 1);
    service.until("queries are logged", || !service.lines("query").is_empty());

    let log = service.log();
    let memory = service.lines("memory");
    assert_eq!(memory.len(), 2, "at the start and after the load\n{log}");
    for line in memory {
        assert_eq!(line["database"], "words");
        assert!(
            ["snapshot", "hint", "material"]
                .iter()
                .all(|part| line[part].is_u64()),
            "{line}"
        );
        assert!(
            cfg!(not(target_os = "linux")) || line["resident"].as_u64() > Some(1 << 20),
            "{line}"
        );
    }
    let queries = service.lines("query");
    assert!(
        !queries.is_empty() && queries.iter().all(|line| line["span"]["id"].is_string()),
        "{log}"
    );
}

#[test]
fn text_log_and_metrics_are_the_defaults() {
    let folder = Folder::new();
    let service = Logged::start(
        &folder,
        &[
            &folder.words(10, "plain"),
            "--no-metrics",
            "--keep-old",
            "0",
        ],
    );
    assert_eq!(succeeds(&["get", &service.url, OPEN, "key-3"]), "value-3");
    assert_eq!(service.get("/metrics").0, 404);
    assert_eq!(service.get("/openapi.json").0, 200);
    service.until("the query is logged", || {
        service.log().contains("status=200")
    });
    assert!(service.log().contains("request{id="), "{}", service.log());
}
