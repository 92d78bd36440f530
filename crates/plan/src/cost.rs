//! The cost of a query, in words.

use papir_core::Description;
use papir_core::cost::Operation;

use crate::units;

/// A sentence on what a query costs that takes this many seconds: its slow operations, the bytes of its
/// messages and the time.
pub fn of_query(description: &Description, seconds: f64) -> String {
    let work = &description.work.answer;
    let counts = [
        (Operation::Term, "products"),
        (Operation::Lookup, "look-ups in tables"),
    ];
    let counts = counts.map(|(operation, what)| (work.times(operation), what));
    let counted: Vec<String> = counts
        .iter()
        .filter(|(times, _)| *times > 0.0)
        .map(|(times, what)| format!("{times:.1e} {what}, "))
        .collect();
    let lookups = match description.limits.batch {
        0 | 1 => String::new(),
        most => format!(" for up to {most} lookups"),
    };
    format!(
        "a query{lookups} takes {}{} of messages and {}",
        counted.concat(),
        units::bytes(description.sizes.query + description.sizes.answer),
        about(seconds)
    )
}

/// About how long.
pub fn about(seconds: f64) -> String {
    format!("about {}", units::duration(seconds))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::scheme::Parameters;
    use papir_core::{Goal, Shape};
    use papir_schemes::depir::params::DepirParams;
    use papir_schemes::simple::params::SimpleParams;

    use super::*;

    #[test]
    fn costs_are_said_in_words() {
        assert_eq!(
            [3.0, 61.0, 7190.0, 9000.0].map(about),
            ["about 3 s", "about 1 min", "about 120 min", "about 2.5 h"]
        );
        let shape = Shape::of_bytes(7315, 2).unwrap();
        let said = of_query(
            &DepirParams::new(shape, 1 << 15, 4).unwrap().describe(),
            2.0,
        );
        assert!(
            said.starts_with("a query for up to 32768 lookups takes 1.6e10 products, "),
            "{said}"
        );
        assert!(said.ends_with(" of messages and about 2 s"), "{said}");
        let said = of_query(
            &SimpleParams::choose(shape, Goal::Balanced)
                .unwrap()
                .describe(),
            90.0,
        );
        assert!(
            said.starts_with("a query takes ") && said.ends_with("about 2 min"),
            "{said}"
        );
    }
}
