//! Residues modulo primes below 2^16, for numbers that are kept modulo many such primes.

use crate::dispatch::same_length;
use crate::modulus::Modulus;

pub(crate) mod constants;

pub use constants::{MAX_PRIME, Share, Shortest};

kernel! {
    /// Writes the shortest lifts of residues, modulo a small prime.
    pub fn reduce(out: &mut [u16], words: &[u32], reduction: Shortest)
    checks { same_length([out.len(), words.len()]) }
    in small_prime;
}

kernel! {
    /// [`reduce`] for residues modulo another small prime.
    pub fn reduce_small(out: &mut [u16], words: &[u16], reduction: Shortest)
    checks { same_length([out.len(), words.len()]) }
    in small_prime;
}

kernel! {
    /// Appends a coordinate to indices of a table whose sides are `side` long: `index·side + row`.
    /// Indices wrap modulo 2^32.
    pub fn append(indices: &mut [u32], row: &[u16], side: u32)
    checks { same_length([indices.len(), row.len()]) }
    in small_prime;
}

kernel! {
    /// Adds residues to the sums of their numbers. Both sums wrap modulo 2^64.
    pub fn add_share(words: &mut [u64], quotients: &mut [u64], residues: &[u16], share: Share)
    checks { same_length([words.len(), quotients.len(), residues.len()]) }
    in small_prime;
}

kernel! {
    /// Reduces the sums modulo the target: `words − round(quotients)·product`.
    pub fn finish(out: &mut [u32], words: &[u64], quotients: &[u64], product: u32, target: Modulus)
    checks { same_length([out.len(), words.len(), quotients.len()]) }
    in small_prime;
}

kernel! {
    /// Evaluates a polynomial in one variable at one or more points modulo p: `powers` has a row of
    /// `out.len()` powers of the points for each coefficient, and may have more.
    pub fn combine(out: &mut [u16], coefficients: &[u16], powers: &[u16], p: u32)
    checks {
        assert!(!out.is_empty(), "one or more points");
        assert!(powers.len() >= coefficients.len() * out.len(), "powers of the points");
        assert!((2..1 << 12).contains(&p) && coefficients.len() <= 256, "sums below 2^32");
    }
    in small_prime;
}
