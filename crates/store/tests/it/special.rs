//! Pipes in the place of files: refused without waiting for their other end.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use papir_core::{NoProgress, Run};
use papir_store::{
    Error, FollowOptions, Follower, OpenOptions, Snapshot, UpdateOptions, Verify, update,
    update_delta,
};

use crate::common::{folder, fresh, keyed, options, run, source};

/// Makes a pipe that nobody writes to.
fn pipe(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    assert!(
        Command::new("mkfifo")
            .arg(&path)
            .status()
            .unwrap()
            .success()
    );
    path
}

fn refused<T>(result: Result<T, Error>) {
    let Err(error) = result else {
        panic!("a pipe was taken");
    };
    let error = error.to_string();
    assert!(error.contains("a pipe, a device or a socket"), "{error}");
}

#[test]
fn a_pipe_as_a_source_is_refused() {
    let folder = folder();
    for name in ["a.csv", "b.jsonl", "c.csv.gz"] {
        refused(run(&keyed(&pipe(folder.path(), name), "k", &["v"])));
    }
    #[cfg(feature = "parquet")]
    refused(run(&keyed(&pipe(folder.path(), "d.parquet"), "k", &["v"])));
    #[cfg(feature = "sqlite")]
    refused(run(&keyed(&pipe(folder.path(), "e.db"), "k", &["v"])));

    let mut raw = options(&pipe(folder.path(), "f.bin"));
    raw.record_bytes = Some(4);
    refused(run(&raw));
}

#[test]
fn a_pipe_in_the_place_of_a_snapshot_or_its_lock_is_refused() {
    let folder = folder();
    let words = source(folder.path(), "words.csv", "word,meaning\napple,a fruit\n");
    let build = keyed(&words, "word", &["meaning"]);
    run(&build).unwrap();

    let snapshot = pipe(folder.path(), "served.pir");
    for in_memory in [false, true] {
        for verify in [Verify::Load, Verify::Lazy] {
            let options = OpenOptions {
                in_memory,
                verify,
                ..OpenOptions::default()
            };
            refused(Snapshot::open_with(&snapshot, options));
        }
    }

    let changes = pipe(folder.path(), "changes.csv");
    let options = UpdateOptions::new(&build.out, &changes);
    refused(update(&options, &mut Run::new(&mut fresh(), &NoProgress)));
    let mut follower = Follower::new(FollowOptions::new(options)).unwrap();
    refused(follower.step(&mut Run::new(&mut fresh(), &NoProgress)));

    // The follower has made the lock.
    let lock = folder.path().join(".words.pir.delta-lock");
    fs::remove_file(&lock).unwrap();
    pipe(folder.path(), ".words.pir.delta-lock");
    let changes = source(folder.path(), "more.csv", "word,meaning\npear,sweet\n");
    let options = UpdateOptions::new(&build.out, &changes);
    refused(update_delta(
        &options,
        None,
        &mut Run::new(&mut fresh(), &NoProgress),
    ));
    refused(update(&options, &mut Run::new(&mut fresh(), &NoProgress)));
}
