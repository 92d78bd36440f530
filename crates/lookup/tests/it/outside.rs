//! Tables of entries in storage have the same bytes as tables in memory.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use papir_core::scratch::{InMemory, Scratch};
use papir_core::{AlignedBytes, Blob, Error as CoreError, NoProgress, Result as CoreResult};
use papir_lookup::outside::{
    self, AddedEntries, EntryRuns, HeapRuns, IdSeed, RUNS, ReadRuns, Runs, SpilledTable, Storage,
    WritePart,
};
use papir_lookup::{
    BucketTarget, Entry, Error, OnDuplicate, Result, TableOptions, build, name_duplicate,
};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use crate::common::{entry, rng};

/// Storage in memory.
struct Heap;

impl Storage for Heap {
    fn runs(&mut self, _kind: &'static str) -> CoreResult<Box<dyn Runs>> {
        Ok(Box::new(HeapRuns::default()))
    }
}

impl Scratch for Heap {
    fn find(&self, name: &str) -> CoreResult<Option<Blob>> {
        InMemory.find(name)
    }

    fn keep(&mut self, name: &str, part: AlignedBytes) -> CoreResult<Blob> {
        InMemory.keep(name, part)
    }
}

/// Bytes of runs: now, and the most so far; and bytes of parts.
#[derive(Default)]
struct Live {
    now: AtomicU64,
    most: AtomicU64,
    parts: AtomicU64,
    /// The most bytes of runs and parts together.
    most_in_all: AtomicU64,
}

impl Live {
    fn add_to_runs(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(now, Ordering::Relaxed);
        let all = now + self.parts.load(Ordering::Relaxed);
        self.most_in_all.fetch_max(all, Ordering::Relaxed);
    }

    fn add_part(&self, bytes: u64) {
        let parts = self.parts.fetch_add(bytes, Ordering::Relaxed) + bytes;
        let all = parts + self.now.load(Ordering::Relaxed);
        self.most_in_all.fetch_max(all, Ordering::Relaxed);
    }
}

/// Runs in memory whose bytes are counted.
struct CountedRuns {
    runs: HeapRuns,
    /// The bytes of each run.
    bytes: Vec<u64>,
    live: Arc<Live>,
}

impl ReadRuns for CountedRuns {
    fn read(&mut self, run: usize, out: &mut Vec<u8>) -> CoreResult<()> {
        self.runs.read(run, out)
    }

    fn free(&mut self, run: usize) {
        let bytes = std::mem::take(&mut self.bytes[run]);
        self.live.now.fetch_sub(bytes, Ordering::Relaxed);
        self.runs.free(run);
    }
}

impl Runs for CountedRuns {
    fn append(&mut self, run: usize, parts: &[&[u8]]) -> CoreResult<()> {
        let bytes: u64 = parts.iter().map(|part| part.len() as u64).sum();
        self.bytes[run] += bytes;
        self.live.add_to_runs(bytes);
        self.runs.append(run, parts)
    }

    fn seal(&mut self) -> CoreResult<()> {
        self.runs.seal()
    }

    fn copy(&self, run: usize, at: u64, out: &mut [u8]) {
        self.runs.copy(run, at, out);
    }
}

