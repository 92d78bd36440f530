//! A service under everything at once: lookups, swaps, restarts, registrations, evictions.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use papir_client::{Connection, Error, Options, Pin, Registrations};
use rustix::process::Signal;

use crate::support::{
    Folder, PATIENCE, Service, lasting_address, loaded_machine, send, succeeds, until,
};

/// Clients that look up keys without keys of their own.
const CLIENTS: usize = 3;
/// Keys of the two databases.
const KEYS: usize = 20_000;
const REGISTERED_KEYS: usize = 20;
/// The key whose value is the number of the last update.
const STAMP: &str = "key-0";
/// Pause of a client between two connections, and of the owner between two updates.
const PAUSE: Duration = Duration::from_millis(250);
/// Interval of the looks at the service's memory.
const SAMPLE: Duration = Duration::from_millis(200);

/// Longest time for which a run may take longer than it should, until enough has happened in it.
const LATE: Duration = Duration::from_secs(900);

/// State that the clients and the owner share.
struct Soak {
    folder: Folder,
    url: String,
    /// Set when one of them ends, so that all do.
    ended: AtomicBool,
    /// The last update that is certainly served, and the last that may be.
    served: AtomicUsize,
    written: AtomicUsize,
    /// Stops and starts of the service: odd while it is away.
    changes: AtomicUsize,
    lookups: AtomicUsize,
    registrations: AtomicUsize,
}

