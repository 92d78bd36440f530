//! Snapshot files: damage is detected and named.

use std::path::{Path, PathBuf};

use crate::common::{by_key, folder, keyed, rng, run, source};
use papir_core::{NoProgress, Run};
use papir_store::{Build, OpenOptions, Snapshot, Verify};

/// A snapshot of a few hundred keys.
fn small(folder: &Path) -> PathBuf {
    let rows: String = (0..300)
        .map(|i| format!("key {i},value {}\n", i * i))
        .collect();
    let options = keyed(
        &source(folder, "small.csv", format!("k,v\n{rows}")),
        "k",
        &["v"],
    );
    run(&options).unwrap();
    options.out
}

fn error(path: &Path) -> String {
    Snapshot::open(path)
        .err()
        .map(|error| error.to_string())
        .unwrap()
}

#[test]
fn a_snapshot_matches_its_build() {
    let folder = folder();
    let options = keyed(
        &source(folder.path(), "a.csv", "k,v\nx,1\ny,2\n"),
        "k",
        &["v"],
    );
    let report = run(&options).unwrap();
    let snapshot = Snapshot::open(&options.out).unwrap();
    assert_eq!(snapshot.metadata, report.metadata);
    assert_eq!(snapshot.server.describe(), report.description);
    assert_eq!(snapshot.file_bytes, report.snapshot_bytes);
    assert_eq!(
        snapshot.file_bytes,
        std::fs::metadata(&options.out).unwrap().len()
    );
    assert_eq!(
        snapshot.metadata.version,
        snapshot.server.version().to_string()
    );
    let names: Vec<&str> = snapshot
        .sections
        .iter()
        .map(|section| section.name.as_str())
        .collect();
    assert_eq!(names[..2], ["metadata", "keyword"]);
    assert!(names.contains(&"scheme.identity"));
}

/// The offset of `part` in the file.
fn offset_of(file: &[u8], part: &[u8]) -> usize {
    file.windows(part.len())
        .position(|window| window == part)
        .unwrap()
}

#[test]
fn every_flipped_byte_is_detected_and_named() {
    let folder = folder();
    let path = small(folder.path());
    let sections = Snapshot::open(&path).unwrap().sections;
    let good = std::fs::read(&path).unwrap();
    let flipped = |position: usize| {
        let mut bytes = good.clone();
        bytes[position] ^= 0x10;
        std::fs::write(&path, bytes).unwrap();
        let unverified = Snapshot::open_with(
            &path,
            OpenOptions {
                verify: Verify::Lazy,
                ..OpenOptions::default()
            },
        );
        drop(unverified);
        error(&path)
    };
    // The whole header, the whole table, and samples of everything between.
    let table = offset_of(&good, b"\x08metadata");
    let samples = (0..64)
        .chain((64..table).step_by(509))
        .chain(table..good.len());
    for position in samples {
        assert!(flipped(position).contains("small.pir: "), "byte {position}");
    }
    // Sections start at multiples of 4096, in the order of the table.
    let mut start = 4096;
    for section in &sections {
        let message = flipped(start + section.bytes as usize / 2);
        assert!(
            message.contains(&format!("section `{}` is damaged", section.name)),
            "{message}"
        );
        start += (section.bytes as usize).next_multiple_of(4096);
    }
    assert!(flipped(100).contains("the padding before `metadata` is damaged"));
    assert!(flipped(50).contains("the header is damaged"));
    assert!(flipped(table + 3).contains("the table of sections is damaged"));
}

#[test]
fn other_and_truncated_files_are_refused() {
    let folder = folder();
    let path = small(folder.path());
    let good = std::fs::read(&path).unwrap();
    for length in (0..64).chain((64..good.len()).step_by(1000)) {
        std::fs::write(&path, &good[..length]).unwrap();
        assert!(error(&path).contains("small.pir: "), "length {length}");
    }
    std::fs::write(&path, [&good[..], b"more"].concat()).unwrap();
    assert!(error(&path).contains(&format!(
        "has {} bytes: expected {}",
        good.len() + 4,
        good.len()
    )));
    std::fs::write(&path, "k,v\n1,2\n".repeat(100)).unwrap();
    assert!(error(&path).contains("begins with `PIRSNAPS`"));
    let mut newer = good.clone();
    newer[8] = 2;
    std::fs::write(&path, newer).unwrap();
    assert!(
        error(&path)
            .contains("a snapshot has format version 2: this papir reads version 1; update papir")
    );
    std::fs::remove_file(&path).unwrap();
    assert!(error(&path).contains("No such file"));
    assert_eq!(Snapshot::open(folder.path()).err().unwrap().code(), "io");
}

#[test]
fn a_snapshot_in_use_survives_its_replacement() {
    let folder = folder();
    let path = small(folder.path());
    let old = Snapshot::open(&path).unwrap();
    let options = keyed(
        &source(folder.path(), "small.csv", "k,v\nkey 1,new\n"),
        "k",
        &["v"],
    );
    Build::new(&options)
        .run(&mut Run::new(&mut rng(9), &NoProgress))
        .unwrap();
    let new = Snapshot::open(&path).unwrap();
    assert_ne!(old.server.version(), new.server.version());
    assert_eq!(by_key(&old, "key 2").unwrap(), b"value 4");
    assert_eq!(by_key(&new, "key 2"), None);
    assert_eq!(by_key(&new, "key 1").unwrap(), b"new");
}
