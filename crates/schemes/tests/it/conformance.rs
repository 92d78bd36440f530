//! The conformance suite, run on every registered scheme.
//!
//! Each scheme has its own module of tests, so that a failure names it. The `long` tests run with
//! `--ignored`.

use crate::short::{Short, ShortNewton, ShortNewtonSym, ShortPirouette, registered};
use papir_core::erased::{Erased, ErasedScheme};
use papir_core::scheme::Scheme;
use papir_core::{NotPrivate, Shape};
use papir_research::newton::{Newton, NewtonBucket};
use papir_schemes::batched::Batched;
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::{Pirouette, Standard};
use papir_schemes::registry;
use papir_schemes::zip::{Zip, ZipDouble};
use papir_testkit::conformance::{Config, run, shapes};

/// Makes the tests of the listed schemes and one that finds registered schemes without a test.
macro_rules! conformance {
    ($($(#[$attribute:meta])? $name:ident: $quick:expr, $long:expr;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            $(#[$attribute])?
            fn quick() {
                run(&*scheme(&named(stringify!($name))), &$quick);
            }

            #[test]
            #[ignore = "long"]
            fn long() {
                run(&*scheme(&named(stringify!($name))), &$long);
            }
        })*

        #[test]
        fn every_registered_scheme_is_tested() {
            let tested = [$(named(stringify!($name))),*];
            let registered: Vec<_> = registered().iter().map(|scheme| scheme.name()).collect();
            assert_eq!(registered, tested);
        }
    };
}

conformance! {
    plain: Config::quick(), Config::long();
    simple: Config::quick(), Config::long();
    inspire: Config::quick(), Config::long();
    double: short_records(Config::quick()), long_short_records();
    inspire2: medium_records(Config::slow()), medium_records(Config::long());
    inspire0: few_short_records(Config::quick()), long_short_records();
    ypir: few_short_records(Config::quick()), long_short_records();
    simpleypir: Config::slow(), records_of_few_packs(Config::long());
    zip: one_small(Config::quick()), few_columns(Config::slow());
    newton: one_small(Config::quick()), few_columns(Config::long());
    newtonsym: one_small(Config::quick()), few_columns(Config::long());
    #[ignore = "long: its tickets take seconds each; see zipdouble_with_a_short_modulus"]
    zipdouble: one_short(Config::quick()), one_small(Config::long());
    inspire_batch: few_columns(Config::quick()), few_columns(Config::long());
    simple_batch: few_columns(Config::quick()), Config::long();
    pirouette: one_small(Config::quick()), few_columns(Config::long());
    respire: Config::slow(), Config::long();
    pirouette_encrypted: one_small(Config::quick()), few_columns(Config::long());
    depir: few_entries(Config::quick()), more_entries(Config::long());
    download: Config::quick(), Config::long();
    inspire1: Config::quick(), Config::long();
    newtonsym_batch: one_small(Config::quick()), few_columns(Config::long());
}

/// Records of at most 64 bits, the limit of DoublePIR.
///
/// The hint has 7 MiB for each byte of a record, so the thorough shapes have records of at most
/// 16 bits.
fn short_records(config: Config) -> Config {
    Config {
        shapes: shapes(&[
            (1, 1),
            (1, 8),
            (3, 3),
            (4093, 1),
            (1009, 13),
            (1021, 8),
            (2, 64),
            (509, 24),
        ]),
        thorough: shapes(&[(257, 3), (211, 16)]),
        ..config
    }
}

/// Fewer shapes, for schemes that take a good part of a second to prepare a pack.
fn few_short_records(config: Config) -> Config {
    Config {
        shapes: shapes(&[(1, 1), (3, 3), (4093, 1), (2, 40)]),
        thorough: shapes(&[(257, 3)]),
        ..short_records(config)
    }
}

fn long_short_records() -> Config {
    let short = short_records(Config::long());
    let more = shapes(&[
        (1_000_003, 1),
        (262_139, 8),
        (65_537, 64),
        (30_011, 63),
        (99_991, 33),
    ]);
    Config {
        shapes: short.shapes.iter().copied().chain(more).collect(),
        thorough: shapes(&[(1, 8), (257, 3), (211, 16), (100_003, 5), (4099, 32)]),
        ..short
    }
}

/// One shape, for schemes with slow clients.
///
/// A ZipPIR client decrypts a thousand numbers of 3072 bits for each query; a NewtonPIR client
/// searches for primes of 1024 bits. The same schemes with short moduli run the whole suite.
fn one_small(config: Config) -> Config {
    Config {
        shapes: shapes(&[(9, 13)]),
        thorough: Vec::new(),
        ..config
    }
}

/// One shape, as a ticket for thousands of rows takes a good part of a second for any shape.
fn one_short(config: Config) -> Config {
    Config {
        shapes: shapes(&[(257, 3)]),
        thorough: Vec::new(),
        ..config
    }
}