/// Ends the soak when dropped, also by a panic.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Soak {
    fn goes_on(&self) -> bool {
        !self.ended.load(Ordering::SeqCst)
    }

    fn options(&self, database: &str, state: String) -> Options {
        Options {
            database: Some(database.into()),
            pin: Pin::Nothing,
            state: Some(state.into()),
            patience: Some(PATIENCE),
            ..Options::default()
        }
    }

    /// Repeats the first request to the service while it is away. After the first response, clients do
    /// this themselves.
    fn patiently<T>(&self, mut attempt: impl FnMut() -> Result<T, Error>) -> T {
        let begin = Instant::now();
        loop {
            let before = self.changes.load(Ordering::SeqCst);
            let error = match attempt() {
                Ok(done) => return done,
                Err(error) => error,
            };
            let was_away = before % 2 == 1 || self.changes.load(Ordering::SeqCst) != before;
            let may_pass = matches!(error, Error::Transport { .. }) && was_away;
            assert!(may_pass && begin.elapsed() < PATIENCE, "{error:?}");
            sleep(PAUSE);
        }
    }

    fn open(&self, options: &Options) -> Connection {
        self.patiently(|| Connection::open_with(&self.url, options))
    }

    /// Looks up one key, whose value no update changes.
    fn check(&self, connection: &mut Connection, key: usize) {
        let value = connection.get_key(format!("key-{key}").as_bytes());
        assert_eq!(
            value.unwrap(),
            Some(format!("value-{key}").into_bytes()),
            "key-{key}"
        );
        self.lookups.fetch_add(1, Ordering::SeqCst);
    }

    /// Looks up keys of the first database over one connection after another.
    fn look_up(&self, client: usize) {
        let _end = End(&self.ended);
        let options = self.options("words", self.folder.path(&format!("client-{client}")));
        let mut key = client;
        while self.goes_on() {
            let oldest = self.served.load(Ordering::SeqCst);
            let mut connection = self.open(&options);
            let stamp = connection.get_key(STAMP.as_bytes()).unwrap();
            let stamp = String::from_utf8(stamp.unwrap()).unwrap();
            let newest = self.written.load(Ordering::SeqCst);
            let stamp: usize = stamp.strip_prefix("value-").unwrap().parse().unwrap();
            assert!(
                (oldest..=newest).contains(&stamp),
                "update {stamp}, not {oldest} to {newest}"
            );
            for _ in 0..5 {
                key = 1 + (key + 7919) % (KEYS - 1);
                self.check(&mut connection, key);
            }
            assert_eq!(connection.get_key(b"absent").unwrap(), None);
            self.lookups.fetch_add(2, Ordering::SeqCst);
            sleep(PAUSE);
        }
    }

    /// Registers with the second database, looks up keys, is evicted, registers again.
    fn register(&self) {
        let _end = End(&self.ended);
        for round in 0.. {
            if !self.goes_on() {
                return;
            }
            let state = self.folder.path(&format!("registered-{round}"));
            let options = self.options("registered", state.clone());
            let registrations = self.patiently(|| Registrations::open(&self.url, &options));
            let mut connection = self.open(&options);
            for key in 1..3 {
                self.check(&mut connection, 1 + (round + key) % (REGISTERED_KEYS - 1));
                for client in registrations.list().unwrap() {
                    self.registrations.fetch_add(1, Ordering::SeqCst);
                    registrations.evict(&client.id).unwrap();
                }
            }
            drop(connection);
            fs::remove_dir_all(state).unwrap();
        }
    }

    /// Updates a database, and waits until the service has swapped.
    fn update(&self, service: &Service, database: &str) {
        let number = self.written.fetch_add(1, Ordering::SeqCst) + 1;
        let changes = self.folder.write(
            "changes.csv",
            format!("word,meaning\n{STAMP},value-{number}\n"),
        );
        let file = self.folder.path(&format!("{database}.papir"));
        let report = succeeds(&["update", &file, "--from", &changes, "--json"]);
        let report: serde_json::Value = serde_json::from_str(&report).unwrap();
        let version = report["version"].as_str().unwrap();
        send(Signal::HUP, service);
        let options = self.options(database, self.folder.path("owner"));
        until("the database is swapped", || {
            papir_client::detail(&self.url, &options)
                .unwrap()
                .info
                .version
                == version
        });
        if database == "words" {
            self.served.store(number, Ordering::SeqCst);
        }
    }

    /// Counts the lookups, registrations and updates so far.
    fn done(&self) -> Done {
        let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        Done {
            lookups: count(&self.lookups),
            registrations: count(&self.registrations),
            updates: count(&self.written),
        }
    }

    /// One run of the service: it starts, swaps again and again, and stops after `length`, or later on a busy
    /// machine.
    fn run(&self, listen: &str, length: Duration) {
        let mut service = self.start(listen);
        self.changes.fetch_add(1, Ordering::SeqCst);
        let goal = self.done().after(length);
        let stopped = AtomicBool::new(false);
        let id = service.id();
        let begin = Instant::now();
        let memory = thread::scope(|scope| {
            let memory = scope.spawn(|| sample(id, &stopped));
            let _stop = End(&stopped);
            for round in 1.. {
                let is_late = begin.elapsed() >= length;
                if (is_late && self.done().reaches(&goal)) || !self.goes_on() {
                    break;
                }
                assert!(
                    begin.elapsed() < length + LATE,
                    "{:?} is not yet {goal:?}",
                    self.done()
                );
                // Seldom enough that tickets of the test build are ready before the next swap; on a busy
                // machine, after the last one.
                let is_for_tickets = round % 10 == 1 && !is_late;
                self.update(
                    &service,
                    if is_for_tickets {
                        "registered"
                    } else {
                        "words"
                    },
                );
                sleep(PAUSE);
            }
            stopped.store(true, Ordering::SeqCst);
            memory.join().unwrap()
        });
        if self.goes_on() {
            let (middle, last) = thirds(&memory);
            println!(
                "{} MiB in the middle of a run, {} MiB at its end",
                middle >> 20,
                last >> 20
            );
            let version = fs::metadata(self.folder.path("words.papir")).unwrap().len();
            assert!(
                is_steady(middle, last, version),
                "the service grows from {middle} to {last} bytes"
            );
        }
        self.changes.fetch_add(1, Ordering::SeqCst);
        send(Signal::TERM, &service);
        assert_eq!(service.wait(), Some(0));
    }

    fn start(&self, listen: &str) -> Service {
        let files = ["words", "registered"].map(|name| self.folder.path(&format!("{name}.papir")));
        let registry = self.folder.path("registry");
        let more = [
            "--listen",
            listen,
            "--registry",
            &registry,
            "--tickets-ahead",
            "1",
            "--list-clients",
        ];
        Service::start(
            &files.each_ref().map(String::as_str),
            &[&more[..], &["--keep-old", "1s"]].concat(),
        )
    }
}

/// Counts of the work of the clients and the owner.
#[derive(Debug)]
struct Done {
    lookups: usize,
    registrations: usize,
    updates: usize,
}

impl Done {
    /// The least that is done after a further time, also on a slow machine.
    fn after(&self, length: Duration) -> Self {
        let seconds = length.as_secs() as usize;
        Self {
            lookups: self.lookups + 5 * seconds + 1,
            // A ticket may take longer than a run.
            registrations: 1,
            updates: self.updates + seconds / 8 + 1,
        }
    }

