//! Paillier and Damgård–Jurik encryption, and applications in papir.
//!
//! A key is a modulus m = p·q of 3,072 bits. Plaintexts are residues modulo mˢ and ciphertexts are
//! units modulo mˢ⁺¹: (1 + m)^μ·r^(mˢ), with s = 1 for Paillier. Products of ciphertexts encrypt
//! sums, powers encrypt multiples. Security rests on the decisional composite residuosity problem,
//! hence on factoring.
//!
//! - [`PublicKey`], [`SecretKey`]: keys, encryption, decryption by the Chinese remainder theorem,
//!   bytes.
//! - [`random_ciphertexts`]: uniform ciphertexts that both sides expand from a seed.
//! - [`products`]: products of powers with public exponents (an encrypted vector times a matrix),
//!   in steps.
//! - [`compress`]: compression of LWE and RLWE ciphertexts of other schemes.
//!
//! Wide arithmetic on many residues runs in `papir-kernels`, single operations in `crypto-bigint`.
//!
//! ```
//! # use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
//! use papir_paillier::{Params, PublicKey, SecretKey};
//!
//! # let mut rng = ChaCha20Rng::from_seed([1; 32]);
//! # let params = Params::insecure(256, 1)?; /*
//! let params = Params::PAILLIER_3072;
//! # */
//! let key = SecretKey::generate(params, &mut rng)?;
//!
//! // The public key is published; anyone who has it encrypts and computes.
//! let public = PublicKey::from_bytes(params, &key.public().to_bytes())?;
//! let three = public.encrypt(&public.plaintext(&[3])?, &mut rng);
//! let four = public.encrypt(&public.plaintext(&[4])?, &mut rng);
//! let sum = public.add(&public.multiply_plain(&three, &[10]), &four);
//!
//! assert_eq!(key.decrypt(&sum).words()[0], 34);
//! # Ok::<(), papir_paillier::Error>(())
//! ```

mod batch;
mod bytes;
mod ciphertext;
pub mod compress;
mod error;
mod integer;
mod keygen;
mod params;
pub mod products;
mod public;
mod random;
mod secret;
mod small_primes;

pub use batch::LANES;
pub use ciphertext::{Ciphertext, Plaintext};
pub use error::{Error, ModulusFault, Result};
pub use params::{MINIMUM_BITS, Params};
pub use public::PublicKey;
pub use random::random_ciphertexts;
pub use secret::SecretKey;
pub use small_primes::TRIAL_BOUND;
