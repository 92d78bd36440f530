//! Data structure of Kedlaya and Umans (section 4.1).
//!
//! The structure computes values of f modulo q from values modulo small primes. At the shortest
//! lifts of a point's coordinates, f with its coefficients lifted to integers is an integer that is
//! small relative to a product of small primes. The integer is looked up modulo each of these
//! primes and then lifted back. A look-up modulo a small prime may be reduced to smaller primes
//! once more.
//!
//! | the paper | function |
//! |---|---|
//! | Algorithm 2, one step; Algorithm 3, two steps; a mixture (section 7) | [`levels::Levels`] |
//! | tables (Algorithm 4, lines 9–15) | [`table`] |
//! | lift(InvCRT(·)) mod q (section 6) | [`papir_ring::crt`] |
//!
//! If j of m variables are tabulated, a table holds the coefficients of the remaining polynomial
//! for each (x₁, …, x_j). If all are, it is the paper's table of values. Without a table, work that
//! points share is done once, because all points of a prime are known together (`sorting`). Tables
//! are read in parts that stay in the cache, one after the other.
//!
//! The first coordinate may be a number from 0 to D that many points share, as on lines
//! ([`super::lines`]). It is not reduced, so that a table has D + 1 values of it instead of p.

mod effort;
pub mod levels;
mod second;
mod small;
mod sorting;
pub mod table;

use papir_core::scratch::Scratch;
use papir_core::{Blob, Progress, Result, parallel};
use papir_kernels::Backend;
use papir_kernels::pointwise::Modulus;
use papir_kernels::small_prime::{self, Shortest};
use papir_lattice::bv::params::PLAINTEXT;
use papir_ring::crt::{Lift, Sums};

use super::simplex::Simplex;
pub use effort::Effort;
use levels::{Levels, Steps};
use second::Second;
use small::Small;
use table::{Layout, Table};

/// Points modulo one prime q.
pub struct Points {
    /// Prime modulus q of the points.
    pub modulus: Modulus,
    /// Number of points.
    pub count: usize,
    /// Residues of the points: a row for each of m coordinates. If all points share the first
    /// coordinate, it has no row.
    pub rows: Vec<Vec<u32>>,
}

/// Form of a structure: its points, reductions and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The largest prime q of points.
    pub largest: u32,
    /// The largest first coordinate if it is a small number that points share, else `None`.
    pub first: Option<u32>,
    /// Number of reductions before a look-up.
    pub steps: Steps,
    /// j, the number of tabulated variables.
    pub tabulated: usize,
}

/// The polynomial f, prepared for evaluation.
pub struct Structure {
    simplex: Simplex,
    levels: Levels,
    /// f modulo each prime with a table.
    small: Vec<Small>,
}

impl Structure {
    /// Prepares f, given by its coefficients modulo t. Tables come from `scratch`, or are made and
    /// kept there.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for more tabulated variables than there are, or for a
    /// table that is too long; the errors of `scratch`.
    pub fn new(
        simplex: Simplex,
        coefficients: &[u32],
        form: Form,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        progress.stage("tables", form.levels(simplex).direct.len() as u64);
        Self::with(simplex, coefficients, form, |layout, residues| {
            let table = Table::find_or_make(simplex, layout, residues, scratch, progress)?;
            progress.advance(1);
            Ok(table)
        })
    }

    /// Prepares f with tables that were made before; `table` returns the table of a prime.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] as for [`Structure::new`], [`papir_core::Error::Length`]
    /// for a table of another length; the errors of `table`.
    pub fn load(
        simplex: Simplex,
        coefficients: &[u32],
        form: Form,
        table: impl Fn(u32) -> Result<Blob>,
    ) -> Result<Self> {
        Self::with(simplex, coefficients, form, |layout, _| {
            if layout.tabulated == 0 {
                Ok(None)
            } else {
                table(layout.prime).map(Some)
            }
        })
    }

    /// Prepares f with the tables that `table` makes or finds.
    fn with(
        simplex: Simplex,
        coefficients: &[u32],
        form: Form,
        mut table: impl FnMut(&Layout, &[u16]) -> Result<Option<Blob>>,
    ) -> Result<Self> {
        let levels = form.levels(simplex);

        let mut small = Vec::with_capacity(levels.direct.len());
        for &prime in &levels.direct {
            let layout = Layout::new(simplex, prime, form.tabulated, form.first)?;
            // Coefficients are lifted to the shortest integers first: values modulo all small
            // primes must be of one integer polynomial.
            let reduction = Shortest::new(PLAINTEXT, prime);
            let residues: Vec<u16> = coefficients
                .iter()
                .map(|&coefficient| reduction.apply(coefficient))
                .collect();

            let entries = table(&layout, &residues)?;
            let table = Table::new(layout, entries)?;
            small.push(Small::new(simplex, Modulus::new(prime), residues, table));
        }

        Ok(Self {
            simplex,
            levels,
            small,
        })
    }

