//! Queries in one process do not depend on the index either, for any public part.
//!
//! The tests of papir-client check this over a network, with every lie of a server, and for schemes
//! with client keys.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use papir::core::erased::ErasedScheme;
use papir::core::{NotPrivate, Privacy, Shape};
use papir::lookup::{Bundle, Wanted};
use papir::schemes::registry;
use papir::{Database, Error, Goal, NoProgress, Options, RecordBuffer, client_of, system_rng};

const RECORDS: u64 = 40;
/// Two indices of records, and one that no public part has.
const WANTED: [u64; 3] = [3, RECORDS - 1, RECORDS + 5];

fn records(count: u64) -> RecordBuffer {
    RecordBuffer::from_records((0..count).map(|index| [index as u8])).unwrap()
}

/// Returns the public part of the first `count` records.
fn bundle(scheme: &dyn ErasedScheme, count: u64) -> Vec<u8> {
    let scheme = scheme.allow_insecure(NotPrivate::acknowledged());
    let server = scheme
        .setup(
            &records(count),
            Goal::Balanced,
            &mut system_rng(),
            &NoProgress,
        )
        .unwrap();
    Bundle {
        scheme_public: server.public(),
        keyword: None,
        commitment_top: None,
        prefilter: None,
    }
    .encode()
}

/// Returns public parts that a server may send, the true one first.
fn public_parts(scheme: &dyn ErasedScheme) -> Vec<(&'static str, Vec<u8>)> {
    let honest = bundle(scheme, RECORDS);
    let shorter = honest[..honest.len() - 1].to_vec();
    let mut flipped = honest.clone();
    *flipped.last_mut().unwrap() ^= 1;
    let other = |name| bundle(registry::by_name(name).unwrap(), RECORDS);
    vec![
        ("the true one", honest),
        ("half of the records", bundle(scheme, RECORDS / 2)),
        ("one record", bundle(scheme, 1)),
        ("another scheme", other("simple-batch")),
        ("a scheme that is not private", other("plain")),
        ("a byte shorter", shorter),
        ("another bit", flipped),
    ]
}

/// Returns the server's view of a lookup: the lengths of the queries, and the queries themselves if
/// their scheme does not hide the index. Returns `None` if no client can be made.
fn sent(bundle: &[u8], index: u64) -> Option<Vec<(usize, Option<Vec<u8>>)>> {
    let client = client_of(bundle).ok()?;
    let private = client.describe().privacy == Privacy::Private;
    let wanted = [Wanted::Index(index), Wanted::Index(0)];
    let pending = client
        .prepare_batch(None, &wanted, &mut system_rng())
        .ok()?;
    Some(
        pending
            .queries()
            .iter()
            .map(|query| (query.len(), (!private).then(|| query.clone())))
            .collect(),
    )
}

/// Returns the private schemes without client keys.
fn schemes() -> Vec<&'static dyn ErasedScheme> {
    let shape = Shape::new(RECORDS, 8).unwrap();
    let keyless = |scheme: &&dyn ErasedScheme| {
        let limits = scheme.plan(shape, Goal::Balanced).unwrap().limits;
        scheme.properties().privacy == Privacy::Private && !limits.client_keys
    };
    registry::all().into_iter().filter(keyless).collect()
}

#[test]
fn queries_do_not_depend_on_the_index_whatever_the_public_part() {
    assert!(schemes().len() >= 10);
    for scheme in schemes() {
        for (position, (name, bundle)) in public_parts(scheme).into_iter().enumerate() {
            let [first, others @ ..] = WANTED.map(|index| sent(&bundle, index));
            assert!(position > 0 || first.is_some(), "{}", scheme.name());
            assert!(
                others.iter().all(|other| *other == first),
                "{}: {name}",
                scheme.name()
            );
        }
    }
}

/// An index beyond the claimed records is refused after the answer, like any other failure.
#[test]
fn an_index_out_of_range_is_refused_after_the_answer() {
    let options = Options {
        scheme: "inspire".to_owned(),
        ..Options::default()
    };
    let database = Database::build_records(&records(RECORDS), &options).unwrap();
    let pending = database
        .client()
        .unwrap()
        .prepare_index(RECORDS, &mut system_rng())
        .unwrap();
    let answers = database.answer(pending.queries()).unwrap();
    let refused = pending.finish(&answers);
    assert!(
        matches!(
            refused,
            Err(Error::Core(papir::core::Error::IndexOutOfRange { .. }))
        ),
        "{refused:?}"
    );
}
