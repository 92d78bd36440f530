//! Which ring, how many variables and which primes.

use papir_core::scheme::Scheme;
use papir_core::{Error, Goal, Result};
use papir_lattice::bv::noise;
use papir_lattice::bv::params::{PLAINTEXT, SIGMA};
use papir_lattice::security::{Secret, require_128};
use papir_ring::prime::ntt_primes_below;
use papir_ring::rns::log2_product;

use super::simplex::Simplex;

/// Doubly-efficient PIR.
pub struct Depir;

/// Rings that are tried.
const DEGREES: [usize; 4] = [1 << 12, 1 << 13, 1 << 14, 1 << 15];
/// Variables that are tried.
const VARIABLES: std::ops::RangeInclusive<usize> = 1..=16;
/// log₂ of the probability that evaluation exceeds its bound, and modulus switching its own.
const FAILURE_LOG2: f64 = -46.0;
/// Bits between a bound on a phase and the modulus: an eighth each of evaluation and of switching make the quarter
/// up to which a client takes answers for sound.
const ROOM_BITS: f64 = 3.0;
/// log₂ of what every prime is below.
const LOG2_LARGEST: f64 = 28.0;
/// Seconds that a term takes at a point, and those that a byte takes on a line of 10 Mbit/s.
const TERM_SECONDS: f64 = 3e-10;
const BYTE_SECONDS: f64 = 8e-7;

/// What tells parameters apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// n.
    pub(super) ring_degree: usize,
    /// m and D.
    pub(super) simplex: Simplex,
}

impl Choice {
    /// log₂ of what no coefficient of an evaluation's phase exceeds.
    pub(super) fn noise_bits(self) -> f64 {
        let Simplex { variables, degree } = self.simplex;
        let largest = f64::from(PLAINTEXT / 2);
        noise::evaluation(self.ring_degree, variables, degree, largest, FAILURE_LOG2)
    }

    /// log₂ of the least Q.
    pub(super) fn modulus_bits(self) -> f64 {
        (self.noise_bits() + ROOM_BITS).max(self.reply_bits())
    }

    /// log₂ of what modulus switching adds to no coefficient of a phase.
    pub(super) fn switching_bits(self) -> f64 {
        noise::switching(self.ring_degree, self.simplex.degree, FAILURE_LOG2)
    }

    /// log₂ of the least modulus of an answer.
    pub(super) fn reply_bits(self) -> f64 {
        self.switching_bits() + ROOM_BITS
    }

    /// log₂ of the probability that one of so many answers to one query does not decode.
    pub(super) fn failure_log2(chunks: usize) -> f64 {
        (chunks as f64).log2() + 1.0 + FAILURE_LOG2
    }

    /// Multiplications of one answer's evaluation: slots, primes, points of Y, terms in one variable fewer.
    pub(super) fn terms(self, primes: usize) -> f64 {
        let points = self.ring_degree * primes * (self.simplex.degree + 1);
        points as f64 * self.simplex.rest() as f64
    }

    /// Primes of the least Q.
    pub(super) fn primes(self) -> usize {
        (self.modulus_bits() / LOG2_LARGEST).ceil() as usize
    }

    /// Bytes of a query and of its answers in so many chunks, but for what primes are longer than they must be.
    pub(super) fn bytes(self, chunks: usize) -> (f64, f64) {
        let Simplex { variables, degree } = self.simplex;
        let coefficients = self.ring_degree as f64 / 8.0;
        let answer = (degree + 1) as f64 * self.reply_bits() * chunks as f64;
        (coefficients * variables as f64 * self.modulus_bits(), coefficients * answer)
    }

    /// What a query costs under a goal, answered in so many chunks. Where time counts, it is that of each of n
    /// indices: whoever asks for one of them alone asks another scheme.
    fn cost(self, goal: Goal, chunks: usize) -> f64 {
        let n = self.ring_degree as f64;
        let (query, answer) = self.bytes(chunks);
        let bytes = query + answer;
        let seconds = chunks as f64 * self.terms(self.primes()) * TERM_SECONDS;
        match goal {
            Goal::MinCommunication => bytes,
            Goal::Balanced => (seconds + bytes * BYTE_SECONDS) / n,
            Goal::MinTime => seconds / n,
        }
    }
}

/// The best choice for so many entries of so many chunks.
///
/// # Errors
/// [`Error::Parameters`] when no ring is large enough.
pub(super) fn choose(entries: u64, chunks: usize, goal: Goal) -> Result<Choice> {
    let mut best: Option<(f64, Choice)> = None;
    for ring_degree in DEGREES {
        for variables in VARIABLES {
            let simplex = Simplex::holding(entries, variables);
            let choice = Choice { ring_degree, simplex };
            if simplex.degree > papir_kernels::poly_eval::MAX_DEGREE {
                continue;
            }
            let bits = choice.modulus_bits();
            // The primes' product is a little more.
            if require_128(ring_degree, bits + 2.0, Secret::Ternary, SIGMA).is_err() {
                continue;
            }
            let cost = choice.cost(goal, chunks);
            if best.is_none_or(|(least, _)| cost < least) {
                best = Some((cost, choice));
            }
        }
    }
    best.map(|(_, choice)| choice).ok_or_else(|| {
        let reason = format!("no ring up to degree 2^15 evaluates a polynomial of {entries} values securely");
        Error::Parameters { scheme: Depir::NAME, reason }
    })
}

/// Primes that are 1 modulo twice the order, with at least this product, as few as below 2²⁸ will do, all of about the
/// same size, largest first.
///
/// # Errors
/// [`Error::Parameters`] when there are not enough.
pub(super) fn primes(order: usize, bits: f64) -> Result<Vec<u32>> {
    let least = (bits / LOG2_LARGEST).ceil().max(1.0) as usize;
    for count in least..=least + 2 {
        let mut log2_bound = bits / count as f64;
        while log2_bound <= LOG2_LARGEST {
            let primes = ntt_primes_below(log2_bound.exp2() as u32, order, count);
            if primes.len() == count && log2_product(&primes) >= bits {
                return Ok(primes);
            }
            log2_bound += 0.01;
        }
    }
    let reason = format!("too few primes that are 1 modulo {} below 2^28", 2 * order);
    Err(Error::Parameters { scheme: Depir::NAME, reason })
}

/// The fewest of the first primes with at least this product.
pub(super) fn kept(primes: &[u32], bits: f64) -> Option<usize> {
    (1..=primes.len()).find(|&count| log2_product(&primes[..count]) >= bits)
}
