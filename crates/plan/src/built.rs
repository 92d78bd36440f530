//! The scheme that a build without `--scheme` would choose.

use papir_core::{FailureBound, Result as CoreResult, Shape, Target};
use papir_lookup::{BucketTarget, Estimate, Lengths, least_table};
use papir_schemes::default_scheme::{
    ArrangedRecords, ClientsMaySee, CostOf, DefaultScheme, SchemeWish, choose, choose_for_records,
    shown_by_reference,
};

use crate::database::Database;
use crate::error::of_core;

/// The scheme that a build of this database chooses if it names none, and the reason. Rates of this
/// machine, its connections and its load have no influence.
///
/// # Errors
/// The errors of [`Estimate::of`].
pub fn scheme_of_build(
    database: &Database,
    failure: FailureBound,
    may_see: ClientsMaySee,
) -> CoreResult<DefaultScheme> {
    let wish = SchemeWish {
        may_see,
        target: Target {
            failure,
            ..Target::default()
        },
        bounded_memory: false,
    };
    let Some(lengths) = database.lengths else {
        return choose_for_records(&wish, &database.shape);
    };

    // The buckets of the reference, mostly: what they show a client is the bound.
    let default = Estimate::of(&lengths, BucketTarget::default()).map_err(of_core)?;
    let most = shown_by_reference(default.record_bytes);
    let class = lengths.class();
    choose(&wish, most, &|cost| least(&class, cost))
}

/// The table of these lengths with the least cost; `None` if no table has one.
fn least(lengths: &Lengths, cost: &CostOf<'_>) -> Option<ArrangedRecords> {
    let table = least_table(lengths, BucketTarget::Grow, |table| {
        Ok(cost(arranged(table)?)?)
    });
    arranged(&table.ok()?).ok()
}

/// The records of an estimated table, and the bytes of its layout.
fn arranged(table: &Estimate) -> CoreResult<ArrangedRecords> {
    Ok(ArrangedRecords {
        shape: Shape::of_bytes(table.records, table.record_bytes)?,
        once: table.layout_bytes,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fmt::Write;

    use super::*;

    /// A database with its scheme and, if clients may see all, its scheme then.
    struct Row {
        name: &'static str,
        database: Database,
        scheme: &'static str,
        scheme_for_all: &'static str,
    }

    fn of_records(records: u64, record_bytes: u64) -> Database {
        Database::of_records(Shape::of_bytes(records, record_bytes).unwrap())
    }

    fn rows() -> Vec<Row> {
        let row = |name, database, scheme, scheme_for_all| Row {
            name,
            database,
            scheme,
            scheme_for_all,
        };
        vec![
            row(
                "two words",
                Database::of_keys(2, 8).unwrap(),
                "download",
                "download",
            ),
            row(
                "30,000 passwords",
                Database::of_keys(30_000, 5).unwrap(),
                "inspire1",
                "download",
            ),
            row(
                "10 million records of 200 B",
                of_records(10_000_000, 200),
                "inspire",
                "inspire",
            ),
            row(
                "1 GiB of records of 64 B",
                of_records(1 << 24, 64),
                "inspire",
                "inspire1",
            ),
            row(
                "1 GiB of records of 32 KiB",
                of_records(1 << 15, 32 << 10),
                "inspire1",
                "inspire1",
            ),
            row(
                "300 million keys with 4 B",
                Database::of_keys(300_000_000, 4).unwrap(),
                "inspire",
                "inspire",
            ),
        ]
    }

    /// The schemes of both kinds of wishes, with the reasons.
    fn chosen(database: &Database) -> [DefaultScheme; 2] {
        [ClientsMaySee::Records, ClientsMaySee::All]
            .map(|may_see| scheme_of_build(database, FailureBound::DEFAULT, may_see).unwrap())
    }

    #[test]
    fn the_schemes_of_known_databases_are_these() {
        let mut table = String::new();
        let mut differs = false;
        for row in rows() {
            let [found, for_all] = chosen(&row.database);
            let names = [found.scheme.name(), for_all.scheme.name()];
            differs |= names != [row.scheme, row.scheme_for_all];
            writeln!(
                table,
                "{}: {names:?}, expected {:?}\n  {}\n  {}",
                row.name,
                [row.scheme, row.scheme_for_all],
                found.reason,
                for_all.reason
            )
            .unwrap();
        }
        assert!(!differs, "\n{table}");
    }

    #[test]
    fn a_table_that_grows_within_its_class_keeps_its_scheme() {
        for (keys, value_bytes) in [(2, 5), (700, 30), (20_000, 5), (3000, 1000)] {
            let table = Database::of_keys(keys, value_bytes).unwrap();
            let class = table.lengths.unwrap().class();
            let largest = Database::of_keys(class.count, class.longest as u64).unwrap();
            let within = Database::of_keys(keys + keys / 50, value_bytes).unwrap();

            let [of_class, of_class_for_all] = chosen(&largest);
            let [found, for_all] = chosen(&within);
            assert_eq!(found.scheme.name(), of_class.scheme.name(), "{keys}");
            assert_eq!(
                for_all.scheme.name(),
                of_class_for_all.scheme.name(),
                "{keys}"
            );
        }
    }
}
