//! Evaluation of polynomials in registers of 64-bit lanes.
//!
//! The loops are those of [`crate::portable::poly_eval`], with the sums of a block in registers.

use super::lanes::WideLanes;
use crate::poly_eval::polynomial::{MAX_VARIABLES, Polynomial};

/// One word per point, in lanes of 64 bits: `S` registers of `N` words. Aligned so that no load
/// straddles two cache lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Block<const N: usize, const S: usize>([[u32; N]; S]);

impl<const N: usize, const S: usize> Block<N, S> {
    const ZERO: Self = Self([[0; N]; S]);
    /// Points of a block.
    const POINTS: usize = S * N / 2;
}

/// The polynomial and the constants of its reductions.
#[derive(Clone, Copy)]
struct Field<'a, L: WideLanes<N>, const N: usize> {
    lanes: L,
    polynomial: &'a Polynomial,
    q: L::Vector,
    negated_inverse: L::Vector,
}

impl<L: WideLanes<N>, const N: usize> Field<'_, L, N> {
    /// x·2⁻³² modulo q, below x·2⁻³² + q.
    #[inline(always)]
    fn reduce(self, x: L::Vector) -> L::Vector {
        let lanes = self.lanes;
        // Not `mul_even`: LLVM sees that only the low half is needed and chooses the slow product
        // of 64-bit lanes.
        let factor = lanes.mul_low(x, self.negated_inverse);
        lanes.odd_lanes(lanes.add_64(x, lanes.mul_even(factor, self.q)))
    }

    /// x or x − bound, whichever is not negative.
    #[inline(always)]
    fn below(self, x: L::Vector, bound: u32) -> L::Vector {
        self.lanes.min(x, self.lanes.sub(x, self.lanes.splat(bound)))
    }
}

#[inline(always)]
pub(super) fn evaluate<L: WideLanes<N>, const N: usize, const S: usize>(
    lanes: L,
    polynomial: &Polynomial,
    points: &[u32],
    out: &mut [u32],
) {
    let field = Field {
        lanes,
        polynomial,
        q: lanes.splat(polynomial.q),
        negated_inverse: lanes.splat(polynomial.negated_inverse),
    };
    let (length, rows) = (out.len(), polynomial.degree + 1);
    let mut powers = vec![Block::<N, S>::ZERO; polynomial.variables * rows];
    let mut sums = vec![Block::<N, S>::ZERO; polynomial.variables];
    for (block, out) in out.chunks_mut(Block::<N, S>::POINTS).enumerate() {
        for (powers, points) in powers.chunks_exact_mut(rows).zip(points.chunks_exact(length)) {
            fill_powers(field, &points[block * Block::<N, S>::POINTS..][..out.len()], powers);
        }
        let values = walk(field, &powers, &mut sums);
        for (out, value) in out.iter_mut().zip(values.0.as_flattened().iter().step_by(2)) {
            *out = *value;
        }
    }
}

/// The powers 1, x, …, x^D, below 9/8·q, of points below q.
///
/// A product below 5/4·q² is reduced to below (1 + 5/64)·q, since q < 2²⁸.
#[inline(always)]
fn fill_powers<L: WideLanes<N>, const N: usize, const S: usize>(
    field: Field<'_, L, N>,
    points: &[u32],
    powers: &mut [Block<N, S>],
) {
    let lanes = field.lanes;
    let mut words = Block::<N, S>::ZERO;
    for (word, &point) in words.0.as_flattened_mut().iter_mut().step_by(2).zip(points) {
        *word = point;
    }
    let square = lanes.splat(field.polynomial.square);
    let mut factors = lanes.load_all(&words.0);
    for factor in &mut factors {
        *factor = field.reduce(lanes.mul_even(*factor, square));
    }
    let mut last = [lanes.splat(1); S];
    powers[0] = Block([one(); S]);
    for power in &mut powers[1..] {
        for ((last, &factor), power) in last.iter_mut().zip(&factors).zip(&mut power.0) {
            *last = field.reduce(lanes.mul_even(*last, factor));
            lanes.store(power, *last);
        }
    }
}

/// 1 in each lane of 64 bits.
const fn one<const N: usize>() -> [u32; N] {
    let (mut words, mut i) = ([0; N], 0);
    while i < N {
        words[i] = 1;
        i += 2;
    }
    words
}

/// Evaluates the coefficients row by row; returns values below q.
///
/// For the current exponents of the first i variables, `sums[i]` accumulates the values of the rows
/// below them times powers of variable i.
#[inline(always)]
fn walk<L: WideLanes<N>, const N: usize, const S: usize>(
    field: Field<'_, L, N>,
    powers: &[Block<N, S>],
    sums: &mut [Block<N, S>],
) -> Block<N, S> {
    let (lanes, polynomial) = (field.lanes, field.polynomial);
    let (rows, last) = (polynomial.degree + 1, polynomial.variables - 1);
    let inner = &powers[last * rows..];
    let mut exponents = [0usize; MAX_VARIABLES];
    let (mut left, mut rest) = (polynomial.degree, &polynomial.coefficients[..]);
    loop {
        let (row, others) = rest.split_at(left + 1);
        rest = others;
        let mut values = dot(field, row, inner);
        // Adds the value to the row above, and the value of that row too if it is complete.
        let mut level = last;
        loop {
            if level == 0 {
                return finish(field, values);
            }
            level -= 1;
            let exponent = exponents[level];
            let power = lanes.load_all(&powers[level * rows + exponent].0);
            let sum = &mut sums[level].0;
            for ((value, power), sum) in values.iter_mut().zip(power).zip(&*sum) {
                let product = lanes.mul_even(*value, power);
                // The product of the first power replaces the sum of the previous row.
                *value = if exponent == 0 { product } else { lanes.add_64(product, lanes.load(sum)) };
            }
            if left > 0 {
                for (sum, &value) in sum.iter_mut().zip(&values) {
                    lanes.store(sum, value);
                }
                exponents[level] += 1;
                left -= 1;
                break;
            }
            left += exponent;
            exponents[level] = 0;
            for value in &mut values {
                *value = field.reduce(*value);
                *value = field.below(field.below(*value, 8 * polynomial.q), 4 * polynomial.q);
            }
        }
    }
}

/// Σ c·x^i over a row, reduced.
#[inline(always)]
fn dot<L: WideLanes<N>, const N: usize, const S: usize>(
    field: Field<'_, L, N>,
    row: &[u32],
    powers: &[Block<N, S>],
) -> [L::Vector; S] {
    let lanes = field.lanes;
    let mut sums = [lanes.splat(0); S];
    for (&coefficient, powers) in row.iter().zip(powers) {
        let coefficient = lanes.splat(coefficient);
        for (sum, power) in sums.iter_mut().zip(&powers.0) {
            *sum = lanes.add_64(*sum, lanes.mul_even(lanes.load(power), coefficient));
        }
    }
    for sum in &mut sums {
        *sum = field.reduce(*sum);
    }
    sums
}

/// Reduces values below 16q to words below q.
#[inline(always)]
fn finish<L: WideLanes<N>, const N: usize, const S: usize>(
    field: Field<'_, L, N>,
    values: [L::Vector; S],
) -> Block<N, S> {
    let q = field.polynomial.q;
    let mut words = Block::ZERO;
    for (words, mut value) in words.0.iter_mut().zip(values) {
        for bound in [8 * q, 4 * q, 2 * q, q] {
            value = field.below(value, bound);
        }
        field.lanes.store(words, value);
    }
    words
}
