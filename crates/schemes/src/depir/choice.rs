//! Choice of the ring and the polynomial, by bounds on noise and by costs.

use std::ops::RangeInclusive;

use papir_core::{Error, Goal, Result};
use papir_lattice::bv::noise;
use papir_lattice::bv::params::{MAX_DEGREE, PLAINTEXT, SIGMA};
use papir_lattice::security::{Secret, require_128};
use papir_ring::prime::ntt_primes_below;
use papir_ring::rns::log2_product;

use super::evaluation::{CHOSEN_BYTES, Tables, Tabulation};
use super::simplex::Simplex;
use crate::shared::parameters::{best, refused, score};

/// Name of the scheme.
pub(super) const NAME: &str = "depir";
/// Ring degrees n that are compared.
const DEGREES: [usize; 4] = [1 << 12, 1 << 13, 1 << 14, 1 << 15];
/// Numbers of variables m that are compared.
const VARIABLES: RangeInclusive<usize> = 1..=48;
/// log₂ of the accepted probability that an evaluation exceeds its noise bound. Modulus switching
/// has the same one.
const FAILURE_LOG2: f64 = -46.0;
/// Bits between the bound on a phase and the modulus. Evaluation and switching may each fill an
/// eighth of the modulus, and together they may fill the quarter that a client accepts.
const ROOM_BITS: f64 = 3.0;
/// log₂ of the bound on the primes of Q.
const LOG2_LARGEST: f64 = 28.0;
/// Seconds for one term of a polynomial at one point.
const TERM_SECONDS: f64 = 3e-10;
/// Seconds for one look-up in a table, and for one product modulo a small prime.
const LOOKUP_SECONDS: [f64; 2] = [1e-8, 1e-10];

/// Free values of the parameters, and the quantities that follow from them.
///
/// They need not be those of a database that is served: [`super::params::DepirParams`] has further
/// limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// n.
    pub ring_degree: usize,
    /// m and D.
    pub simplex: Simplex,
}

impl Choice {
    /// Creates the choice of a ring of this degree and of the simplex in `variables` variables that
    /// holds the entries. Values outside their bounds are refused.
    pub(super) fn new(entries: u64, ring_degree: usize, variables: usize) -> Result<Self> {
        let simplex = Simplex::holding(entries, variables);

        let bounds = [
            ("a ring's degree", ring_degree, 1024, MAX_DEGREE),
            (
                "a polynomial's variables",
                simplex.variables,
                1,
                *VARIABLES.end(),
            ),
            (
                "a polynomial's degree",
                simplex.degree,
                0,
                papir_kernels::poly_eval::MAX_DEGREE,
            ),
        ];
        for (what, found, least, most) in bounds {
            if !(least..=most).contains(&found) {
                return Err(Error::out_of_bounds(
                    what,
                    found as u64,
                    format!("{least} to {most}"),
                ));
            }
        }

        Ok(Self {
            ring_degree,
            simplex,
        })
    }

    /// Returns the choices for `entries` entries that are secure and can be evaluated.
    fn possible(entries: u64) -> impl Iterator<Item = Self> {
        let simplices = VARIABLES.map(move |variables| Simplex::holding(entries, variables));
        let choices = simplices.flat_map(|simplex| {
            DEGREES.map(|ring_degree| Self {
                ring_degree,
                simplex,
            })
        });

        choices.filter(|choice| choice.is_possible())
    }

    /// The best choice for `entries` entries of `chunks` chunks.
    ///
    /// # Errors
    /// [`Error::Parameters`] if no ring is large enough.
    pub fn best(entries: u64, chunks: usize, goal: Goal) -> Result<Self> {
        best(Self::possible(entries), |choice| choice.cost(goal, chunks)).ok_or_else(|| {
            let reason = "no ring up to degree 2^15 evaluates a polynomial of";
            refused(NAME)(format!("{reason} {entries} values securely"))
        })
    }

    /// Returns the best choice for evaluation by the tables that an operator asks for, and its
    /// tabulation. It is the fastest with at most 10 GiB of tables. If every choice has more, it is
    /// the one with the shortest tables.
    pub(super) fn best_with(
        entries: u64,
        chunks: usize,
        tables: Tables,
    ) -> Result<(Self, Tabulation)> {
        let offers: Vec<TabledChoice> = Self::possible(entries)
            .filter_map(|choice| TabledChoice::new(choice, tables, chunks))
            .collect();

        let short = offers.iter().filter(|offer| offer.bytes <= CHOSEN_BYTES);
        let fastest = best(short, |offer| offer.choice.seconds_by(offer.tabulation));
        let found = fastest.or_else(|| best(&offers, |offer| offer.bytes as f64));

        match found {
            Some(offer) => Ok((offer.choice, offer.tabulation)),
            None => Err(refused(NAME)(format!(
                "no ring and tables of less than 2^40 bytes a prime hold {entries} values"
            ))),
        }
    }

