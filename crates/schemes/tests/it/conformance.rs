//! The conformance suite, run on every registered scheme.
//!
//! Each scheme has its own module of tests, so that a failure names it. The `long` tests run with
//! `--ignored`.

use crate::short::{Short, ShortNewton, ShortNewtonSym, ShortPirouette, registered};
use papir_core::erased::{Erased, ErasedScheme};
use papir_core::scheme::Scheme;
use papir_core::{Goal, MAX_RECORD_BITS, NotPrivate, Shape};
use papir_research::for_each_research_scheme;
use papir_research::newton::{Newton, NewtonBucket};
use papir_schemes::batched::Batched;
use papir_schemes::double::rows::SHORT_RECORDS;
use papir_schemes::for_each_scheme;
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::{Pirouette, Standard};
use papir_schemes::registry;
use papir_schemes::rows::{ListedScheme, SuitePace, SuiteRow, SuiteShapes};
use papir_schemes::zip::{Zip, ZipDouble};
use papir_testkit::conformance::{ConformanceConfig, run, shapes};

/// Makes the tests of the listed schemes.
macro_rules! conformance {
    ($($name:ident: $scheme:ty {
        $privacy:ident, $clients:ident, $bound:ident, $weight:ident
    })*) => {
        $(conformance_of! { $weight $name $scheme })*
    };
}

