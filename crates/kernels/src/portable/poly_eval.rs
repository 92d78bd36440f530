//! Evaluation of polynomials, a block of points at a time.

use crate::poly_eval::polynomial::{MAX_VARIABLES, Polynomial};

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
    let mut powers = vec![[0; BLOCK]; polynomial.variables * rows];
    let mut sums = vec![[0; BLOCK]; polynomial.variables];
    for (block, out) in out.chunks_mut(BLOCK).enumerate() {
        for (powers, points) in powers.chunks_exact_mut(rows).zip(points.chunks_exact(length)) {
            fill_powers(polynomial, &points[block * BLOCK..][..out.len()], powers);
        }
        let values = walk(polynomial, &powers, &mut sums);
        for (out, value) in out.iter_mut().zip(values) {
            *out = finish(value as u32, polynomial.q);
        }
    }
}

/// x·2⁻³² modulo q, below x·2⁻³² + q.
#[inline(always)]
fn reduce(x: u64, polynomial: &Polynomial) -> u64 {
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

/// Evaluates the coefficients row by row; returns values below 4q.
///
/// For the current exponents of the first i variables, `sums[i]` accumulates the values of the rows
/// below them times powers of variable i.
#[inline(always)]
fn walk(polynomial: &Polynomial, powers: &[Lanes], sums: &mut [Lanes]) -> Lanes {
    let (rows, last) = (polynomial.degree + 1, polynomial.variables - 1);
    let inner = &powers[last * rows..];
    let mut exponents = [0usize; MAX_VARIABLES];
    // The exponents of all but the last variable, and the degree that they leave. Recursion over
    // the variables would not be inlined.
    let mut left = polynomial.degree;
    let mut place = 0;
    sums.fill([0; BLOCK]);
    loop {
        let row = &polynomial.coefficients[place..][..left + 1];
        place += left + 1;
        let mut value = dot(row, inner);
        for value in &mut value {
            *value = reduce(*value, polynomial);
        }
        // Adds the value to the row above, and the value of that row too if it is complete.
        let mut level = last;
        loop {
            if level == 0 {
                return value;
            }
            level -= 1;
            let power = &powers[level * rows + exponents[level]];
            for ((sum, value), power) in sums[level].iter_mut().zip(&value).zip(power) {
                *sum += low(*value) * low(*power);
            }
            if left > 0 {
                exponents[level] += 1;
                left -= 1;
                break;
            }
            left += exponents[level];
            exponents[level] = 0;
            for (value, sum) in value.iter_mut().zip(&mut sums[level]) {
                *value = below_4q(reduce(*sum, polynomial), polynomial.q);
                *sum = 0;
            }
        }
    }
}

/// Σ c·x^i over a row.
#[inline(always)]
fn dot(row: &[u32], powers: &[Lanes]) -> Lanes {
    let mut sums = [0u64; BLOCK];
    for (&coefficient, powers) in row.iter().zip(powers) {
        for (sum, &power) in sums.iter_mut().zip(powers) {
            *sum += u64::from(coefficient) * low(power);
        }
    }
    sums
}

/// x modulo q below 4q, for x below 12q.
#[inline(always)]
fn below_4q(x: u64, q: u32) -> u64 {
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
