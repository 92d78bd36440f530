//! Three services with faults, one after the other, under load and updates.
//!
//! Two services stand behind nginx and share a registry in PostgreSQL, and one stands alone. Clients
//! look keys up at a fixed rate, and check each answer against the values of the version that it is of.
//! The owner publishes a signed version every 20 seconds.
//!
//! | module | contents |
//! |---|---|
//! | `faults` | the faults, with their lengths and how each is undone |
//! | `schedule` | their order, by a seed |
//! | `services` | the services and what they depend on |
//! | `shim` | a disk and a clock that misbehave |
//! | `memory` | samples and limits of memory |
//! | `owner` | the versions that are published |
//! | `history` | the value of each key in each version |
//! | `load` | the clients |
//! | `record` | lines of what happened |
//! | `report` | the line about a whole run |

mod faults;
mod history;
mod load;
mod memory;
mod owner;
mod record;
mod report;
mod schedule;
mod services;
mod shim;

use std::env;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use crate::replicas::Stop;
use crate::support::{Folder, loaded_machine, root, text, until};
use load::{CLIENTS, Load};
use memory::Memory;
use record::{Record, unix_seconds, unloaded_p99_ms};
use report::RunFacts;
use schedule::Random;
use services::Stage;

/// Time between two faults.
const GAP: Duration = Duration::from_secs(10);
/// Longest recorded run.
const LONGEST_MINUTES: u64 = 150;
/// Fewest lookups of a run per second of it, also on a slow machine.
const FEWEST_PER_SECOND: u64 = 5;

/// The settings of a run, and the files that it appends to.
struct RunSettings {
    length: Duration,
    seed: u64,
    windows: String,
    reports: String,
}

/// A run while it is under way.
struct Run<'a> {
    stage: &'a Stage,
    record: &'a Record,
    memory: &'a Memory,
    ended: &'a AtomicBool,
    begin: Instant,
}

impl Run<'_> {
    /// Injects each fault at least once, and goes on until the run has its length. Returns their
    /// number.
    fn inject(&self, settings: &RunSettings) -> usize {
        let mut random = Random::new(settings.seed);
        let mut count = 0;

        for round in 0.. {
            for fault in schedule::round(&mut random) {
                let is_over = self.begin.elapsed() + GAP + fault.lasts() > settings.length;
                if (round > 0 && is_over) || !self.pass(GAP) {
                    break;
                }
                self.record.close(None, self.memory);

                println!("{fault:?}");
                let undo = fault.begin(self.stage);
                self.pass(fault.lasts());
                undo();
                // The time in which the services recover belongs to the fault.
                self.stage.until_ready();
                self.record.close(Some(fault), self.memory);
                count += 1;
            }

            let left = settings.length.saturating_sub(self.begin.elapsed());
            // The next fault may be the longest one, of 90 seconds, after its gap.
            if left < GAP * 10 || self.ended.load(Ordering::SeqCst) {
                self.pass(left);
                break;
            }
        }
        count
    }

    /// Lets time pass. Returns whether the run goes on.
    fn pass(&self, time: Duration) -> bool {
        let begin = Instant::now();
        while begin.elapsed() < time && !self.ended.load(Ordering::SeqCst) {
            sleep(Duration::from_millis(100));
        }
        !self.ended.load(Ordering::SeqCst)
    }
}

/// Runs everything, and writes the report. Fails if an answer was wrong, or a lookup had none.
fn run(settings: &RunSettings) {
    let _machine = loaded_machine();
    let name = format!("{}-{:016x}", unix_seconds(), settings.seed);
    println!("run {name}, seed {}", settings.seed);

    let stage = Stage::new();
    let memory = Memory::new(&stage);
    let record = Record::new(&settings.windows, name.clone());
    let ended = AtomicBool::new(false);
    let load = Load {
        stage: &stage,
        record: &record,
        seed: settings.seed,
        ended: &ended,
    };
    let unloaded_p99_ms = unloaded_p99_ms(&load.unloaded());

    let begin = Instant::now();
    let faults = thread::scope(|scope| {
        // Ends all threads, also if one of them or this one fails.
        let stop = Stop(&ended);
        scope.spawn(|| {
            let _stop = Stop(&ended);
            stage.owner.publish_until(&ended);
        });
        scope.spawn(|| memory.sample_until(&stage, &ended));
        for (number, plan) in CLIENTS.into_iter().enumerate() {
            let load = &load;
            scope.spawn(move || load.run(number, plan));
        }

        let run = Run {
            stage: &stage,
            record: &record,
            memory: &memory,
            ended: &ended,
            begin,
        };
        let faults = run.inject(settings);
        drop(stop);
        faults
    });
    record.close(None, &memory);

    let facts = RunFacts {
        run: name,
        seed: settings.seed,
        length: begin.elapsed(),
        faults,
        unloaded_p99_ms,
    };
    let report = report::report(&facts, &stage, &record, &memory);
    println!("{report}");
    report::append(&report, &settings.reports);
    check(&facts, &stage, &record, &load);
}

/// Checks what holds after each run.
fn check(facts: &RunFacts, stage: &Stage, record: &Record, load: &Load<'_>) {
    let counts = record.totals().counts;
    assert_eq!(counts.wrong, 0, "wrong answers");
    assert_eq!(counts.failed, 0, "lookups without an answer");
    let fewest = FEWEST_PER_SECOND * facts.length.as_secs();
    assert!(counts.lookups >= fewest, "{} of {fewest}", counts.lookups);

    stage.assert_running();
    let mut rounds = 0;
    until("the newest version is served", || {
        rounds += 1;
        load.is_newest_served(rounds)
    });
}

/// A number of the environment; `None` if the variable is not set.
fn number(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok().filter(|text| !text.is_empty())?;
    let parsed = text.parse::<u64>();
    Some(parsed.unwrap_or_else(|_| panic!("{variable}={text}: expected a number")))
}

/// The seed of PAPIR_SOAK_SEED, else a new one.
fn seed() -> u64 {
    number("PAPIR_SOAK_SEED").unwrap_or_else(|| RandomState::new().hash_one(()))
}

#[test]
#[ignore = "long; needs nginx"]
fn ten_minutes_of_faults() {
    let folder = Folder::new();
    run(&RunSettings {
        length: Duration::from_secs(600),
        seed: seed(),
        windows: folder.path("windows.jsonl"),
        reports: folder.path("reports.jsonl"),
    });
}

/// `make soak-recorded MINUTES=150` runs it. Without a length it does nothing, so that the other long
/// tests do not wait for it.
#[test]
#[ignore = "long; needs nginx and PAPIR_SOAK_MINUTES"]
fn a_recorded_soak() {
    let Some(minutes) = number("PAPIR_SOAK_MINUTES") else {
        println!("skipped: PAPIR_SOAK_MINUTES is not set");
        return;
    };
    assert!(
        (1..=LONGEST_MINUTES).contains(&minutes),
        "{minutes} minutes: expected 1 to {LONGEST_MINUTES}"
    );

    let records = root().join("bench/records");
    run(&RunSettings {
        length: Duration::from_secs(60 * minutes),
        seed: seed(),
        windows: text(&records.join("soak-windows.jsonl")).to_owned(),
        reports: text(&records.join("soak.jsonl")).to_owned(),
    });
}