macro_rules! conformance_of {
    (slow $name:ident $scheme:ty) => {
        conformance_of! {
            #[ignore = "long: its tickets take seconds each; see zipdouble_with_a_short_modulus"]
            $name $scheme
        }
    };
    (common $name:ident $scheme:ty) => {
        conformance_of! { $name $scheme }
    };
    (rare $name:ident $scheme:ty) => {
        conformance_of! { $name $scheme }
    };
    ($(#[$attribute:meta])? $name:ident $scheme:ty) => {
        mod $name {
            use super::*;

            #[test]
            $(#[$attribute])?
            fn quick() {
                run(&*scheme(<$scheme>::NAME), &config(<$scheme>::ROWS.quick));
            }

            #[test]
            #[ignore = "long"]
            fn long() {
                run(&*scheme(<$scheme>::NAME), &config(<$scheme>::ROWS.long));
            }
        }
    };
}

/// Names of the listed schemes.
macro_rules! names {
    ($($name:ident: $scheme:ty { $($word:ident),* })*) => {
        [$(stringify!($name).replace('_', "-")),*]
    };
}

for_each_scheme!(conformance);
for_each_research_scheme!(conformance);

#[test]
fn every_registered_scheme_is_tested() {
    let mut tested = for_each_scheme!(names).to_vec();
    tested.extend(for_each_research_scheme!(names));
    tested.sort();

    let mut registered: Vec<_> = registered().iter().map(|scheme| scheme.name()).collect();
    registered.sort();
    assert_eq!(registered, tested);
}

/// Returns the suite's inputs for a row.
fn config(row: SuiteRow) -> ConformanceConfig {
    let mut config = match row.pace {
        SuitePace::Quick => ConformanceConfig::quick(),
        SuitePace::Slow => ConformanceConfig::slow(),
        SuitePace::Long => ConformanceConfig::long(),
    };
    if let Some(only) = row.only {
        config.shapes = shapes(only.shapes);
        config.thorough = shapes(only.thorough);
    }
    if let Some(positions) = row.damaged_positions {
        config.damaged_positions = positions;
    }

    let fits = |shape: &Shape| shape.record_bits() <= row.longest;
    config.shapes.retain(fits);
    config.thorough.retain(fits);
    config
}

#[test]
fn zip_with_a_short_modulus() {
    let scheme = Erased::<Zip<Short>>::allowing_insecure(papir_core::NotPrivate::acknowledged());
    run(
        &scheme,
        &ConformanceConfig {
            shapes: shapes(&[(1, 1), (509, 64 * 8)]),
            ..ConformanceConfig::slow()
        },
    );
}

#[test]
fn zipdouble_with_a_short_modulus() {
    run(
        &Erased::<ZipDouble<Short>>::allowing_insecure(papir_core::NotPrivate::acknowledged()),
        &config(SuiteRow::SLOW.only(SuiteShapes::ONE_SHORT)),
    );
}

#[test]
fn pirouette_with_short_keys() {
    run(
        &Erased::<Pirouette<ShortPirouette>>::allowing_insecure(
            papir_core::NotPrivate::acknowledged(),
        ),
        &ConformanceConfig::slow(),
    );
}

#[test]
fn pirouette_encrypted_with_short_keys() {
    run(
        &Erased::<Encrypted<ShortPirouette>>::allowing_insecure(
            papir_core::NotPrivate::acknowledged(),
        )
        .with_owner_key(crate::short::owner()),
        &ConformanceConfig::slow(),
    );
}

#[test]
#[ignore = "long"]
fn pirouette_with_short_keys_long() {
    run(
        &Erased::<Pirouette<ShortPirouette>>::allowing_insecure(
            papir_core::NotPrivate::acknowledged(),
        ),
        &ConformanceConfig::long(),
    );
}

#[test]
#[ignore = "long"]
fn pirouette_encrypted_with_short_keys_long() {
    run(
        &Erased::<Encrypted<ShortPirouette>>::allowing_insecure(
            papir_core::NotPrivate::acknowledged(),
        )
        .with_owner_key(crate::short::owner()),
        &ConformanceConfig::long(),
    );
}

#[test]
#[ignore = "long"]
fn zipdouble_with_a_short_modulus_long() {
    run(
        &Erased::<ZipDouble<Short>>::allowing_insecure(papir_core::NotPrivate::acknowledged()),
        &config(SuiteRow::SLOW.only(SHORT_RECORDS)),
    );
}

#[test]
#[ignore = "long"]
fn zip_with_a_short_modulus_long() {
    let scheme = Erased::<Zip<Short>>::allowing_insecure(papir_core::NotPrivate::acknowledged());
    let few_columns = SuiteRow::LONG.only(SuiteShapes::FEW_COLUMNS);
    run(&scheme, &config(few_columns));
    run(&scheme, &ConformanceConfig::slow());
}

#[test]
fn newton_with_a_short_modulus() {
    let word = NotPrivate::acknowledged();
    run(
        &Erased::<Newton<ShortNewton>>::allowing_insecure(word),
        &ConformanceConfig::slow(),
    );
    run(
        &Erased::<Newton<ShortNewtonSym>>::allowing_insecure(word),
        &ConformanceConfig::slow(),
    );
    run(
        &Erased::<Batched<NewtonBucket<ShortNewtonSym>>>::allowing_insecure(word),
        &ConformanceConfig::slow(),
    );
}

/// Returns the registered scheme of this name, even if it is not private.
fn scheme(name: &str) -> Box<dyn ErasedScheme> {
    registered();
    let scheme = registry::by_name(name)
        .unwrap()
        .allow_insecure(NotPrivate::acknowledged());
    if name == Encrypted::<Standard>::NAME {
        scheme.with_owner_key(Some(&crate::short::owner()))
    } else {
        scheme
    }
}

#[test]
fn names_and_numbers_are_unique_and_found() {
    for (i, scheme) in registered().iter().enumerate() {
        assert_eq!(
            registry::by_id(scheme.properties().id).unwrap().name(),
            scheme.name()
        );
        assert_eq!(
            registry::by_name(scheme.name()).unwrap().properties().id,
            scheme.properties().id
        );
        assert!(
            registered()[..i]
                .iter()
                .all(|other| other.properties().id < scheme.properties().id),
            "not in order"
        );
    }
    assert!(registry::by_name("none").is_err() && registry::by_id(u16::MAX).is_err());
}

/// Returns the names of the schemes that have parameters for records of this length.
fn taking(record_bits: u64) -> Vec<&'static str> {
    let shape = Shape::new(3, record_bits).unwrap();
    registered()
        .iter()
        .map(|registered| registered.name())
        .filter(|name| scheme(name).plan(shape, Goal::default()).is_ok())
        .collect()
}

#[test]
fn schemes_of_long_records_hold_the_longest() {
    let long = taking(1 << 21);
    assert_eq!(taking(MAX_RECORD_BITS), long);
    for name in ["simple", "inspire", "inspire1", "download"] {
        assert!(long.contains(&name), "{name} is not in {long:?}");
    }
}
