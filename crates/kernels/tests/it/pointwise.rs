//! Slot-by-slot arithmetic: every backend against 128-bit integers.

use crate::common::{LENGTHS, MODULI, Words};
use papir_kernels::Backend;
use papir_kernels::pointwise::{self, Modulus};

/// Runs a test for every backend, length and modulus with two slices of residues.
fn for_all(seed: u64, test: impl Fn(Backend, Modulus, &[u32], &[u32])) {
    let mut words = Words(seed);
    for q in MODULI {
        for length in LENGTHS {
            let a = words.residues(length, q);
            let b = words.residues(length, q);
            for backend in Backend::available() {
                test(backend, Modulus::new(q), &a, &b);
            }
        }
    }
}

/// f on every pair, in 128 bits, modulo q.
fn expected(a: &[u32], b: &[u32], q: Modulus, f: impl Fn(i128, i128) -> i128) -> Vec<u32> {
    let pairs = a.iter().zip(b);
    pairs
        .map(|(&a, &b)| f(a.into(), b.into()).rem_euclid(q.value().into()) as u32)
        .collect()
}

#[test]
fn sums_and_differences() {
    for_all(10, |backend, q, a, b| {
        let mut out = vec![0; a.len()];
        pointwise::add(backend, &mut out, a, b, q);
        assert_eq!(out, expected(a, b, q, |a, b| a + b));
        pointwise::sub_assign(backend, &mut out, b, q);
        assert_eq!(out, a);
        pointwise::sub(backend, &mut out, a, b, q);
        assert_eq!(out, expected(a, b, q, |a, b| a - b));
        pointwise::add_assign(backend, &mut out, b, q);
        assert_eq!(out, a);
        pointwise::neg(backend, &mut out, a, q);
        assert_eq!(out, expected(a, b, q, |a, _| -a));
    });
}

#[test]
fn products() {
    for_all(11, |backend, q, a, b| {
        let mut out = vec![0; a.len()];
        pointwise::mul(backend, &mut out, a, b, q);
        assert_eq!(out, expected(a, b, q, |a, b| a * b));
        out.copy_from_slice(a);
        pointwise::mul_assign(backend, &mut out, b, q);
        assert_eq!(out, expected(a, b, q, |a, b| a * b));
        for constant in [0, 1, q.value() / 2, q.value() - 1] {
            pointwise::scale(backend, &mut out, a, constant, q);
            assert_eq!(out, expected(a, b, q, |a, _| a * i128::from(constant)));
        }
    });
}

#[test]
fn scaling_accepts_any_word() {
    let q = Modulus::new(268_369_921);
    let a = [0, 1, q.value(), u32::MAX, u32::MAX - 1];
    for backend in Backend::available() {
        let mut out = [0; 5];
        pointwise::scale(backend, &mut out, &a, q.value() - 1, q);
        let constant = i128::from(q.value() - 1);
        assert_eq!(out[..], expected(&a, &a, q, |a, _| a * constant));
    }
}

#[test]
fn accumulators_hold_the_documented_number_of_products() {
    for (q, products) in [((1 << 30) - 1, 16), ((1 << 28) - 1, 256)] {
        for backend in Backend::available() {
            let a = vec![q - 1; 37];
            let mut acc = vec![0; 37];
            let mut out = vec![0; 37];
            for _ in 0..products {
                pointwise::mul_accumulate(backend, &mut acc, &a, &a);
            }
            pointwise::reduce(backend, &mut out, &acc, Modulus::new(q));
            assert_eq!(out, vec![products; 37], "(−1)·(−1), {products} times");
        }
    }
}

#[test]
fn accumulation_and_reduction() {
    for_all(12, |backend, q, a, b| {
        let mut acc: Vec<u64> = a.iter().map(|&a| u64::MAX - u64::from(a)).collect();
        let start = acc.clone();
        pointwise::mul_accumulate(backend, &mut acc, a, b);
        let mut out = vec![0; a.len()];
        pointwise::reduce(backend, &mut out, &acc, q);
        for k in 0..a.len() {
            let sum = start[k].wrapping_add(u64::from(a[k]) * u64::from(b[k]));
            assert_eq!(acc[k], sum);
            assert_eq!(u64::from(out[k]), sum % u64::from(q.value()));
        }
    });
}

#[test]
fn combinations_are_sums_of_multiples() {
    let mut words = Words(14);
    for (q, rows) in [
        (17, 3),
        (268_369_921, 1),
        (268_369_921, 256),
        ((1 << 30) - 35, 16),
    ] {
        for length in [1, 5, 32, 33, 100] {
            let all = words.residues(rows * length, q);
            let weights = words.residues(rows, q);
            let expected: Vec<u32> = (0..length)
                .map(|position| {
                    let terms = weights.iter().zip(all.chunks_exact(length));
                    let sum: u128 = terms
                        .map(|(&w, row)| u128::from(w) * u128::from(row[position]))
                        .sum();
                    (sum % u128::from(q)) as u32
                })
                .collect();
            for backend in Backend::available() {
                let mut out = vec![7; length];
                pointwise::combine(backend, &mut out, &all, &weights, Modulus::new(q));
                assert_eq!(out, expected, "{rows} rows of {length} words modulo {q}");
            }
        }
    }
}
