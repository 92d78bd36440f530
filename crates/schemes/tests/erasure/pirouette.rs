//! Evaluation keys of Pirouette: the secrets of both rings and what is encrypted under them.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::scheme::{Client as _, Goal, Parameters as _, RegisteredClient as _, Wire as _};
use papir_core::{Privacy, Shape};
use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing as _, wide};
use papir_schemes::pirouette::chain::{PRIME, RESPONSE_PRIME};
use papir_schemes::pirouette::client::RetrievalClient;
use papir_schemes::pirouette::params::PirouetteParams;
use papir_schemes::pirouette::{ParameterSet, Pirouette};
use papir_schemes::shared::messages::PublicSeed;

use crate::watch::{bytes_of, freed, turn};

/// Short keys of four bits.
#[derive(Clone, Copy, Debug)]
struct Tiny;

impl ParameterSet for Tiny {
    const NAME: &'static str = "pirouette-tiny";
    const ID: u16 = 0xfff5;
    const ENCRYPTED: (&'static str, u16) = ("pirouette-encrypted-tiny", 0xfff6);
    const PRIVACY: Privacy = Privacy::NotPrivate("its keys are tiny: it is for tests");
    const DIMENSIONS: [usize; 2] = [4, 4];
}

/// Returns coefficients that are stored as a byte each.
fn signed(bytes: &[u8]) -> Vec<i32> {
    bytes.iter().map(|&byte| i32::from(byte as i8)).collect()
}

/// Returns the bytes of residues 100 to 107.
fn words_of(residues: &[u64]) -> Vec<u8> {
    bytes_of(&residues[100..108])
}

/// Returns patterns of the database ring's key, its image and its square.
fn secrets_of_key(key: &[i32]) -> Vec<(&'static str, Vec<u8>)> {
    let ring = wide::Ring::new(2048, PRIME).unwrap();
    let residues = ring.from_signed(key);
    let image = ring.automorphism(&residues, 2049);
    let values = ring.forward(residues.clone());
    let square = ring.mul(&values, &values);
    let scaled = ring.scale(&square, 1 << 8);

    vec![
        ("s in coefficients", bytes_of(&key[100..132])),
        ("s in residues", words_of(residues.residues())),
        ("s in values", words_of(values.residues())),
        ("the image of s in residues", words_of(image.residues())),
        (
            "the image of s in values",
            words_of(ring.forward(image.clone()).residues()),
        ),
        (
            "s squared in residues",
            words_of(ring.inverse(square.clone()).residues()),
        ),
        ("s squared in values", words_of(square.residues())),
        (
            "s squared times the lowest factor, in residues",
            words_of(ring.inverse(scaled.clone()).residues()),
        ),
        (
            "s squared times the lowest factor, in values",
            words_of(scaled.residues()),
        ),
    ]
}

/// Returns patterns of the response ring's key.
fn secrets_of_response_key(key: &[i32]) -> [(&'static str, Vec<u8>); 3] {
    let ring = wide::Ring::new(1024, RESPONSE_PRIME).unwrap();
    let residues = ring.from_signed(key);
    let values = ring.forward(residues.clone());

    [
        (
            "the response ring's key in coefficients",
            bytes_of(&key[100..132]),
        ),
        (
            "the response ring's key in residues",
            words_of(residues.residues()),
        ),
        (
            "the response ring's key in values",
            words_of(values.residues()),
        ),
    ]
}

/// Registration and a query of Pirouette, under short keys of four bits.
#[test]
fn freed_memory_holds_no_secret_of_evaluation_keys() {
    let _turn = turn();
    let shape = Shape::of_bytes(100, 32).unwrap();
    let params = PirouetteParams::<Tiny>::choose(shape, Goal::Balanced).unwrap();
    let public = PublicSeed {
        seed: Seed([7; 32]),
    };
    let client = RetrievalClient::<Pirouette<Tiny>>::new(params.clone(), public).unwrap();
    let register = || {
        client
            .register(None, &mut ChaCha20Rng::from_seed([9; 32]))
            .unwrap()
    };

    let known = register().0.encode(&params);
    let mut secrets = secrets_of_key(&signed(&known[..2048]));
    secrets.extend(secrets_of_response_key(&signed(&known[2048..])));
    let ((mut state, keys), seen) = freed(secrets.clone(), register);
    assert!(seen.is_empty(), "registering frees {seen:?}");
    assert!(keys.encode(&params).len() > 1 << 20);

    let query = || {
        drop(
            client
                .query(Some(&mut state), &[7], &mut ChaCha20Rng::from_seed([8; 32]))
                .unwrap(),
        )
    };
    let (_, seen) = freed(secrets.clone(), query);
    assert!(seen.is_empty(), "a query frees {seen:?}");
    let (_, seen) = freed(secrets, || drop(state));
    assert!(seen.is_empty(), "dropping the state frees {seen:?}");
}
