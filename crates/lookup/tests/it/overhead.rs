//! Overhead of keyword tables over value lengths and table sizes.

use std::time::Instant;

use chacha20::ChaCha20Rng;
use papir_core::NoProgress;
use papir_lookup::{BucketTarget, Entry, KeywordTable, TableOptions, build};
use rand_core::SeedableRng;

fn table(count: u64, bucket: BucketTarget, length: impl Fn(u64) -> usize) -> KeywordTable {
    let entry = |i: u64| Entry {
        key: format!("key-{i:07}").into_bytes(),
        value: vec![i as u8; length(i)],
        line: i + 1,
    };
    let options = TableOptions {
        bucket,
        ..TableOptions::default()
    };
    let mut rng = ChaCha20Rng::from_seed([count as u8; 32]);
    let entries = (0..count).map(entry).collect();
    let start = Instant::now();
    let table = build(entries, &options, &mut rng, &NoProgress).unwrap();
    let report = &table.report;
    println!(
        "{count:>8} entries, longest {:>6}: {:>7} records of {:>6} bytes, {:>2} lookups, overhead {:.3} ({:.3} \
         over keys and values), layout {:>7} bytes, false positive 2^{:.1}, {:.2} s",
        report.longest_value,
        report.records,
        report.record_bytes,
        report.lookups,
        report.overhead(),
        report.overhead_over_source().unwrap(),
        report.layout_bytes,
        report.false_positive_log2,
        start.elapsed().as_secs_f64(),
    );
    table
}

fn measure(count: u64, lengths: &[usize]) {
    for &length in lengths {
        let report = table(count, BucketTarget::default(), |_| length).report;
        assert!(
            report.overhead() <= 1.3,
            "{length} bytes: {}",
            report.overhead()
        );
        assert!(report.false_positive_log2 <= -40.0);
        assert!(
            report.layout_bytes * 100 <= report.table_bytes,
            "layout {}",
            report.layout_bytes
        );
    }
}

#[test]
fn twenty_thousand_values_of_one_length() {
    measure(
        20_000,
        &[0, 8, 32, 64, 100, 300, 1000, 1500, 3000, 4096, 10_000],
    );
}

#[test]
#[ignore = "seconds, but 2.2 GB of memory: make test-long"]
fn a_million_values_of_one_length() {
    measure(1_000_000, &[8, 32, 64, 100, 1000]);
}

#[test]
fn tables_of_a_few_entries() {
    for count in [1, 2, 3, 10, 100, 1000] {
        for length in [0, 8, 100, 1000, 65_536, 262_144] {
            if count * length <= 10_000_000 {
                let report = table(count as u64, BucketTarget::default(), |_| length).report;
                // The smallest tables fit one bucket exactly; medium ones have the largest
                // overhead.
                assert!(
                    report.overhead() <= 1.5,
                    "{count} of {length} bytes: {}",
                    report.overhead()
                );
            }
        }
    }
}

#[test]
fn values_of_many_lengths() {
    for (name, length) in [
        (
            "0 to 200",
            (|i| (i * 7919 % 201) as usize) as fn(u64) -> usize,
        ),
        ("one in 1000 of 64 KiB", |i| {
            if i % 1000 == 7 {
                65536
            } else {
                (i % 50) as usize
            }
        }),
        ("0 to 64 KiB", |i| (i * 7919 % 65537) as usize),
    ] {
        for bucket in [BucketTarget::default(), BucketTarget::AtMost(4096)] {
            let report = table(3000, bucket, length).report;
            // The worst case: a few values that each fill a bucket, among many short ones.
            assert!(report.overhead() <= 2.0, "{name}: {}", report.overhead());
        }
    }
}