    fn reaches(&self, goal: &Self) -> bool {
        self.lookups >= goal.lookups
            && self.registrations >= goal.registrations
            && self.updates >= goal.updates
    }
}

/// The resident memory of a process in bytes, every [`SAMPLE`], and at least once for each third.
fn sample(id: u32, stopped: &AtomicBool) -> Vec<u64> {
    let mut samples = Vec::new();
    while !stopped.load(Ordering::SeqCst) || samples.len() < 3 {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .unwrap();
        samples.push(
            line.trim()
                .strip_suffix(" kB")
                .unwrap()
                .parse::<u64>()
                .unwrap()
                << 10,
        );
        sleep(SAMPLE);
    }
    samples
}

/// The medians of the second and the last third. The first one warms up. The largest sample tells
/// little: it is that of swaps and lookups that happen to coincide.
fn thirds(samples: &[u64]) -> (u64, u64) {
    let third = samples.len() / 3;
    let median = |third: &[u64]| {
        let mut sorted = third.to_vec();
        sorted.sort_unstable();
        sorted[sorted.len() / 2]
    };
    (
        median(&samples[third..2 * third]),
        median(&samples[2 * third..]),
    )
}

/// Returns whether a run needs no more memory at its end than in the middle, up to 10 % and one version:
/// on a busy machine, another old one may be in memory for most of a third.
fn is_steady(middle: u64, last: u64, version: u64) -> bool {
    last <= middle + middle / 10 + version
}

/// Runs a service `runs` times for `length` each.
fn soak(runs: usize, length: Duration) {
    let _machine = loaded_machine();
    let folder = Folder::new();
    folder.words(REGISTERED_KEYS, "zip");
    fs::rename(folder.path("words.papir"), folder.path("registered.papir")).unwrap();
    folder.words(KEYS, "inspire");
    // A client identifies a server by its address, which must survive the restarts.
    let listen = lasting_address();
    let soak = Soak {
        url: format!("http://{listen}"),
        folder,
        ended: AtomicBool::new(false),
        served: AtomicUsize::new(0),
        written: AtomicUsize::new(0),
        changes: AtomicUsize::new(1),
        lookups: AtomicUsize::new(0),
        registrations: AtomicUsize::new(0),
    };
    let failed = thread::scope(|scope| {
        let _end = End(&soak.ended);
        let mut clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn({
                    let soak = &soak;
                    move || soak.look_up(client)
                })
            })
            .collect();
        clients.push(scope.spawn(|| soak.register()));
        for _ in 0..runs {
            soak.run(&listen, length);
        }
        // The clients end while it answers them.
        let _last = soak.start(&listen);
        soak.changes.fetch_add(1, Ordering::SeqCst);
        soak.ended.store(true, Ordering::SeqCst);
        clients
            .into_iter()
            .map(|client| client.join())
            .filter(Result::is_err)
            .count()
    });
    println!(
        "{:?} lookups, {:?} registrations, {:?} updates, {runs} runs",
        soak.lookups, soak.registrations, soak.written
    );
    assert_eq!(failed, 0, "clients failed");
    let done = soak.done();
    let least = runs * length.as_secs() as usize;
    assert!(
        done.lookups > 5 * least && done.registrations > 0,
        "{done:?}"
    );
    assert!(done.updates > least / 8, "{done:?}");
}

#[test]
fn growth_is_told_from_noise() {
    let steady = [10, 60, 40, 100, 140, 90, 100, 250, 110].map(|mebibytes: u64| mebibytes << 20);
    let (middle, last) = thirds(&steady);
    assert_eq!((middle >> 20, last >> 20), (100, 110));
    let version = 16 << 20;
    assert!(is_steady(middle, last, version));
    let grows = |by: u64| {
        let samples: Vec<u64> = (0..60).map(|i| (100 << 20) + i * (by << 20) / 60).collect();
        let (middle, last) = thirds(&samples);
        !is_steady(middle, last, version)
    };
    assert!(!grows(60), "a third of 60 MiB is within 10 % and 16 MiB");
    assert!(grows(120));
}

#[test]
fn twenty_seconds_of_everything_at_once() {
    soak(2, Duration::from_secs(10));
}

#[test]
#[ignore = "long"]
fn ten_minutes_of_everything_at_once() {
    soak(2, Duration::from_secs(300));
}
