//! Truncated and damaged files of Parquet, Arrow and SQLite.

use std::path::Path;

use rand_core::Rng;

use crate::common::{folder, keyed, rng, run};

/// Builds from truncated and damaged files. A build may miss damage, but it must neither panic nor
/// hang. It must report truncation if `finds_truncation`. Each of `rounds` truncates a file once and
/// damages seven.
fn survives(path: &Path, values: &[&str], finds_truncation: bool, rounds: usize) {
    let whole = std::fs::read(path).unwrap();
    let mut options = keyed(path, "k", values);
    options.skip_bad = u64::MAX;
    run(&options).unwrap();
    let mut random = rng(9);
    let mut below = |most: usize| random.next_u64() as usize % most;
    for _ in 0..rounds {
        let length = below(whole.len());
        std::fs::write(path, &whole[..length]).unwrap();
        let truncated = run(&options);
        assert!(
            truncated.is_err() || !finds_truncation,
            "{length} bytes of {}",
            whole.len()
        );
    }
    let mut found = 0;
    for _ in 0..7 * rounds {
        let mut bytes = whole.clone();
        for _ in 0..=below(4) {
            let place = below(bytes.len());
            bytes[place] ^= 1 << below(8);
        }
        std::fs::write(path, bytes).unwrap();
        if let Err(error) = run(&options) {
            assert!(error.to_string().contains("damaged."), "{error}");
            found += 1;
        }
    }
    assert!(found > 0, "no damage was found");
}

#[test]
fn damaged_files() {
    all_survive(10);
}

#[test]
#[ignore = "long"]
fn many_damaged_files() {
    all_survive(60);
}

fn all_survive(rounds: usize) {
    #[cfg(feature = "parquet")]
    damaged_parquet(rounds);
    #[cfg(feature = "parquet")]
    damaged_arrow(rounds);
    #[cfg(feature = "sqlite")]
    damaged_sqlite(rounds);
}

#[cfg(feature = "parquet")]
fn damaged_parquet(rounds: usize) {
    use parquet::basic::Compression;
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};

    use super::parquet_file::{self, Column, Written};

    let folder = folder();
    let schema = "required binary k (STRING); optional int64 v (TIMESTAMP(MICROS,true));
        optional group l (LIST) { repeated group list { optional binary element; } }";
    let keys = (0..300)
        .map(|i| ByteArray::from(format!("key-{i}").into_bytes()))
        .collect();
    let elements = (0..300)
        .map(|i| ByteArray::from(vec![b'a' + i as u8 % 26; 3]))
        .collect();
    let columns: Vec<Box<dyn Written>> = vec![
        Box::new(Column::<ByteArrayType>(keys, vec![], vec![])),
        Box::new(Column::<Int64Type>(
            (0..150).collect(),
            (0..300).map(|i| i % 2).collect(),
            vec![],
        )),
        Box::new(Column::<ByteArrayType>(
            elements,
            vec![3; 300],
            vec![0; 300],
        )),
    ];
    let path = folder.path().join("damaged.parquet");
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
    ] {
        parquet_file::write(&path, schema, std::slice::from_ref(&columns), compression);
        survives(&path, &["v", "l"], true, rounds);
    }
}

#[cfg(feature = "parquet")]
fn damaged_arrow(rounds: usize) {
    use arrow_ipc::CompressionType;

    use super::arrow_file::{texts, write};

    let folder = folder();
    let keys: Vec<String> = (0..300).map(|i| format!("key-{i}")).collect();
    let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
    let (first, second) = keys.split_at(200);
    let batches = [first, second].map(|part| texts(&[("k", part.to_vec()), ("v", part.to_vec())]));
    let path = folder.path().join("damaged.arrow");
    for compression in [None, Some(CompressionType::LZ4_FRAME)] {
        write(&path, &batches, compression);
        survives(&path, &["v"], true, rounds);
    }
}

#[cfg(feature = "sqlite")]
fn damaged_sqlite(rounds: usize) {
    let folder = folder();
    let path = super::sqlite::write(
        folder.path(),
        "damaged.db",
        "CREATE TABLE t (k TEXT PRIMARY KEY, v, w);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
        INSERT INTO t SELECT 'key-' || i, i * 1.5, randomblob(0) || hex(zeroblob(i % 90)) FROM n;",
    );
    survives(&path, &["v", "w"], false, rounds);
}
