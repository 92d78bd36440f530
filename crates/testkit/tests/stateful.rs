//! Runs the conformance suite on the stateful test scheme.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use chacha20::ChaCha20Rng;
use papir_core::erased::{Erased, ErasedScheme};
use papir_core::{Error, RecordBuffer, Shape};
use papir_testkit::conformance::{ConformanceConfig, run};
use papir_testkit::stateful::{self, Stateful};
use rand_core::SeedableRng;

#[test]
fn the_stateful_scheme_conforms() {
    run(
        &Erased::<Stateful>::allowing_insecure(papir_core::NotPrivate::acknowledged()),
        &ConformanceConfig::quick(),
    );
}

#[test]
fn keys_have_the_given_length_and_fit_later_versions() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let records = RecordBuffer::zeroed(Shape::of_bytes(10, 4).unwrap());
    let server = stateful::setup(&records, 100_000, &mut rng).unwrap();
    let scheme: &dyn ErasedScheme =
        &Erased::<Stateful>::allowing_insecure(papir_core::NotPrivate::acknowledged());
    let client = scheme.client(&server.public()).unwrap();
    let client = client.require_registered().unwrap();
    let (state, keys) = client.register(&mut rng).unwrap();
    assert_eq!(keys.len(), 100_032);
    let state = client.save_state(&state).unwrap();

    let next = server
        .update(&[], &mut rng, &papir_core::NoProgress)
        .unwrap();
    let accepting = next.require_registered().unwrap();
    assert!(accepting.accept_keys(&keys).is_ok());
    let client = scheme.client(&next.public()).unwrap();
    let client = client.require_registered().unwrap();
    assert!(client.load_state(&state).is_ok());

    let other = stateful::setup(&records, 99_999, &mut rng).unwrap();
    assert!(matches!(
        other.require_registered().unwrap().accept_keys(&keys),
        Err(Error::WrongVersion { .. })
    ));
    assert!(stateful::setup(&records, 31, &mut rng).is_err());
}
