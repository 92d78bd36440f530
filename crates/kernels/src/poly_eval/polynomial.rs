//! A polynomial in several variables, in Montgomery form.

use crate::modulus::Modulus;

/// The largest total degree: what is reduced without being brought below q stays below 12q, and sums of D + 1
/// products below 2⁶⁴.
pub const MAX_DEGREE: usize = 38;
/// The most variables.
pub const MAX_VARIABLES: usize = 64;

/// A polynomial in at least one variable.
#[derive(Debug, Clone)]
pub struct Polynomial {
    pub(crate) q: u32,
    /// −1/q modulo 2³².
    pub(crate) negated_inverse: u32,
    /// 2⁶⁴ modulo q.
    pub(crate) square: u32,
    pub(crate) variables: usize,
    pub(crate) degree: usize,
    /// Times 2³² for each variable.
    pub(crate) coefficients: Vec<u32>,
}

impl Polynomial {
    /// The polynomial with these coefficients below q.
    ///
    /// # Panics
    /// Without variables, above [`MAX_VARIABLES`] or [`MAX_DEGREE`], for a modulus that is even or not below 2²⁸,
    /// or where the coefficients are not as many as there are exponents.
    pub fn new(modulus: Modulus, variables: usize, degree: usize, coefficients: &[u32]) -> Self {
        let q = modulus.value();
        assert!((1..=MAX_VARIABLES).contains(&variables), "{variables} variables");
        assert!(degree <= MAX_DEGREE, "degree {degree}, at most {MAX_DEGREE}");
        assert!(q % 2 == 1 && q < 1 << 28, "an odd modulus below 2^28, not {q}");
        assert_eq!(Some(coefficients.len()), terms(variables, degree), "coefficients of a polynomial");
        let word = modulus.reduce(1 << 32);
        let scale = (0..variables).fold(1, |scale, _| modulus.mul(scale, word));
        Self {
            q,
            negated_inverse: inverse(q).wrapping_neg(),
            square: modulus.mul(word, word),
            variables,
            degree,
            coefficients: coefficients.iter().map(|&c| modulus.mul(c, scale)).collect(),
        }
    }
}

/// C(degree + variables, variables): the coefficients of a polynomial; `None` where that is no `usize`.
pub fn terms(variables: usize, degree: usize) -> Option<usize> {
    (1..=variables as u128)
        .try_fold(1u128, |terms, i| Some(terms.checked_mul(degree as u128 + i)? / i))
        .and_then(|terms| usize::try_from(terms).ok())
}

/// 1/q modulo 2³², q odd, by Newton's iteration.
const fn inverse(q: u32) -> u32 {
    let mut x = q;
    let mut round = 0;
    while round < 4 {
        x = x.wrapping_mul(2u32.wrapping_sub(q.wrapping_mul(x)));
        round += 1;
    }
    x
}
