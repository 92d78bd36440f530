//! Evaluation of polynomials in registers of 64-bit lanes.
//!
//! The loops are the same as in [`crate::portable::poly_eval`], with the sums of a block in
//! registers.

use super::lanes::WideLanes;
use crate::poly_eval::polynomial::{Exponents, Order, Places, Polynomial};

/// One word per point, in lanes of 64 bits: `S` registers of `N` words. Aligned so that no load
/// straddles two cache lines.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct PointBlock<const N: usize, const S: usize>([[u32; N]; S]);

impl<const N: usize, const S: usize> PointBlock<N, S> {
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
        self.lanes
            .min(x, self.lanes.sub(x, self.lanes.splat(bound)))
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

    let length = out.len();
    let rows = polynomial.degree + 1;
    let count = (polynomial.variables * rows).max(polynomial.variables + 1);
    let mut factors = vec![PointBlock::<N, S>::ZERO; count];
    let mut sums = vec![PointBlock::<N, S>::ZERO; polynomial.variables];

    for (block, out) in out.chunks_mut(PointBlock::<N, S>::POINTS).enumerate() {
        let start = block * PointBlock::<N, S>::POINTS;
        let coordinates = points
            .chunks_exact(length)
            .map(|row| &row[start..][..out.len()]);
        let values = if polynomial.by_places {
            fill_places(coordinates, &mut factors);
            walk(field, Places::new(polynomial), &factors, &mut sums)
        } else {
            for (powers, points) in factors.chunks_exact_mut(rows).zip(coordinates) {
                fill_powers(field, points, powers);
            }
            walk(field, Exponents::new(polynomial), &factors, &mut sums)
        };

        // A value is the low word of a lane of 64 bits.
        for (out, value) in out
            .iter_mut()
            .zip(values.0.as_flattened().iter().step_by(2))
        {
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
    powers: &mut [PointBlock<N, S>],
) {
    let lanes = field.lanes;
    let mut words = PointBlock::<N, S>::ZERO;
    fill(&mut words, points);
    // The reduction of a product by 2⁶⁴ leaves the point times 2³², its Montgomery form.
    let square = lanes.splat(field.polynomial.square);
    let mut factors = lanes.load_all(&words.0);
    for factor in &mut factors {
        *factor = field.reduce(lanes.mul_even(*factor, square));
    }

    let mut last = [lanes.splat(1); S];
    powers[0] = PointBlock([one(); S]);
    for power in &mut powers[1..] {
        for ((last, &factor), power) in last.iter_mut().zip(&factors).zip(&mut power.0) {
            *last = field.reduce(lanes.mul_even(*last, factor));
            lanes.store(power, *last);
        }
    }
}

/// 1 in each lane of 64 bits.
const fn one<const N: usize>() -> [u32; N] {
    let mut words = [0; N];
    let mut i = 0;
    while i < N {
        words[i] = 1;
        i += 2;
    }
    words
}

/// 1, then the coordinates of the variables from the last to the first.
#[inline(always)]
fn fill_places<'a, const N: usize, const S: usize>(
    coordinates: impl DoubleEndedIterator<Item = &'a [u32]>,
    factors: &mut [PointBlock<N, S>],
) {
    factors[0] = PointBlock([one(); S]);
    for (factor, points) in factors[1..].iter_mut().zip(coordinates.rev()) {
        *factor = PointBlock::ZERO;
        fill(factor, points);
    }
}

/// Writes a word to each lane of 64 bits.
#[inline(always)]
fn fill<const N: usize, const S: usize>(block: &mut PointBlock<N, S>, points: &[u32]) {
    for (word, &point) in block.0.as_flattened_mut().iter_mut().step_by(2).zip(points) {
        *word = point;
    }
}

/// Evaluates the coefficients row by row; returns values below q.
///
/// `sums[level]` accumulates the values below the current term on that level times their factors.
#[inline(always)]
fn walk<L: WideLanes<N>, const N: usize, const S: usize>(
    field: Field<'_, L, N>,
    mut order: impl Order,
    factors: &[PointBlock<N, S>],
    sums: &mut [PointBlock<N, S>],
) -> PointBlock<N, S> {
    let lanes = field.lanes;
    let polynomial = field.polynomial;
    let inner = &factors[order.row()..];
    let mut rest = &polynomial.coefficients[..];

    loop {
        let (row, others) = rest.split_at(order.length());
        rest = others;
        let mut values = dot(field, row, inner);

        // Adds the value to the level above, and the value of that level too if it is complete.
        let mut level = order.levels();
        loop {
            if level == 0 {
                return finish(field, values);
            }
            level -= 1;
            let (number, factor) = order.term(level);
            let factor = lanes.load_all(&factors[factor].0);
            let sum = &mut sums[level].0;
            for ((value, factor), sum) in values.iter_mut().zip(factor).zip(&*sum) {
                let product = lanes.mul_even(*value, factor);
                // The product of the first term replaces the sum of the previous row.
                *value = if number == 0 {
                    product
                } else {
                    lanes.add_64(product, lanes.load(sum))
                };
            }
            if order.step(level) {
                for (sum, &value) in sum.iter_mut().zip(&values) {
                    lanes.store(sum, value);
                }
                break;
            }
            for value in &mut values {
                *value = field.reduce(*value);
                *value = field.below(field.below(*value, 8 * polynomial.q), 4 * polynomial.q);
            }
        }
    }
}

/// Σ c·factor over a row, reduced.
#[inline(always)]
fn dot<L: WideLanes<N>, const N: usize, const S: usize>(
    field: Field<'_, L, N>,
    row: &[u32],
    factors: &[PointBlock<N, S>],
) -> [L::Vector; S] {
    let lanes = field.lanes;
    let mut sums = [lanes.splat(0); S];
    for (&coefficient, factors) in row.iter().zip(factors) {
        let coefficient = lanes.splat(coefficient);
        for (sum, factor) in sums.iter_mut().zip(&factors.0) {
            *sum = lanes.add_64(*sum, lanes.mul_even(lanes.load(factor), coefficient));
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
) -> PointBlock<N, S> {
    let q = field.polynomial.q;
    let mut words = PointBlock::ZERO;
    for (words, mut value) in words.0.iter_mut().zip(values) {
        for bound in [8 * q, 4 * q, 2 * q, q] {
            value = field.below(value, bound);
        }
        field.lanes.store(words, value);
    }
    words
}
