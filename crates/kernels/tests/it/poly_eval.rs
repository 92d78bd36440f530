//! Evaluation of polynomials: every backend against the sum of terms.

use papir_kernels::Backend;
use papir_kernels::pointwise::Modulus;
use papir_kernels::poly_eval::{MAX_DEGREE, Polynomial, terms};
use papir_reference::simplex;

use crate::common::Words;

fn check(words: &mut Words, q: u32, variables: usize, degree: usize, length: usize) {
    let coefficients = words.residues(terms(variables, degree).unwrap(), q);
    let points = words.residues(variables * length, q);
    let polynomial = Polynomial::new(Modulus::new(q), variables, degree, &coefficients);
    let point = |position: usize| {
        points
            .iter()
            .skip(position)
            .step_by(length)
            .copied()
            .collect::<Vec<_>>()
    };
    let expected: Vec<u32> = (0..length)
        .map(|position| simplex::value(&coefficients, degree, &point(position), q))
        .collect();
    for backend in Backend::available() {
        let mut out = vec![1; length];
        polynomial.evaluate(backend, &points, &mut out);
        assert_eq!(
            out, expected,
            "{variables} variables, degree {degree}, modulo {q}, {length} points"
        );
    }
}

#[test]
fn values_are_sums_of_terms() {
    let mut words = Words(21);
    for q in [3, 17, 65_537, 134_086_657, 268_369_921] {
        for (variables, degree) in [
            (1, 0),
            (1, 5),
            (2, 1),
            (2, 7),
            (3, 4),
            (5, 3),
            (9, 2),
            (3, 0),
        ] {
            for length in [1, 31, 32, 45] {
                check(&mut words, q, variables, degree, length);
            }
        }
    }
}

/// Polynomials in more variables than their degree are evaluated along variables, up to 47 of them.
#[test]
fn many_variables_give_the_same_values() {
    let mut words = Words(22);
    for q in [65_537, 268_369_921] {
        for (variables, degree) in [(4, 3), (12, 4), (30, 1), (47, 3), (48, 2)] {
            check(&mut words, q, variables, degree, 33);
        }
    }
}

/// All coefficients and coordinates q − 1, at the largest degree: nothing wraps around.
#[test]
fn the_largest_words_fit() {
    let q = 268_369_921;
    let largest = [1, 2, 3, 4].map(|variables| (variables, MAX_DEGREE));
    for (variables, degree) in largest.into_iter().chain([(47, 1), (47, 2), (47, 4)]) {
        let count = terms(variables, degree).unwrap();
        let polynomial = Polynomial::new(Modulus::new(q), variables, degree, &vec![q - 1; count]);
        let expected = simplex::value(&vec![q - 1; count], degree, &vec![q - 1; variables], q);
        for backend in Backend::available() {
            let mut out = [0; 3];
            polynomial.evaluate(backend, &vec![q - 1; 3 * variables], &mut out);
            assert_eq!(out, [expected; 3], "{variables} variables, degree {degree}");
        }
    }
}

#[test]
fn terms_are_binomials() {
    for (variables, degree, expected) in [
        (4, 18, 7315),
        (4, 30, 46_376),
        (0, 5, 1),
        (7, 0, 1),
        (6, 68, 185_250_786),
    ] {
        assert_eq!(terms(variables, degree), Some(expected));
    }
    assert_eq!(terms(64, usize::MAX), None);
}
