//! Choice of ring, number of variables and primes.

use papir_core::scheme::Scheme;
use papir_core::{Goal, Result};
use papir_lattice::bv::noise;
use papir_lattice::bv::params::{PLAINTEXT, SIGMA};
use papir_lattice::security::{Secret, require_128};
use papir_ring::prime::ntt_primes_below;
use papir_ring::rns::log2_product;

use super::simplex::Simplex;
use crate::shared::parameters::{best, refused, score};

/// Doubly-efficient PIR.
pub struct Depir;

/// Candidate ring degrees.
const DEGREES: [usize; 4] = [1 << 12, 1 << 13, 1 << 14, 1 << 15];
/// Candidate numbers of variables.
const VARIABLES: std::ops::RangeInclusive<usize> = 1..=16;
/// log₂ of the probability that an evaluation exceeds its bound, and the same for modulus
/// switching.
const FAILURE_LOG2: f64 = -46.0;
/// Bits between the bound on a phase and the modulus. Evaluation and switching may each fill an
/// eighth, together the quarter that a client accepts.
const ROOM_BITS: f64 = 3.0;
/// log₂ of the bound on primes.
const LOG2_LARGEST: f64 = 28.0;
/// Seconds for a term at a point.
const TERM_SECONDS: f64 = 3e-10;

/// Free values of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// n.
    pub(super) ring_degree: usize,
    /// m and D.
    pub(super) simplex: Simplex,
}

impl Choice {
    /// log₂ of a bound on the coefficients of an evaluation's phase.
    pub(super) fn noise_bits(self) -> f64 {
        let Simplex { variables, degree } = self.simplex;
        let largest = f64::from(PLAINTEXT / 2);
        noise::evaluation(self.ring_degree, variables, degree, largest, FAILURE_LOG2)
    }

    /// log₂ of the least Q.
    pub(super) fn modulus_bits(self) -> f64 {
        (self.noise_bits() + ROOM_BITS).max(self.reply_bits())
    }

    /// log₂ of a bound on what modulus switching adds to a phase's coefficients.
    pub(super) fn switching_bits(self) -> f64 {
        noise::switching(self.ring_degree, self.simplex.degree, FAILURE_LOG2)
    }

    /// log₂ of the least modulus of an answer.
    pub(super) fn reply_bits(self) -> f64 {
        self.switching_bits() + ROOM_BITS
    }

    /// log₂ of the probability that one of a query's `chunks` answers does not decode.
    pub(super) fn failure_log2(chunks: usize) -> f64 {
        (chunks as f64).log2() + 1.0 + FAILURE_LOG2
    }

    /// Multiplications of one answer's evaluation: slots, primes, points of Y, terms in one
    /// variable fewer.
    pub(super) fn terms(self, primes: usize) -> f64 {
        let points = self.ring_degree * primes * (self.simplex.degree + 1);
        points as f64 * self.simplex.rest() as f64
    }

    /// Primes of the least Q.
    pub(super) fn primes(self) -> usize {
        (self.modulus_bits() / LOG2_LARGEST).ceil() as usize
    }

    /// Bytes of a query and of its answers in `chunks` chunks, ignoring the excess length of
    /// primes.
    pub(super) fn bytes(self, chunks: usize) -> (f64, f64) {
        let Simplex { variables, degree } = self.simplex;
        let coefficients = self.ring_degree as f64 / 8.0;
        let answer = (degree + 1) as f64 * self.reply_bits() * chunks as f64;
        (coefficients * variables as f64 * self.modulus_bits(), coefficients * answer)
    }

    /// Cost of a query under a goal, answered in `chunks` chunks. Time counts for each of n
    /// indices: a single index is cheaper in another scheme.
    fn cost(self, goal: Goal, chunks: usize) -> f64 {
        let (query, answer) = self.bytes(chunks);
        let seconds = chunks as f64 * self.terms(self.primes()) * TERM_SECONDS;
        let indices = if goal == Goal::MinCommunication { 1 } else { self.ring_degree };
        score(goal, query + answer, seconds) / indices as f64
    }

    /// Whether the polynomial can be evaluated, and the ring is secure.
    fn is_possible(self) -> bool {
        // The primes' product slightly exceeds the bits.
        self.simplex.degree <= papir_kernels::poly_eval::MAX_DEGREE
            && require_128(self.ring_degree, self.modulus_bits() + 2.0, Secret::Ternary, SIGMA).is_ok()
    }
}

/// Returns the best choice for this many entries of `chunks` chunks.
///
/// # Errors
/// [`papir_core::Error::Parameters`] if no ring is large enough.
pub(super) fn choose(entries: u64, chunks: usize, goal: Goal) -> Result<Choice> {
    let pairs = DEGREES.into_iter().flat_map(|degree| VARIABLES.map(move |variables| (degree, variables)));
    let choices = pairs.map(|(ring_degree, variables)| Choice {
        ring_degree,
        simplex: Simplex::holding(entries, variables),
    });
    best(choices.filter(|choice| choice.is_possible()), |choice| choice.cost(goal, chunks)).ok_or_else(|| {
        let reason = format!("no ring up to degree 2^15 evaluates a polynomial of {entries} values securely");
        refused(Depir::NAME)(reason)
    })
}

/// Returns primes that are 1 modulo twice the order, with at least this product: as few as possible
/// below 2²⁸, of similar size, largest first.
///
/// # Errors
/// [`papir_core::Error::Parameters`] if there are not enough.
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
    Err(refused(Depir::NAME)(reason))
}

/// Number of first primes needed for at least this product.
pub(super) fn kept(primes: &[u32], bits: f64) -> Option<usize> {
    (1..=primes.len()).find(|&count| log2_product(&primes[..count]) >= bits)
}
