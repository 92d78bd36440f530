//! Packed DoublePIR: keys of both levels, selector and decrypted answer.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::scheme::{Client as _, Server as _, Session};
use papir_core::{NoProgress, RecordBuffer, Shape};
use papir_lattice::selection::Storage;
use papir_ring::CyclotomicRing as _;
use papir_schemes::double::packed::{self, ByInspiring};
use papir_schemes::shared::selection::Selects as _;

use crate::watch::{bytes_of, freed, pattern, turn};

/// Both levels of a packed DoublePIR: LWE secret, ring secret, selector and decrypted answer.
#[test]
fn freed_memory_holds_no_secret_of_two_levels() {
    let _turn = turn();
    let shape = Shape::of_bytes(3_000_000, 2).unwrap();
    let params = packed::Params::<ByInspiring>::with_units(shape, 3000).unwrap();
    let mut rng = ChaCha20Rng::from_seed([5; 32]);
    let records = RecordBuffer::zeroed(shape);
    let server = packed::Server::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
    let client = packed::Client::new(params.clone(), server.public().clone()).unwrap();

    // The first run with this seed tells the secret; the second, watched, makes it again.
    let index = 3000 * 500 + 1234;
    let query = || {
        client
            .query(None, &[index], &mut ChaCha20Rng::from_seed([9; 32]))
            .unwrap()
    };
    let (known, _) = query();
    let key = known.key();

    let selection = params.selection();
    let ring = selection.rlwe().ring();
    let mut selector = vec![0; ring.degree()];
    selector[1234] = selection.scale(0);
    let selector = ring.forward(ring.from_words(&selector));
    let mut secrets = vec![
        ("s1", bytes_of(&known.first_key()[100..108])),
        ("s2 in values", pattern(key.values())),
        (
            "s2 in coefficients",
            bytes_of(&key.coefficients()[100..108]),
        ),
        ("the selector's message", pattern(&selector)),
    ];
    let ((secret, query), seen) = freed(secrets.clone(), query);
    assert!(seen.is_empty(), "making a query frees {seen:?}");

    let answer = server.answer(Session::anonymous(), &query).unwrap();
    let whole = answer.clone().with_masks(&server.public().masks);
    let masks = ring.forward(ring.from_words(&whole.masks[..ring.degree()]));
    let product = ring.mul(&masks, key.values());
    let phases = whole.phases(selection, key);
    let words = whole.open(selection, key).words;
    secrets.extend([
        ("a·s in values", pattern(&product)),
        ("phases", bytes_of(&phases[100..104])),
        ("digits", bytes_of(&words[100..116])),
    ]);
    let (_, seen) = freed(secrets, || client.extract(secret, answer).unwrap());
    assert!(seen.is_empty(), "opening an answer frees {seen:?}");
}

/// The bytes that a client joins of decrypted words.
#[test]
fn freed_memory_holds_no_bytes_of_decrypted_words() {
    let _turn = turn();
    let words: Vec<u32> = (0..2048u32)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 28)
        .collect();
    for storage in [Storage::Words, Storage::Nibbles] {
        let pattern = storage.bytes_of(&words)[..16].to_vec();
        let (_bytes, seen) = freed(vec![("the bytes", pattern)], || storage.bytes_of(&words));
        assert!(seen.is_empty(), "{storage:?} frees {seen:?}");
    }
}
