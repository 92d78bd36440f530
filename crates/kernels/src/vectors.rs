//! Tests with vectors of the models in `reference/smt`.
#![allow(clippy::unwrap_used)]

use papir_reference::vectors::rows;

use crate::backend::Backend;
use crate::gadget::{Gadget2, centre, decompose, to_residues};
use crate::modulus::{Factor, Modulus};
use crate::small_prime::Shortest;
use crate::wide::modulus::Factor as WideFactor;
use crate::{bits, wide};

const VECTORS: &str = include_str!("../../../docs/vectors/arithmetic/kernels.json");

#[test]
fn sums_differences_and_products_are_those_of_the_definition() {
    for [q, a, b, sum, difference, product] in rows::<6>(VECTORS, "modulus") {
        let modulus = Modulus::new(q as u32);
        let found = [
            modulus.add(a as u32, b as u32),
            modulus.sub(a as u32, b as u32),
            modulus.mul(a as u32, b as u32),
        ];
        let expected = [sum, difference, product];
        assert_eq!(found.map(i128::from), expected, "{a}, {b} modulo {q}");
    }

    for [q, a, b, sum, difference, product] in rows::<6>(VECTORS, "wide.modulus") {
        let modulus = wide::Modulus::new(q as u64);
        let found = [
            modulus.add(a as u64, b as u64),
            modulus.sub(a as u64, b as u64),
            modulus.mul(a as u64, b as u64),
        ];
        let expected = [sum, difference, product];
        assert_eq!(found.map(i128::from), expected, "{a}, {b} modulo {q}");
    }
}

#[test]
fn reductions_are_those_of_the_definition() {
    for [q, x, expected] in rows::<3>(VECTORS, "modulus.reduce") {
        let found = Modulus::new(q as u32).reduce(x as u64);
        assert_eq!(i128::from(found), expected, "{x} modulo {q}");
    }
    for [q, x, expected] in rows::<3>(VECTORS, "wide.modulus.reduce") {
        let found = wide::Modulus::new(q as u64).reduce(x as u64);
        assert_eq!(i128::from(found), expected, "{x} modulo {q}");
    }

    for [q, upper, lower, expected] in rows::<4>(VECTORS, "wide.modulus.reduce_sum") {
        let sum = (upper as u128) << 52 | lower as u128;
        let found = wide::Modulus::new(q as u64).reduce_sum(sum);
        assert_eq!(i128::from(found), expected, "{sum} modulo {q}");
    }
    for [q, p, word, expected] in rows::<4>(VECTORS, "small_prime.shortest") {
        let found = Shortest::new(q as u32, p as u32).apply(word as u32);
        assert_eq!(i128::from(found), expected, "{word}: {q} to {p}");
    }
}

#[test]
fn products_by_constants_are_those_of_the_definition() {
    for [q, w, v, expected] in rows::<4>(VECTORS, "factor") {
        let found = Factor::new(w as u32, q as u32).mul_lazy(v as u32, q as u32);
        assert_eq!(i128::from(found), expected, "{v} times {w} modulo {q}");
    }
    for [q, w, v, expected] in rows::<4>(VECTORS, "wide.factor") {
        let found = WideFactor::new(w as u64, q as u64).mul_signed(v as u64, q as u64);
        assert_eq!(
            i128::from(found as i64),
            expected,
            "{v} times {w} modulo {q}"
        );
    }
}

#[test]
fn residues_of_signed_words_are_those_of_the_definition() {
    for [q, word, expected] in rows::<3>(VECTORS, "signed") {
        for backend in Backend::available() {
            let mut long = [0];
            let modulus = wide::Modulus::new(q as u64);
            wide::from_signed(backend, &mut long, &[word as i32], modulus);
            assert_eq!(i128::from(long[0]), expected, "{word} modulo {q}");

            if q < 1 << 30 {
                let mut short = [0];
                to_residues(backend, &mut short, &[word as i32], Modulus::new(q as u32));
                assert_eq!(i128::from(short[0]), expected, "{word} modulo {q}");
            }
        }
    }
}

