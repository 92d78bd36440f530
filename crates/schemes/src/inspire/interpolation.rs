//! INTERPOLATE (Algorithm 7; appendices G.2 and G.3) and its inverse.
//!
//! The interpolation maps t values in R_p to the coefficients of the polynomial through them. t is
//! the product of the numbers of points of the polynomial's variables. The points of a variable are
//! unit monomials. Let tᵢ = r·m, where m is the largest power of two that divides it. Point s·m + i
//! is X^s·ω^i with ω = X^{2d/m}: r cosets of the m-th roots of unity. A power of two has the roots
//! of unity of Algorithm 7, an odd number has the points X^0, X^1, … of Algorithm 11, and other
//! numbers have both. On coset s, Σ_j Z^j·Q_j(Z^m) is the polynomial with the coefficients
//! Q_j(X^{sm}), j < m, which the transform of size m gives; Lagrange interpolation across the r
//! cosets gives Q_j. This takes tᵢ·(log m + r) ring operations instead of tᵢ².

use std::{fmt, iter};

use papir_core::{Error, Result};
use papir_kernels::pointwise::{self, Modulus};
use papir_kernels::{Backend, monomial};

/// Largest number of variables. Four variables of 2d points each exceed a column.
pub const MAX_VARIABLES: usize = 4;

/// Numbers of points of the variables of a column's polynomial: t = t_0·t_1·…
///
/// Element k of a column is the value at point ⌊k / (t_0·…·t_{i−1})⌋ mod tᵢ of variable i, and
/// likewise for coefficients and exponents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interpolation {
    /// Number of points of each variable, at least 2, then ones up to the fixed length.
    sizes: [u32; MAX_VARIABLES],
}

impl Interpolation {
    /// Creates an interpolation with one variable of t points, or with no variable for t = 1.
    ///
    /// # Errors
    /// The errors of [`Self::of_variables`].
    pub fn of_one_variable(points: usize) -> Result<Self> {
        if points == 1 {
            Self::of_variables(&[])
        } else {
            Self::of_variables(&[points])
        }
    }

    /// Creates an interpolation with one variable for t up to 2d, else with the fewest variables
    /// for a power of two.
    ///
    /// # Errors
    /// The errors of [`Self::of_variables`]. A t above 2d that is not a power of two gives one
    /// variable, which layouts refuse.
    pub fn of_points(points: usize, degree: usize) -> Result<Self> {
        let most = 2 * degree;
        if points <= most || !points.is_power_of_two() || !degree.is_power_of_two() {
            return Self::of_one_variable(points);
        }

        let mut left = points;
        let mut sizes = Vec::new();
        while left > 1 {
            sizes.push(left.min(most));
            left /= left.min(most);
        }
        Self::of_variables(&sizes)
    }

    /// Creates an interpolation of variables with these numbers of points, the innermost first.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for more than [`MAX_VARIABLES`], for one of fewer than 2 points, or
    /// for more than 2³² − 1 points in all.
    pub fn of_variables(sizes: &[usize]) -> Result<Self> {
        if sizes.len() > MAX_VARIABLES {
            return Err(Error::out_of_bounds(
                "the number of variables",
                sizes.len() as u64,
                "at most 4",
            ));
        }

        let mut all = [1; MAX_VARIABLES];
        let mut points = 1u32;
        for (place, &size) in all.iter_mut().zip(sizes) {
            let fits = u32::try_from(size).ok().filter(|&size| size >= 2);
            let product = fits.and_then(|size| points.checked_mul(size));
            let (Some(size), Some(product)) = (fits, product) else {
                let what = "the interpolation points of a variable";
                let expected = "2 or more, below 2^32 in all";
                return Err(Error::out_of_bounds(what, size as u64, expected));
            };
            *place = size;
            points = product;
        }
        Ok(Self { sizes: all })
    }

    /// Returns the number of points of each variable, the innermost first. There is no variable if
    /// t = 1.
    pub fn variables(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        let count = self.sizes.iter().filter(|&&size| size > 1).count();
        self.sizes[..count].iter().map(|&size| size as usize)
    }

    /// Returns t, the number of all points.
    pub fn points(&self) -> usize {
        self.variables().product()
    }

    /// Returns the point of each variable for element `k`, as exponents of X below 2d. No branch
    /// and no address depends on k.
    pub fn exponents(&self, k: u32, degree: usize) -> Vec<u32> {
        let mut left = k;
        // Full capacity from the start: growing would leave copies of a secret point behind.
        let mut exponents = Vec::with_capacity(self.variables().len());
        for size in self.variables() {
            let point = left % size as u32;
            left /= size as u32;

            let bits = size.trailing_zeros();
            let coset = point >> bits;
            let root = point & ((1 << bits) - 1);
            exponents.push(coset + root * ((2 * degree as u32) >> bits));
        }
        exponents
    }

