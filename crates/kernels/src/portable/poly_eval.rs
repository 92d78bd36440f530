//! Evaluation of polynomials, a block of points at a time.

use crate::poly_eval::polynomial::{Exponents, Order, Places, Polynomial};

/// Points of a block: the sums stay in registers.
const BLOCK: usize = 32;
/// A word for each point, in lanes of 64 bits.
type Lanes = [u64; BLOCK];

/// The low half of a lane; the mask tells LLVM that a 32-bit multiplication suffices.
#[inline(always)]
const fn low(x: u64) -> u64 {
    x & u32::MAX as u64
}

pub(crate) fn evaluate(polynomial: &Polynomial, points: &[u32], out: &mut [u32]) {
    let length = out.len();
    let rows = polynomial.degree + 1;
    let mut factors = vec![[0; BLOCK]; (polynomial.variables * rows).max(polynomial.variables + 1)];
    let mut sums = vec![[0; BLOCK]; polynomial.variables];

    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        let coordinates = points
            .chunks_exact(length)
            .map(|row| &row[block * BLOCK..][..out.len()]);

        let values = if polynomial.by_places {
            fill_places(coordinates, &mut factors);
            walk(polynomial, Places::new(polynomial), &factors, &mut sums)
        } else {
            for (powers, points) in factors.chunks_exact_mut(rows).zip(coordinates) {
                fill_powers(polynomial, points, powers);
            }
            walk(polynomial, Exponents::new(polynomial), &factors, &mut sums)
        };

        for (out, value) in out.iter_mut().zip(values) {
            *out = finish(value as u32, polynomial.q);
        }
    }
}

/// x·2⁻³² modulo q, below x·2⁻³² + q.
#[inline(always)]
fn reduce(x: u64, polynomial: &Polynomial) -> u64 {
    // x is at most 192·q² and the product below 2³²·q: their sum is below 208·2⁵⁶ < 2⁶⁴.
    let factor = low(low(x) * u64::from(polynomial.negated_inverse));
    (x + factor * u64::from(polynomial.q)) >> 32
}

/// The powers 1, x, …, x^D, below 9/8·q, of points below q.
///
/// A product below 5/4·q² is reduced to below (1 + 5/64)·q, since q < 2²⁸.
#[inline(always)]
fn fill_powers(polynomial: &Polynomial, points: &[u32], powers: &mut [Lanes]) {
    let mut factors = [0; BLOCK];
    for (factor, &point) in factors.iter_mut().zip(points) {
        // 2⁶⁴ times the point, reduced once: its Montgomery form, 2³² times the point.
        *factor = reduce(u64::from(point) * u64::from(polynomial.square), polynomial);
    }

    let mut last = [1; BLOCK];
    powers[0] = last;
    for power in &mut powers[1..] {
        for (last, &factor) in last.iter_mut().zip(&factors) {
            *last = reduce(low(*last) * low(factor), polynomial);
        }
        *power = last;
    }
}

/// 1, then the coordinates of the variables from the last to the first.
#[inline(always)]
fn fill_places<'a>(coordinates: impl DoubleEndedIterator<Item = &'a [u32]>, factors: &mut [Lanes]) {
    factors[0] = [1; BLOCK];
    for (factor, points) in factors[1..].iter_mut().zip(coordinates.rev()) {
        for (factor, &point) in factor.iter_mut().zip(points) {
            *factor = point.into();
        }
    }
}

/// Evaluates the coefficients row by row; returns values below 4q.
///
/// `sums[level]` accumulates the values below the current term on that level times their factors.
/// Recursion over the levels would not be inlined.
#[inline(always)]
fn walk(
    polynomial: &Polynomial,
    mut order: impl Order,
    factors: &[Lanes],
    sums: &mut [Lanes],
) -> Lanes {
    let inner = &factors[order.row()..];
    let mut place = 0;
    sums.fill([0; BLOCK]);

    loop {
        let row = &polynomial.coefficients[place..][..order.length()];
        place += row.len();
        let mut value = dot(row, inner);
        for value in &mut value {
            *value = reduce(*value, polynomial);
        }

        // Adds the value to the level above, and the value of that level too if it is complete.
        let mut level = order.levels();
        loop {
            if level == 0 {
                return value;
            }
            level -= 1;
            let (_, factor) = order.term(level);
            for ((sum, value), factor) in sums[level].iter_mut().zip(&value).zip(&factors[factor]) {
                *sum += low(*value) * low(*factor);
            }
            if order.step(level) {
                break;
            }
            for (value, sum) in value.iter_mut().zip(&mut sums[level]) {
                *value = below_4q(reduce(*sum, polynomial), polynomial.q);
                *sum = 0;
            }
        }
    }
}

/// Σ c·factor over a row.
#[inline(always)]
fn dot(row: &[u32], factors: &[Lanes]) -> Lanes {
    let mut sums = [0u64; BLOCK];
    for (&coefficient, factors) in row.iter().zip(factors) {
        for (sum, &factor) in sums.iter_mut().zip(factors) {
            *sum += u64::from(coefficient) * low(factor);
        }
    }
    sums
}

/// x modulo q below 4q, for x below 12q.
#[inline(always)]
fn below_4q(x: u64, q: u32) -> u64 {
    // If x is smaller, the difference wraps and is the larger word.
    let q = u64::from(q);
    let x = x.min(x.wrapping_sub(8 * q));
    x.min(x.wrapping_sub(4 * q))
}

/// x modulo q, for x below 16q.
#[inline(always)]
fn finish(x: u32, q: u32) -> u32 {
    let x = x.min(x.wrapping_sub(8 * q));
    let x = x.min(x.wrapping_sub(4 * q));
    let x = x.min(x.wrapping_sub(2 * q));
    x.min(x.wrapping_sub(q))
}
