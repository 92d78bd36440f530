//! Oblivious pseudorandom function (RFC 9497).
//!
//! The mode is OPRF, with ristretto255 and SHA-512.
//!
//! The holder of a [`Key`] evaluates the function at its own elements, and at a receiver's elements
//! without seeing them. The receiver blinds each element ([`Blinding::new`]), the holder raises the
//! blinded elements to the power of its key ([`Key::evaluate`]), and the receiver removes the
//! blinds ([`Blinding::finish`]). Without the key, the values look random. The receiver learns one
//! value for each element that it sends, and nothing more.
//!
//! ```
//! use papir_lookup::oprf::{Blinding, Key};
//! # use rand_core::SeedableRng;
//! # let mut rng = chacha20::ChaCha20Rng::seed_from_u64(1);
//! let key = Key::generate(&mut rng)?;
//! let (blinding, sent) = Blinding::new(&["alice", "bob"], &mut rng)?;
//! let values = blinding.finish(&key.evaluate(&sent)?)?;
//! assert_eq!(*values[1], *key.value(b"bob")?);
//! # Ok::<(), papir_core::Error>(())
//! ```

mod blinding;
mod key;
mod rng;
mod value;

pub use blinding::Blinding;
pub use key::{Key, SEED_BYTES};
pub use value::{ELEMENT_BYTES, VALUE_BYTES, Value};
