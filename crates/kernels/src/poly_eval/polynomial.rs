//! A polynomial in several variables, in Montgomery form.

use crate::modulus::Modulus;

/// The largest total degree D. A sum of D + 1 products of values below 4q and powers below 9/8·q
/// fits 64 bits, and its reduction is below (D + 1)·4·9/8·q²/2³² + q < 12q for q < 2²⁸.
pub const MAX_DEGREE: usize = 38;
/// The largest number of variables.
pub const MAX_VARIABLES: usize = 64;

/// The largest number of variables of polynomials whose rows run along them. A row has at most 48
/// products of values below q, so that its reduced sum is below 48·q²/2³² + q < 4q. A sum of 48
/// products of such values and coordinates fits 64 bits, and its reduction is below 13q.
const MAX_PLACES: usize = 47;

/// A polynomial in at least one variable.
///
/// A monomial is a path of exponents, one for each variable, or a path of D places, one for each
/// factor, which is a variable or 1. Both paths list the coefficients in the same order. In the
/// first, a row of coefficients has (D + v)/v terms on average, in the second (D + v)/D. The longer
/// rows need fewer reductions.
#[derive(Debug, Clone)]
pub struct Polynomial {
    pub(crate) q: u32,
    /// −1/q modulo 2³².
    pub(crate) negated_inverse: u32,
    /// 2⁶⁴ modulo q, which brings a point into Montgomery form.
    pub(crate) square: u32,
    pub(crate) variables: usize,
    pub(crate) degree: usize,
    /// True if rows run along variables ([`Places`]), false if along exponents ([`Exponents`]).
    pub(crate) by_places: bool,
    /// The coefficients times 2³² for each level of sums, which are reduced once, which divides by
    /// 2³².
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
        assert!(
            degree <= MAX_DEGREE,
            "degree {degree}: expected at most {MAX_DEGREE}"
        );
        assert!(
            q % 2 == 1 && q < 1 << 28,
            "modulus {q}: expected an odd number below 2^28"
        );
        assert_eq!(
            Some(coefficients.len()),
            terms(variables, degree),
            "number of coefficients"
        );

        // A term passes one reduction with its row and one with each level above, each of which
        // divides by 2^32. `Places` has a row for the last of at least one factor.
        let word = modulus.reduce(1 << 32);
        // Rows have (D + v)/D terms on average here and (D + v)/v otherwise: longer ones if D < v.
        let by_places = (1..variables).contains(&degree) && variables <= MAX_PLACES;
        let levels = if by_places { degree } else { variables };
        let scale = (0..levels).fold(1, |scale, _| modulus.mul(scale, word));

        Self {
            q,
            negated_inverse: inverse(q).wrapping_neg(),
            square: modulus.mul(word, word),
            variables,
            degree,
            by_places,
            coefficients: coefficients
                .iter()
                .map(|&c| modulus.mul(c, scale))
                .collect(),
        }
    }
}

/// The number of coefficients, C(degree + variables, variables); `None` if it overflows a `usize`.
pub fn terms(variables: usize, degree: usize) -> Option<usize> {
    let few = variables.min(degree) as u128;
    let many = variables.max(degree) as u128;
    (1..=few)
        // A product of i consecutive numbers is a multiple of i!, so every division is exact.
        .try_fold(1u128, |terms, i| Some(terms.checked_mul(many + i)? / i))
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

/// A walk through the coefficients, row by row. The sum of a row is a term of a sum on the last
/// level, a complete sum is a term of one on the level before, and so on.
pub(crate) trait Order {
    /// Levels of sums above the rows.
    fn levels(&self) -> usize;

    /// Number of coefficients in the current row.
    fn length(&self) -> usize;

    /// Place of the factors of a row's terms.
    fn row(&self) -> usize;

    /// Number of the current term on a level, and the place of its factor.
    fn term(&self, level: usize) -> (usize, usize);

    /// Goes to the next term on a level; at the end of its sum goes back to the first, and returns
    /// false.
    fn step(&mut self, level: usize) -> bool;
}

/// Rows of exponents of the last variable; factors are powers of each variable.
pub(crate) struct Exponents {
    exponents: [usize; MAX_VARIABLES],
    /// The degree that the exponents leave.
    left: usize,
    variables: usize,
    degree: usize,
}

impl Exponents {
    pub(crate) const fn new(polynomial: &Polynomial) -> Self {
        let &Polynomial {
            variables, degree, ..
        } = polynomial;
        Self {
            exponents: [0; MAX_VARIABLES],
            left: degree,
            variables,
            degree,
        }
    }
}

impl Order for Exponents {
    #[inline(always)]
    fn levels(&self) -> usize {
        self.variables - 1
    }

    #[inline(always)]
    fn length(&self) -> usize {
        self.left + 1
    }

    #[inline(always)]
    fn row(&self) -> usize {
        self.levels() * (self.degree + 1)
    }

    #[inline(always)]
    fn term(&self, level: usize) -> (usize, usize) {
        let exponent = self.exponents[level];
        (exponent, level * (self.degree + 1) + exponent)
    }

    #[inline(always)]
    fn step(&mut self, level: usize) -> bool {
        let goes_on = self.left > 0;
        if goes_on {
            self.exponents[level] += 1;
            self.left -= 1;
        } else {
            self.left += self.exponents[level];
            self.exponents[level] = 0;
        }
        goes_on
    }
}

/// Rows of last factors. Factors are 1 and the variables, the last one first, in descending order:
/// each is at most as far from 1 as the one before.
pub(crate) struct Places {
    places: [usize; MAX_DEGREE],
    variables: usize,
    levels: usize,
}

impl Places {
    pub(crate) const fn new(polynomial: &Polynomial) -> Self {
        let &Polynomial {
            variables, degree, ..
        } = polynomial;
        Self {
            places: [0; MAX_DEGREE],
            variables,
            levels: degree - 1,
        }
    }

    /// The last place on a level.
    #[inline(always)]
    const fn most(&self, level: usize) -> usize {
        if level == 0 {
            self.variables
        } else {
            self.places[level - 1]
        }
    }
}

impl Order for Places {
    #[inline(always)]
    fn levels(&self) -> usize {
        self.levels
    }

    #[inline(always)]
    fn length(&self) -> usize {
        self.most(self.levels) + 1
    }

    #[inline(always)]
    fn row(&self) -> usize {
        0
    }

    #[inline(always)]
    fn term(&self, level: usize) -> (usize, usize) {
        (self.places[level], self.places[level])
    }

    #[inline(always)]
    fn step(&mut self, level: usize) -> bool {
        let goes_on = self.places[level] < self.most(level);
        self.places[level] = if goes_on { self.places[level] + 1 } else { 0 };
        goes_on
    }
}
