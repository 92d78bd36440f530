//! Keys, encryption and decryption, at small sizes and one full one.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_paillier::{Error, ModulusFault, Params, Plaintext, PublicKey, SecretKey};
use proptest::prelude::*;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn key(bits: u32, s: u32) -> SecretKey {
    SecretKey::generate(Params::insecure(bits, s).unwrap(), &mut rng(1)).unwrap()
}

/// The largest plaintext, mˢ − 1.
fn largest(public: &PublicKey) -> Vec<u64> {
    let m = public.modulus();
    let mut product = vec![1];
    for _ in 0..public.params().s() {
        product = multiply(&product, &m);
    }
    product[0] -= 1;
    product
}

/// The product of numbers in words.
fn multiply(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut product = vec![0u64; a.len() + b.len()];
    for (i, &a) in a.iter().enumerate() {
        let mut carry = 0u128;
        for (j, &b) in b.iter().enumerate() {
            let sum = u128::from(a) * u128::from(b) + u128::from(product[i + j]) + carry;
            product[i + j] = sum as u64;
            carry = sum >> 64;
        }
        product[i + b.len()] = carry as u64;
    }
    while product.last() == Some(&0) {
        product.pop();
    }
    product
}

fn padded(words: &[u64], params: &Params) -> Vec<u64> {
    let mut words = words.to_vec();
    words.resize(params.plaintext_words(), 0);
    words
}

#[test]
fn what_is_encrypted_is_decrypted() {
    for (bits, s) in [(256, 1), (256, 2), (256, 3), (384, 1), (512, 3)] {
        let key = key(bits, s);
        let public = key.public();
        for words in [vec![], vec![1], vec![u64::MAX; 3], largest(public)] {
            let plaintext = public.plaintext(&words).unwrap();
            let ciphertext = public.encrypt(&plaintext, &mut rng(2));
            assert_eq!(key.decrypt(&ciphertext).words(), padded(&words, public.params()), "{bits}, {s}");
            let own = key.encrypt_many(std::slice::from_ref(&plaintext), &mut rng(2)).unwrap();
            assert_eq!(key.decrypt(&own[0]).words(), padded(&words, public.params()), "{bits}, {s}");
        }
    }
}
