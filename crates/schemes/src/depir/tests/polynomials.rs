//! Simplices, interpolation, decomposition and levels of primes against direct computation.

use papir_kernels::pointwise::Modulus;
use papir_lattice::bv::params::PLAINTEXT;
use papir_reference::simplex::{self as reference, exponents};
use papir_ring::prime::{ntt_primes, pow_mod};

use crate::depir::interpolation::{contract, interpolate, shortest};
use crate::depir::lines;
use crate::depir::simplex::{Simplex, for_each_row};
use crate::depir::structure::Form;
use crate::depir::structure::levels::{Levels, Steps, log2_value};

#[test]
fn points_are_the_tuples_in_order() {
    for (variables, degree) in [(1, 0), (1, 7), (2, 3), (4, 5), (6, 2), (3, 0)] {
        let simplex = Simplex { variables, degree };
        let expected = exponents(variables, degree);
        assert_eq!(simplex.len(), expected.len());

        let places: Vec<u64> = (0..simplex.len() as u64).collect();
        let points = simplex.points(&places);

        for (place, tuple) in expected.iter().enumerate() {
            let found = points
                .iter()
                .skip(place)
                .step_by(places.len())
                .map(|&word| word as usize);
            assert!(
                found.eq(tuple.iter().copied()),
                "{variables} variables, degree {degree}, {place}"
            );
        }
    }
}

#[test]
fn the_least_degree_is_found() {
    for (count, variables, degree) in [
        (1, 4, 0),
        (2, 4, 1),
        (7315, 4, 18),
        (7316, 4, 19),
        (46_376, 4, 30),
    ] {
        assert_eq!(
            Simplex::holding(count, variables),
            Simplex { variables, degree }
        );
    }
}

#[test]
fn rows_of_a_smaller_simplex_are_found_in_a_larger_one() {
    for (variables, small, large) in [(1, 2, 5), (2, 2, 2), (3, 2, 4), (4, 0, 3)] {
        let few = exponents(variables, small);
        let many = exponents(variables, large);

        let mut seen = 0;
        for_each_row(variables, small, large, &mut |from, to, length| {
            assert_eq!(few[from..][..length], many[to..][..length]);
            assert_eq!(from, seen);
            seen += length;
        });
        assert_eq!(seen, few.len());
    }
}

fn values(count: usize) -> Vec<u32> {
    (0..count as u32)
        .map(|i| (i * 40_503 + i * i * 977) % PLAINTEXT)
        .collect()
}

#[test]
fn the_polynomial_has_the_values() {
    for (variables, degree) in [(1, 0), (1, 6), (2, 4), (3, 3), (5, 2), (4, 5)] {
        let simplex = Simplex { variables, degree };
        let values = values(simplex.len());
        let mut coefficients = values.clone();
        interpolate(simplex, &mut coefficients);

        for (tuple, &value) in exponents(variables, degree).iter().zip(&values) {
            let point: Vec<u32> = tuple.iter().map(|&x| x as u32).collect();
            let found = reference::value(&coefficients, degree, &point, PLAINTEXT);
            assert_eq!(
                found, value,
                "{variables} variables, degree {degree}, at {tuple:?}"
            );
        }
    }
}

#[test]
fn contractions_are_the_polynomial_with_a_variable_fixed() {
    let modulus = Modulus::new(268_369_921);
    for (variables, degree) in [(1, 5), (2, 3), (3, 4)] {
        let simplex = Simplex { variables, degree };
        let coefficients = values(simplex.len());
        let lifted: Vec<u32> = coefficients.iter().map(|&c| shortest(c, modulus)).collect();

        for x in [0, 1, 17, 268_369_920] {
            let contracted = contract(simplex, &coefficients, x, modulus);
            let point: Vec<u32> = (0..variables as u32)
                .map(|i| if i == 0 { x } else { i * 12_345_677 })
                .collect();

            let found = reference::value(&contracted, degree, &point[1..], modulus.value());
            assert_eq!(
                found,
                reference::value(&lifted, degree, &point, modulus.value()),
                "{x}"
            );
        }
    }
}

#[test]
fn representatives_are_the_shortest() {
    let modulus = Modulus::new(268_369_921);
    for (word, expected) in [(0, 0), (32_768, 32_768), (32_769, -32_768), (65_536, -1)] {
        assert_eq!(
            i64::from(shortest(word, modulus)),
            i64::from(expected).rem_euclid(268_369_921)
        );
    }
}

