//! Evaluation on encrypted points, slot by slot, without a table.
//!
//! In a slot of X and modulo one prime, a ciphertext b + a·Y is a line, and f of m ciphertexts is f
//! restricted to a line in m dimensions: a polynomial of degree D in Y, determined by its values at
//! any D + 1 points of the line. The points are those whose first coordinate is 0, 1, …, D: there f
//! is one of D + 1 polynomials in one variable fewer, the same for all slots, with (D + m)/m times
//! fewer terms. The result is a polynomial in the first coordinate; substituting b₁ + a₁·Y gives
//! one in Y.

use papir_kernels::pointwise::{self, Modulus};
use papir_kernels::poly_eval::Polynomial;
use papir_ring::prime::invert_all;

use super::decomposition::weights;
use super::interpolation::contract;
use super::simplex::Simplex;

/// Slots processed together. Their values stay in the cache.
const BLOCK: usize = 1024;

/// Points of all slots modulo one prime, as lines parametrised by their first coordinate.
pub struct Lines<'a> {
    modulus: Modulus,
    /// b₁ and a₁.
    first: [&'a [u32]; 2],
    /// Values of the other coordinates where the first is 0: a row of all slots for each.
    starts: Vec<u32>,
    /// Their increments when the first coordinate grows by 1.
    slopes: Vec<u32>,
}

impl<'a> Lines<'a> {
    /// The lines b + a·Y, given as a row of all slots for each coordinate; `None` if a first mask
    /// is zero, so that the first coordinate is constant.
    pub fn new(modulus: Modulus, bodies: &[&'a [u32]], masks: &[&'a [u32]]) -> Option<Self> {
        let (body, mask) = (*bodies.first()?, *masks.first()?);
        let inverses = invert_all(mask, modulus.value())?;
        let mut lines = Self { modulus, first: [body, mask], starts: Vec::new(), slopes: Vec::new() };
        let mut product = vec![0; mask.len()];
        for (other_body, other_mask) in bodies.iter().zip(masks).skip(1) {
            let mut slope = inverses.clone();
            pointwise::mul_assign(&mut slope, other_mask, modulus);
            pointwise::mul(&mut product, &slope, body, modulus);
            let mut start = other_body.to_vec();
            pointwise::sub_assign(&mut start, &product, modulus);
            lines.starts.append(&mut start);
            lines.slopes.append(&mut slope);
        }
        Some(lines)
    }

    /// Slots.
    fn len(&self) -> usize {
        self.first[0].len()
    }

    /// Evaluates f, given by its coefficients modulo t, on the lines. Returns the coefficients of
    /// 1, Y, …, Y^D, a row of all slots each.
    pub fn evaluate(&self, simplex: Simplex, coefficients: &[u32]) -> Vec<u32> {
        let plan = Plan::new(self.modulus, simplex, coefficients);
        let (rows, slots) = (simplex.degree + 1, self.len());
        let mut out = vec![0; rows * slots];
        for start in (0..slots).step_by(BLOCK) {
            let length = BLOCK.min(slots - start);
            let block = self.evaluate_block(&plan, start, length);
            for (out, row) in out.chunks_exact_mut(slots).zip(block.chunks_exact(length)) {
                out[start..][..length].copy_from_slice(row);
            }
        }
        out
    }

    /// [`Self::evaluate`] for some of the slots.
    fn evaluate_block(&self, plan: &Plan, start: usize, length: usize) -> Vec<u32> {
        let part = |rows: &[u32]| -> Vec<u32> {
            rows.chunks_exact(self.len()).flat_map(|row| &row[start..][..length]).copied().collect()
        };
        let (mut points, slopes) = (part(&self.starts), part(&self.slopes));
        let mut values = vec![0; plan.contractions.len() * length];
        for (contraction, values) in plan.contractions.iter().zip(values.chunks_exact_mut(length)) {
            match contraction {
                Contraction::Constant(constant) => values.fill(*constant),
                Contraction::Polynomial(polynomial) => polynomial.evaluate(&points, values),
            }
            pointwise::add_assign(&mut points, &slopes, self.modulus);
        }
        let mut coefficients = vec![0; values.len()];
        for (row, weights) in coefficients.chunks_exact_mut(length).zip(&plan.weights) {
            pointwise::combine(row, &values, weights, self.modulus);
        }
        let [body, mask] = self.first.map(|row| &row[start..][..length]);
        substitute(self.modulus, &mut coefficients, body, mask);
        coefficients
    }
}

/// f with its first variable fixed.
enum Contraction {
    /// No variable is left.
    Constant(u32),
    Polynomial(Polynomial),
}

/// Precomputation shared by all lines of one prime.
struct Plan {
    /// f(0, ·), f(1, ·), …, f(D, ·).
    contractions: Vec<Contraction>,
    /// Interpolation matrix from the values at 0, 1, …, D.
    weights: Vec<Vec<u32>>,
}

impl Plan {
    fn new(modulus: Modulus, simplex: Simplex, coefficients: &[u32]) -> Self {
        let Simplex { variables, degree } = simplex;
        let nodes: Vec<u32> = (0..=degree as u32).collect();
        let contraction = |x: usize| {
            let coefficients = contract(simplex, coefficients, x as u32, modulus);
            match coefficients.as_slice() {
                &[constant] if variables == 1 => Contraction::Constant(constant),
                _ => Contraction::Polynomial(Polynomial::new(modulus, variables - 1, degree, &coefficients)),
            }
        };
        Self { contractions: (0..=degree).map(contraction).collect(), weights: weights(modulus, &nodes) }
    }
}

/// Substitutes x = b + a·Y in polynomials in x, which have a row for each coefficient.
fn substitute(modulus: Modulus, coefficients: &mut [u32], body: &[u32], mask: &[u32]) {
    let length = body.len();
    let degree = coefficients.len() / length - 1;
    let mut product = vec![0; length];
    for lowest in 0..degree {
        for place in (lowest..degree).rev() {
            let (low, high) = coefficients[place * length..].split_at_mut(length);
            pointwise::mul(&mut product, &high[..length], body, modulus);
            pointwise::add_assign(low, &product, modulus);
        }
    }
    let mut power = mask.to_vec();
    for row in coefficients.chunks_exact_mut(length).skip(1) {
        pointwise::mul_assign(row, &power, modulus);
        pointwise::mul_assign(&mut power, mask, modulus);
    }
}