fn few_columns(config: Config) -> Config {
    Config {
        shapes: shapes(&[(1, 1), (1021, 8), (300, 2048)]),
        thorough: shapes(&[(211, 16)]),
        ..config
    }
}

/// Few entries of 16 bits: a query works on every entry in each of thousands of slots.
fn few_entries(config: Config) -> Config {
    Config {
        shapes: shapes(&[(1, 1), (3, 3), (2, 33), (40, 8), (61, 24)]),
        thorough: shapes(&[(57, 16)]),
        damaged_positions: 4,
        ..config
    }
}

fn more_entries(config: Config) -> Config {
    Config {
        shapes: shapes(&[
            (1, 1),
            (4093, 1),
            (1009, 13),
            (1021, 8),
            (2, 256),
            (509, 24),
            (300, 40),
        ]),
        thorough: shapes(&[(257, 3), (211, 16)]),
        ..config
    }
}

/// Records of at most 64 KiB: SimpleYPIR keeps 100 MB for each 4 KiB of one, and the suite holds three
/// servers at a time.
fn records_of_few_packs(config: Config) -> Config {
    let mut shapes = config.shapes;
    shapes.retain(|shape| shape.record_bits() <= 8 << 16);
    Config { shapes, ..config }
}

#[test]
fn zip_with_a_short_modulus() {
    let scheme = Erased::<Zip<Short>>::allowing_insecure(papir_core::NotPrivate::acknowledged());
    run(
        &scheme,
        &Config {
            shapes: shapes(&[(1, 1), (509, 64 * 8)]),
            ..Config::slow()
        },
    );
}

#[test]
fn zipdouble_with_a_short_modulus() {
    run(
        &Erased::<ZipDouble<Short>>::allowing_insecure(papir_core::NotPrivate::acknowledged()),
        &one_short(Config::slow()),
    );
}

#[test]
fn pirouette_with_short_keys() {
    run(
        &Erased::<Pirouette<ShortPirouette>>::allowing_insecure(
            papir_core::NotPrivate::acknowledged(),
        ),
        &Config::slow(),
    );
}

#[test]
fn pirouette_encrypted_with_short_keys() {
    run(
        &*Erased::<Encrypted<ShortPirouette>>::allowing_insecure(
            papir_core::NotPrivate::acknowledged(),
        )
        .with_owner_key(Some(&crate::short::owner())),
        &Config::slow(),
    );
}

#[test]
#[ignore = "long"]
fn pirouette_with_short_keys_long() {
    run(
        &Erased::<Pirouette<ShortPirouette>>::allowing_insecure(
            papir_core::NotPrivate::acknowledged(),
        ),
        &Config::long(),
    );
}

#[test]
#[ignore = "long"]
fn pirouette_encrypted_with_short_keys_long() {
    run(
        &*Erased::<Encrypted<ShortPirouette>>::allowing_insecure(
            papir_core::NotPrivate::acknowledged(),
        )
        .with_owner_key(Some(&crate::short::owner())),
        &Config::long(),
    );
}

#[test]
#[ignore = "long"]
fn zipdouble_with_a_short_modulus_long() {
    run(
        &Erased::<ZipDouble<Short>>::allowing_insecure(papir_core::NotPrivate::acknowledged()),
        &short_records(Config::slow()),
    );
}

#[test]
#[ignore = "long"]
fn zip_with_a_short_modulus_long() {
    let scheme = Erased::<Zip<Short>>::allowing_insecure(papir_core::NotPrivate::acknowledged());
    run(&scheme, &few_columns(Config::long()));
    run(&scheme, &Config::slow());
}

#[test]
fn newton_with_a_short_modulus() {
    let word = NotPrivate::acknowledged();
    run(
        &Erased::<Newton<ShortNewton>>::allowing_insecure(word),
        &Config::slow(),
    );
    run(
        &Erased::<Newton<ShortNewtonSym>>::allowing_insecure(word),
        &Config::slow(),
    );
    run(
        &Erased::<Batched<NewtonBucket<ShortNewtonSym>>>::allowing_insecure(word),
        &Config::slow(),
    );
}

/// Records of at most 2 KiB, the limit of InsPIRe(2).
fn medium_records(config: Config) -> Config {
    let fit = |shapes: Vec<Shape>| {
        shapes
            .into_iter()
            .filter(|shape| shape.record_bits() <= 16_384)
            .collect()
    };
    Config {
        shapes: fit(config.shapes),
        thorough: fit(config.thorough),
        ..config
    }
}

/// The name of the scheme that the module `test` tests.
fn named(test: &str) -> String {
    test.replace('_', "-")
}

/// The registered scheme of this name, also one that is not private.
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
        assert_eq!(registry::by_id(scheme.id()).unwrap().name(), scheme.name());
        assert_eq!(registry::by_name(scheme.name()).unwrap().id(), scheme.id());
        assert!(
            registered()[..i]
                .iter()
                .all(|other| other.id() < scheme.id()),
            "not in order"
        );
    }
    assert!(registry::by_name("none").is_err() && registry::by_id(u16::MAX).is_err());
}
