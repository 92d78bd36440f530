//! An oblivious pseudorandom function: RFC 9497, mode OPRF, ristretto255 with SHA-512.
//!
//! The holder of a [`Key`] computes the function at elements of its own, and at a receiver's without seeing
//! them: the receiver blinds each element ([`Blinding::new`]), the holder raises what comes to the power of its
//! key ([`Key::evaluate`]), the receiver takes the blind off ([`Blinding::finish`]). To everybody without the
//! key the values are random; the receiver gets one for each element that it asks for, and no more.
//!
//! ```
//! use papir_oprf::{Blinding, Key};
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
mod old_rng;

pub use blinding::Blinding;
pub use key::{Key, SEED_BYTES};

use papir_core::{Error, Result};
use zeroize::{Zeroize, Zeroizing};

/// Bytes of a blinded or evaluated element on the wire.
pub const ELEMENT_BYTES: usize = 32;
/// Bytes of a value of the function.
pub const VALUE_BYTES: usize = 64;

/// A value of the function: secret to those who did not ask for its element.
pub type Value = Zeroizing<[u8; VALUE_BYTES]>;

/// The output of the function as a value; erases it where it stands.
fn value(output: &mut [u8]) -> Value {
    let mut value = Zeroizing::new([0; VALUE_BYTES]);
    value.iter_mut().zip(&*output).for_each(|(to, from)| *to = *from);
    output.zeroize();
    value
}

/// Refuses elements that are longer than RFC 9497 has them.
fn check(element: &[u8]) -> Result<()> {
    if element.len() <= usize::from(u16::MAX) {
        return Ok(());
    }
    let expected = format!("at most {} bytes", u16::MAX);
    Err(Error::out_of_bounds("the length of an element", element.len() as u64, expected))
}

fn refused(error: voprf::Error) -> Error {
    Error::malformed("a message of the pseudorandom function", error, "elements of ristretto255 but zero")
}
