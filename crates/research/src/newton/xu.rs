//! The scheme of Xu et al., with which Table 3 compares NewtonPIR.
//!
//! It uses the same encryption with Lagrange interpolation: Σᵢ dᵢ·Π_(j ≠ i) (c − j)/(i − j).

use papir_core::Result;

use super::fhe::{RANK, Ring};

/// Evaluates the polynomial through the values at 1, 2, … at c, with N·(N − 1) products in the
/// ring. Values are elements; the result is integers below n.
///
/// # Errors
/// [`papir_core::Error::Malformed`] for an n with a prime factor below N.
pub fn answer(ring: &Ring<'_>, c: &[u64], values: &[u64]) -> Result<Vec<u64>> {
    let n = ring.modulus();
    let limbs = n.limbs();
    let count = values.len() / limbs;
    let one = ring.one();
    let mut sum = n.zeros(RANK);

    for (i, value) in values.chunks_exact(limbs).enumerate() {
        let mut numerator = one.clone();
        let mut denominator = n.wide().one().to_vec();
        // The numerator is encrypted and takes products in the ring; the denominator has public
        // numbers.
        for j in (0..count).filter(|&j| j != i) {
            numerator = step(ring, c, &numerator, j as i64 + 1);
            let difference = n.sum([(n.wide().one(), i as i64 - j as i64)]);
            n.wide().multiply(&mut denominator, &difference);
        }

        n.wide()
            .multiply_all(&mut numerator, &n.product(value, &n.inverse(&denominator)?));
        n.wide().add_multiples(&mut sum, [(&numerator, 1)]);
    }

    Ok(n.leave(&sum))
}

/// Returns x·(c − j). An answer takes N·(N − 1) such steps.
pub fn step(ring: &Ring<'_>, c: &[u64], x: &[u64], j: i64) -> Vec<u64> {
    let mut product = ring.multiply(x, c);
    ring.modulus().wide().add_multiples(&mut product, [(x, -j)]);
    product
}
