//! Randomness for queries.

use getrandom::SysRng;
use rand_core::{CryptoRng, UnwrapErr};

/// The operating system's random generator. If it fails, the program ends: no query may be made
/// without it.
pub fn system_rng() -> impl CryptoRng + Clone + Send + Sync + 'static {
    UnwrapErr(SysRng)
}
