//! The data structure of Kedlaya and Umans (section 4.1).
//!
//! It computes values of f modulo q from values modulo small primes. At the shortest lifts of a
//! point's coordinates, f with its coefficients lifted to integers is an integer that is small
//! relative to a product of small primes. It is looked up modulo each of these, and then lifted
//! back. A look-up modulo a small prime may be reduced to smaller primes once more.
//!
//! | the paper | function |
//! |---|---|
//! | Algorithm 2, one step; Algorithm 3, two steps; their mixture (section 7) | [`levels::Levels`] |
//! | tables (Algorithm 4, lines 9–15) | [`table`] |
//! | lift(InvCRT(·)) mod q (section 6) | [`papir_ring::crt`] |
//!
//! With j of m variables tabulated, a table holds the coefficients of the remaining polynomial for
//! each (x₁, …, x_j). With all of them it is the paper's table of values. Without a table, work that
//! points share is done once, because all points of a prime are known together ([`sorted`]).

pub mod levels;
pub mod sorted;
pub mod table;

use papir_core::{Progress, Result};
pub use papir_kernels::pointwise::Modulus;
use papir_lattice::bv::params::PLAINTEXT;
use papir_ring::crt::{Lift, Sum};
use rayon::prelude::*;

use super::simplex::Simplex;
use levels::{Levels, Reduced, Steps};
pub use sorted::Effort;
use sorted::Small;
use table::{Store, Table};

/// Points modulo one prime q.
pub struct Points {
    /// q.
    pub modulus: Modulus,
    /// A row of residues for each of m coordinates, all of the same length.
    pub rows: Vec<Vec<u32>>,
}

/// f, prepared for evaluation.
pub struct Structure {
    simplex: Simplex,
    levels: Levels,
    /// f modulo each prime with a table.
    small: Vec<Small>,
}

impl Structure {
    /// Prepares f, given by its coefficients modulo t, for points modulo primes up to `largest`.
    /// Reads tables from `store`, or makes and stores them.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for more tabulated variables than there are; those of the
    /// store.
    pub fn new(
        simplex: Simplex,
        coefficients: &[u32],
        largest: u32,
        (steps, tabulated): (Steps, usize),
        store: &mut dyn Store,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let levels = Levels::new(simplex, largest, steps);
        let tables = levels.direct.len() as u64;
        progress.stage("tables", tables);
        let one = |&prime: &u32| {
            let modulus = Modulus::new(prime);
            let reduction = Reduction::new(PLAINTEXT, prime);
            let residues: Vec<u16> =
                coefficients.iter().map(|&coefficient| reduction.apply(coefficient)).collect();
            let table = Table::find_or_make(simplex, modulus, &residues, tabulated, store)?;
            progress.advance(1);
            Ok(Small { simplex, modulus, coefficients: residues, table })
        };
        let small = levels.direct.iter().map(one).collect::<Result<_>>()?;
        Ok(Self { simplex, levels, small })
    }

    /// The primes and their reductions.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Bytes of all tables.
    pub fn table_bytes(&self) -> u64 {
        self.small.iter().map(|small| small.table.bytes()).sum()
    }

    /// Evaluates f at points. Returns, for each group, a value modulo its q for each point.
    pub fn evaluate(&self, groups: &[Points]) -> (Vec<Vec<u32>>, Effort) {
        let primes = self.levels.primes();
        let lifts: Vec<Lift> = groups.iter().map(|group| Lift::new(&primes, group.modulus)).collect();
        let lengths: Vec<usize> = groups.iter().map(|group| group.rows[0].len()).collect();
        let mut sums: Vec<Vec<Sum>> = lengths.iter().map(|&length| vec![Sum::default(); length]).collect();
        let mut effort = Effort::default();
        // One prime for each thread at a time, which bounds the memory for values.
        let places: Vec<usize> = (0..primes.len()).collect();
        for places in places.chunks(rayon::current_num_threads().max(1)) {
            let found: Vec<_> = places.par_iter().map(|&place| self.modulo(place, groups)).collect();
            for (&place, (values, own)) in places.iter().zip(&found) {
                effort = effort.and(*own);
                let mut values = values.as_slice();
                for ((sums, lift), &length) in sums.iter_mut().zip(&lifts).zip(&lengths) {
                    let (own, rest) = values.split_at(length);
                    values = rest;
                    let pairs = sums.par_iter_mut().zip(own);
                    pairs.for_each(|(sum, &value)| lift.add(sum, place, value.into()));
                }
            }
        }
        let values = sums
            .iter()
            .zip(&lifts)
            .map(|(sums, lift)| sums.par_iter().map(|&sum| lift.finish(sum).0).collect());
        (values.collect(), effort)
    }

    /// Evaluates f at all points modulo the small prime at this place.
    fn modulo(&self, place: usize, groups: &[Points]) -> (Vec<u16>, Effort) {
        let direct = self.levels.first;
        let prime = self.levels.primes()[place];
        let row = |coordinate: usize| -> Vec<u16> {
            let mut row = Vec::with_capacity(groups.iter().map(|group| group.rows[coordinate].len()).sum());
            for group in groups {
                let reduction = Reduction::new(group.modulus.value(), prime);
                row.extend(group.rows[coordinate].iter().map(|&word| reduction.apply(word)));
            }
            row
        };
        let rows: Vec<Vec<u16>> = (0..self.simplex.variables).map(row).collect();
        match place.checked_sub(direct) {
            None => self.small[place].evaluate(&rows),
            Some(reduced) => self.twice(&self.levels.reduced[reduced], &rows),
        }
    }

    /// The second step: f modulo a prime from its values modulo smaller ones.
    fn twice(&self, reduced_prime: &Reduced, rows: &[Vec<u16>]) -> (Vec<u16>, Effort) {
        let prime = reduced_prime.prime;
        let primes = &self.levels.direct[..reduced_prime.count];
        let lift = Lift::new(primes, Modulus::new(prime));
        let mut sums = vec![Sum::default(); rows[0].len()];
        let mut effort = Effort::default();
        for (place, (&smaller, small)) in primes.iter().zip(&self.small).enumerate() {
            let reduction = Reduction::new(prime, smaller);
            let row = |row: &Vec<u16>| -> Vec<u16> {
                row.iter().map(|&word| reduction.apply(word.into())).collect()
            };
            let (values, own) = small.evaluate(&rows.iter().map(row).collect::<Vec<_>>());
            effort = effort.and(own);
            for (sum, &value) in sums.iter_mut().zip(&values) {
                lift.add(sum, place, value.into());
            }
        }
        (sums.into_iter().map(|sum| lift.finish(sum).0 as u16).collect(), effort)
    }
}

/// Reduction of shortest lifts modulo q to a small prime, without division.
#[derive(Clone, Copy)]
struct Reduction {
    half: u32,
    prime: Modulus,
    /// q modulo the prime.
    wrapped: u32,
}

impl Reduction {
    fn new(q: u32, prime: u32) -> Self {
        Self { half: q / 2, prime: Modulus::new(prime), wrapped: q % prime }
    }

    /// The shortest lift of a residue modulo q, modulo the prime.
    #[inline]
    fn apply(self, word: u32) -> u16 {
        let residue = self.prime.reduce(word.into());
        self.prime.sub(residue, if word > self.half { self.wrapped } else { 0 }) as u16
    }
}
