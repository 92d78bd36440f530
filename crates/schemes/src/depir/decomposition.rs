//! Ciphertexts as values at points of Y (section 6, "Fourier decomposition").
//!
//! A polynomial of degree D in Y is determined by its values at any D + 1 points; interpolation is
//! a matrix. The paper uses k-th roots of unity, k a prime above D, which exist modulo primes that
//! are 1 modulo 2nk ([`super::params::DepirParams::fourier`]). The points 0, 1, …, D exist modulo
//! every prime.

use papir_kernels::pointwise::{self, Modulus};
use papir_ring::prime::{inverse_mod, is_prime, pow_mod};

/// The least prime k above D.
pub fn roots(degree: usize) -> u32 {
    (degree as u32 + 1..).find(|&k| is_prime(k.into())).unwrap_or(u32::MAX)
}

/// D + 1 points of Y: k-th roots of unity modulo primes that have them, else 0, 1, …, D.
pub fn nodes(modulus: Modulus, degree: usize) -> Vec<u32> {
    let (q, k) = (u64::from(modulus.value()), u64::from(roots(degree)));
    if k < 3 || !(q - 1).is_multiple_of(k) {
        return (0..=degree as u32).collect();
    }
    // A k-th root that is not 1 is primitive, as k is prime.
    let root = (2..q).map(|base| pow_mod(base, (q - 1) / k, q)).find(|&root| root != 1).unwrap_or(1);
    (0..=degree as u64).map(|i| pow_mod(root, i, q) as u32).collect()
}

/// b + a·Y at these points: for each coordinate a row of all slots at the first, then at the
/// second, ….
pub fn values(modulus: Modulus, nodes: &[u32], bodies: &[&[u32]], masks: &[&[u32]]) -> Vec<Vec<u32>> {
    let one = |(body, mask): (&&[u32], &&[u32])| {
        let mut all = vec![0; nodes.len() * body.len()];
        for (row, &node) in all.chunks_exact_mut(body.len()).zip(nodes) {
            pointwise::scale(row, mask, node, modulus);
            pointwise::add_assign(row, body, modulus);
        }
        all
    };
    bodies.iter().zip(masks).map(one).collect()
}

/// Interpolates polynomials in Y from values at these points. Values are rows of all slots, one for
/// each point; results are rows, one for each coefficient.
pub fn coefficients(modulus: Modulus, nodes: &[u32], values: &[u32]) -> Vec<u32> {
    let slots = values.len() / nodes.len();
    let mut out = vec![0; values.len()];
    for (row, weights) in out.chunks_exact_mut(slots).zip(weights(modulus, nodes)) {
        pointwise::combine(row, values, &weights, modulus);
    }
    out
}

/// Matrix of interpolation at different points: Lagrange's polynomials, transposed.
pub(super) fn weights(modulus: Modulus, nodes: &[u32]) -> Vec<Vec<u32>> {
    // Π (x − node), from which each factor is divided off again.
    let product = nodes.iter().fold(vec![1], |product, &node| times_root(modulus, &product, node));
    let columns: Vec<Vec<u32>> = nodes
        .iter()
        .map(|&node| {
            let quotient = divided(modulus, &product, node);
            let others = nodes.iter().filter(|&&other| other != node);
            let scale = others.fold(1, |scale, &other| modulus.mul(scale, modulus.sub(node, other)));
            let scale = inverse_mod(scale.into(), modulus.value().into()) as u32;
            quotient.iter().map(|&coefficient| modulus.mul(coefficient, scale)).collect()
        })
        .collect();
    (0..nodes.len()).map(|row| columns.iter().map(|column| column[row]).collect()).collect()
}

/// Multiplies a polynomial, constant coefficient first, by x − node.
fn times_root(modulus: Modulus, polynomial: &[u32], node: u32) -> Vec<u32> {
    let mut product = vec![0; polynomial.len() + 1];
    for (i, &coefficient) in polynomial.iter().enumerate() {
        product[i + 1] = modulus.add(product[i + 1], coefficient);
        product[i] = modulus.sub(product[i], modulus.mul(coefficient, node));
    }
    product
}

/// Divides a polynomial by x − node, its root.
fn divided(modulus: Modulus, polynomial: &[u32], node: u32) -> Vec<u32> {
    let mut quotient = vec![0; polynomial.len() - 1];
    let mut carry = 0;
    for (out, &coefficient) in quotient.iter_mut().zip(&polynomial[1..]).rev() {
        carry = modulus.add(modulus.mul(carry, node), coefficient);
        *out = carry;
    }
    quotient
}

#[cfg(test)]
mod tests {
    use papir_ring::prime::ntt_primes;

    use super::*;

    #[test]
    fn polynomials_come_back_from_their_values() {
        let modulus = Modulus::new(268_369_921);
        // Two slots: 3 + 5·Y and 7 + 268369920·Y, as polynomials of degree 3.
        let found = values(modulus, &[0, 1, 2, 3], &[&[3, 7]], &[&[5, 268_369_920]]);
        assert_eq!(found, [[3, 7, 8, 6, 13, 5, 18, 4]]);
        assert_eq!(coefficients(modulus, &[0, 1, 2, 3], &found[0]), [3, 7, 5, 268_369_920, 0, 0, 0, 0]);
    }

    #[test]
    fn nodes_are_roots_of_unity_where_there_are_any() {
        assert_eq!([0, 1, 3, 18, 30].map(roots), [2, 2, 5, 19, 31]);
        let prime = ntt_primes(28, 64 * 19, 1)[0];
        let found = nodes(Modulus::new(prime), 18);
        assert_eq!(found.len(), 19);
        for (i, &node) in found.iter().enumerate() {
            assert_eq!(pow_mod(node.into(), 19, prime.into()), 1);
            assert!(!found[..i].contains(&node));
        }
        assert_eq!(nodes(Modulus::new(97), 4), [0, 1, 2, 3, 4]);
        // Rows of one slot, there and back.
        let modulus = Modulus::new(prime);
        let there = values(modulus, &found, &[&[12_345]], &[&[678]]);
        let back = coefficients(modulus, &found, &there[0]);
        assert_eq!((&back[..2], back[2..].iter().sum::<u32>()), (&[12_345, 678][..], 0));
    }
}
