//! Estimated costs of an evaluation for any number of entries.
//!
//! They are the counts of [`papir_schemes::depir::params::DepirParams`], without its limits on
//! degrees and on bytes of tables, so that they exist for databases that are not served.

use std::ops::RangeInclusive;

use papir_core::cost::{Counts, Operation};
use papir_core::{Goal, Result};
use papir_lattice::bv::params::MAX_DEGREE;
use papir_schemes::depir::choice::Choice;
use papir_schemes::depir::evaluation::{Points, Tabulation};
use papir_schemes::depir::simplex::{Simplex, terms};
use papir_schemes::depir::structure::levels::{Levels, Steps};

/// Ring degrees of the security table. A plaintext in a ring of a degree above 2¹⁵ has 2¹⁵ slots.
const RINGS: [usize; 5] = [1 << 12, 1 << 13, 1 << 14, 1 << 15, 1 << 16];

/// Figures of one polynomial, its ring and its evaluation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outline {
    /// n, the degree of the ring.
    pub ring_degree: usize,
    /// The simplex with m variables and degree D.
    pub simplex: Simplex,
    /// log₂ of the modulus Q.
    pub modulus_bits: f64,
    /// Number of primes of Q.
    pub primes: usize,
    /// Bytes of a query.
    pub query_bytes: f64,
    /// Bytes of an answer.
    pub answer_bytes: f64,
    /// Number of products in an answer's evaluation; 0 with whole tables.
    pub multiplications: f64,
    /// Number of look-ups in tables; 0 for evaluation on lines.
    pub lookups: f64,
    /// Bytes of whole tables; 0 for evaluation on lines.
    pub table_bytes: f64,
}

impl Outline {
    /// Returns the figures of the best parameters under a goal for `entries` entries of 16 bits,
    /// with evaluation on lines.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] if no ring is large enough.
    pub fn best(entries: u64, goal: Goal) -> Result<Self> {
        Choice::best(entries, 1, goal).map(Self::on_lines)
    }

    /// Returns the figures with `variables` variables and evaluation on lines, or `None` if no ring
    /// is secure.
    pub fn with_variables(entries: u64, variables: usize) -> Option<Self> {
        secure(entries, variables).map(Self::on_lines)
    }

    /// Returns the figures with the fewest look-ups for an index, in whole tables of at most
    /// `most_bytes` bytes and with a number of variables in the range. Returns `None` if no ring
    /// and tables suffice.
    pub fn by_tables(
        entries: u64,
        variables: RangeInclusive<usize>,
        most_bytes: f64,
    ) -> Option<Self> {
        let offers = variables
            .filter_map(|variables| Self::whole_tables(secure(entries, variables)?, most_bytes));

        // For each index: a larger ring takes more look-ups, and answers more indices.
        offers.min_by(|a, b| a.per_index(a.lookups).total_cmp(&b.per_index(b.lookups)))
    }

    /// Returns the operations of an answer's evaluation.
    pub fn answer(&self) -> Counts {
        // Lines are evaluated in parallel over the primes, and look-ups over the D + 1 first
        // coordinates.
        Counts::new()
            .with(Operation::Term, self.multiplications, self.primes)
            .with(Operation::Lookup, self.lookups, self.simplex.degree + 1)
    }

    /// Returns the largest number of indices of a query.
    pub fn indices(&self) -> usize {
        self.ring_degree.min(MAX_DEGREE)
    }

    /// Divides a quantity of a query by its number of indices.
    pub fn per_index(&self, quantity: f64) -> f64 {
        quantity / self.indices() as f64
    }

    fn on_lines(choice: Choice) -> Self {
        let primes = choice.primes();
        // Entries of 16 bits are one chunk each.
        let (query_bytes, answer_bytes) = choice.bytes(1);

        Self {
            ring_degree: choice.ring_degree,
            simplex: choice.simplex,
            modulus_bits: choice.modulus_bits(),
            primes,
            query_bytes,
            answer_bytes,
            multiplications: choice.terms(primes),
            lookups: 0.0,
            table_bytes: 0.0,
        }
    }

    fn whole_tables(choice: Choice, most_bytes: f64) -> Option<Self> {
        let lines = Self::on_lines(choice);
        let levels = levels_within(choice.simplex, most_bytes)?;

        Some(Self {
            multiplications: 0.0,
            lookups: choice.values(lines.primes) * levels.lookups() as f64,
            table_bytes: table_bytes(choice.simplex, &levels),
            ..lines
        })
    }
}

