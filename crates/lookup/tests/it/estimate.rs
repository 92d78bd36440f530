//! Estimated sizes of tables, against arranged ones.

use crate::common::rng;
use papir_core::NoProgress;
use papir_lookup::{BucketTarget, Entry, Estimate, Lengths, TableOptions, build};

fn assert_close(keys: u64, length: impl Fn(u64) -> usize, bucket: BucketTarget) {
    let entry = |i: u64| Entry {
        key: i.to_le_bytes().to_vec(),
        value: vec![1; length(i)],
        line: i,
    };
    let lengths = Lengths::of((0..keys).map(&length)).unwrap();
    let options = TableOptions {
        bucket,
        ..TableOptions::default()
    };
    let report = build(
        (0..keys).map(entry).collect(),
        &options,
        &mut rng(1),
        &NoProgress,
    )
    .unwrap()
    .report;
    let found = Estimate::of(&lengths, bucket).unwrap();
    assert_eq!(
        (found.record_bytes, found.lookups),
        (report.record_bytes, report.lookups),
        "{keys}"
    );
    let ratio = found.records as f64 / report.records as f64;
    assert!(
        (0.85..1.2).contains(&ratio),
        "{keys}, {bucket:?}: {found:?} for {report:?}"
    );
    let ratio = found.layout_bytes as f64 / report.layout_bytes as f64;
    assert!(
        (0.6..1.6).contains(&ratio),
        "{keys}, {bucket:?}: {found:?} for {report:?}"
    );
}

#[test]
fn estimates_are_close_to_real_tables() {
    for (keys, length) in [
        (1, 5),
        (3000, 4),
        (20_000, 32),
        (20_000, 100),
        (20_000, 1500),
        (700, 9000),
    ] {
        assert_close(keys, |_| length, BucketTarget::default());
    }
    for bucket in [8, 16, 64, 512].map(BucketTarget::Grow) {
        assert_close(20_000, |_| 4, bucket);
        assert_close(20_000, |_| 0, bucket);
    }
    assert_close(20_000, |i| (i % 90) as usize, BucketTarget::Grow(4096));
    assert_close(20_000, |i| (i % 90) as usize, BucketTarget::Grow(512));
}

#[test]
fn unsupported_sizes_are_refused() {
    let of = |lengths: Lengths| Estimate::of(&lengths, BucketTarget::default());
    assert!(of(Lengths::equal(0, 8)).is_err());
    let most = of(Lengths::equal(u64::MAX, 262_144)).unwrap();
    assert!(most.records > 1 << 40, "{most:?}");
    let error = of(Lengths::equal(9, 262_145)).unwrap_err().to_string();
    assert!(
        error.contains("262145") && error.contains("262144"),
        "{error}"
    );
}
