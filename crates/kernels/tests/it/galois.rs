//! X → X^e in both forms: every backend against the definition.

use crate::common::{self, Words, modulus_and_root};
use papir_kernels::Backend;
use papir_kernels::galois;
use papir_kernels::ntt::NttTable;
use papir_kernels::pointwise::Modulus;
use papir_reference::poly;

#[test]
fn the_permutation_is_the_automorphism_in_ntt_form() {
    let mut words = Words(20);
    for d in [16, 32, 256, 2048] {
        let (q, psi) = modulus_and_root(d, 1 << 30);
        let table = NttTable::new(q, psi, d).unwrap();
        for e in [
            1,
            3,
            5,
            d - 1,
            d + 1,
            2 * d - 1,
            2 * d + 5,
            (words.word() as usize / 2) | 1,
        ] {
            let a = words.residues(d, q);
            let mut image = vec![0; d];
            galois::automorphism(&mut image, &a, e, Modulus::new(q));
            assert_eq!(
                image,
                poly::automorphism(&a, e % (2 * d), q),
                "d = {d}, e = {e}"
            );
            let mut values = a.clone();
            table.forward(Backend::current(), &mut values);
            table.forward(Backend::current(), &mut image);
            for backend in Backend::available() {
                let mut out = vec![0; d];
                galois::permute(backend, &mut out, &values, &galois::permutation(d, e));
                assert_eq!(out, image, "{backend}, d = {d}, e = {e}");
            }
        }
    }
}

/// On processors of 32 bits, products of exponents modulo 2¹⁷ exceed a word.
#[test]
fn exponents_of_large_degrees_wrap_without_a_change() {
    let d = 1usize << 16;
    let brv = |k: usize| u64::from((k as u16).reverse_bits());
    for e in [2 * d - 1, d + 1, usize::MAX] {
        let found = galois::permutation(d, e);
        for k in [0, 1, 2, 4097, d / 2 + 1, d - 2, d - 1] {
            // In 128 bits, where nothing wraps.
            let product = u128::from(2 * brv(k) + 1) * e as u128;
            let source = brv((product % (2 * d as u128) / 2) as usize);
            assert_eq!(u64::from(found[k]), source, "e = {e}, k = {k}");
        }
    }
}

#[test]
fn any_indices_are_applied() {
    let mut words = Words(21);
    for length in common::LENGTHS {
        let a = words.residues(length, 1 << 29);
        let indices: Vec<u32> = (0..length)
            .map(|_| words.below(length as u64) as u32)
            .collect();
        let expected: Vec<u32> = indices.iter().map(|&k| a[k as usize]).collect();
        for backend in Backend::available() {
            let mut out = vec![0; length];
            galois::permute(backend, &mut out, &a, &indices);
            assert_eq!(out, expected, "{backend}, {length} words");
        }
    }
}

#[test]
fn an_index_out_of_range_panics() {
    for backend in Backend::available() {
        for bad in [32u32, 33, 47, u32::MAX] {
            let mut indices: Vec<u32> = (0..32).collect();
            indices[17] = bad;
            let permute = || galois::permute(backend, &mut [0; 32], &[0; 32], &indices);
            assert!(
                std::panic::catch_unwind(permute).is_err(),
                "{backend}, index {bad}"
            );
        }
        let permute = || galois::permute(backend, &mut [0; 16], &[0; 16], &[u32::MAX - 15; 16]);
        assert!(
            std::panic::catch_unwind(permute).is_err(),
            "{backend}, a block outside"
        );
    }
}
