//! Factors of a Paillier modulus.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use num_bigint::BigUint;
use papir_ring::prg::Seed;

use crate::watch::{freed, turn};

/// The prime factors of a Paillier modulus and their powers, when a stored key is read and used.
#[test]
fn freed_memory_holds_no_factor_of_a_modulus() {
    let _turn = turn();
    for s in [1, 2] {
        let rng = &mut ChaCha20Rng::from_seed([5; 32]);
        let params = papir_paillier::Params::insecure(512, s).unwrap();
        let stored = papir_paillier::SecretKey::generate(params, rng)
            .unwrap()
            .to_bytes();

        // A header of eight bytes, and both primes.
        let mut patterns = Vec::new();
        for prime in stored[8..].chunks_exact(params.modulus_bytes() / 2) {
            let number = BigUint::from_bytes_le(prime);
            patterns.push(("a prime", prime.to_vec()));
            patterns.push(("its square", number.pow(2).to_bytes_le()));
            patterns.push(("its cube", number.pow(3).to_bytes_le()));
        }
        assert_eq!(patterns.len(), 6);

        let (_, seen) = freed(patterns, || {
            let key = papir_paillier::SecretKey::from_bytes(params, &stored).unwrap();
            let seed = Seed([1; 32]);
            let ciphertexts =
                papir_paillier::random_ciphertexts(key.public(), &seed, "erasure", 0, 3);
            let plaintexts = key.decrypt_many(&ciphertexts);
            drop(key.encrypt_many(&plaintexts, rng).unwrap());
        });
        assert!(seen.is_empty(), "a key with s = {s} frees {seen:?}");
    }
}
