//! A killed update leaves either the old snapshot or the new one, intact.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::common::{by_key, folder, keyed, rng, run, source};
use papir_core::{NoProgress, Progress, Run};
use papir_store::{Snapshot, UpdateOptions, update};
use papir_testkit::GuardedChild;

/// Environment variables of the process to be killed: the snapshot that it updates, and the number
/// of progress events after which it waits.
const FILE: &str = "PAPIR_STORE_TEST_KILLED_UPDATE";
const MOMENT: &str = "PAPIR_STORE_TEST_KILLED_MOMENT";
/// The line that the process prints when it waits.
const WAITING: &str = "waiting to be killed";

/// Waits forever at one progress event.
struct WaitAtEvent(AtomicI64);

impl WaitAtEvent {
    fn event(&self) {
        if self.0.fetch_sub(1, Ordering::SeqCst) == 0 {
            let mut out = std::io::stdout();
            writeln!(out, "\n{WAITING}")
                .and_then(|()| out.flush())
                .unwrap();
            loop {
                std::thread::sleep(Duration::from_secs(1));
            }
        }
    }
}

impl Progress for WaitAtEvent {
    fn stage(&self, _name: &str, _total: u64) {
        self.event();
    }

    fn advance(&self, _steps: u64) {
        self.event();
    }
}

fn options(file: &Path) -> UpdateOptions {
    UpdateOptions::new(file, file.with_file_name("changes.csv"))
}

fn update_to_be_killed(file: &Path) {
    let moment = std::env::var(MOMENT).unwrap().parse().unwrap();
    update(
        &options(file),
        &mut Run::new(&mut rng(9), &WaitAtEvent(AtomicI64::new(moment))),
    )
    .unwrap();
}

/// Starts an update that waits at an event; `None` if it ends before.
fn waiting(file: &Path, moment: usize) -> Option<GuardedChild> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "killed::a_killed_update_leaves_a_whole_snapshot",
            "--nocapture",
        ])
        .env(FILE, file)
        .env(MOMENT, moment.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = GuardedChild::spawn(&mut command).unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let is_waiting = lines.map_while(Result::ok).any(|line| line == WAITING);
    if is_waiting {
        return Some(child);
    }
    assert!(
        child.wait().unwrap().success(),
        "the update failed before event {moment}"
    );
    None
}

/// The files of a folder, without the one that is locked while a version appears.
fn names(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names
        .filter(|name| !name.ends_with(".delta-lock"))
        .collect();
    names.sort();
    names
}

#[test]
fn a_killed_update_leaves_a_whole_snapshot() {
    if let Some(file) = std::env::var_os(FILE) {
        return update_to_be_killed(Path::new(&file));
    }
    let folder = folder();
    let rows: String = (0..200)
        .map(|i| format!("key {i},value {i:03}\n"))
        .collect();
    let build = keyed(
        &source(folder.path(), "a.csv", format!("k,v\n{rows}")),
        "k",
        &["v"],
    );
    run(&build).unwrap();
    source(
        folder.path(),
        "changes.csv",
        "k,v\nkey 3,changed 3\nkey 200,value 200\n",
    );
    let mut moments = 0;
    let mut partial = 0;
    while let Some(mut child) = waiting(&build.out, moments) {
        // SIGKILL: no destructor runs.
        child.kill().unwrap();
        child.wait().unwrap();
        partial += usize::from(names(folder.path()).len() > 3);
        let snapshot = Snapshot::open(&build.out).unwrap();
        let key = |key: &str| by_key(&snapshot, key);
        assert_eq!(key("key 199").unwrap(), b"value 199");
        if by_key(&snapshot, "key 3").unwrap() == b"value 003" {
            assert_eq!(key("key 200"), None);
        } else {
            assert_eq!(
                (key("key 3").unwrap(), key("key 200").unwrap()),
                (b"changed 3".to_vec(), b"value 200".to_vec())
            );
            run(&build).unwrap();
        }
        moments += 1;
    }
    assert!(
        moments > 5 && partial >= 2,
        "{moments} moments, {partial} of them while writing"
    );
    assert_eq!(
        by_key(&Snapshot::open(&build.out).unwrap(), "key 3").unwrap(),
        b"changed 3"
    );

    run(&build).unwrap();
    update(
        &options(&build.out),
        &mut Run::new(&mut rng(10), &NoProgress),
    )
    .unwrap();
    assert_eq!(
        names(folder.path()),
        ["a.csv", "a.pir", "changes.csv"],
        "files left by a killed update"
    );
}
