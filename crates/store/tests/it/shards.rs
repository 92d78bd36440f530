//! Snapshots on several machines: each reads and verifies its own part.

use std::path::{Path, PathBuf};

use papir_core::erased::{ErasedShard, Shards};
use papir_core::{Error as CoreError, NoProgress, Result as CoreResult};
use papir_store::{Error, Snapshot, division_of, open_shard};

use crate::common::{by_key, folder, keyed, run, source};

/// A keyed database of some MiB, with slices for several machines.
fn database(folder: &Path, scheme: &str) -> PathBuf {
    let rows: String = (0..4000)
        .map(|i| format!("key {i},{:0900}\n", i * i))
        .collect();
    let mut options = keyed(
        &source(folder, "rows.csv", format!("k,v\n{rows}")),
        "k",
        &["v"],
    );
    options.scheme = scheme.to_owned();
    options.verifiable = true;
    run(&options).unwrap();
    options.out
}

/// Shards in this process; one of them may be away.
struct Local {
    shards: Vec<ErasedShard>,
    away: bool,
}

impl Local {
    /// Opens `most` shards, or one for each slice if there are fewer.
    fn open(path: &Path, most: usize) -> Self {
        let division = division_of(path).unwrap().1;
        let ranges = division.split(most.min(division.slices())).unwrap();
        let shards = ranges
            .into_iter()
            .map(|range| open_shard(path, range).unwrap())
            .collect();
        Self {
            shards,
            away: false,
        }
    }
}

impl Shards for Local {
    fn ask(&self, queries: &[&[u8]]) -> CoreResult<Vec<Vec<Vec<u8>>>> {
        let count = self.shards.len() - usize::from(self.away);
        let shards = self.shards[..count].iter();
        shards
            .map(|shard| {
                shard
                    .partial_many(queries, &NoProgress)
                    .into_iter()
                    .collect()
            })
            .collect()
    }
}

#[test]
fn shards_answer_as_one_database() {
    for scheme in ["simple", "inspire", "inspire2"] {
        let folder = folder();
        let path = database(folder.path(), scheme);
        let whole = Snapshot::open(&path).unwrap();
        let shards = Box::new(Local::open(&path, 3));
        let divided = Snapshot::open_divided(&path, shards).unwrap();
        assert_eq!(divided.bundle().encode(), whole.bundle().encode());
        assert_eq!(divided.metadata, whole.metadata);
        for (key, value) in [
            ("key 0", Some(0)),
            ("key 3999", Some(3999 * 3999)),
            ("absent", None),
        ] {
            let expected = value.map(|value: u64| format!("{value:0900}").into_bytes());
            assert_eq!(by_key(&divided, key), expected, "{scheme}: {key}");
        }
    }
}

#[test]
fn a_missing_shard_is_unavailable_and_a_bad_query_is_still_its_own_fault() {
    let folder = folder();
    let path = database(folder.path(), "simple");
    let shards = Box::new(Local {
        away: true,
        ..Local::open(&path, 2)
    });
    let divided = Snapshot::open_divided(&path, shards).unwrap();
    let client = crate::common::client(&divided);
    let pending = client
        .prepare_key(b"key 1", &mut crate::common::rng(1))
        .unwrap();
    let good = pending.queries()[0].as_slice();
    let bad = &good[..good.len() - 1];
    let session = Default::default();
    let answers = divided
        .server
        .answer_many(&[(session, good), (session, bad)], &NoProgress);
    assert!(
        matches!(&answers[0], Err(CoreError::Unavailable { reason }) if reason.contains("each slice once"))
    );
    assert!(matches!(
        answers[1],
        Err(CoreError::Length { .. } | CoreError::Checksum { .. })
    ));
    assert!(divided.server.read_packed(0, 1, &mut []).is_err());
}

#[test]
fn a_shard_verifies_its_slices_and_no_others() {
    let folder = folder();
    let path = database(folder.path(), "simple");
    let good = std::fs::read(&path).unwrap();
    let snapshot = Snapshot::open(&path).unwrap();
    let mut start = 4096;
    for section in &snapshot.sections {
        if section.name == "scheme.simple/database" {
            assert!(
                section.bytes > 3 << 20,
                "{} bytes are not several chunks",
                section.bytes
            );
            break;
        }
        start += (section.bytes as usize).next_multiple_of(4096);
    }
    drop(snapshot);
    let mut damaged = good;
    damaged[start + 5] ^= 1;
    std::fs::write(&path, damaged).unwrap();
    let ranges = division_of(&path).unwrap().1.split(4).unwrap();
    let opened: Vec<_> = ranges
        .into_iter()
        .map(|range| open_shard(&path, range))
        .collect();
    let error = opened[0].as_ref().err().map(ToString::to_string).unwrap();
    assert!(
        error.contains("section `scheme.simple/database` at bytes 0 to 1048576 is damaged"),
        "{error}"
    );
    assert!(
        opened[2..].iter().all(Result::is_ok),
        "shards that have no damaged chunk"
    );
}

#[test]
fn schemes_without_slices_and_slices_that_do_not_exist_are_refused() {
    let folder = folder();
    let rows = source(folder.path(), "a.csv", "k,v\nx,1\ny,2\n");
    let options = keyed(&rows, "k", &["v"]);
    run(&options).unwrap();
    let refused = [
        division_of(&options.out).err(),
        open_shard(&options.out, 0..1).err(),
    ];
    for error in refused {
        assert!(
            error
                .unwrap()
                .to_string()
                .contains("cannot be divided among machines")
        );
    }
    let path = database(folder.path(), "simple");
    let slices = division_of(&path).unwrap().1.slices();
    let beyond = open_shard(&path, 0..slices + 1).err().unwrap();
    assert!(
        matches!(
            beyond,
            Error::Snapshot {
                error: CoreError::OutOfBounds { .. },
                ..
            }
        ),
        "{beyond}"
    );
}