    /// Estimates the seconds of an answer by tables, divided by its n indices.
    fn seconds_by(self, tabulation: Tabulation) -> f64 {
        let (lookups, products) = tabulation.work(self.simplex);
        let [lookup, product] = LOOKUP_SECONDS;
        self.values(self.primes()) * (lookups * lookup + products * product)
            / self.ring_degree as f64
    }

    /// Returns log₂ of a bound on the coefficients of an evaluation's phase.
    pub(super) fn noise_bits(self) -> f64 {
        let Simplex { variables, degree } = self.simplex;
        let largest = f64::from(PLAINTEXT / 2);
        noise::evaluation(self.ring_degree, variables, degree, largest, FAILURE_LOG2)
    }

    /// log₂ of the least Q.
    pub fn modulus_bits(self) -> f64 {
        (self.noise_bits() + ROOM_BITS).max(self.reply_bits())
    }

    /// Returns log₂ of a bound on the amount that modulus switching adds to a phase's coefficients.
    pub(super) fn switching_bits(self) -> f64 {
        noise::switching(self.ring_degree, self.simplex.degree, FAILURE_LOG2)
    }

    /// Returns log₂ of the least modulus of an answer.
    pub(super) fn reply_bits(self) -> f64 {
        self.switching_bits() + ROOM_BITS
    }

    /// Returns log₂ of a bound on the probability that one of the answers for a query's `chunks`
    /// chunks does not decode.
    pub(super) fn failure_log2(chunks: usize) -> f64 {
        (chunks as f64).log2() + 1.0 + FAILURE_LOG2
    }

    /// Values of one answer: slots, primes, points of Y.
    pub fn values(self, primes: usize) -> f64 {
        (self.ring_degree * primes * (self.simplex.degree + 1)) as f64
    }

    /// Multiplications of one answer's evaluation on lines: each value has the terms in one
    /// variable fewer.
    pub fn terms(self, primes: usize) -> f64 {
        self.values(primes) * self.simplex.rest() as f64
    }

    /// Primes of the least Q.
    pub fn primes(self) -> usize {
        (self.modulus_bits() / LOG2_LARGEST).ceil() as usize
    }

    /// Bytes of a query and of its answers in `chunks` chunks, ignoring the excess length of
    /// primes.
    pub fn bytes(self, chunks: usize) -> (f64, f64) {
        let Simplex { variables, degree } = self.simplex;
        let coefficients = self.ring_degree as f64 / 8.0;
        let answer = (degree + 1) as f64 * self.reply_bits() * chunks as f64;
        (
            coefficients * variables as f64 * self.modulus_bits(),
            coefficients * answer,
        )
    }

    /// Returns the cost of a query under a goal, if its answer has `chunks` chunks. A goal that
    /// counts time divides the cost by the n indices of a query, since another scheme is cheaper
    /// for a single index.
    fn cost(self, goal: Goal, chunks: usize) -> f64 {
        let (query, answer) = self.bytes(chunks);
        let seconds = chunks as f64 * self.terms(self.primes()) * TERM_SECONDS;
        let indices = if goal == Goal::MinCommunication {
            1
        } else {
            self.ring_degree
        };
        score(goal, query + answer, seconds) / indices as f64
    }

    /// Returns true if the polynomial can be evaluated and the ring is secure.
    fn is_possible(self) -> bool {
        self.simplex.degree <= papir_kernels::poly_eval::MAX_DEGREE && self.is_secure()
    }

    /// True if the ring is secure.
    pub fn is_secure(self) -> bool {
        // The primes' product slightly exceeds the bits.
        require_128(
            self.ring_degree,
            self.modulus_bits() + 2.0,
            Secret::Ternary,
            SIGMA,
        )
        .is_ok()
    }
}

/// A choice with its tables.
struct TabledChoice {
    choice: Choice,
    tabulation: Tabulation,
    bytes: u64,
}

impl TabledChoice {
    /// Combines a choice with the tables that an operator asks for. Returns `None` if the tables
    /// are too long.
    fn new(choice: Choice, tables: Tables, chunks: usize) -> Option<Self> {
        let tabulation = tables.of(choice.simplex, chunks)?;
        let bytes = tabulation.bytes(choice.simplex, chunks)?;
        Some(Self {
            choice,
            tabulation,
            bytes,
        })
    }
}

/// Returns primes that are 1 modulo twice the order, with a product of at least `bits` bits. They
/// are below 2²⁸, of similar size and largest first, and there are few of them.
pub(super) fn primes(order: usize, bits: f64) -> Result<Vec<u32>> {
    let least = (bits / LOG2_LARGEST).ceil().max(1.0) as usize;

    // Primes are shorter than their bound: where the least number of them falls short of the bits,
    // one or two more reach these.
    for count in least..=least + 2 {
        // The least bound comes first, so that primes are of similar size.
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
    Err(refused(NAME)(reason))
}