/// Chooses the smallest secure ring for a polynomial in `variables` variables that holds `entries`
/// entries. Returns `None` if no ring is secure.
fn secure(entries: u64, variables: usize) -> Option<Choice> {
    // No secure ring evaluates a higher degree.
    let degree = (0..=RINGS[4] / 512).find(|&degree| terms(variables, degree) as u64 >= entries)?;

    RINGS
        .into_iter()
        .map(|ring_degree| Choice {
            ring_degree,
            simplex: Simplex { variables, degree },
        })
        .find(|choice| choice.is_secure())
}

/// Returns the levels with the fewest look-ups in tables of at most `most_bytes` bytes, or `None`
/// if all tables are longer.
fn levels_within(simplex: Simplex, most_bytes: f64) -> Option<Levels> {
    let one = whole_levels(simplex, Steps::One);
    if table_bytes(simplex, &one) <= most_bytes {
        return Some(one);
    }

    // More primes that are looked up directly need longer tables.
    let counts: Vec<usize> = (0..one.direct.len()).collect();
    let fitting = counts.partition_point(|&count| {
        let levels = whole_levels(simplex, Steps::Mixture(count));
        table_bytes(simplex, &levels) <= most_bytes
    });

    let count = fitting.checked_sub(1)?;
    Some(whole_levels(simplex, Steps::Mixture(count)))
}

/// Returns the levels of tables of all variables.
fn whole_levels(simplex: Simplex, steps: Steps) -> Levels {
    let tabulation = Tabulation {
        tabulated: simplex.variables,
        steps,
        points: Points::OnLines,
    };
    tabulation.form(simplex).levels(simplex)
}

/// Returns the bytes of the tables of all variables, where the first variable has at most D + 1
/// values.
fn table_bytes(simplex: Simplex, levels: &Levels) -> f64 {
    levels
        .direct
        .iter()
        .map(|&prime| {
            let first = (prime as usize).min(simplex.degree + 1);
            let width = if prime < 1 << 8 { 1.0 } else { 2.0 };
            width * first as f64 * f64::from(prime).powi(simplex.variables as i32 - 1)
        })
        .sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::scheme::Parameters;
    use papir_core::{FailureBound, Shape};
    use papir_schemes::depir::evaluation::{Tables, Tabulated};
    use papir_schemes::depir::params::DepirParams;

    use super::*;

    /// An outline has the work and the tables of the parameters of a database that is served.
    #[test]
    fn outlines_are_those_of_parameters() {
        let shape = Shape::of_bytes(7315, 2).unwrap();
        let times =
            |params: &DepirParams, operation| params.describe().work.answer.times(operation);

        let lines = DepirParams::new(shape, 1 << 15, 4).unwrap();
        let outline = Outline::with_variables(7315, 4).unwrap();
        assert_eq!(
            (outline.simplex, outline.ring_degree),
            (lines.simplex(), 1 << 15)
        );
        assert_eq!(outline.multiplications, times(&lines, Operation::Term));
        assert_eq!(
            outline.answer().times(Operation::Term),
            outline.multiplications
        );

        let all = Tables {
            tabulated: Tabulated::All,
            steps: None,
            points: Points::OnLines,
        };
        let tables = lines.with_tables(all).unwrap();
        let outline =
            Outline::by_tables(7315, 4..=4, f64::from(10 << 10) * 1024.0 * 1024.0).unwrap();
        assert_eq!(outline.lookups, times(&tables, Operation::Lookup));
        assert_eq!(outline.table_bytes, tables.table_bytes() as f64);
        assert_eq!(outline.indices(), 1 << 15);

        let best = DepirParams::choose_with_tables(shape, all, FailureBound::DEFAULT).unwrap();
        let outline =
            Outline::by_tables(7315, 1..=8, f64::from(10 << 10) * 1024.0 * 1024.0).unwrap();
        assert_eq!(outline.simplex, best.simplex());
    }

    #[test]
    fn longer_tables_need_fewer_lookups() {
        let outline = |bytes| Outline::by_tables(46_376, 4..=4, bytes);
        let [short, long, any] = [1e10, 1e12, f64::INFINITY].map(|bytes| outline(bytes).unwrap());

        assert!(short.lookups > long.lookups && long.lookups >= any.lookups);
        assert!(short.table_bytes <= 1e10 && long.table_bytes <= 1e12);
        assert!(outline(1e6).is_none());

        // The paper's polynomial for medium needs a larger ring than there is.
        assert!(Outline::with_variables(15_020_334, 5).is_none());
        assert_eq!(
            Outline::with_variables(200_000, 4).unwrap().indices(),
            1 << 15
        );
    }
}