impl Drop for CountedRuns {
    fn drop(&mut self) {
        let bytes = self.bytes.iter().sum();
        self.live.now.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A part in memory whose bytes are counted as it grows.
struct CountedPart {
    bytes: Vec<u8>,
    live: Arc<Live>,
}

impl Write for CountedPart {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.live.add_part(bytes.len() as u64);
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Storage in memory of limited room, which counts bytes.
struct CountedHeap {
    live: Arc<Live>,
    room: u64,
}

impl Storage for CountedHeap {
    fn runs(&mut self, _kind: &'static str) -> CoreResult<Box<dyn Runs>> {
        Ok(Box::new(CountedRuns {
            runs: HeapRuns::default(),
            bytes: vec![0; RUNS],
            live: Arc::clone(&self.live),
        }))
    }

    fn keep_written(&mut self, _name: &str, write: &mut WritePart<'_>) -> Result<Blob> {
        let mut part = CountedPart {
            bytes: Vec::new(),
            live: Arc::clone(&self.live),
        };
        write(&mut part)?;
        Ok(Blob::copy_of(&part.bytes))
    }

    fn check_room(&self, bytes: u64) -> CoreResult<()> {
        if bytes <= self.room {
            return Ok(());
        }
        let found = format!("{bytes} bytes");
        Err(CoreError::malformed("the room", found, self.room))
    }
}

impl Scratch for CountedHeap {
    fn find(&self, name: &str) -> CoreResult<Option<Blob>> {
        InMemory.find(name)
    }

    fn zeroed(&mut self, name: &str, bytes: usize) -> CoreResult<AlignedBytes> {
        self.live.add_part(bytes as u64);
        InMemory.zeroed(name, bytes)
    }

    fn keep(&mut self, name: &str, part: AlignedBytes) -> CoreResult<Blob> {
        InMemory.keep(name, part)
    }
}

/// Builds a table of 20,000 keys of 40 bytes with values of 2 bytes, in storage of this room.
/// Returns the largest number of bytes of runs at a time.
fn most_bytes(room: u64) -> Result<u64> {
    let (live, _) = counted(room, 40, &[2], &TableOptions::default())?;
    Ok(live.most.load(Ordering::Relaxed))
}

/// Builds a table of 20,000 keys of `key_bytes` bytes with values of `lengths` bytes in turn, in
/// storage of this room. Returns the bytes that it took, and those of its buckets.
fn counted(
    room: u64,
    key_bytes: usize,
    lengths: &[usize],
    options: &TableOptions,
) -> Result<(Arc<Live>, u64)> {
    let live = Arc::new(Live::default());
    let mut heap = CountedHeap {
        live: Arc::clone(&live),
        room,
    };

    let mut rng = rng(1);
    let seed = IdSeed::random(&mut rng);
    let mut added = AddedEntries::new(seed, heap.runs("entries")?);
    for line in 1..=20_000 {
        let key = format!("{line:0key_bytes$}");
        let value = vec![7; lengths[line as usize % lengths.len()]];
        added.add(&entry(line, key.as_bytes(), &value))?;
    }
    let mut entries = EntryRuns::new(seed, vec![added.finish()]);
    let built = outside::build(&mut entries, options, &mut heap, &mut rng, &NoProgress)?;

    drop(entries);
    assert_eq!(live.now.load(Ordering::Relaxed), 0);
    Ok((live, built.buckets.len() as u64))
}

#[test]
fn storage_takes_at_most_three_times_the_buckets() {
    let default = BucketTarget::default();
    for (lengths, bucket) in [
        (&[0][..], default),
        (&[2], default),
        (&[0, 1, 2, 3], default),
        (&[64], default),
        (&[300, 5], default),
        (&[200, 3], BucketTarget::AtMost(64)),
    ] {
        for key_bytes in [8, 40, 1000] {
            let options = TableOptions {
                bucket,
                ..TableOptions::default()
            };
            let (live, buckets) = counted(u64::MAX, key_bytes, lengths, &options).unwrap();

            // A run is there twice while it is written in its next form.
            let allowed = 3 * buckets + buckets / 50;
            let most = live.most_in_all.load(Ordering::Relaxed);
            assert!(
                most <= allowed,
                "keys of {key_bytes} bytes, values of {lengths:?}: {most} bytes beside {buckets}"
            );
        }
    }
}

#[test]
fn rows_take_little_storage_and_room_is_asked_for_first() {
    // A row has an id and a value of 18 bytes, and numbers of four bytes at most. Later runs have
    // less.
    let most = most_bytes(u64::MAX).unwrap();
    assert!(most < 20_000 * 23, "{most}");

    // This storage frees no space, so that items and buckets come beside the rows.
    let least = 20_000 * (16 + 8 + 2 * 2);
    for room in [0, least - 1] {
        let error = most_bytes(room).unwrap_err().to_string();
        let expected = format!("{least} bytes");
        assert!(error.contains(&expected), "{error}");
    }
    assert!(most_bytes(least).is_ok());
}

/// Builds a table from entries that `parts` processes add. Each process adds one range of them.
fn spilled(entries: &[Entry], parts: usize, options: &TableOptions) -> Result<SpilledTable> {
    let mut rng = rng(1);
    let seed = IdSeed::random(&mut rng);
    let part = |entries: &[Entry]| {
        let mut added = AddedEntries::new(seed, Heap.runs("entries")?);
        for (line, entry) in (1..).zip(entries) {
            added.add(&Entry {
                line,
                ..entry.clone()
            })?;
        }
        Ok(added.finish())
    };
    let length = entries.len().div_ceil(parts).max(1);
    let parts = entries.chunks(length).map(part).collect::<Result<_>>()?;
    outside::build(
        &mut EntryRuns::new(seed, parts),
        options,
        &mut Heap,
        &mut rng,
        &NoProgress,
    )
}

/// Compares all results, errors included.
fn compare(entries: Vec<Entry>, options: &TableOptions) {
    compare_parts(entries, 1, options);
}

/// The key on both of these lines.
fn key_on(entries: &[Entry], lines: [u64; 2]) -> Option<Vec<u8>> {
    let [first, second] = lines.map(|line| &entries[line as usize - 1].key);
    (first == second).then(|| first.clone())
}

fn compare_parts(entries: Vec<Entry>, parts: usize, options: &TableOptions) {
    let found = spilled(&entries, parts, options)
        .map_err(|error| name_duplicate(error, |lines| key_on(&entries, lines)));
    let expected = build(entries, options, &mut rng(1), &NoProgress);
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            assert_eq!(found.layout.encode(), expected.layout.encode());
            assert!(*found.buckets == *expected.records.packed());
            assert!(*found.ids == *expected.ids.encode());
            assert_eq!(found.report, expected.report);
        }
        (Err(found), Err(expected)) => assert_eq!(found.to_string(), expected.to_string()),
        (found, expected) => panic!("{:?}, not {:?}", found.err(), expected.err()),
    }
}

/// Returns `count` entries with values of `lengths` bytes in turn.
fn many(count: u64, lengths: &[usize]) -> Vec<Entry> {
    let value = |line: u64| vec![line as u8; lengths[line as usize % lengths.len()]];
    (1..=count)
        .map(|line| entry(line, &line.to_le_bytes(), &value(line)))
        .collect()
}

#[test]
fn tables_of_many_regions_are_equal() {
    for (count, lengths, bucket, room) in [
        (60_000, &[40][..], BucketTarget::default(), 0),
        (60_000, &[40], BucketTarget::default(), 25),
        (40_000, &[3, 0, 90, 17], BucketTarget::Grow(256), 0),
        (20_000, &[1], BucketTarget::Grow(16), 0),
        (3_000, &[30, 1500, 7], BucketTarget::AtMost(512), 10),
        (1, &[5], BucketTarget::default(), 0),
        (20, &[262_144, 0, 65_537], BucketTarget::default(), 0),
    ] {
        compare(
            many(count, lengths),
            &TableOptions {
                bucket,
                room,
                ..TableOptions::default()
            },
        );
    }
}

#[test]
fn a_duplicate_whose_key_is_gone_is_named_by_its_lines() {
    let twice = [1, 2, 1].map(|key| entry(0, &[key], b""));
    let error = spilled(&twice, 1, &TableOptions::default()).err().unwrap();
    assert_eq!(error.code(), "duplicate_key");
    assert_eq!(
        error.to_string(),
        "line 3: its key was already on line 1: expected each key once"
    );

    // The source may have changed meanwhile.
    let unnamed = name_duplicate(error, |_| None);
    assert!(matches!(unnamed, Error::RepeatedKey { first: 1, line: 3 }));
    let named = name_duplicate(unnamed, |_| Some(b"a".to_vec()));
    assert!(named.to_string().contains("the key `a`"), "{named}");
}

#[test]
fn no_entries_and_wrong_options_are_refused_alike() {
    compare(Vec::new(), &TableOptions::default());
    compare(
        many(3, &[1]),
        &TableOptions {
            room: 101,
            ..TableOptions::default()
        },
    );
    compare(
        many(3, &[1]),
        &TableOptions {
            bucket: BucketTarget::Grow(1),
            ..TableOptions::default()
        },
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn duplicates_are_resolved_alike(
        rows in vec((0u8..60, vec(any::<u8>(), 0..20)), 1..200),
        rule in prop_oneof![Just(OnDuplicate::Refuse), Just(OnDuplicate::First), Just(OnDuplicate::Last)],
        most in prop_oneof![Just(BucketTarget::default()), (64u32..200).prop_map(BucketTarget::AtMost)],
        parts in 1usize..5,
    ) {
        let rows = (1..).zip(rows).map(|(line, (key, value))| entry(line, &[key], &value)).collect();
        compare_parts(rows, parts, &TableOptions { on_duplicate: rule, bucket: most, room: 0 });
    }
}