#[test]
fn centred_residues_are_those_of_the_definition() {
    for [q, residue, expected] in rows::<3>(VECTORS, "gadget.centre") {
        for backend in Backend::available() {
            let mut found = [0];
            centre(
                backend,
                &mut found,
                &[residue as u32],
                Modulus::new(q as u32),
            );
            assert_eq!(i128::from(found[0]), expected, "{residue} modulo {q}");
        }
    }
}

#[test]
fn digits_are_those_of_the_definition() {
    for [q1, q2, base, drop, r1, r2, low, middle, top] in rows::<9>(VECTORS, "gadget") {
        let gadget = Gadget2::new(q1 as u32, q2 as u32, base as u32, drop as u32, 3).unwrap();
        for backend in Backend::available() {
            let mut digits = [0; 3];
            decompose(backend, &gadget, &mut digits, &[r1 as u32], &[r2 as u32]);
            let expected = [low, middle, top];
            assert_eq!(digits.map(i128::from), expected, "{r1}, {r2}: {backend:?}");
        }
    }
}

#[test]
fn packed_bytes_are_those_of_the_definition() {
    for [width, a, b, c, low, middle, high] in rows::<7>(VECTORS, "bits") {
        let values = [a, b, c].map(|value| value as u64);
        let words = [low, middle, high].map(|word| (word as u64).to_le_bytes());
        let width = width as u32;
        let expected = &words.as_flattened()[..bits::packed_len(3, width)];

        for backend in Backend::available() {
            let mut bytes = Vec::new();
            bits::pack(backend, &values, width, &mut bytes);
            assert_eq!(bytes, expected, "{values:?}, {width} bits");

            let mut back = Vec::new();
            bits::unpack(backend, &bytes, width, 3, &mut back).unwrap();
            let kept = values.map(|value| value & u64::MAX >> (64 - width));
            assert_eq!(back, kept, "{width} bits");
        }
    }
}

/// Every operand of every small modulus.
#[test]
fn small_moduli_are_exact_for_all_operands() {
    for q in 2..=64u32 {
        let modulus = Modulus::new(q);
        for a in 0..q {
            for b in 0..q {
                assert_eq!(modulus.add(a, b), (a + b) % q, "{a} + {b} modulo {q}");
                assert_eq!(modulus.sub(a, b), (q + a - b) % q, "{a} - {b} modulo {q}");
                assert_eq!(modulus.mul(a, b), a * b % q, "{a} · {b} modulo {q}");
            }

            let factor = Factor::new(a, q);
            for v in 0..256 {
                let lazy = factor.mul_lazy(v, q);
                assert!(
                    lazy < 2 * q && lazy % q == v * a % q,
                    "{v} · {a} modulo {q}"
                );
            }
        }

        for x in 0..1024 {
            let lazy = modulus.reduce_word_lazy(x);
            assert!(lazy < 2 * q && lazy % q == x % q, "{x} modulo {q}");
        }
    }
}

/// Every operand of every small odd modulus, in words of 64 bits.
#[test]
fn small_wide_moduli_are_exact_for_all_operands() {
    for q in (3..=63u64).step_by(2) {
        let modulus = wide::Modulus::new(q);
        for a in 0..q {
            for b in 0..q {
                assert_eq!(modulus.add(a, b), (a + b) % q, "{a} + {b} modulo {q}");
                assert_eq!(modulus.sub(a, b), (q + a - b) % q, "{a} - {b} modulo {q}");
                assert_eq!(modulus.mul(a, b), a * b % q, "{a} · {b} modulo {q}");
            }

            let factor = WideFactor::new(a, q);
            for v in 0..256 {
                let signed = factor.mul_signed(v, q) as i64;
                let residue = signed.rem_euclid(q as i64) as u64;
                assert!(
                    signed.unsigned_abs() < q && residue == v * a % q,
                    "{v} · {a} modulo {q}"
                );
            }
        }
    }
}
