//! Choice of small primes and of further reductions.

use std::str::FromStr;

use papir_core::{Error, Result};
use papir_lattice::bv::params::PLAINTEXT;
use papir_ring::prime::is_prime;

use crate::depir::simplex::{Simplex, terms};

/// Number of reductions before a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// One reduction: Algorithm 2.
    One,
    /// Two reductions: Algorithm 3.
    Two,
    /// A mixture: this number of the smallest primes are looked up directly, and the other primes
    /// are reduced again (section 7).
    Mixture(usize),
}

impl FromStr for Steps {
    type Err = Error;

    /// Parses `one`, `two`, or the number of primes that are looked up directly.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "one" => Ok(Self::One),
            "two" => Ok(Self::Two),
            other => other.parse().map(Self::Mixture).map_err(|_| {
                Error::malformed(
                    "the reduction steps",
                    other,
                    "one, two or a number of primes",
                )
            }),
        }
    }
}

/// A prime of the first level that is reduced again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The prime.
    pub prime: u32,
    /// Number of primes of the second level, the smallest ones, to which it is reduced.
    pub count: usize,
}

/// The primes of both levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Odd primes with a table or polynomial of their own, in ascending order.
    pub direct: Vec<u32>,
    /// Number of primes of `direct` that are in the first level, the first ones.
    pub first: usize,
    /// Primes of the first level that are reduced again.
    pub reduced: Vec<Reduced>,
}

impl Levels {
    /// Chooses levels for f on this simplex, whose coefficients are shortest lifts modulo t, at
    /// points modulo primes up to `largest`. With `Some`, the first coordinate is one of 0, 1, …,
    /// `first` and is not reduced; with `None`, it is like the other coordinates.
    pub fn new(simplex: Simplex, largest: u32, first: Option<u32>, steps: Steps) -> Self {
        // Shortest lifts are at most half of their modulus. A first coordinate is not lifted.
        let coefficient = f64::from(PLAINTEXT / 2).log2();
        let least = f64::from(first.unwrap_or(0));
        let bits = log2_value(simplex, coefficient, (f64::from(largest) / 2.0).max(least));

        Self::for_values(simplex, coefficient, bits, least, steps)
    }

    /// Chooses levels for coefficients of `coefficient` bits and values at the first level of
    /// `bits` bits. Coordinates modulo any prime may be as large as `least`.
    pub fn for_values(
        simplex: Simplex,
        coefficient: f64,
        bits: f64,
        least: f64,
        steps: Steps,
    ) -> Self {
        let all = covering(bits);
        let first = match steps {
            Steps::One => all.len(),
            Steps::Two => 0,
            Steps::Mixture(count) => count.min(all.len()),
        };

        let mut reduced = Vec::with_capacity(all.len() - first);
        for &prime in &all[first..] {
            let bits = log2_value(simplex, coefficient, (f64::from(prime) / 2.0).max(least));
            reduced.push(Reduced {
                prime,
                count: covering(bits).len(),
            });
        }

        // The second level may need more primes than the first looks up.
        let needed = reduced
            .iter()
            .map(|reduced| reduced.count)
            .max()
            .unwrap_or(0)
            .max(first);
        let direct = odd_primes().take(needed).collect();

        Self {
            direct,
            first,
            reduced,
        }
    }

    /// Returns all primes of the first level: first the primes looked up, then the primes reduced
    /// again.
    pub fn primes(&self) -> Vec<u32> {
        let reduced = self.reduced.iter().map(|reduced| reduced.prime);
        self.direct[..self.first]
            .iter()
            .copied()
            .chain(reduced)
            .collect()
    }

    /// Returns the number of look-ups for one point.
    pub fn lookups(&self) -> u64 {
        self.first as u64
            + self
                .reduced
                .iter()
                .map(|reduced| reduced.count as u64)
                .sum::<u64>()
    }

    /// Returns the number of residues in all tables, if the first `tabulated` variables are
    /// tabulated.
    pub fn entries(&self, simplex: Simplex, tabulated: usize) -> f64 {
        self.direct
            .iter()
            .map(|&prime| entries_of(prime, simplex, tabulated))
            .sum()
    }
}

/// Returns the number of residues in a prime's table.
fn entries_of(prime: u32, simplex: Simplex, tabulated: usize) -> f64 {
    f64::from(prime).powi(tabulated as i32)
        * terms(simplex.variables - tabulated, simplex.degree) as f64
}

/// Computes log₂ of a bound on f at coordinates up to `largest`: the sum of the terms of all
/// degrees.
pub fn log2_value(simplex: Simplex, log2_coefficient: f64, largest: f64) -> f64 {
    let Simplex { variables, degree } = simplex;
    // The largest power is factored out: 27 bits to the power of the largest degree exceed an f64.
    let top = degree as f64 * largest.log2();
    let parts = (0..=degree)
        .map(|d| terms(variables - 1, d) as f64 * largest.powi(d as i32 - degree as i32));
    log2_coefficient + top + parts.sum::<f64>().log2()
}

/// Returns the first odd primes whose product is at least four times a number of `bits` bits. This
/// holds the number and its negative.
fn covering(bits: f64) -> Vec<u32> {
    // `Lift` is exact up to a quarter of the product, hence two more bits.
    let mut left = bits + 2.0;
    odd_primes()
        .take_while(|&prime| {
            let needed = left > 0.0;
            left -= f64::from(prime).log2();
            needed
        })
        .collect()
}

fn odd_primes() -> impl Iterator<Item = u32> {
    (3..)
        .step_by(2)
        .filter(|&number: &u32| is_prime(number.into()))
}
