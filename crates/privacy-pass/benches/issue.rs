//! Times the signing of a token beside the private operation of RSA under the same key.
//!
//! `cargo bench -p papir-privacy-pass --bench issue` prints medians in µs on one thread. The
//! operations take turns, so that other work on the machine changes all of them alike.
//!
//! | name | operation |
//! |---|---|
//! | `raw` | the private operation alone, with neither blinding nor a check of its result |
//! | `protected` | the same as an issuer needs it: blinded, and checked with the public key |
//! | `token` | [`IssuerKey::sign_blinded`] |

use std::error::Error;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use papir_privacy_pass::{IssuerKey, KEY_BITS, TokenBlinding, TokenChallenge};
use rand_core::SeedableRng;
use rsa::hazmat::{rsa_decrypt, rsa_decrypt_and_check};
use rsa::pkcs8::DecodePrivateKey;
use rsa::{BoxedUint, PrivateKey};

/// Runs of each operation.
const RUNS: usize = 300;

fn main() -> Result<(), Box<dyn Error>> {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let issuer = IssuerKey::generate(&mut rng)?;
    let mut key = PrivateKey::from_pkcs8_pem(&issuer.to_pem()?)?;
    key.precompute()?;
    let challenge = TokenChallenge::new("issuer.example", None, Vec::new())?;

    let mut raw_times = Vec::with_capacity(RUNS);
    let mut protected_times = Vec::with_capacity(RUNS);
    let mut token_times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let (_, request) = TokenBlinding::new(&challenge, issuer.public(), &mut rng)?;
        let blinded = number(&request.blinded)?;

        let (time, raw) = timed(|| rsa_decrypt(None::<&mut ChaCha20Rng>, &key, &blinded));
        raw_times.push(time);
        let (time, protected) = timed(|| rsa_decrypt_and_check(&key, Some(&mut rng), &blinded));
        protected_times.push(time);
        let (time, response) = timed(|| issuer.sign_blinded(&request, &mut rng));
        token_times.push(time);

        let signature = number(&response?.blind_signature)?;
        if raw? != signature || protected? != signature {
            return Err("the operations differ: expected one signature".into());
        }
    }

    for (name, times) in [
        ("raw", raw_times),
        ("protected", protected_times),
        ("token", token_times),
    ] {
        println!("{name:<10} {:>8.1} µs", 1e6 * median(times));
    }
    Ok(())
}

/// A number below the modulus, from its bytes.
fn number(bytes: &[u8]) -> Result<BoxedUint, Box<dyn Error>> {
    Ok(BoxedUint::from_be_slice(bytes, KEY_BITS as u32)?)
}

/// The time of a call in seconds, and its result.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = Instant::now();
    let value = work();
    (start.elapsed().as_secs_f64(), value)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
