//! Windowing: computes powers of y from encryptions of y, y², y⁴, ….
//!
//! All powers of one element are encrypted under one point (a, b). Ciphertexts of different points
//! are in different rings and cannot be multiplied.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::newton::fhe::{Point, Ring, encrypt_at};
use crate::newton::modulus::Modulus;

/// Encrypts y^(2ⁱ) for i below `count`, where y is an element. Returns integers below n.
pub fn encrypt_powers(
    n: &Modulus,
    point: &Point,
    y: &[u64],
    count: usize,
    rng: &mut dyn CryptoRng,
) -> Vec<Vec<u64>> {
    let mut power = Zeroizing::new(y.to_vec());
    let mut powers = Vec::with_capacity(count);
    for _ in 0..count {
        powers.push(encrypt_at(n, point, &power, rng));
        n.wide().square(&mut power);
    }
    powers
}

/// Computes encryptions of y⁰ to y^degree, as elements, from encryptions of y^(2ⁱ). Each other
/// power is the product of two lower ones. A product in the ring takes at least 81 products modulo
/// n.
pub fn all_powers(ring: &Ring<'_>, sent: &[Vec<u64>], degree: usize) -> Vec<Vec<u64>> {
    let mut powers = vec![ring.one()];
    for k in 1..=degree {
        // k is its highest power of two and a rest: at most one product from powers that exist
        // already.
        let log = k.ilog2() as usize;
        let rest = k - (1 << log);

        let power = match sent.get(log) {
            Some(sent) if rest == 0 => sent.clone(),
            None if rest == 0 => ring.multiply(&powers[k / 2], &powers[k / 2]),
            _ => ring.multiply(&powers[k - rest], &powers[rest]),
        };
        powers.push(power);
    }
    powers
}