#[test]
fn polynomials_come_back_from_their_values() {
    let modulus = Modulus::new(268_369_921);
    // Two slots: 3 + 5·Y and 7 + 268369920·Y, as polynomials of degree 3.
    let found = lines::values(modulus, &[0, 1, 2, 3], &[&[3, 7]], &[&[5, 268_369_920]]);
    assert_eq!(found, [[3, 7, 8, 6, 13, 5, 18, 4]]);
    assert_eq!(
        lines::coefficients(modulus, &[0, 1, 2, 3], &found[0]),
        [3, 7, 5, 268_369_920, 0, 0, 0, 0]
    );
}

#[test]
fn nodes_are_roots_of_unity_where_there_are_any() {
    assert_eq!([0, 1, 3, 18, 30].map(lines::roots), [2, 2, 5, 19, 31]);

    let prime = ntt_primes(28, 64 * 19, 1)[0];
    let found = lines::nodes(Modulus::new(prime), 18);
    assert_eq!(found.len(), 19);

    for (i, &node) in found.iter().enumerate() {
        assert_eq!(pow_mod(node.into(), 19, prime.into()), 1);
        assert!(!found[..i].contains(&node));
    }

    assert_eq!(lines::nodes(Modulus::new(97), 4), [0, 1, 2, 3, 4]);

    // Rows of one slot, there and back.
    let modulus = Modulus::new(prime);
    let there = lines::values(modulus, &found, &[&[12_345]], &[&[678]]);
    let back = lines::coefficients(modulus, &found, &there[0]);
    assert_eq!(
        (&back[..2], back[2..].iter().sum::<u32>()),
        (&[12_345, 678][..], 0)
    );
}

const TINY: Simplex = Simplex {
    variables: 4,
    degree: 18,
};

#[test]
fn one_step_of_tiny_takes_the_papers_primes() {
    let one = Levels::new(TINY, 1 << 27, None, Steps::One);

    assert!(
        (70..=76).contains(&one.direct.len()),
        "{} primes",
        one.direct.len()
    );
    assert_eq!((one.first, one.reduced.len()), (one.direct.len(), 0));
    assert!(
        one.direct
            .last()
            .is_some_and(|&last| (350..=383).contains(&last))
    );
}

#[test]
fn steps_share_primes() {
    let one = Levels::new(TINY, 1 << 27, None, Steps::One);
    let two = Levels::new(TINY, 1 << 27, None, Steps::Two);
    let mixture = Levels::new(TINY, 1 << 27, None, Steps::Mixture(42));

    assert_eq!(one.primes(), two.primes());
    assert_eq!(one.primes(), mixture.primes());

    assert!(two.direct.len() < 42 && mixture.direct.len() == 42);
    assert!(two.lookups() > mixture.lookups() && mixture.lookups() > one.lookups());
    assert!(two.entries(TINY, 4) < mixture.entries(TINY, 4));

    // The paper's tables of tiny: 42 primes, one byte an entry, 10 GB.
    assert!(
        (9e9..11e9).contains(&mixture.entries(TINY, 4)),
        "{}",
        mixture.entries(TINY, 4)
    );
}

/// A first coordinate from 0 to 18 makes tables shorter, so that more primes are looked up
/// directly.
#[test]
fn lines_need_shorter_tables() {
    let form = |first, steps| Form {
        largest: 1 << 28,
        first,
        steps,
        tabulated: 4,
    };

    let bytes = |first, count| {
        form(first, Steps::Mixture(count))
            .table_lengths(TINY)
            .unwrap()
            .iter()
            .sum::<u64>()
    };

    assert!(bytes(Some(18), 42) < bytes(None, 42) / 5);
    assert!(
        bytes(Some(18), 60) < 12_000_000_000,
        "{}",
        bytes(Some(18), 60)
    );

    let lookups = |first, count| form(first, Steps::Mixture(count)).levels(TINY).lookups();
    assert!(lookups(Some(18), 60) < lookups(None, 42) * 2 / 3);

    // Coordinates that are not reduced count in the bound even where a prime is smaller.
    let two = form(Some(18), Steps::Two).levels(TINY);
    let plain = form(None, Steps::Two).levels(TINY);
    assert!(two.reduced[0].count > plain.reduced[0].count);
}

#[test]
fn bounds_are_sums_of_terms() {
    let simplex = Simplex {
        variables: 2,
        degree: 2,
    };
    // 8·(1 + 2·10 + 3·100).
    assert!((log2_value(simplex, 3.0, 10.0) - (8.0f64 * 321.0).log2()).abs() < 1e-9);
}
