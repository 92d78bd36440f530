//! x
#![allow(missing_docs)]
mod batch;
mod bytes;
mod error;
mod integer;
mod keygen;
mod params;
mod public;
mod secret;
mod small_primes;
mod text;

pub use error::{Error, ModulusFault, Result};
pub use params::{MINIMUM_BITS, Params};
pub use public::PublicKey;
pub use secret::SecretKey;
pub use small_primes::TRIAL_BOUND;
pub use text::{Ciphertext, Plaintext};
/// l
pub const LANES: usize = 8;