    /// Converts values at all points to coefficients, in place. `values` has t polynomials of d
    /// residues below p, and p is odd.
    ///
    /// # Panics
    /// If there are not t·d residues, d is no power of two, or a variable has more than 2d points.
    pub fn to_coefficients(&self, values: &mut [u32], degree: usize, modulus: Modulus) {
        self.along(values, degree, modulus, Axis::interpolate);
    }

    /// Converts coefficients to the values at all points, in place.
    ///
    /// # Panics
    /// In the same cases as [`Self::to_coefficients`].
    pub fn to_values(&self, coefficients: &mut [u32], degree: usize, modulus: Modulus) {
        self.along(coefficients, degree, modulus, Axis::evaluate);
    }

    /// Transforms all lines along each variable.
    fn along(&self, polys: &mut [u32], degree: usize, modulus: Modulus, transform: Transform) {
        assert_eq!(
            polys.len(),
            self.points() * degree,
            "t polynomials of d residues"
        );

        let mut stride = 1;
        for size in self.variables() {
            let mut axis = Axis::new(size, degree, modulus);
            let mut out = vec![0; size * degree];
            for block in polys.chunks_exact_mut(size * stride * degree) {
                // The points of the innermost variable are adjacent, and of every later one
                // `stride` polynomials apart.
                if stride == 1 {
                    transform(&mut axis, block, &mut out);
                    block.copy_from_slice(&out);
                } else {
                    for first in 0..stride {
                        axis.strided(block, stride, first, &mut out, transform);
                    }
                }
            }
            stride *= size;
        }
    }

    /// Returns the average cost of interpolating one ring element: levels of a transform, and
    /// rotations of [`Nodes`].
    pub fn work(&self, degree: usize) -> (f64, f64) {
        let mut levels = 0.0;
        let mut turns = 0.0;
        for size in self.variables() {
            let roots = 1usize << size.trailing_zeros();
            let cosets = size / roots;
            levels += f64::from(roots.ilog2());
            turns += rotations(cosets, roots, degree) as f64 / cosets as f64;
        }
        (levels, turns)
    }
}

impl fmt::Display for Interpolation {
    /// Writes t, as a product if there are several variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sizes: Vec<String> = self.variables().map(|size| size.to_string()).collect();
        if sizes.is_empty() {
            return f.write_str("1");
        }
        f.write_str(&sizes.join(" · "))
    }
}

/// Function that maps a line of polynomials, which it overwrites, to another line. Lines of values
/// are coset by coset; lines of coefficients are in order.
type Transform = fn(&mut Axis, &mut [u32], &mut [u32]);

/// One variable, with the buffers for its transforms.
struct Axis {
    backend: Backend,
    degree: usize,
    /// m, the number of roots of unity in a coset.
    roots: usize,
    modulus: Modulus,
    scratch: Vec<u32>,
    /// Coefficients of one power in the r cosets, as values at the points X^{sm}.
    across: Vec<u32>,
    nodes: Nodes,
    /// Factors (−1/2)^l/m of coefficient l across the cosets.
    factors: Vec<u32>,
}

impl Axis {
    fn new(size: usize, degree: usize, modulus: Modulus) -> Self {
        assert!(
            size <= 2 * degree,
            "{size} points of a variable, at most {}",
            2 * degree
        );

        let roots = 1usize << size.trailing_zeros();
        // (p + 1)/2 is 1/2 modulo the odd p. m is a power of two, so powers of it give 1/m.
        let half = modulus.value().div_ceil(2);
        let first = (0..roots.ilog2()).fold(1, |factor, _| modulus.mul(factor, half));
        let minus_half = modulus.sub(0, half);
        let factors =
            iter::successors(Some(first), |&factor| Some(modulus.mul(factor, minus_half)));

        Self {
            backend: Backend::current(),
            degree,
            roots,
            modulus,
            scratch: vec![0; degree],
            across: vec![0; size / roots * degree],
            nodes: Nodes::new(roots, degree, modulus),
            factors: factors.take(size / roots).collect(),
        }
    }

    /// Transforms every `stride`-th polynomial of a block, from `first` on.
    fn strided(
        &mut self,
        block: &mut [u32],
        stride: usize,
        first: usize,
        out: &mut [u32],
        transform: Transform,
    ) {
        let d = self.degree;
        let places = (first..block.len() / d)
            .step_by(stride)
            .map(|place| place * d);

        let mut line: Vec<u32> = places
            .clone()
            .flat_map(|place| &block[place..place + d])
            .copied()
            .collect();
        transform(self, &mut line, out);

        for (place, poly) in places.zip(out.chunks_exact(d)) {
            block[place..place + d].copy_from_slice(poly);
        }
    }

