//! NewtonPIR: the point of a query, and the items of an intersection.

use std::sync::Arc;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::NotPrivate;
use papir_research::newton::psi::{self, PsiParams};
use papir_research::newton::{fhe, key};

use crate::watch::{bytes_of, freed, turn};

/// The point at which a client of NewtonPIR opens its answers: the point gives the index.
#[test]
fn freed_memory_holds_no_point_of_newton() {
    let _turn = turn();
    let key = key::SecretKey::generate(256, &mut ChaCha20Rng::from_seed([5; 32])).unwrap();
    let n = Arc::clone(key.modulus());

    // A generator of the same seed draws the same point again.
    let fresh = || ChaCha20Rng::from_seed([6; 32]);
    let roots = n.random(2, &mut fresh());
    let squares = n.product(&roots, &roots);
    let elements = roots.chunks(n.limbs()).chain(squares.chunks(n.limbs()));
    let patterns: Vec<(_, Vec<u8>)> = elements
        .map(|one| ("a root or its square", bytes_of(one)))
        .collect();
    let (_, seen) = freed(patterns, || drop(fhe::random_point(&n, &mut fresh())));
    assert!(seen.is_empty(), "a point frees {seen:?}");
}

/// The items of the party that answers a request for an intersection.
#[test]
fn freed_memory_holds_no_item_of_an_intersection() {
    let _turn = turn();
    let word = NotPrivate::acknowledged();
    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let params = PsiParams::new(20, 60).unwrap();
    let params = params.with_modulus_bits(256).unwrap();
    let params = params.partitioned(3).unwrap();
    let n = Arc::clone(key::SecretKey::generate(256, rng).unwrap().modulus());

    let items: Vec<psi::Item> = (1..=60)
        .map(|i: psi::Item| i.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
        .collect();
    let receiver = psi::Receiver::new(params.clone(), Arc::clone(&n), &items[..20], word).unwrap();
    let sender = psi::Sender::new(params, &items, word).unwrap();
    let (_, request) = receiver.request(rng).unwrap();

    let item = items[42];
    let element = n.enter(&[item as u64, (item >> 64) as u64], 2);
    let patterns = vec![
        ("an item", item.to_le_bytes().to_vec()),
        ("an item as an element", bytes_of(&element)),
    ];
    let (_, seen) = freed(patterns, || sender.respond(&request, rng).unwrap());
    assert!(seen.is_empty(), "a response frees {seen:?}");
}
