//! Interpolation over Z_q\[X\]/(X^d + 1) at unit monomials, for odd q.
//!
//! Follows the definitions in InsPIRe, section 6 and appendix G.

use crate::poly::{add, negacyclic_mul, rotate_mod};

/// A polynomial in one variable with coefficients in the ring, the constant first.
type Polynomial = Vec<Vec<u32>>;

/// The value at X^exponent: Σ_j cⱼ·X^{exponent·j}.
pub fn value(coefficients: &[Vec<u32>], exponent: usize, q: u32) -> Vec<u32> {
    value_in_variables(coefficients, &[(coefficients.len(), exponent)], q)
}

/// The value in several variables, each given by its number of coefficients and its exponent. The
/// coefficients of the first variable are next to each other.
pub fn value_in_variables(
    coefficients: &[Vec<u32>],
    variables: &[(usize, usize)],
    q: u32,
) -> Vec<u32> {
    let d = coefficients[0].len();
    let mut sum = vec![0; d];
    for (j, coefficient) in coefficients.iter().enumerate() {
        let mut rest = j;
        let mut shift = 0;
        for &(count, exponent) in variables {
            shift += exponent * (rest % count);
            rest /= count;
        }
        sum = add(&sum, &rotate_mod(coefficient, shift % (2 * d), q), q);
    }
    sum
}

/// 1/(X^a − X^b) for a ≠ b below 2d (Lemma 8): the sign of b − a, times X^{d − min}, times
/// (q − 2)⁻¹·Σ_{i < d/g} X^{i·|a − b|} with g = gcd(a − b, 2d).
pub fn inverse_of_difference(a: usize, b: usize, d: usize, q: u32) -> Vec<u32> {
    let low = a.min(b);
    let step = a.abs_diff(b);
    let mut one = vec![0; d];
    one[0] = 1;
    let terms = (0..d / gcd(step, 2 * d)).map(|i| rotate_mod(&one, i * step % (2 * d), q));
    let sum = terms.fold(vec![0; d], |sum, term| add(&sum, &term, q));
    // X^{d + …} is −X^{…}; (q − 2)⁻¹ is −1/2, and 1/2 is (q + 1)/2.
    let minus_half = negacyclic_mul(&[vec![q - q.div_ceil(2)], vec![0; d - 1]].concat(), &sum, q);
    let shift = if b > a {
        2 * d + d - low
    } else {
        2 * d + 2 * d - low
    };
    rotate_mod(&minus_half, shift % (2 * d), q)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The polynomial of least degree with these values at X^{e₀}, X^{e₁}, …, by Lagrange's formula
/// (Theorem 14).
pub fn lagrange(values: &[Vec<u32>], exponents: &[usize], q: u32) -> Polynomial {
    let d = values[0].len();
    let mut sum = vec![vec![0; d]; values.len()];

    for (i, value) in values.iter().enumerate() {
        let mut term = vec![value.clone()];

        for (_, &point) in exponents.iter().enumerate().filter(|&(j, _)| j != i) {
            let inverse = inverse_of_difference(exponents[i], point, d, q);
            term = times_root(&term, point, q)
                .iter()
                .map(|c| negacyclic_mul(c, &inverse, q))
                .collect();
        }

        sum = sum
            .iter()
            .zip(&term)
            .map(|(sum, term)| add(sum, term, q))
            .collect();
    }
    sum
}

/// The polynomial times Z − X^exponent.
fn times_root(polynomial: &[Vec<u32>], exponent: usize, q: u32) -> Polynomial {
    let d = polynomial[0].len();
    let mut product = [vec![vec![0; d]], polynomial.to_vec()].concat();
    for (j, coefficient) in polynomial.iter().enumerate() {
        // −X^e is X^{e + d}.
        product[j] = add(
            &product[j],
            &rotate_mod(coefficient, (exponent + d) % (2 * d), q),
            q,
        );
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_of_monomials_have_inverses() {
        for (d, q) in [(2, 17), (8, 65537), (8, 15), (4, 9)] {
            for (a, b) in (0..2 * d)
                .flat_map(|a| (0..2 * d).map(move |b| (a, b)))
                .filter(|(a, b)| a != b)
            {
                let mut one = vec![0; d];
                one[0] = 1;
                // X^a + X^{b + d}.
                let difference = add(
                    &rotate_mod(&one, a, q),
                    &rotate_mod(&one, (b + d) % (2 * d), q),
                    q,
                );
                let product = negacyclic_mul(&difference, &inverse_of_difference(a, b, d, q), q);
                assert_eq!(product, one, "X^{a} − X^{b}, d = {d}, q = {q}");
            }
        }
    }

    #[test]
    fn a_line_through_two_points() {
        // 1 at X^0 and 1 + 2·X at X^1, modulo X^2 + 1 and 5: h = c + m·Z with m·(X − 1) = 2·X.
        let h = lagrange(&[vec![1, 0], vec![1, 2]], &[0, 1], 5);
        assert_eq!(h, [vec![0, 1], vec![1, 4]]);
        assert_eq!((value(&h, 0, 5), value(&h, 1, 5)), (vec![1, 0], vec![1, 2]));
    }
}
