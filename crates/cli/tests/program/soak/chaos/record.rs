//! The record of a run: a line of JSON for each window of time.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};

use super::faults::Fault;
use super::memory::Memory;

/// Fewest timed lookups of a window whose p99 counts as the worst.
const FEWEST: usize = 100;
/// Most messages of wrong and failed lookups that are printed.
const MOST_PRINTED: usize = 20;

/// What happened in a window of time, or in a whole run.
#[derive(Clone, Default)]
pub(super) struct Counts {
    pub(super) lookups: u64,
    pub(super) wrong: u64,
    /// Lookups without an answer within their budget.
    pub(super) failed: u64,
    /// Errors after which a lookup was tried again, by their codes.
    pub(super) retried: BTreeMap<String, u64>,
    /// Times of answered lookups in `words`, in microseconds.
    times: Vec<u32>,
}

impl Counts {
    /// The time that this share of the lookups takes at most, in milliseconds; 0 of no lookups.
    pub(super) fn percentile_ms(&self, percent: usize) -> f64 {
        percentile_ms(self.times.clone(), percent)
    }

    fn add(&mut self, other: Self) {
        self.lookups += other.lookups;
        self.wrong += other.wrong;
        self.failed += other.failed;
        self.times.extend(other.times);
        for (code, count) in other.retried {
            *self.retried.entry(code).or_default() += count;
        }
    }
}

/// A percentile of times in microseconds, by nearest rank, in milliseconds.
fn percentile_ms(mut times: Vec<u32>, percent: usize) -> f64 {
    times.sort_unstable();
    let rank = (times.len() * percent).div_ceil(100);
    let time = times.get(rank.saturating_sub(1)).copied();
    f64::from(time.unwrap_or_default()) / 1000.0
}

/// Whole microseconds, at most those of 71 minutes.
fn microseconds(time: Duration) -> u32 {
    u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
}

/// The p99 of lookups without other load, in milliseconds.
pub(super) fn unloaded_p99_ms(times: &[Duration]) -> f64 {
    percentile_ms(times.iter().copied().map(microseconds).collect(), 99)
}

/// The current window, and the ones before it.
struct Windows {
    begin: Instant,
    current: Counts,
    /// Without the current window.
    whole: Counts,
    worst_p99_ms: f64,
    worst_fault: Option<&'static str>,
    printed: usize,
}

/// The record of a running run.
pub(super) struct Record {
    run: String,
    begin: Instant,
    windows: Mutex<Windows>,
    log: Mutex<File>,
}

/// The sums of a run.
pub(super) struct Totals {
    pub(super) counts: Counts,
    pub(super) worst_p99_ms: f64,
    /// The fault in the window with the highest p99.
    pub(super) worst_fault: Option<&'static str>,
}

impl Record {
    /// Appends to a log. `run` names the run in its lines.
    pub(super) fn new(log: &str, run: String) -> Self {
        let log = OpenOptions::new().create(true).append(true).open(log);
        let begin = Instant::now();
        Self {
            run,
            begin,
            windows: Mutex::new(Windows {
                begin,
                current: Counts::default(),
                whole: Counts::default(),
                worst_p99_ms: 0.0,
                worst_fault: None,
                printed: 0,
            }),
            log: Mutex::new(log.expect("a log that can be written")),
        }
    }

    fn windows(&self) -> MutexGuard<'_, Windows> {
        self.windows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a right answer, and the time of the lookup if it counts.
    pub(super) fn answered(&self, time: Option<Duration>) {
        let mut windows = self.windows();
        windows.current.lookups += 1;
        windows.current.times.extend(time.map(microseconds));
    }

    /// Notes a wrong answer.
    pub(super) fn wrong(&self, message: String) {
        let mut windows = self.windows();
        windows.current.lookups += 1;
        windows.current.wrong += 1;
        windows.print("wrong", &message);
    }

    /// Notes a lookup that was not answered within its budget.
    pub(super) fn failed(&self, message: String) {
        let mut windows = self.windows();
        windows.current.lookups += 1;
        windows.current.failed += 1;
        windows.print("failed", &message);
    }

    /// Notes an error after which a lookup is tried again.
    pub(super) fn retried(&self, code: &str) {
        let mut windows = self.windows();
        let retried = &mut windows.current.retried;
        *retried.entry(code.to_owned()).or_default() += 1;
    }

    /// Ends the window, which had this fault or none, and writes its line.
    pub(super) fn close(&self, fault: Option<Fault>, memory: &Memory) {
        let mut windows = self.windows();
        let seconds = windows.begin.elapsed().as_secs_f64();
        let counts = std::mem::take(&mut windows.current);
        windows.begin = Instant::now();
        let line = self.line(seconds, fault, &counts, memory);

        let p99 = counts.percentile_ms(99);
        if counts.times.len() >= FEWEST && p99 > windows.worst_p99_ms {
            windows.worst_p99_ms = p99;
            windows.worst_fault = fault.map(Fault::name);
        }
        windows.whole.add(counts);
        drop(windows);

        println!("{line}");
        let mut log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        writeln!(log, "{line}").expect("a log that can be written");
    }

    fn line(&self, seconds: f64, fault: Option<Fault>, counts: &Counts, memory: &Memory) -> Value {
        let resident = memory.last().into_iter();
        let resident: Map<String, Value> = resident
            .map(|(name, bytes)| (name.to_owned(), bytes.into()))
            .collect();

        json!({
            "run": self.run,
            "unix_s": unix_seconds(),
            "at_s": rounded(self.begin.elapsed().as_secs_f64()),
            "window_s": rounded(seconds),
            "fault": fault.map(Fault::name),
            "service": fault.and_then(Fault::place).map(|place| place.name()),
            "lookups": counts.lookups,
            "wrong": counts.wrong,
            "failed_after_retries": counts.failed,
            "retried": counts.retried,
            "p50_ms": counts.percentile_ms(50),
            "p99_ms": counts.percentile_ms(99),
            "resident_bytes": resident,
        })
    }

    /// The sums of all windows that have ended.
    pub(super) fn totals(&self) -> Totals {
        let windows = self.windows();
        Totals {
            counts: windows.whole.clone(),
            worst_p99_ms: windows.worst_p99_ms,
            worst_fault: windows.worst_fault,
        }
    }
}

impl Windows {
    fn print(&mut self, what: &str, message: &str) {
        self.printed += 1;
        if self.printed <= MOST_PRINTED {
            println!("{what}: {message}");
        }
    }
}

/// Seconds since 1970, UTC.
pub(super) fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap_or_default().as_secs()
}

/// Rounds to tenths.
pub(super) fn rounded(value: f64) -> f64 {
    (10.0 * value).round() / 10.0
}

#[test]
fn percentiles_are_by_nearest_rank() {
    let times: Vec<u32> = (1..=200).rev().map(|number| 1000 * number).collect();
    assert_eq!(percentile_ms(times.clone(), 50), 100.0);
    assert_eq!(percentile_ms(times, 99), 198.0);
    assert_eq!(percentile_ms(vec![7000], 99), 7.0);
    assert_eq!(percentile_ms(Vec::new(), 99), 0.0);
}