    /// Returns the primes of both levels and their reductions.
    pub fn levels(&self) -> &Levels {
        &self.levels
    }

    /// Returns the prime and the bytes of each table.
    pub fn tables(&self) -> impl Iterator<Item = (u32, &Blob)> {
        self.small
            .iter()
            .filter_map(|small| Some((small.prime(), small.table.entries()?)))
    }

    /// Returns the total bytes of all tables.
    pub fn table_bytes(&self) -> u64 {
        self.tables().map(|(_, table)| table.len() as u64).sum()
    }

    /// Evaluates f at points. `first` is the first coordinate of all points if the structure's form
    /// has a largest one, and `None` otherwise. Returns, for each group, a value modulo its q for
    /// each point, and the work.
    pub fn evaluate(&self, first: Option<u32>, groups: &[Points]) -> (Vec<Vec<u32>>, Effort) {
        let primes = self.levels.primes();
        let lifts: Vec<Lift> = groups
            .iter()
            .map(|group| Lift::new(&primes, group.modulus))
            .collect();
        let mut sums: Vec<Sums> = groups
            .iter()
            .map(|group| Sums::zeroed(group.count))
            .collect();
        let mut effort = Effort::default();

        // One prime for each thread at a time, which bounds the memory for values.
        let places: Vec<usize> = (0..primes.len()).collect();
        for places in places.chunks(rayon::current_num_threads().max(1)) {
            let found = parallel::map(places, |&place| {
                self.modulo(place, primes[place], first, groups)
            });

            for (&place, (values, own)) in places.iter().zip(&found) {
                effort += *own;
                let mut values = values.as_slice();
                for ((sums, lift), group) in sums.iter_mut().zip(&lifts).zip(groups) {
                    let (own, rest) = values.split_at(group.count);
                    values = rest;
                    lift.add_all(sums, place, own);
                }
            }
        }

        let mut lifted = Vec::with_capacity(groups.len());
        for ((sums, lift), group) in sums.iter().zip(&lifts).zip(groups) {
            let mut values = vec![0; group.count];
            lift.finish_all(sums, &mut values);
            lifted.push(values);
        }

        (lifted, effort)
    }

    /// Evaluates f at all points modulo the small prime at this place of the first level.
    fn modulo(
        &self,
        place: usize,
        prime: u32,
        first: Option<u32>,
        groups: &[Points],
    ) -> (Vec<u16>, Effort) {
        let count = groups.iter().map(|group| group.count).sum();
        let rows: Vec<Vec<u16>> = (0..self.simplex.variables - usize::from(first.is_some()))
            .map(|coordinate| reduced_row(groups, coordinate, prime, count))
            .collect();

        // Places from the first level's count on are of primes that are reduced again.
        match place.checked_sub(self.levels.first) {
            None => {
                // A shared coordinate is a number, not a residue of q: it is reduced as it is.
                let shared: Vec<u16> = first.iter().map(|&x| (x % prime) as u16).collect();
                self.small[place].evaluate(&shared, &rows, count)
            }
            Some(reduced) => {
                let smaller = self.levels.reduced[reduced].count;
                let primes = &self.levels.direct[..smaller];
                let small = &self.small[..smaller];

                let second = Second::new(prime, primes, small, self.simplex.variables);
                second.evaluate(first, &rows, count)
            }
        }
    }
}

/// Returns one coordinate of the points of all groups, reduced modulo a small prime. The groups
/// have `count` points together.
fn reduced_row(groups: &[Points], coordinate: usize, prime: u32, count: usize) -> Vec<u16> {
    let backend = Backend::current();
    let mut row = vec![0; count];
    let mut rest = row.as_mut_slice();

    for group in groups {
        let (own, others) = rest.split_at_mut(group.count);
        rest = others;
        // Each group has a prime q of its own, from which its coordinates are lifted.
        let reduction = Shortest::new(group.modulus.value(), prime);
        small_prime::reduce(backend, own, &group.rows[coordinate], reduction);
    }

    row
}

impl Form {
    /// Returns the primes of both levels and their reductions.
    pub fn levels(self, simplex: Simplex) -> Levels {
        Levels::new(simplex, self.largest, self.first, self.steps)
    }

    /// Returns the bytes of each prime's table, in ascending order of primes.
    ///
    /// # Errors
    /// The errors of [`Layout::new`].
    pub fn table_lengths(self, simplex: Simplex) -> Result<Vec<u64>> {
        let levels = self.levels(simplex);

        let mut lengths = Vec::with_capacity(levels.direct.len());
        for &prime in &levels.direct {
            let layout = Layout::new(simplex, prime, self.tabulated, self.first)?;
            lengths.push(layout.bytes().unwrap_or(0));
        }

        Ok(lengths)
    }
}
