//! Paillier keys and ciphertexts.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_paillier::{Params, PublicKey, SecretKey};

use crate::{Target, outcome};

/// Public keys, secret keys and ciphertexts. Numbers are short, so that many inputs are tried.
pub(super) fn paillier() -> Target {
    let params = Params::insecure(256, 1).unwrap();
    let key = SecretKey::generate(params, &mut ChaCha20Rng::from_seed([1; 32])).unwrap();
    let public = key.public().clone();

    let ciphertext = public.encrypt(
        &public.plaintext(&[5]).unwrap(),
        &mut ChaCha20Rng::from_seed([2; 32]),
    );

    let seeds = vec![
        public.to_bytes(),
        key.to_bytes().to_vec(),
        ciphertext.to_bytes(),
    ];

    Target::new(seeds, move |input| {
        let read = PublicKey::from_bytes(params, input);
        if let Ok(public) = &read {
            assert_eq!(public.to_bytes(), input);
        }

        let secret = SecretKey::from_bytes(params, input);
        if let Ok(secret) = &secret {
            assert_eq!(*secret.to_bytes(), input);
        }

        let ciphertext = public.ciphertext_from_bytes(input);
        if let Ok(ciphertext) = &ciphertext {
            assert_eq!(ciphertext.to_bytes(), input);
            let _ = key.decrypt(ciphertext);
        }

        format!(
            "{} {} {}",
            outcome(&read),
            outcome(&secret),
            outcome(&ciphertext)
        )
    })
}
