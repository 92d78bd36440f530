//! Parameters with a failure probability below 2⁻⁴⁰.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::erased::ErasedScheme;
use papir_core::scheme::Scheme;
use papir_core::{
    Candidate, Error, FailureBound, Goal, NoProgress, Privacy, RecordBuffer, Shape, Target,
};
use papir_schemes::for_each_scheme;
use papir_schemes::registry;
use papir_schemes::rows::{FailureRow, ListedScheme};
use papir_testkit::conformance::{ConformanceConfig, run, shapes};

use crate::short::with_short_modulus;

/// Names of the listed schemes that keep 2⁻⁴⁰ only, with a part of the reason that they give.
macro_rules! default_only {
    ($($name:ident: $scheme:ty { $($word:ident),* })*) => {
        [$((<$scheme>::NAME, <$scheme>::ROWS.failure)),*]
    };
}

fn default_only() -> Vec<(&'static str, &'static str)> {
    let rows = for_each_scheme!(default_only).into_iter();
    rows.filter_map(|(name, row)| match row {
        Some(FailureRow::DefaultOnly(reason)) => Some((name, reason)),
        _ => None,
    })
    .collect()
}

fn candidate(
    scheme: &dyn ErasedScheme,
    shape: Shape,
    failure: FailureBound,
) -> Result<Candidate, Error> {
    scheme.candidate_for(
        shape,
        Target {
            goal: Goal::Balanced,
            failure,
        },
    )
}

fn private() -> Vec<&'static dyn ErasedScheme> {
    registry::all()
        .into_iter()
        .filter(|scheme| scheme.properties().privacy == Privacy::Private)
        .collect()
}

#[test]
fn every_private_scheme_keeps_the_bound_or_refuses_it() {
    let default_only = default_only();
    for scheme in private() {
        let name = scheme.name();
        let only = default_only.iter().find(|(other, _)| *other == name);
        for shape in [
            Shape::of_bytes(5000, 8).unwrap(),
            Shape::new(90_000, 3).unwrap(),
        ] {
            let default = candidate(scheme, shape, FailureBound::DEFAULT)
                .unwrap()
                .description;
            for bits in [41, 90, 128] {
                let bound = FailureBound::of_bits(bits).unwrap();
                let found = candidate(scheme, shape, bound);
                let Some((_, reason)) = only else {
                    let description = found.unwrap().description;
                    let failure = description.failure_log2;
                    assert!(failure <= bound.log2(), "{name}: 2^{failure} for {bound}");
                    let never = failure == f64::NEG_INFINITY;
                    assert!(never || description.failure_bound == bound, "{name}");
                    assert!(
                        description
                            .security
                            .is_none_or(|security| security.bits >= 128.0),
                        "{name}"
                    );
                    continue;
                };
                let error = found.unwrap_err().to_string();
                let computed = format!("2^{:.1}", default.failure_log2);
                for part in [name, reason, &bound.to_string(), &computed] {
                    assert!(error.contains(part), "{name}: no `{part}` in {error}");
                }
                assert!(scheme.candidates(shape, bound).is_err(), "{name}");
            }
        }
    }
}

#[test]
fn all_candidates_keep_the_bound() {
    let shape = Shape::of_bytes(1 << 18, 8).unwrap();
    for scheme in private() {
        let Ok(offered) = scheme.candidates(shape, FailureBound::LEAST) else {
            assert!(
                default_only()
                    .iter()
                    .any(|(name, _)| *name == scheme.name()),
                "{}",
                scheme.name()
            );
            continue;
        };
        for one in offered {
            let failure = one.description.failure_log2;
            assert!(
                failure <= -128.0,
                "{} {}: 2^{failure}",
                scheme.name(),
                one.label
            );
        }
    }
}

