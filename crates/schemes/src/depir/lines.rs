//! Evaluation of f on lines.
//!
//! In a slot of X and modulo one prime, a ciphertext b + a·Y is a line, and f of m ciphertexts is f
//! restricted to a line in m dimensions. This is a polynomial of degree D in Y, which its values at
//! any D + 1 points of the line determine. The chosen points have the first coordinate 0, 1, …, D:
//! there f is one of D + 1 polynomials in one variable fewer, the same for all slots, with (D +
//! m)/m times fewer terms. The result is a polynomial in the first coordinate; substituting b₁ +
//! a₁·Y gives one in Y.
//!
//! The paper takes values at k-th roots of unity instead (section 6, "Fourier decomposition"),
//! where k is a prime above D. These roots exist modulo primes that are 1 modulo 2nk
//! ([`super::params::DepirParams::fourier`]). The points 0, 1, …, D exist modulo every prime.

use papir_kernels::Backend;
use papir_kernels::pointwise::{self, Modulus};
use papir_kernels::poly_eval::Polynomial;
use papir_ring::prime::{inverse_mod, invert_all, is_prime, pow_mod};

use super::interpolation::contract;
use super::simplex::Simplex;

/// Number of slots that are interpolated together. Their values stay in the cache.
const BLOCK: usize = 1024;

/// Points of all slots modulo one prime, as lines with their first coordinate as the parameter.
pub struct Lines<'a> {
    backend: Backend,
    pub(super) modulus: Modulus,
    /// b₁ and a₁, the body and the mask of the first coordinate.
    first: [&'a [u32]; 2],
    /// Values of the other coordinates where the first one is 0: a row of all slots for each
    /// coordinate.
    starts: Vec<u32>,
    /// Increments of the other coordinates when the first coordinate grows by 1.
    slopes: Vec<u32>,
}

impl<'a> Lines<'a> {
    /// Creates the lines b + a·Y from a row of all slots for each coordinate. Returns `None` if a
    /// first mask is zero, so that the first coordinate is constant, or if there are no
    /// coordinates.
    pub fn new(modulus: Modulus, bodies: &[&'a [u32]], masks: &[&'a [u32]]) -> Option<Self> {
        let body = *bodies.first()?;
        let mask = *masks.first()?;
        let inverses = invert_all(mask, modulus.value())?;

        let backend = Backend::current();
        let mut lines = Self {
            backend,
            modulus,
            first: [body, mask],
            starts: Vec::new(),
            slopes: Vec::new(),
        };

        let mut product = vec![0; mask.len()];
        for (other_body, other_mask) in bodies.iter().zip(masks).skip(1) {
            // With Y = (x − b₁)/a₁, a coordinate b + a·Y is (b − b₁·a/a₁) + x·a/a₁.
            let mut slope = inverses.clone();
            pointwise::mul_assign(backend, &mut slope, other_mask, modulus);

            pointwise::mul(backend, &mut product, &slope, body, modulus);
            let mut start = other_body.to_vec();
            pointwise::sub_assign(backend, &mut start, &product, modulus);

            lines.starts.append(&mut start);
            lines.slopes.append(&mut slope);
        }

        Some(lines)
    }

    /// Returns the number of slots.
    pub(super) fn len(&self) -> usize {
        self.first[0].len()
    }

    /// Returns the points whose first coordinate is x: a row of all slots for each other
    /// coordinate.
    pub(super) fn at(&self, x: u32) -> Vec<Vec<u32>> {
        let starts = self.starts.chunks_exact(self.len());
        let slopes = self.slopes.chunks_exact(self.len());

        let mut rows = Vec::with_capacity(starts.len());
        for (start, slope) in starts.zip(slopes) {
            let mut row = vec![0; start.len()];
            pointwise::scale(self.backend, &mut row, slope, x, self.modulus);
            pointwise::add_assign(self.backend, &mut row, start, self.modulus);
            rows.push(row);
        }

        rows
    }

