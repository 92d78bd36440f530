//! Randomness for queries.

use getrandom::SysRng;
use rand_core::{CryptoRng, UnwrapErr};

/// The operating system's random generator. Panics if it fails, since no query is private without
/// randomness.
pub fn system_rng() -> impl CryptoRng + Clone + Send + Sync + 'static {
    UnwrapErr(SysRng)
}
