//! Polynomials of Z_q\[X\]/(X^d + 1) with words of 64 bits.
//!
//! Coefficients are in natural order and below q.

/// a·b modulo q.
pub fn mul(a: u64, b: u64, q: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(q)) as u64
}

/// base^exponent modulo q.
pub fn pow(base: u64, exponent: u64, q: u64) -> u64 {
    (0..u64::BITS).rev().fold(1, |result, bit| {
        let square = mul(result, result, q);
        if exponent >> bit & 1 == 1 {
            mul(square, base, q)
        } else {
            square
        }
    })
}

/// A primitive root of unity modulo a prime q, for an order that is a power of two and divides
/// q − 1.
pub fn primitive_root(order: u64, q: u64) -> Option<u64> {
    (2..q)
        .map(|g| pow(g, (q - 1) / order, q))
        .find(|&root| pow(root, order / 2, q) == q - 1)
}

/// a(x) modulo q, by Horner's rule.
pub fn evaluate(a: &[u64], x: u64, q: u64) -> u64 {
    a.iter()
        .rev()
        .fold(0, |value, &a| (mul(value, x, q) + a) % q)
}

/// a·b, by schoolbook multiplication.
pub fn negacyclic_mul(a: &[u64], b: &[u64], q: u64) -> Vec<u64> {
    let mut product = vec![0; a.len()];
    for (shift, &factor) in b.iter().enumerate() {
        for (sum, term) in product.iter_mut().zip(rotate(a, shift, q)) {
            *sum = (*sum + mul(term, factor, q)) % q;
        }
    }
    product
}

/// a·X^shift.
pub fn rotate(a: &[u64], shift: usize, q: u64) -> Vec<u64> {
    images(a, |i| i + shift, q)
}

/// a(X^e).
pub fn automorphism(a: &[u64], e: usize, q: u64) -> Vec<u64> {
    images(a, |i| i * e, q)
}

/// Moves coefficient i to the power `exponent(i)` of X, where X^d = −1.
fn images(a: &[u64], exponent: impl Fn(usize) -> usize, q: u64) -> Vec<u64> {
    let d = a.len();
    let mut out = vec![0; d];
    for (i, &a) in a.iter().enumerate() {
        let negative = exponent(i) / d % 2 == 1;
        out[exponent(i) % d] = if negative { (q - a) % q } else { a };
    }
    out
}