    /// Interpolates polynomials in Y. `values` has the values at the points whose first coordinate
    /// is 0, 1, …, D, in a row of all slots for each. Returns the coefficients of 1, Y, …, Y^D, in
    /// a row of all slots for each.
    pub(super) fn interpolate(&self, values: &[u32]) -> Vec<u32> {
        let slots = self.len();
        let nodes: Vec<u32> = (0..(values.len() / slots) as u32).collect();
        let weights = weights(self.modulus, &nodes);

        let mut out = vec![0; values.len()];
        for start in (0..slots).step_by(BLOCK) {
            let length = BLOCK.min(slots - start);
            let block: Vec<u32> = values
                .chunks_exact(slots)
                .flat_map(|row| &row[start..][..length])
                .copied()
                .collect();

            let mut rows = vec![0; block.len()];
            for (row, weights) in rows.chunks_exact_mut(length).zip(&weights) {
                pointwise::combine(self.backend, row, &block, weights, self.modulus);
            }

            // Rows are polynomials in the first coordinate, x = b₁ + a₁·Y, until here.
            let [body, mask] = self.first.map(|row| &row[start..][..length]);
            substitute(self.backend, self.modulus, &mut rows, body, mask);

            for (out, row) in out.chunks_exact_mut(slots).zip(rows.chunks_exact(length)) {
                out[start..][..length].copy_from_slice(row);
            }
        }

        out
    }

    /// Evaluates f, given by its coefficients modulo t, on the lines. Returns the coefficients of
    /// 1, Y, …, Y^D, in a row of all slots for each.
    ///
    /// The memory holds one contraction of f at a time, which may be about as long as f.
    pub fn evaluate(&self, simplex: Simplex, coefficients: &[u32]) -> Vec<u32> {
        let Simplex { variables, degree } = simplex;
        let mut points = self.starts.clone();
        let mut values = vec![0; (degree + 1) * self.len()];

        for (x, values) in (0..).zip(values.chunks_exact_mut(self.len())) {
            // Each x moves the points by one slope: an addition instead of a product for each
            // coordinate.
            if x > 0 {
                pointwise::add_assign(self.backend, &mut points, &self.slopes, self.modulus);
            }

            let contracted = contract(simplex, coefficients, x, self.modulus);
            match contracted.as_slice() {
                // In one variable the first coordinate determines the value, the same in all slots.
                &[constant] if variables == 1 => values.fill(constant),
                rest => Polynomial::new(self.modulus, variables - 1, degree, rest).evaluate(
                    self.backend,
                    &points,
                    values,
                ),
            }
        }

        self.interpolate(&values)
    }
}

/// Substitutes x = b + a·Y in polynomials in x, which have a row for each coefficient.
fn substitute(
    backend: Backend,
    modulus: Modulus,
    coefficients: &mut [u32],
    body: &[u32],
    mask: &[u32],
) {
    let length = body.len();
    let degree = coefficients.len() / length - 1;

    // Repeated synthetic division gives the coefficients in x − b, which is a·Y.
    let mut product = vec![0; length];
    for lowest in 0..degree {
        for place in (lowest..degree).rev() {
            let (low, high) = coefficients[place * length..].split_at_mut(length);
            pointwise::mul(backend, &mut product, &high[..length], body, modulus);
            pointwise::add_assign(backend, low, &product, modulus);
        }
    }

    let mut power = mask.to_vec();
    for row in coefficients.chunks_exact_mut(length).skip(1) {
        pointwise::mul_assign(backend, row, &power, modulus);
        pointwise::mul_assign(backend, &mut power, mask, modulus);
    }
}

/// Returns the least prime k above D.
pub fn roots(degree: usize) -> u32 {
    (degree as u32 + 1..)
        .find(|&k| is_prime(k.into()))
        .unwrap_or(u32::MAX)
}

/// Returns D + 1 points of Y: k-th roots of unity modulo primes that have them, else 0, 1, …, D.
pub fn nodes(modulus: Modulus, degree: usize) -> Vec<u32> {
    let q = u64::from(modulus.value());
    let k = u64::from(roots(degree));
    if k < 3 || !(q - 1).is_multiple_of(k) {
        return (0..=degree as u32).collect();
    }

    // A k-th root that is not 1 is primitive, as k is prime.
    let root = (2..q)
        .map(|base| pow_mod(base, (q - 1) / k, q))
        .find(|&root| root != 1)
        .unwrap_or(1);

    (0..=degree as u64)
        .map(|i| pow_mod(root, i, q) as u32)
        .collect()
}

