//! Ciphertexts by their values at points of Y (section 6, "Fourier decomposition").
//!
//! A polynomial of degree D in Y is known by its values at any D + 1 points. The paper takes the k-th roots of unity, k a
//! prime above D, so that primes must be 1 modulo 2nk; the points 0, 1, …, D ask nothing of a prime, there are k − D − 1
//! fewer of them, and the way back is a matrix either way.

use papir_kernels::pointwise::{self, Modulus};
use papir_ring::prime::inverse_mod;

/// b + a·Y at Y = 0, 1, …, D: for each coordinate a row of all slots at 0, then at 1, ….
pub fn values(modulus: Modulus, degree: usize, bodies: &[&[u32]], masks: &[&[u32]]) -> Vec<Vec<u32>> {
    let one = |(body, mask): (&&[u32], &&[u32])| {
        let mut row = body.to_vec();
        let mut all = Vec::with_capacity((degree + 1) * row.len());
        for _ in 0..=degree {
            all.extend_from_slice(&row);
            pointwise::add_assign(&mut row, mask, modulus);
        }
        all
    };
    bodies.iter().zip(masks).map(one).collect()
}

/// Polynomials in Y from their values at 0, 1, …, D: rows of all slots, for points in and for coefficients out.
pub fn coefficients(modulus: Modulus, degree: usize, values: &[u32]) -> Vec<u32> {
    let slots = values.len() / (degree + 1);
    let mut out = vec![0; values.len()];
    for (row, weights) in out.chunks_exact_mut(slots).zip(weights(modulus, degree)) {
        pointwise::combine(row, values, &weights, modulus);
    }
    out
}

/// The matrix that takes values at 0, 1, …, D to coefficients: Lagrange's polynomials, transposed.
pub(super) fn weights(modulus: Modulus, degree: usize) -> Vec<Vec<u32>> {
    // Π (x − j), from which each factor is divided off again.
    let mut product = vec![1];
    for node in 0..=degree as u32 {
        product = times_root(modulus, &product, node);
    }
    let columns: Vec<Vec<u32>> = (0..=degree)
        .map(|node| {
            let quotient = divided(modulus, &product, node as u32);
            let others = (0..=degree).filter(|&other| other != node);
            let scale =
                others.fold(1, |scale, other| modulus.mul(scale, modulus.sub(node as u32, other as u32)));
            let scale = inverse_mod(scale.into(), modulus.value().into()) as u32;
            quotient.iter().map(|&coefficient| modulus.mul(coefficient, scale)).collect()
        })
        .collect();
    (0..=degree).map(|row| columns.iter().map(|column| column[row]).collect()).collect()
}

/// A polynomial, its constant coefficient first, times x − node.
fn times_root(modulus: Modulus, polynomial: &[u32], node: u32) -> Vec<u32> {
    let mut product = vec![0; polynomial.len() + 1];
    for (i, &coefficient) in polynomial.iter().enumerate() {
        product[i + 1] = modulus.add(product[i + 1], coefficient);
        product[i] = modulus.sub(product[i], modulus.mul(coefficient, node));
    }
    product
}

/// A polynomial that is zero at a node, divided by x − node.
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
    use super::*;

    #[test]
    fn polynomials_come_back_from_their_values() {
        let modulus = Modulus::new(268_369_921);
        // Two slots: 3 + 5·Y and 7 + 268369920·Y, as polynomials of degree 3.
        let found = values(modulus, 3, &[&[3, 7]], &[&[5, 268_369_920]]);
        assert_eq!(found, [[3, 7, 8, 6, 13, 5, 18, 4]]);
        assert_eq!(coefficients(modulus, 3, &found[0]), [3, 7, 5, 268_369_920, 0, 0, 0, 0]);
    }
}
