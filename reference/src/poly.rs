//! Polynomials modulo X^d + 1, as slices of coefficients in natural order.

/// a + b modulo q.
pub fn add(a: &[u32], b: &[u32], q: u32) -> Vec<u32> {
    let sums = a.iter().zip(b);
    sums.map(|(&a, &b)| ((u64::from(a) + u64::from(b)) % u64::from(q)) as u32)
        .collect()
}

/// a·b in Z_q\[X\]/(X^d + 1), by schoolbook multiplication.
pub fn negacyclic_mul(a: &[u32], b: &[u32], q: u32) -> Vec<u32> {
    let d = a.len();
    let q = u64::from(q);
    let mut product = vec![0u64; d];
    for (i, &a) in a.iter().enumerate() {
        for (j, &b) in b.iter().enumerate() {
            let term = u64::from(a) * u64::from(b) % q;
            let signed = if i + j < d { term } else { q - term };
            product[(i + j) % d] = (product[(i + j) % d] + signed) % q;
        }
    }
    product.into_iter().map(|c| c as u32).collect()
}

/// base^exponent modulo q.
pub fn pow(base: u32, exponent: u64, q: u32) -> u32 {
    let mut result = 1u64;
    for bit in (0..u64::BITS).rev() {
        result = result * result % u64::from(q);
        if exponent >> bit & 1 == 1 {
            result = result * u64::from(base) % u64::from(q);
        }
    }
    result as u32
}

/// A primitive root of unity modulo a prime q, for an order that is a power of two and divides
/// q − 1.
pub fn primitive_root(order: u64, q: u32) -> Option<u32> {
    (2..q)
        .map(|g| pow(g, u64::from(q - 1) / order, q))
        .find(|&root| pow(root, order / 2, q) == q - 1)
}

/// a(x) modulo q, by Horner's rule.
pub fn evaluate(a: &[u32], x: u32, q: u32) -> u32 {
    a.iter().rev().fold(0, |value, &a| {
        ((u64::from(value) * u64::from(x) + u64::from(a)) % u64::from(q)) as u32
    })
}

/// a·X^shift in Z\[X\]/(X^d + 1) on words that wrap.
pub fn rotate_i32(a: &[i32], shift: usize) -> Vec<i32> {
    let d = a.len();
    let mut out = vec![0; d];
    for (i, &a) in a.iter().enumerate() {
        let negative = (i + shift) / d % 2 == 1;
        out[(i + shift) % d] = if negative { a.wrapping_neg() } else { a };
    }
    out
}

/// a·X^shift in Z_q\[X\]/(X^d + 1).
pub fn rotate_mod(a: &[u32], shift: usize, q: u32) -> Vec<u32> {
    let d = a.len();
    let mut out = vec![0; d];
    for (i, &a) in a.iter().enumerate() {
        let negative = (i + shift) / d % 2 == 1;
        out[(i + shift) % d] = if negative { (q - a) % q } else { a };
    }
    out
}

/// a(X^e) in Z_q\[X\]/(X^d + 1).
pub fn automorphism(a: &[u32], e: usize, q: u32) -> Vec<u32> {
    let d = a.len();
    let mut out = vec![0; d];
    for (i, &a) in a.iter().enumerate() {
        let negative = i * e / d % 2 == 1;
        out[i * e % d] = if negative { (q - a) % q } else { a };
    }
    out
}

/// F(c) = Σ_f polys\[f\]·X^(2d/n·c·f) for c = 0 … n − 1, on words that wrap.
pub fn monomial_dft_i32(polys: &[Vec<i32>]) -> Vec<Vec<i32>> {
    let n = polys.len();
    let d = polys[0].len();
    let mut sums = vec![vec![0i32; d]; n];
    for (c, sum) in sums.iter_mut().enumerate() {
        for (f, poly) in polys.iter().enumerate() {
            let term = rotate_i32(poly, 2 * d / n * c * f);
            for (sum, term) in sum.iter_mut().zip(term) {
                *sum = sum.wrapping_add(term);
            }
        }
    }
    sums
}

/// [`monomial_dft_i32`] modulo q.
pub fn monomial_dft_mod(polys: &[Vec<u32>], q: u32) -> Vec<Vec<u32>> {
    let n = polys.len();
    let d = polys[0].len();
    let mut sums = vec![vec![0; d]; n];
    for (c, sum) in sums.iter_mut().enumerate() {
        for (f, poly) in polys.iter().enumerate() {
            *sum = add(sum, &rotate_mod(poly, 2 * d / n * c * f, q), q);
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x_to_the_d_is_minus_one() {
        let x = [0, 1, 0, 0];
        assert_eq!(negacyclic_mul(&x, &[0, 0, 0, 5], 17), [12, 0, 0, 0]);
        assert_eq!(rotate_mod(&[0, 0, 0, 5], 1, 17), [12, 0, 0, 0]);
        assert_eq!(rotate_i32(&[1, 2, 3, 4], 6), [3, 4, -1, -2]);
        assert_eq!(automorphism(&[1, 2, 3, 4], 3, 17), [1, 4, 14, 2]);
    }

    #[test]
    fn evaluation_at_a_root_is_a_ring_homomorphism() {
        let a = [3, 1, 4, 1];
        let b = [2, 7, 1, 8];
        let q = 17;
        let product = negacyclic_mul(&a, &b, q);
        let x = primitive_root(8, q).unwrap_or(0);
        let values = evaluate(&a, x, q) * evaluate(&b, x, q) % q;
        assert_eq!(evaluate(&product, x, q), values);
    }
}
