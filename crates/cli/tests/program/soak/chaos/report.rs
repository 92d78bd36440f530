//! The report of a run: one line of JSON in a growing file.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::Duration;

use papir_kernels::Backend;
use serde_json::{Map, Value, json};

use super::memory::{Growth, Memory};
use super::record::{Record, rounded, unix_seconds};
use super::services::Stage;
use crate::support::{isolated, root};

/// What a report says beside the record.
pub(super) struct RunFacts {
    pub(super) run: String,
    pub(super) seed: u64,
    pub(super) length: Duration,
    pub(super) faults: usize,
    pub(super) unloaded_p99_ms: f64,
}

/// The report of a run that has ended.
pub(super) fn report(facts: &RunFacts, stage: &Stage, record: &Record, memory: &Memory) -> Value {
    let totals = record.totals();
    let counts = &totals.counts;
    let p99 = counts.percentile_ms(99);
    let seconds = facts.length.as_secs_f64();
    let resident: Map<String, Value> = memory
        .growth()
        .iter()
        .map(|growth| (growth.name.to_owned(), resident(growth)))
        .collect();

    json!({
        "run": facts.run,
        "ended_unix_s": unix_seconds(),
        "cpu": cpu(),
        "cores": std::thread::available_parallelism().map_or(0, usize::from),
        "backend": Backend::current().name(),
        "forced_backend_of_half": Backend::from_name("avx2").ok().map(Backend::name),
        "commit": commit(),
        "is_changed": is_changed(),
        "is_debug_build": cfg!(debug_assertions),
        "seed": facts.seed,
        "minutes": rounded(seconds / 60.0),
        "lookups": counts.lookups,
        "lookups_per_s": rounded(counts.lookups as f64 / seconds),
        "wrong": counts.wrong,
        "failed_after_retries": counts.failed,
        "retried": counts.retried,
        "versions": stage.owner.versions(),
        "faults": facts.faults,
        "p99_unloaded_ms": facts.unloaded_p99_ms,
        "p50_ms": counts.percentile_ms(50),
        "p99_ms": p99,
        "p99_ratio": (facts.unloaded_p99_ms > 0.0).then(|| rounded(p99 / facts.unloaded_p99_ms)),
        "worst_window_p99_ms": totals.worst_p99_ms,
        "worst_window_fault": totals.worst_fault,
        "resident": resident,
    })
}

fn resident(growth: &Growth) -> Value {
    json!({
        "first_quarter_bytes": growth.first_quarter,
        "last_quarter_bytes": growth.last_quarter,
        "slope_bytes_per_h": growth.slope.round(),
    })
}

/// Appends a report to a file of them.
pub(super) fn append(report: &Value, file: &str) {
    let opened = OpenOptions::new().create(true).append(true).open(file);
    let mut opened = opened.expect("a file of reports that can be written");
    writeln!(opened, "{report}").expect("a file of reports that can be written");
}

/// The model of the first processor.
fn cpu() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// The commit of the checkout; `None` outside of one.
fn commit() -> Option<String> {
    git(&["rev-parse", "HEAD"])
}

/// Returns whether files differ from the commit. Those that this run appends to do not count.
fn is_changed() -> Option<bool> {
    let status = ["status", "--porcelain", "--untracked-files=no"];
    let changed = git(&[&status[..], &["--", ".", ":!bench/records"]].concat())?;
    Some(!changed.is_empty())
}

/// The output of git in this checkout; `None` if it fails.
fn git(arguments: &[&str]) -> Option<String> {
    let mut command = isolated("git");
    let output = command.args(arguments).current_dir(root()).output().ok()?;
    let found = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| found.trim().to_owned())
}
