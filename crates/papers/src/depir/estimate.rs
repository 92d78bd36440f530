//! Numbers of look-ups and of table entries in the Kedlaya-Umans data structure.
//!
//! Estimates follow Propositions 5.3 and 5.4 with o(1) = 0. Exact counts come from lists of primes.
//! Logarithms are natural unless named log2.

use papir_schemes::depir::simplex::Simplex;
use papir_schemes::depir::structure::levels::{Levels, Steps, log2_value};

/// Look-ups per point, and entries of all tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TableCount {
    pub(super) lookups: f64,
    pub(super) entries: f64,
}

/// Proposition 5.3 (one step), for a total degree, ln q and a number of variables.
pub(super) fn one_step(degree: f64, ln_q: f64, variables: f64) -> TableCount {
    // ln of the largest value, which the product of all small primes must exceed.
    let bound = degree * ln_q;
    let spread = degree.ln() + ln_q.ln();
    TableCount {
        lookups: bound / spread,
        entries: bound.powf(variables + 1.0) / ((variables + 1.0) * spread),
    }
}

/// Proposition 5.4 (two steps), which also depends on ln ‖f‖.
pub(super) fn two_steps(degree: f64, ln_q: f64, variables: f64, ln_f: f64) -> TableCount {
    let spread = degree.ln() + ln_q.ln();
    let c = (ln_f + degree * spread).ln();

    let lookups =
        (degree * degree * ln_q * spread + degree * ln_q * ln_f) / ((degree * ln_q).ln() * c);
    let power = variables + 1.0;
    let entries =
        (ln_f.powf(power) + degree.powf(power) * (degree * ln_q).ln().powf(power)) / (power * c);
    TableCount { lookups, entries }
}

/// Exact counts, from lists of primes, for a polynomial f of this simplex with coefficients of
/// `log2_f` bits at points modulo q.
pub(super) fn exact(simplex: Simplex, log2_f: f64, q: f64, steps: Steps) -> TableCount {
    // Points modulo q are shortest lifts, of at most q/2.
    let levels = Levels::for_values(
        simplex,
        log2_f,
        log2_value(simplex, log2_f, q / 2.0),
        0.0,
        steps,
    );
    TableCount {
        lookups: levels.lookups() as f64,
        entries: levels.entries(simplex, simplex.variables),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The estimates are close to the exact counts, as in Figure 3.
    #[test]
    fn estimates_are_close_to_exact_counts() {
        for degree in [20, 40, 80] {
            let simplex = Simplex {
                variables: 4,
                degree,
            };
            let ln_q = 20.0 * std::f64::consts::LN_2;
            let near = |estimate: f64, exact: f64| (0.3..3.0).contains(&(estimate / exact));

            let estimate = one_step(degree as f64, ln_q, 4.0);
            let counted = exact(simplex, 19.0, 20f64.exp2(), Steps::One);
            assert!(
                near(estimate.lookups, counted.lookups),
                "{degree}: {estimate:?}, {counted:?}"
            );
            assert!(
                near(estimate.entries, counted.entries),
                "{degree}: {estimate:?}, {counted:?}"
            );

            let estimate = two_steps(degree as f64, ln_q, 4.0, 19.0 * std::f64::consts::LN_2);
            let counted = exact(simplex, 19.0, 20f64.exp2(), Steps::Two);
            assert!(
                near(estimate.lookups, counted.lookups),
                "{degree}: {estimate:?}, {counted:?}"
            );
            assert!(
                near(estimate.entries, counted.entries),
                "{degree}: {estimate:?}, {counted:?}"
            );
        }
    }
}
