//! Choice of small primes and of further reductions.

use std::str::FromStr;

use papir_core::{Error, Result};
use papir_lattice::bv::params::PLAINTEXT;
use papir_ring::prime::is_prime;

use crate::depir::simplex::{Simplex, terms};

/// Number of reductions before a look-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    /// Algorithm 2.
    One,
    /// Algorithm 3.
    Two,
    /// Looks up a number of the smallest primes directly and reduces the others again (section 7).
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

/// A prime that is reduced again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduced {
    /// The prime.
    pub prime: u32,
    /// Number of smallest primes that it is reduced to.
    pub count: usize,
}

/// The primes of both levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    /// Odd primes with a table, in ascending order.
    pub direct: Vec<u32>,
    /// Number of these in the first level.
    pub first: usize,
    /// Primes of the first level that are reduced again.
    pub reduced: Vec<Reduced>,
}

impl Levels {
    /// Levels for f on this simplex, with shortest lifts modulo t as coefficients, at points modulo
    /// primes up to `largest`. The first coordinate is one of 0, 1, …, `first` and is not reduced,
    /// or like the others if that is `None`.
    pub fn new(simplex: Simplex, largest: u32, first: Option<u32>, steps: Steps) -> Self {
        // Shortest lifts are at most half of their modulus. A first coordinate is not lifted.
        let coefficient = f64::from(PLAINTEXT / 2).log2();
        let least = f64::from(first.unwrap_or(0));
        let bits = log2_value(simplex, coefficient, (f64::from(largest) / 2.0).max(least));

        Self::for_values(simplex, coefficient, bits, least, steps)
    }

    /// Levels for coefficients of `coefficient` bits, and values at the first level of `bits` bits,
    /// where coordinates may be as large as `least` modulo any prime.
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

    /// All primes of the first level: first the ones looked up, then the ones reduced.
    pub fn primes(&self) -> Vec<u32> {
        let reduced = self.reduced.iter().map(|reduced| reduced.prime);
        self.direct[..self.first]
            .iter()
            .copied()
            .chain(reduced)
            .collect()
    }

    /// Look-ups of one point.
    pub fn lookups(&self) -> u64 {
        self.first as u64
            + self
                .reduced
                .iter()
                .map(|reduced| reduced.count as u64)
                .sum::<u64>()
    }

    /// Number of residues in all tables, with the first `tabulated` variables tabulated.
    pub fn entries(&self, simplex: Simplex, tabulated: usize) -> f64 {
        self.direct
            .iter()
            .map(|&prime| entries_of(prime, simplex, tabulated))
            .sum()
    }
}

/// Number of residues in a prime's table.
fn entries_of(prime: u32, simplex: Simplex, tabulated: usize) -> f64 {
    f64::from(prime).powi(tabulated as i32)
        * terms(simplex.variables - tabulated, simplex.degree) as f64
}

/// log₂ of a bound on f at coordinates up to `largest`: the sum over degrees of their terms.
pub fn log2_value(simplex: Simplex, log2_coefficient: f64, largest: f64) -> f64 {
    let Simplex { variables, degree } = simplex;
    // The largest power is factored out: 27 bits to the power of the largest degree exceed an f64.
    let top = degree as f64 * largest.log2();
    let part = |d: usize| terms(variables - 1, d) as f64 * largest.powi(d as i32 - degree as i32);
    log2_coefficient + top + (0..=degree).map(part).sum::<f64>().log2()
}

/// The fewest odd primes whose product is four times a number of `bits` bits, to hold it and its
/// negative.
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