/// Computes b + a·Y at these points. Returns for each coordinate a row of all slots at the first
/// point, then a row at the second point, and so on.
pub fn values(
    modulus: Modulus,
    nodes: &[u32],
    bodies: &[&[u32]],
    masks: &[&[u32]],
) -> Vec<Vec<u32>> {
    let backend = Backend::current();
    let mut coordinates = Vec::with_capacity(bodies.len());

    for (body, mask) in bodies.iter().zip(masks) {
        let mut rows = vec![0; nodes.len() * body.len()];
        for (row, &node) in rows.chunks_exact_mut(body.len()).zip(nodes) {
            pointwise::scale(backend, row, mask, node, modulus);
            pointwise::add_assign(backend, row, body, modulus);
        }
        coordinates.push(rows);
    }

    coordinates
}

/// Interpolates polynomials in Y from values at these points. Values have a row of all slots for
/// each point; results have a row of all slots for each coefficient.
pub fn coefficients(modulus: Modulus, nodes: &[u32], values: &[u32]) -> Vec<u32> {
    let backend = Backend::current();
    let slots = values.len() / nodes.len();
    let mut out = vec![0; values.len()];

    for (row, weights) in out.chunks_exact_mut(slots).zip(weights(modulus, nodes)) {
        pointwise::combine(backend, row, values, &weights, modulus);
    }

    out
}

/// Returns the matrix of interpolation at different points. Its columns are Lagrange's polynomials,
/// and it has a row for each coefficient.
fn weights(modulus: Modulus, nodes: &[u32]) -> Vec<Vec<u32>> {
    // Π (x − node), from which each factor is divided off again.
    let product = nodes.iter().fold(vec![1], |product, &node| {
        times_root(modulus, &product, node)
    });

    let columns: Vec<Vec<u32>> = nodes
        .iter()
        .map(|&node| lagrange(modulus, &product, nodes, node))
        .collect();

    (0..nodes.len())
        .map(|row| columns.iter().map(|column| column[row]).collect())
        .collect()
}

/// Returns Lagrange's polynomial of a node, which is 1 there and 0 at the other nodes. `product` is
/// Π (x − node).
fn lagrange(modulus: Modulus, product: &[u32], nodes: &[u32], node: u32) -> Vec<u32> {
    let quotient = divided(modulus, product, node);

    let others = nodes.iter().filter(|&&other| other != node);
    let scale = others.fold(1, |scale, &other| {
        modulus.mul(scale, modulus.sub(node, other))
    });
    // Nodes are different modulo the prime, so that no factor is zero.
    let scale = inverse_mod(scale.into(), modulus.value().into()) as u32;

    quotient
        .iter()
        .map(|&coefficient| modulus.mul(coefficient, scale))
        .collect()
}

/// Multiplies a polynomial, constant coefficient first, by x − node.
fn times_root(modulus: Modulus, polynomial: &[u32], node: u32) -> Vec<u32> {
    let mut product = vec![0; polynomial.len() + 1];
    for (i, &coefficient) in polynomial.iter().enumerate() {
        product[i + 1] = modulus.add(product[i + 1], coefficient);
        product[i] = modulus.sub(product[i], modulus.mul(coefficient, node));
    }
    product
}

/// Divides a polynomial by x − node. The node must be a root of it.
fn divided(modulus: Modulus, polynomial: &[u32], node: u32) -> Vec<u32> {
    let mut quotient = vec![0; polynomial.len() - 1];
    // Horner's rule from the highest coefficient on. The last carry, the value at the node, is zero
    // and left out.
    let mut carry = 0;
    for (out, &coefficient) in quotient.iter_mut().zip(&polynomial[1..]).rev() {
        carry = modulus.add(modulus.mul(carry, node), coefficient);
        *out = carry;
    }
    quotient
}
