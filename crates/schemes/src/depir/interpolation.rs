//! Interpolation of total degree D on the simplex (section 6, Appendix B).
//!
//! It replaces the interpolation of individual degrees of Lin, Mook and Wichs. A simplex has the
//! points 0, 1, …, D in each coordinate, so Newton's divided differences run along one variable
//! after another. This takes N·m·D steps instead of the N² of Appendix B's elimination.
//! Coefficients are modulo t.

use papir_kernels::pointwise::Modulus;
use papir_lattice::bv::params::PLAINTEXT;
use papir_ring::prime::inverse_mod;

use super::simplex::{Simplex, for_each_row, terms};

/// Replaces values at all points by coefficients, both modulo t in lexicographic order.
///
/// All variables are converted to Newton's basis before any is converted to powers, because on a
/// simplex a line's values give its first divided differences, not its polynomial.
///
/// # Panics
/// If the number of values is not [`Simplex::len`].
pub fn interpolate(simplex: Simplex, values: &mut [u32]) {
    assert_eq!(values.len(), simplex.len(), "values on a simplex");

    let inverses: Vec<u32> = (0..=simplex.degree as u64)
        .map(|order| {
            if order == 0 {
                0
            } else {
                inverse_mod(order, PLAINTEXT.into()) as u32
            }
        })
        .collect();

    for axis in 0..simplex.variables {
        along(axis, simplex, values, &|simplex, values| {
            divided_differences(simplex, values, &inverses)
        });
    }

    for axis in 0..simplex.variables {
        along(axis, simplex, values, &to_powers);
    }
}

/// Applies a step along one variable in every block in which the variables before it are fixed.
fn along(axis: usize, simplex: Simplex, values: &mut [u32], step: &dyn Fn(Simplex, &mut [u32])) {
    // A constant is the same in every basis.
    if simplex.degree == 0 {
        return;
    }
    if axis == 0 {
        return step(simplex, values);
    }

    // With the first variable fixed, the others add up to at most D − exponent.
    let mut rest = values;
    for exponent in 0..=simplex.degree {
        let inner = Simplex {
            variables: simplex.variables - 1,
            degree: simplex.degree - exponent,
        };
        let (block, others) = rest.split_at_mut(inner.len());
        along(axis - 1, inner, block, step);
        rest = others;
    }
}

/// Converts, along the first variable, values at 0, 1, … to coefficients of Newton's basis 1, x,
/// x·(x − 1), …. `inverses` has 1/l modulo t at place l.
fn divided_differences(simplex: Simplex, values: &mut [u32], inverses: &[u32]) {
    let modulus = Modulus::new(PLAINTEXT);
    // Differences of order l have nodes at distance l.
    for (order, &inverse) in inverses.iter().enumerate().take(simplex.degree + 1).skip(1) {
        // Downwards, since a difference reads the one below it before that changes.
        for place in (order..=simplex.degree).rev() {
            combine(simplex, values, place, place - 1, |low, high| {
                modulus.mul(modulus.sub(high, low), inverse)
            });
        }
    }
}

/// Converts, along the first variable, coefficients of Newton's basis to coefficients of powers,
/// innermost first.
fn to_powers(simplex: Simplex, values: &mut [u32]) {
    let modulus = Modulus::new(PLAINTEXT);
    for node in (0..simplex.degree).rev() {
        for place in node..simplex.degree {
            combine(simplex, values, place, place + 1, |next, own| {
                modulus.sub(own, modulus.mul(node as u32, next))
            });
        }
    }
}

/// Replaces block `into` of the first variable by f(block `from`, block `into`), on the tuples of
/// the smaller block.
fn combine(
    simplex: Simplex,
    values: &mut [u32],
    into: usize,
    from: usize,
    f: impl Fn(u32, u32) -> u32,
) {
    let Simplex { variables, degree } = simplex;
    let into_start = block_start(simplex, into);
    let from_start = block_start(simplex, from);
    // The block of the smaller number has more tuples. Those without a partner in the other keep
    // their values.
    let small = degree - into.max(from);
    let large = degree - into.min(from);

    for_each_row(
        variables - 1,
        small,
        large,
        &mut |small_row, large_row, length| {
            let (to, at) = if into > from {
                (small_row, large_row)
            } else {
                (large_row, small_row)
            };

            for i in 0..length {
                let to = into_start + to + i;
                let at = from_start + at + i;
                values[to] = f(values[at], values[to]);
            }
        },
    );
}

/// Returns the place of the first tuple whose first number is `block`.
fn block_start(simplex: Simplex, block: usize) -> usize {
    let Simplex { variables, degree } = simplex;
    terms(variables, degree) - terms(variables, degree - block)
}

/// Computes the coefficients modulo q of f(x, ·), a polynomial of degree D in one variable fewer.
/// `coefficients` are the coefficients of f modulo t; they are lifted to their shortest
/// representatives.
pub fn contract(simplex: Simplex, coefficients: &[u32], x: u32, modulus: Modulus) -> Vec<u32> {
    let Simplex { variables, degree } = simplex;
    let mut sums = vec![0u32; simplex.rest()];
    let mut power = 1;
    let mut start = 0;

    for exponent in 0..=degree {
        for_each_row(
            variables - 1,
            degree - exponent,
            degree,
            &mut |from, to, length| {
                let row = &coefficients[start + from..][..length];
                for (sum, &coefficient) in sums[to..][..length].iter_mut().zip(row) {
                    *sum = modulus.add(*sum, modulus.mul(power, shortest(coefficient, modulus)));
                }
            },
        );
        start += terms(variables - 1, degree - exponent);
        power = modulus.mul(power, x);
    }

    sums
}

/// Returns the shortest representative of a residue modulo t as a residue modulo q > t.
pub fn shortest(coefficient: u32, modulus: Modulus) -> u32 {
    if coefficient > PLAINTEXT / 2 {
        modulus.value() - (PLAINTEXT - coefficient)
    } else {
        coefficient
    }
}
