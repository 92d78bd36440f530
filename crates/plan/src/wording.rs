//! Descriptions of queries' costs in words.

use papir_core::Description;
use papir_core::cost::Operation;

use crate::units;

/// A sentence on the cost of a query that takes `seconds` seconds: its slow operations, the bytes
/// of its messages and the time.
pub fn of_query(description: &Description, seconds: f64) -> String {
    let operations = [
        (Operation::Term, "products"),
        (Operation::Lookup, "look-ups in tables"),
    ];
    let mut counted = String::new();
    for (operation, name) in operations {
        let times = description.work.answer.times(operation);
        if times > 0.0 {
            counted += &format!("{times:.1e} {name}, ");
        }
    }

    let lookups = match description.limits.batch {
        0 | 1 => String::new(),
        most => format!(" for up to {most} lookups"),
    };
    let messages = units::bytes(description.sizes.query + description.sizes.answer);
    let time = about(seconds);
    format!("a query{lookups} takes {counted}{messages} of messages and {time}")
}

/// Formats an approximate duration.
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
