//! Randomness for queries.

use getrandom::SysRng;
use rand_core::{CryptoRng, UnwrapErr};

/// The operating system's randomness. A system that cannot give any ends the program: no query may
/// be made without it.
pub fn system_rng() -> impl CryptoRng + Clone + Send + Sync + 'static {
    UnwrapErr(SysRng)
}
