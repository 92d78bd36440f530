//! Windowing: with y, y², y⁴, … sent, any power of y is a product of few of them.
//!
//! All powers of one element are encrypted under one point (a, b): ciphertexts of different points lie in
//! different rings and have no product.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::newton::fhe::{Point, Ring, encrypt_at};
use crate::newton::modulus::Modulus;

/// Encryptions of y^(2ⁱ) for i below `count`, y an element: integers below n.
pub fn encrypt_powers(
    n: &Modulus,
    point: &Point,
    y: &[u64],
    count: usize,
    rng: &mut dyn CryptoRng,
) -> Vec<Vec<u64>> {
    let mut power = Zeroizing::new(y.to_vec());
    let encrypt = |_| {
        let encrypted = encrypt_at(n, point, &power, rng);
        n.wide().square(&mut power);
        encrypted
    };
    (0..count).map(encrypt).collect()
}

/// Encryptions of y⁰ to y^degree from those of y^(2ⁱ), elements: yᵏ as the product of y^(2ⁱ), the largest such
/// power up to it, with the rest; what was not sent is a square. A product takes 81 and more modulo n.
pub fn all_powers(ring: &Ring<'_>, sent: &[Vec<u64>], degree: usize) -> Vec<Vec<u64>> {
    let mut powers = vec![ring.one()];
    for k in 1..=degree {
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
