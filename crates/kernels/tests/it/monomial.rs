//! Rotations and their Fourier transform: every backend against naive sums.

use crate::common::Words;
use papir_kernels::Backend;
use papir_kernels::monomial;
use papir_kernels::pointwise::Modulus;
use papir_reference::poly;

const Q: u32 = (1 << 30) - 35;
const DEGREES: [usize; 6] = [1, 2, 7, 16, 64, 100];

/// Reorders n polynomials so that slot k holds polynomial brv(k), over log₂ n bits.
fn bit_reversed<T: Clone>(natural: &[Vec<T>]) -> Vec<T> {
    let n = natural.len();
    let reverse = |k: usize| (0..n.ilog2()).fold(0, |r, bit| r << 1 | (k >> bit & 1));
    (0..n).flat_map(|k| natural[reverse(k)].clone()).collect()
}

#[test]
fn rotations_by_any_shift() {
    let mut words = Words(40);
    for d in DEGREES {
        let a = words.integers(d);
        let b = words.residues(d, Q);
        for (backend, shift) in Backend::available()
            .into_iter()
            .flat_map(|b| (0..2 * d).map(move |s| (b, s)))
        {
            let mut out = vec![0; d];
            let mut out_mod = vec![0; d];
            monomial::rotate_i32(backend, &mut out, &a, shift);
            monomial::rotate_mod(backend, &mut out_mod, &b, shift, Modulus::new(Q));
            assert_eq!(out, poly::rotate_i32(&a, shift), "{backend}, d = {d}");
            assert_eq!(
                out_mod,
                poly::rotate_mod(&b, shift, Q),
                "{backend}, d = {d}"
            );
        }
    }
}

#[test]
fn butterflies_of_integers() {
    let mut words = Words(41);
    for d in DEGREES {
        let u = words.integers(d);
        let v = words.integers(d);
        let pairs = || u.iter().zip(&v);
        let sum: Vec<i32> = pairs().map(|(u, v)| u.wrapping_add(*v)).collect();
        let difference: Vec<i32> = pairs().map(|(u, v)| u.wrapping_sub(*v)).collect();
        for (backend, shift) in Backend::available()
            .into_iter()
            .flat_map(|b| (0..2 * d).map(move |s| (b, s)))
        {
            let mut x = u.clone();
            let mut y = v.clone();
            let mut scratch = vec![7; d];
            monomial::butterfly_i32(backend, &mut x, &mut y, shift, &mut scratch);
            assert_eq!(x, sum, "{backend}, d = {d}");
            assert_eq!(
                y,
                poly::rotate_i32(&difference, shift),
                "{backend}, d = {d}"
            );
        }
    }
}

#[test]
fn butterflies_of_residues() {
    let mut words = Words(42);
    for d in DEGREES {
        let u = words.residues(d, Q);
        let v = words.residues(d, Q);
        let sum = poly::add(&u, &v, Q);
        let difference = poly::add(&u, &poly::rotate_mod(&v, d, Q), Q);
        for (backend, shift) in Backend::available()
            .into_iter()
            .flat_map(|b| (0..2 * d).map(move |s| (b, s)))
        {
            let mut x = u.clone();
            let mut y = v.clone();
            let mut scratch = vec![7; d];
            monomial::butterfly_mod(
                backend,
                &mut x,
                &mut y,
                shift,
                Modulus::new(Q),
                &mut scratch,
            );
            assert_eq!(x, sum, "{backend}, d = {d}");
            assert_eq!(
                y,
                poly::rotate_mod(&difference, shift, Q),
                "{backend}, d = {d}"
            );
        }
    }
}

#[test]
fn transforms_are_the_naive_sums() {
    let mut words = Words(43);
    for (n, d) in [(1, 16), (4, 16), (16, 16), (32, 16), (32, 32), (64, 64)] {
        let integers: Vec<_> = (0..n).map(|_| words.integers(d)).collect();
        let residues: Vec<_> = (0..n).map(|_| words.residues(d, Q)).collect();
        let expected = bit_reversed(&poly::monomial_dft_i32(&integers));
        let expected_mod = bit_reversed(&poly::monomial_dft_mod(&residues, Q));
        for backend in Backend::available() {
            let mut x = integers.concat();
            let mut scratch = vec![0; d];
            monomial::dft_i32(backend, &mut x, d, &mut scratch);
            assert_eq!(x, expected, "{backend}, n = {n}, d = {d}");
            let mut x = residues.concat();
            let mut scratch = vec![0; d];
            monomial::dft_mod(backend, &mut x, d, Modulus::new(Q), &mut scratch);
            assert_eq!(x, expected_mod, "{backend}, n = {n}, d = {d}");
        }
    }
}

/// Large enough for stages that do not fit the cache.
#[test]
fn a_large_transform_is_checked_at_some_points() {
    let n = 1024;
    let d = 1024;
    let mut words = Words(44);
    let polys = words.integers(n * d);
    for backend in Backend::available() {
        let mut x = polys.clone();
        let mut scratch = vec![0; d];
        monomial::dft_i32(backend, &mut x, d, &mut scratch);
        for slot in [0, 1, 2, 511, 770, 1023] {
            let c = (slot as u32).reverse_bits() as usize >> 22;
            let mut sum = vec![0i32; d];
            for (f, poly) in polys.chunks_exact(d).enumerate() {
                for (sum, term) in sum
                    .iter_mut()
                    .zip(poly::rotate_i32(poly, 2 * c * f % (2 * d)))
                {
                    *sum = sum.wrapping_add(term);
                }
            }
            assert_eq!(x[slot * d..][..d], sum, "{backend}, slot {slot}");
        }
    }
}
