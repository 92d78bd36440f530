//! The transform: every backend against evaluation at the roots.

use crate::common::{Words, modulus_and_root};
use papir_kernels::Backend;
use papir_kernels::ntt::{NttError, NttTable};
use papir_reference::poly;

fn table(d: usize, bound: u32) -> (NttTable, u32) {
    let (q, psi) = modulus_and_root(d, bound);
    (NttTable::new(q, psi, d).unwrap(), psi)
}

/// Every degree, with a small and a large modulus.
fn tables() -> impl Iterator<Item = (NttTable, u32)> {
    (4..=16).flat_map(|bits| [table(1 << bits, 1 << 22), table(1 << bits, 1 << 30)])
}

fn transformed(table: &NttTable, backend: Backend, a: &[u32]) -> Vec<u32> {
    let mut x = a.to_vec();
    table.forward(backend, &mut x);
    x
}

#[test]
fn forward_evaluates_at_odd_powers_of_the_root() {
    let mut words = Words(1);
    for (table, psi) in tables() {
        let q = table.modulus();
        let d = table.degree();
        let a = words.residues(d, q);
        for backend in Backend::available() {
            let values = transformed(&table, backend, &a);
            for slot in (0..d).step_by((d / 64).max(1)).chain([d - 1]) {
                let x = poly::pow(psi, table.exponent_of_slot(slot) as u64, q);
                let value = poly::evaluate(&a, x, q);
                assert_eq!(values[slot], value, "{backend}, d = {d}, slot {slot}");
            }
        }
    }
}

#[test]
fn all_backends_agree_and_invert() {
    let mut words = Words(2);
    for (table, _) in tables() {
        let q = table.modulus();
        let d = table.degree();
        for a in [words.residues(d, q), vec![q - 1; d], vec![0; d]] {
            let expected = transformed(&table, Backend::PORTABLE, &a);
            for backend in Backend::available() {
                let mut x = transformed(&table, backend, &a);
                assert_eq!(x, expected, "{backend}, d = {d}");
                table.inverse(backend, &mut x);
                assert_eq!(x, a, "{backend}, d = {d}");
            }
        }
    }
}

#[test]
fn inputs_up_to_their_bounds_are_reduced() {
    let mut words = Words(3);
    for (table, _) in tables() {
        let q = table.modulus();
        let d = table.degree();
        let a = words.residues(d, q);
        let expected = transformed(&table, Backend::PORTABLE, &a);
        let raise = |x: &[u32], times: u32| x.iter().map(|x| x + times * q).collect::<Vec<_>>();
        for backend in Backend::available() {
            assert_eq!(transformed(&table, backend, &raise(&a, 3)), expected);
            let mut x = raise(&expected, 1);
            table.inverse(backend, &mut x);
            assert_eq!(x, a, "{backend}, d = {d}");
        }
    }
}

#[test]
fn the_lazy_transform_differs_by_multiples_of_the_modulus() {
    let mut words = Words(4);
    for (table, _) in tables() {
        let q = table.modulus();
        let d = table.degree();
        let a = words.residues(d, q);
        for backend in Backend::available() {
            let mut lazy = a.clone();
            table.forward_lazy(backend, &mut lazy);
            assert!(lazy.iter().all(|&x| x < 4 * q), "{backend}, d = {d}");
            lazy.iter_mut().for_each(|x| *x %= q);
            assert_eq!(lazy, transformed(&table, backend, &a), "{backend}, d = {d}");
        }
    }
}

#[test]
fn slotwise_products_are_negacyclic_products() {
    let mut words = Words(5);
    let (table, _) = table(64, 1 << 30);
    let q = table.modulus();
    let a = words.residues(64, q);
    let b = words.residues(64, q);
    for backend in Backend::available() {
        let x = transformed(&table, backend, &a);
        let y = transformed(&table, backend, &b);
        let slots = x.iter().zip(&y);
        let mut product: Vec<u32> = slots
            .map(|(&x, &y)| (u64::from(x) * u64::from(y) % u64::from(q)) as u32)
            .collect();
        table.inverse(backend, &mut product);
        assert_eq!(product, poly::negacyclic_mul(&a, &b, q), "{backend}");
    }
}

#[test]
fn invalid_parameters_are_refused() {
    let (q, psi) = modulus_and_root(64, 1 << 30);
    let error = |q, psi, d| NttTable::new(q, psi, d).unwrap_err();
    for d in [0, 8, 48, 1 << 17] {
        assert_eq!(error(q, psi, d), NttError::Degree { found: d });
    }
    for q in [0, 1, 2, 129 * 257, 1 << 30, u32::MAX] {
        assert_eq!(error(q, psi, 64), NttError::Modulus { found: q });
    }
    for psi in [0, 1, q - 1, q, poly::pow(psi, 2, q)] {
        let order = 128;
        assert_eq!(
            error(q, psi, 64),
            NttError::Root {
                found: psi,
                q,
                order
            }
        );
    }
}
