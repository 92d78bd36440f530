//! Helpers for the tests of this crate.
#![allow(dead_code, clippy::unwrap_used, unreachable_pub)]

use chacha20::ChaCha20Rng;
use papir_core::erased::{ErasedScheme, ErasedServer, ErasedSession};
use papir_core::{Goal, NoProgress};
use papir_lookup::{
    BucketTarget, Entry, KeywordLayout, KeywordTable, Lookup, OnDuplicate, Pending, Result,
    TableOptions, build,
};
use papir_schemes::registry;
use rand_core::SeedableRng;

pub fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

pub fn entry(line: u64, key: &[u8], value: &[u8]) -> Entry {
    Entry {
        key: key.to_vec(),
        value: value.to_vec(),
        line,
    }
}

pub fn table_with(
    entries: Vec<Entry>,
    bucket: BucketTarget,
    on_duplicate: OnDuplicate,
) -> Result<KeywordTable> {
    let options = TableOptions {
        bucket,
        on_duplicate,
        ..TableOptions::default()
    };
    build(entries, &options, &mut rng(1), &NoProgress)
}

/// Looks a key up directly in the records.
pub fn find(table: &KeywordTable, key: &[u8]) -> Option<Vec<u8>> {
    let indices = table.layout.indices(key);
    assert_eq!(indices.len(), table.layout.lookups());
    let records: Vec<_> = indices
        .iter()
        .map(|&i| table.records.get(i).unwrap())
        .collect();
    table.layout.find(key, &records).unwrap()
}

/// Returns the scheme without cryptography.
pub fn plain() -> Box<dyn ErasedScheme> {
    registry::by_name("plain")
        .unwrap()
        .allow_insecure(papir_core::NotPrivate::acknowledged())
}

/// Serves the table by the scheme without cryptography.
pub fn serve(table: &KeywordTable) -> (Box<dyn ErasedServer>, Lookup) {
    let server = plain()
        .setup(&table.records, Goal::default(), &mut rng(2), &NoProgress)
        .unwrap();
    let lookup = lookup(server.as_ref(), Some(table.layout.clone())).unwrap();
    (server, lookup)
}

pub fn lookup(server: &dyn ErasedServer, keyword: Option<KeywordLayout>) -> Result<Lookup> {
    Lookup::new(plain().client(&server.public()).unwrap(), keyword)
}

pub fn answers(server: &dyn ErasedServer, pending: &Pending) -> Vec<Vec<u8>> {
    let session = ErasedSession::default();
    pending
        .queries()
        .iter()
        .map(|query| server.answer(session, query).unwrap())
        .collect()
}
