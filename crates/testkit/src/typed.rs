//! Checks of schemes through their typed interface.

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Scheme, Server, Session};
use papir_core::sections::{MemorySections, SectionSource};
use papir_core::{Error, RecordBuffer};

/// The names and contents of a prepared database's sections.
///
/// # Panics
/// If the database cannot be saved.
pub fn sections<S: Scheme>(server: &S::Server) -> Vec<(String, Vec<u8>)> {
    let mut sections = MemorySections::default();
    server.save(&mut sections).unwrap();
    let names: Vec<String> = sections.names().map(str::to_owned).collect();

    names
        .into_iter()
        .map(|name| {
            let bytes = sections.get(&name).unwrap().to_vec();
            (name, bytes)
        })
        .collect()
}

/// Checks that an answer opens under the secret of its query, and not under that of another query
/// for the same record. The scheme has no client keys.
///
/// # Panics
/// If the check fails.
pub fn assert_opens_under_its_own_secret_only<S: Scheme<Answer: Clone>>(
    server: &S::Server,
    client: &S::Client,
    records: &RecordBuffer,
    rng: &mut ChaCha20Rng,
) {
    let (first, query) = client.query(None, &[3], rng).unwrap();
    let (second, _) = client.query(None, &[3], rng).unwrap();
    let answer = server.answer(Session::anonymous(), &query).unwrap();

    assert!(matches!(
        client.extract(second, answer.clone()),
        Err(Error::NotDecodable)
    ));
    assert_eq!(
        client.extract(first, answer).unwrap(),
        [records.get(3).unwrap()]
    );
}