    /// Returns the position of coefficient or value k of a coset after the transform, which
    /// reverses bits.
    fn reversed(&self, k: usize) -> usize {
        if self.roots == 1 {
            0
        } else {
            k.reverse_bits() >> (usize::BITS - self.roots.trailing_zeros())
        }
    }

    /// Applies the discrete Fourier transform, without normalisation, to each coset in place: to
    /// values for interpolation, and to coefficients for evaluation.
    fn transform_cosets(&mut self, line: &mut [u32]) {
        for coset in line.chunks_exact_mut(self.roots * self.degree) {
            monomial::dft_mod(
                self.backend,
                coset,
                self.degree,
                self.modulus,
                &mut self.scratch,
            );
        }
    }

    /// Converts values to coefficients. On coset s the value at ω^i is Σ_j u_j·ω^{ij} with u_j =
    /// Q_j(X^{sm})·X^{sj}, and m·u_j is the transform at −j.
    fn interpolate(&mut self, line: &mut [u32], out: &mut [u32]) {
        let d = self.degree;
        let m = self.roots;
        self.transform_cosets(line);

        for j in 0..m {
            let place = self.reversed((m - j) % m) * d;
            if self.factors.len() == 1 {
                pointwise::scale(
                    self.backend,
                    &mut out[j * d..][..d],
                    &line[place..][..d],
                    self.factors[0],
                    self.modulus,
                );
            } else {
                self.across_cosets(line, place, j);
                for (l, poly) in self.across.chunks_exact(d).enumerate() {
                    out[(l * m + j) * d..][..d].copy_from_slice(poly);
                }
            }
        }
    }

    /// Computes the coefficients of Q_j from the transformed values at one position of each coset.
    fn across_cosets(&mut self, line: &[u32], place: usize, j: usize) {
        let d = self.degree;
        let m = self.roots;
        let order = 2 * self.degree;

        for (s, poly) in self.across.chunks_exact_mut(d).enumerate() {
            // Removes the factor X^{sj} of u_j.
            let coset = &line[s * m * d..];
            monomial::rotate_mod(
                self.backend,
                poly,
                &coset[place..][..d],
                (order - s * j % order) % order,
                self.modulus,
            );
        }

        self.nodes.divide_differences(&mut self.across);
        for (poly, &factor) in self.across.chunks_exact_mut(d).zip(&self.factors) {
            pointwise::scale(self.backend, &mut self.scratch, poly, factor, self.modulus);
            poly.copy_from_slice(&self.scratch);
        }
        self.nodes.expand(&mut self.across);
    }

    /// Converts coefficients to values.
    fn evaluate(&mut self, line: &mut [u32], out: &mut [u32]) {
        let d = self.degree;
        let m = self.roots;
        if self.factors.len() > 1 {
            for j in 0..m {
                self.onto_cosets(line, j);
            }
        }

        self.transform_cosets(line);
        for (coset, out) in line.chunks_exact(m * d).zip(out.chunks_exact_mut(m * d)) {
            for (k, value) in out.chunks_exact_mut(d).enumerate() {
                value.copy_from_slice(&coset[self.reversed(k) * d..][..d]);
            }
        }
    }

    /// Replaces the coefficients of Q_j by Q_j(X^{sm})·X^{sj}.
    fn onto_cosets(&mut self, line: &mut [u32], j: usize) {
        let d = self.degree;
        let m = self.roots;
        let places = (j..line.len() / d).step_by(m).map(|place| place * d);

        // The values replace the coefficients in the line, so these are read first.
        for (poly, place) in self.across.chunks_exact_mut(d).zip(places.clone()) {
            poly.copy_from_slice(&line[place..][..d]);
        }

        for (s, place) in places.enumerate() {
            self.nodes.evaluate(&self.across, s, &mut self.scratch);
            monomial::rotate_mod(
                self.backend,
                &mut line[place..][..d],
                &self.scratch,
                s * j % (2 * d),
                self.modulus,
            );
        }
    }
}

