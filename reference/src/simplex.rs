//! Polynomials in several variables of bounded total degree, by the definition: a sum of terms.

/// The exponents of all terms, in lexicographic order: tuples of `variables` numbers that add up to at most
/// `degree`.
pub fn exponents(variables: usize, degree: usize) -> Vec<Vec<usize>> {
    if variables == 0 {
        return vec![Vec::new()];
    }
    let first = |exponent: usize| {
        let rest = exponents(variables - 1, degree - exponent);
        rest.into_iter().map(move |rest| [vec![exponent], rest].concat())
    };
    (0..=degree).flat_map(first).collect()
}

/// The value modulo q of the polynomial with these coefficients at a point.
pub fn value(coefficients: &[u32], degree: usize, point: &[u32], q: u32) -> u32 {
    let q = u64::from(q);
    let power = |x: u32, exponent: usize| (0..exponent).fold(1, |power, _| power * u64::from(x) % q);
    let mut sum = 0;
    for (&coefficient, exponents) in coefficients.iter().zip(exponents(point.len(), degree)) {
        let factors = point.iter().zip(exponents).map(|(&x, exponent)| power(x, exponent));
        sum = (sum + factors.fold(u64::from(coefficient), |term, factor| term * factor % q)) % q;
    }
    sum as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_in_order_and_terms_are_summed() {
        assert_eq!(exponents(2, 2), [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]);
        // 1 + 2y + 3y² + 4x + 5xy + 6x² at (2, 3).
        assert_eq!(value(&[1, 2, 3, 4, 5, 6], 2, &[2, 3], 1009), 1 + 6 + 27 + 8 + 30 + 24);
        assert_eq!(value(&[1, 2, 3, 4, 5, 6], 2, &[2, 3], 7), 96 % 7);
    }
}