/// The bound is the last byte of parameters. Those of 2⁻⁴⁰ that claim 2⁻¹²⁸ are refused, except
/// where all bits follow from the shape and the bound.
#[test]
fn the_promise_is_checked_when_parameters_are_read() {
    let shape = Shape::of_bytes(300, 8).unwrap();
    let records = RecordBuffer::zeroed(shape);
    let set_up = |scheme: &dyn ErasedScheme, parameters: &[u8]| {
        scheme.setup_candidate(
            parameters,
            &records,
            &mut ChaCha20Rng::seed_from_u64(1),
            &NoProgress,
        )
    };
    for name in [
        "inspire",
        "inspire2",
        "inspire0",
        "simpleypir",
        "inspire1",
        "double",
        "inspire-batch",
    ] {
        let scheme = registry::by_name(name).unwrap();
        let parameters = candidate(scheme, shape, FailureBound::DEFAULT)
            .unwrap()
            .parameters;
        let error = set_up(scheme, &[&parameters[..], &[128]].concat())
            .map(drop)
            .unwrap_err();
        assert!(matches!(error, Error::Parameters { .. }), "{name}: {error}");
    }
    for name in [
        "inspire",
        "inspire2",
        "inspire0",
        "simpleypir",
        "inspire1",
        "double",
        "simple",
        "zip",
    ] {
        let scheme = registry::by_name(name).unwrap();
        let parameters = candidate(scheme, shape, FailureBound::DEFAULT)
            .unwrap()
            .parameters;
        for end in [&[40][..], &[39], &[0], &[129], &[128, 128]] {
            let error = set_up(scheme, &[&parameters[..], end].concat())
                .map(drop)
                .unwrap_err();
            assert!(
                matches!(error, Error::OutOfBounds { .. } | Error::Length { .. }),
                "{name}: {error}"
            );
        }
        let tight = candidate(scheme, shape, FailureBound::LEAST).unwrap();
        assert_eq!(tight.parameters.last(), Some(&128), "{name}");
        let server = set_up(scheme, &tight.parameters).unwrap();
        assert_eq!(server.describe(), tight.description, "{name}");
    }
}

/// Makes a conformance test under 2⁻¹²⁸ for each private scheme that keeps it.
macro_rules! conformance {
    ($($name:ident: $scheme:ty {
        $privacy:ident, $clients:ident, $bound:ident, $weight:ident
    })*) => {
        $(conformance_of! { $privacy $bound $weight $name $scheme })*
    };
}

macro_rules! conformance_of {
    // With a short modulus, as its tickets take seconds; lengths aside, it is the same scheme.
    (private any_bound slow $name:ident $scheme:ty) => {
        #[test]
        #[ignore = "long"]
        fn $name() {
            check::<$scheme>(&*with_short_modulus(<$scheme>::NAME));
        }
    };
    (private any_bound $weight:ident $name:ident $scheme:ty) => {
        #[test]
        fn $name() {
            check::<$scheme>(registry::by_name(<$scheme>::NAME).unwrap());
        }
    };
    ($privacy:ident $bound:ident $weight:ident $name:ident $scheme:ty) => {};
}

/// Names of the private schemes that keep 2⁻¹²⁸.
macro_rules! tested {
    ($($name:ident: $scheme:ty {
        $privacy:ident, $clients:ident, $bound:ident, $weight:ident
    })*) => {
        [$((stringify!($name), [stringify!($privacy), stringify!($bound)])),*]
    };
}

for_each_scheme!(conformance);

#[test]
fn every_scheme_that_keeps_the_bound_is_tested() {
    let listed = for_each_scheme!(tested).into_iter();
    let tested: Vec<_> = listed
        .filter(|(_, words)| *words == ["private", "any_bound"])
        .map(|(name, _)| name.replace('_', "-"))
        .collect();

    let only = default_only();
    let keeps = |name: &&str| only.iter().all(|(other, _)| other != name);
    let expected: Vec<_> = private()
        .iter()
        .map(|scheme| scheme.name())
        .filter(keeps)
        .collect();
    assert_eq!(expected, tested);
}

/// Runs the suite under 2⁻¹²⁸ with the databases of the scheme's row.
fn check<S: ListedScheme>(scheme: &dyn ErasedScheme) {
    let Some(FailureRow::Any(row)) = S::ROWS.failure else {
        panic!("{} has no databases for other failure bounds", S::NAME);
    };
    let config = ConformanceConfig {
        shapes: shapes(row.shapes),
        thorough: shapes(row.thorough),
        failure: FailureBound::LEAST,
        ..ConformanceConfig::slow()
    };
    run(scheme, &config);
}
