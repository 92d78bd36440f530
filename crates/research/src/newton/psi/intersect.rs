//! Encrypted evaluation of r·Π (y − x).

use crate::newton::fhe::{RANK, Ring};
use crate::newton::modulus::Modulus;

/// Coefficients of r·Π (T − x) as elements, the constant one first.
pub fn polynomial(n: &Modulus, r: &[u64], roots: &[u64]) -> Vec<u64> {
    let limbs = n.limbs();
    let mut coefficients = r.to_vec();
    for root in roots.chunks_exact(limbs) {
        let mut lower = coefficients.clone();
        n.wide().multiply_all(&mut lower, root);
        coefficients.splice(0..0, n.zeros(1));
        let length = lower.len();
        n.wide().add_multiples(&mut coefficients[..length], [(&lower, -1)]);
    }
    coefficients
}

/// Evaluates g(y) in integers below n from the encrypted powers of y, with nine products for each.
pub fn evaluate(ring: &Ring<'_>, coefficients: &[u64], powers: &[Vec<u64>]) -> Vec<u64> {
    let n = ring.modulus();
    let mut sum = n.zeros(RANK);
    for (coefficient, power) in coefficients.chunks_exact(n.limbs()).zip(powers) {
        let mut term = power.clone();
        n.wide().multiply_all(&mut term, coefficient);
        n.wide().add_multiples(&mut sum, [(&term, 1)]);
    }
    n.leave(&sum)
}
