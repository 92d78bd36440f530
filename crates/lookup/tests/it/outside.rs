//! Tables of entries in storage have the bytes of tables in memory.

use papir_core::scratch::{InMemory, Scratch};
use papir_core::{AlignedBytes, Blob, NoProgress, Result as CoreResult};
use papir_lookup::outside::{self, EntryRuns, RUNS, Runs, SpilledTable, Storage};
use papir_lookup::{BucketTarget, Entry, OnDuplicate, Result, TableOptions, build};
use proptest::collection::vec;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop_oneof, proptest};

use crate::common::{entry, rng};

/// Storage in memory.
struct Heap;

struct HeapRuns(Vec<Vec<u8>>);

impl Runs for HeapRuns {
    fn append(&mut self, run: usize, parts: &[&[u8]]) -> CoreResult<()> {
        parts.iter().for_each(|part| self.0[run].extend_from_slice(part));
        Ok(())
    }

    fn read(&mut self, run: usize) -> CoreResult<Vec<u8>> {
        Ok(self.0[run].clone())
    }

    fn seal(&mut self) -> CoreResult<()> {
        Ok(())
    }

    fn copy(&self, run: usize, at: u64, out: &mut [u8]) {
        out.copy_from_slice(&self.0[run][at as usize..][..out.len()]);
    }
}

impl Storage for Heap {
    fn runs(&mut self, _kind: &'static str) -> CoreResult<Box<dyn Runs>> {
        Ok(Box::new(HeapRuns(vec![Vec::new(); RUNS])))
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

fn spilled(entries: &[Entry], options: &TableOptions) -> Result<SpilledTable> {
    let mut rng = rng(1);
    let mut runs = EntryRuns::new(&mut Heap, &mut rng)?;
    entries.iter().try_for_each(|entry| runs.add(entry))?;
    outside::build(&mut runs, options, &mut Heap, &mut rng, &NoProgress)
}

/// Compares all results, errors included.
fn compare(entries: Vec<Entry>, options: &TableOptions) {
    let found = spilled(&entries, options);
    match (found, build(entries, options, &mut rng(1), &NoProgress)) {
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

/// `count` entries with values of `lengths` bytes in turn.
fn many(count: u64, lengths: &[usize]) -> Vec<Entry> {
    let value = |line: u64| vec![line as u8; lengths[line as usize % lengths.len()]];
    (1..=count).map(|line| entry(line, &line.to_le_bytes(), &value(line))).collect()
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
    ] {
        compare(many(count, lengths), &TableOptions { bucket, room, ..TableOptions::default() });
    }
}

#[test]
fn no_entries_and_wrong_options_are_refused_alike() {
    compare(Vec::new(), &TableOptions::default());
    compare(many(3, &[1]), &TableOptions { room: 101, ..TableOptions::default() });
    compare(many(3, &[1]), &TableOptions { bucket: BucketTarget::Grow(1), ..TableOptions::default() });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn duplicates_are_resolved_alike(
        rows in vec((0u8..60, vec(any::<u8>(), 0..20)), 1..200),
        rule in prop_oneof![Just(OnDuplicate::Refuse), Just(OnDuplicate::First), Just(OnDuplicate::Last)],
        most in prop_oneof![Just(BucketTarget::default()), (64u32..200).prop_map(BucketTarget::AtMost)],
    ) {
        let rows = (1..).zip(rows).map(|(line, (key, value))| entry(line, &[key], &value)).collect();
        compare(rows, &TableOptions { on_duplicate: rule, bucket: most, room: 0 });
    }
}
