//! A polynomial in several variables, in Montgomery form.

use crate::modulus::Modulus;

/// The largest total degree D. A sum of D + 1 products of values below 4q and powers below 9/8·q
/// fits 64 bits, and its reduction is below (D + 1)·4·9/8·q²/2³² + q < 12q for q < 2²⁸.
pub const MAX_DEGREE: usize = 38;
/// The largest number of variables.
pub const MAX_VARIABLES: usize = 64;

/// A polynomial in at least one variable.
#[derive(Debug, Clone)]
pub struct Polynomial {
    pub(crate) q: u32,
    /// −1/q modulo 2³².
    pub(crate) negated_inverse: u32,
    /// 2⁶⁴ modulo q, which brings a point into Montgomery form.
    pub(crate) square: u32,
    pub(crate) variables: usize,
    pub(crate) degree: usize,
    /// The coefficients times 2³² for each variable, since the sums over a variable are reduced
    /// once, which divides by 2³².
    pub(crate) coefficients: Vec<u32>,
}

impl Polynomial {
    /// The polynomial with these coefficients, which must be below q.
    ///
    /// # Panics
    /// If there are no variables or more than [`MAX_VARIABLES`], `degree` exceeds [`MAX_DEGREE`],
    /// the modulus is even or at least 2²⁸, or the number of coefficients is not [`terms`].
    pub fn new(modulus: Modulus, variables: usize, degree: usize, coefficients: &[u32]) -> Self {
        let q = modulus.value();
        assert!(
            (1..=MAX_VARIABLES).contains(&variables),
            "{variables} variables: expected 1 to {MAX_VARIABLES}"
        );
        assert!(degree <= MAX_DEGREE, "degree {degree}: expected at most {MAX_DEGREE}");
        assert!(q % 2 == 1 && q < 1 << 28, "modulus {q}: expected an odd number below 2^28");
        assert_eq!(Some(coefficients.len()), terms(variables, degree), "number of coefficients");
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

/// The number of coefficients, C(degree + variables, variables); `None` if it overflows a `usize`.
pub fn terms(variables: usize, degree: usize) -> Option<usize> {
    (1..=variables as u128)
        .try_fold(1u128, |terms, i| Some(terms.checked_mul(degree as u128 + i)? / i))
        .and_then(|terms| usize::try_from(terms).ok())
}

/// 1/q modulo 2³² for odd q, by Newton's iteration.
///
/// q is its own inverse modulo 2³, and each round doubles the number of correct bits: 3 to 48.
const fn inverse(q: u32) -> u32 {
    let mut x = q;
    let mut round = 0;
    while round < 4 {
        x = x.wrapping_mul(2u32.wrapping_sub(q.wrapping_mul(x)));
        round += 1;
    }
    x
}
