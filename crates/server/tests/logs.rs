//! Logs hold sizes, times and codes; nothing that depends on what was asked.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::io::Write;
use std::sync::{Arc, Mutex};

use papir_core::envelope::{Header, Kind, seal};
use support::{Running, config, indexed, lookup, post, rng};
use tracing_subscriber::fmt::MakeWriter;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    /// The lines of this crate, without the values of `milliseconds`.
    fn take(&self) -> Vec<String> {
        let text = String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap();
        let timeless =
            |word: &str| if word.starts_with("milliseconds=") { "milliseconds" } else { word }.to_owned();
        text.lines()
            .map(|line| line.split_whitespace().map(timeless).collect::<Vec<_>>().join(" "))
            .filter(|line| line.contains("papir_"))
            .collect()
    }
}

#[test]
fn logs_are_the_same_whatever_is_asked() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::TRACE);
    subscriber.with_writer(log.clone()).without_time().with_ansi(false).init();
    let server = Running::start(config(), vec![indexed("table", "plain", 60_000)]);
    let (lookup, url) =
        (lookup(&server.url(), "table"), format!("{}/v1/databases/table/query", server.url()));
    let header = Header { kind: Kind::Query, scheme: 0, version: lookup.version() };
    log.take();
    // Good queries, and forged ones that ask beyond the last record, each for two indices.
    let mut logs = Vec::new();
    for (index, beyond) in [(3u64, 71_234u64), (54_321, 98_765)] {
        let good = lookup.prepare_index(index, &mut rng()).unwrap().queries().concat();
        assert_eq!(post(&url, &good).status, 200);
        let mut payload = good[24..good.len() - 8].to_vec();
        payload[17..25].copy_from_slice(&beyond.to_le_bytes());
        assert_eq!(post(&url, &seal(&header, &payload)).status, 400);
        logs.push(log.take());
    }
    assert_eq!(logs[0], logs[1]);
    let text = logs[0].join("\n");
    for expected in ["status=200", "status=400", "code=\"index_out_of_range\"", "milliseconds", "received=81"]
    {
        assert!(text.contains(expected), "no {expected} in\n{text}");
    }
}
