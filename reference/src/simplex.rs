//! Polynomials in several variables, evaluated and interpolated by definition.

/// The exponents of all terms in lexicographic order: the tuples of `variables` numbers with a sum
/// of at most `degree`.
pub fn exponents(variables: usize, degree: usize) -> Vec<Vec<usize>> {
    if variables == 0 {
        return vec![Vec::new()];
    }

    let mut all = Vec::new();
    for exponent in 0..=degree {
        for rest in exponents(variables - 1, degree - exponent) {
            all.push([vec![exponent], rest].concat());
        }
    }
    all
}

/// x^exponent modulo q.
fn power(x: u64, exponent: u64, q: u64) -> u64 {
    (0..exponent).fold(1, |power, _| power * x % q)
}

/// The value modulo q, at a point, of the polynomial of total degree `degree` with these
/// coefficients.
pub fn value(coefficients: &[u32], degree: usize, point: &[u32], q: u32) -> u32 {
    let q = u64::from(q);
    let mut sum = 0;
    for (&coefficient, exponents) in coefficients.iter().zip(exponents(point.len(), degree)) {
        let factors = point
            .iter()
            .zip(exponents)
            .map(|(&x, exponent)| power(x.into(), exponent as u64, q));
        sum = (sum + factors.fold(u64::from(coefficient), |term, factor| term * factor % q)) % q;
    }
    sum as u32
}

/// The points of the cube {0, …, degree}^variables, in lexicographic order.
pub fn cube_points(variables: usize, degree: usize) -> Vec<Vec<usize>> {
    let side = degree + 1;
    (0..side.pow(variables as u32))
        .map(|position| {
            (0..variables)
                .rev()
                .map(|i| position / side.pow(i as u32) % side)
                .collect()
        })
        .collect()
}

/// Interpolates values on the cube modulo a prime q: the coefficients of the polynomial of degree
/// `degree` in each variable (Lin, Mook, Wichs), by Lagrange's formula in one variable at a time.
pub fn individual_degrees(values: &[u32], variables: usize, degree: usize, q: u32) -> Vec<u32> {
    let side = degree + 1;
    let mut all: Vec<u64> = values.iter().map(|&value| value.into()).collect();
    for variable in 0..variables {
        let stride = side.pow((variables - 1 - variable) as u32);
        for start in (0..all.len()).filter(|start| (start / stride).is_multiple_of(side)) {
            let line: Vec<u64> = (0..side).map(|i| all[start + i * stride]).collect();
            for (i, coefficient) in lagrange(&line, q.into()).into_iter().enumerate() {
                all[start + i * stride] = coefficient;
            }
        }
    }
    all.into_iter().map(|value| value as u32).collect()
}

/// The coefficients of the polynomial in one variable with these values at 0, 1, ….
fn lagrange(values: &[u64], q: u64) -> Vec<u64> {
    let mut sum = vec![0; values.len()];
    for (i, &value) in values.iter().enumerate() {
        let mut term = vec![1];
        let mut scale = 1;
        for j in (0..values.len()).filter(|&j| j != i) {
            let shifted: Vec<u64> = [&[0], &term[..]].concat();
            let scaled = term.iter().map(|c| c * (q - j as u64) % q).chain([0]);
            term = shifted
                .iter()
                .zip(scaled)
                .map(|(a, b)| (a + b) % q)
                .collect();
            scale = scale * ((q + i as u64 - j as u64) % q) % q;
        }

        // q is prime, so that x^(q − 2) is 1/x.
        let factor = value * power(scale, q - 2, q) % q;
        sum.iter_mut()
            .zip(&term)
            .for_each(|(sum, c)| *sum = (*sum + c * factor) % q);
    }
    sum
}

/// The value at a point of a polynomial with coefficients in the order of [`cube_points`].
pub fn cube_value(coefficients: &[u32], degree: usize, point: &[u32], q: u32) -> u32 {
    let q = u64::from(q);
    let terms = cube_points(point.len(), degree)
        .into_iter()
        .zip(coefficients);

    let mut sum = 0;
    for (exponents, &coefficient) in terms {
        let factors = exponents
            .into_iter()
            .zip(point)
            .flat_map(|(e, &x)| vec![u64::from(x); e]);
        sum += factors.fold(u64::from(coefficient), |term, x| term * x % q);
    }
    (sum % q) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_in_order_and_values_are_sums_of_terms() {
        assert_eq!(
            exponents(2, 2),
            [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [2, 0]]
        );
        // 1 + 2y + 3y² + 4x + 5xy + 6x² at (2, 3).
        assert_eq!(
            value(&[1, 2, 3, 4, 5, 6], 2, &[2, 3], 1009),
            1 + 6 + 27 + 8 + 30 + 24
        );
        assert_eq!(value(&[1, 2, 3, 4, 5, 6], 2, &[2, 3], 7), 96 % 7);
    }

    #[test]
    fn cubes_are_interpolated() {
        assert_eq!(cube_points(2, 1), [[0, 0], [0, 1], [1, 0], [1, 1]]);
        // 3 + 2y + xy.
        let values = [3, 5, 3, 6];
        let coefficients = individual_degrees(&values, 2, 1, 97);
        assert_eq!(coefficients, [3, 2, 0, 1]);
        assert_eq!(cube_value(&coefficients, 1, &[4, 5], 97), 3 + 10 + 20);
    }
}