/// Lagrange interpolation over R_p at the points X^{sm}, s = 0, 1, … (Algorithm 11 with Lemmas 7
/// and 8; m = 1 there).
///
/// The printed algorithm is Newton's: it takes divided differences, then multiplies by Z − X^{sm}
/// from the last to the first. It has two slips, corrected here: the last difference starts as
/// coefficient 0 of the result, and a product maps coefficient i to coefficient i − 1 less X^{sm}
/// times coefficient i.
///
/// Lemma 8: 1/(X^a − X^b) is X^{−b}/(X^k − 1) with k = a − b > 0. By Lemma 7, 1/(X^k − 1) =
/// −1/2·Σ_{i<d/g} X^{ik} with g = gcd(k, 2d). d/g is a power of two 2^n, so the sum is Π_{i<n} (1 +
/// X^{k·2^i}): n rotations and additions. The caller multiplies each coefficient by its factors
/// −1/2.
#[derive(Debug)]
pub struct Nodes {
    backend: Backend,
    /// m.
    step: usize,
    degree: usize,
    modulus: Modulus,
    scratch: Vec<u32>,
}

impl Nodes {
    /// Creates the points X^{sm} in polynomials of `degree` residues modulo an odd number, with m =
    /// `step`.
    pub fn new(step: usize, degree: usize, modulus: Modulus) -> Self {
        Self {
            backend: Backend::current(),
            step,
            degree,
            modulus,
            scratch: vec![0; degree],
        }
    }

    /// Maps values at the first points, polynomial by polynomial, to Newton's coefficients.
    /// Coefficient l of the result is multiplied by (−2)^l.
    ///
    /// # Panics
    /// If there are more than 2d/m values.
    pub fn divide_differences(&mut self, values: &mut [u32]) {
        let d = self.degree;
        let count = values.len() / self.degree;
        assert!(
            count * self.step <= 2 * d,
            "{count} points at steps of {}",
            self.step
        );

        for j in 1..count {
            for i in (j..count).rev() {
                let (before, from) = values.split_at_mut(i * d);
                pointwise::sub_assign(
                    self.backend,
                    &mut from[..d],
                    &before[(i - 1) * d..],
                    self.modulus,
                );
                self.divide(&mut from[..d], i, i - j);
            }
        }
    }

    /// Replaces poly by −2·poly/(X^{im} − X^{jm}), i > j (Lemma 8).
    fn divide(&mut self, poly: &mut [u32], i: usize, j: usize) {
        let order = 2 * self.degree;
        monomial::rotate_mod(
            self.backend,
            &mut self.scratch,
            poly,
            (order - j * self.step) % order,
            self.modulus,
        );
        poly.copy_from_slice(&self.scratch);

        // Doubling ends: with k = (i − j)·m and 2^n = d/gcd(k, 2d), k·2^n is an odd multiple of d,
        // hence d modulo 2d.
        let mut shift = (i - j) * self.step;
        while shift != self.degree {
            // poly ← poly·(1 + X^shift).
            monomial::rotate_mod(self.backend, &mut self.scratch, poly, shift, self.modulus);
            pointwise::add_assign(self.backend, poly, &self.scratch, self.modulus);
            shift = 2 * shift % order;
        }
    }

    /// Maps Newton's coefficients to the coefficients of the powers of Z, in place.
    pub fn expand(&mut self, coefficients: &mut [u32]) {
        let d = self.degree;
        let count = coefficients.len() / self.degree;

        // From the innermost factor on, each product with Z − X^{sm} moves the coefficients above
        // it by one.
        for s in (0..count.saturating_sub(1)).rev() {
            for i in s..count - 1 {
                let (low, high) = coefficients.split_at_mut((i + 1) * d);
                monomial::rotate_mod(
                    self.backend,
                    &mut self.scratch,
                    &high[..d],
                    s * self.step,
                    self.modulus,
                );
                pointwise::sub_assign(self.backend, &mut low[i * d..], &self.scratch, self.modulus);
            }
        }
    }

    /// Computes the value at X^{sm}, by Horner's rule.
    pub fn evaluate(&mut self, coefficients: &[u32], s: usize, value: &mut [u32]) {
        let mut descending = coefficients.chunks_exact(self.degree).rev();
        value.copy_from_slice(descending.next().unwrap_or_default());
        for coefficient in descending {
            monomial::rotate_mod(
                self.backend,
                &mut self.scratch,
                value,
                s * self.step,
                self.modulus,
            );
            value.copy_from_slice(&self.scratch);
            pointwise::add_assign(self.backend, value, coefficient, self.modulus);
        }
    }
}

/// Returns the number of rotations that [`Nodes::divide_differences`] and [`Nodes::expand`] make of
/// `count` polynomials.
fn rotations(count: usize, step: usize, degree: usize) -> usize {
    let mut divisions = 0;
    for j in 1..count {
        let sums = (degree / step).ilog2().saturating_sub(j.trailing_zeros()) as usize;
        divisions += (count - j) * (1 + sums);
    }
    divisions + count * (count - 1) / 2
}
