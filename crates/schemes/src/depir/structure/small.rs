//! Evaluation of f modulo one small prime.

use papir_kernels::Backend;
use papir_kernels::pointwise::Modulus;
use papir_kernels::poly_eval::Polynomial;
use papir_kernels::small_prime;

use super::effort::Effort;
use super::sorting::{PointGroup, walk};
use super::table::{Powers, Table, contract};
use crate::depir::simplex::{Simplex, terms};

/// Largest number of coordinates that points share where polynomials are evaluated.
const SHARED: usize = 2;
/// Length in bytes of a part of a table that stays in the second-level cache.
const PART_BYTES: u64 = 1 << 18;

/// The polynomial f modulo a small prime p.
pub(super) struct Small {
    backend: Backend,
    simplex: Simplex,
    modulus: Modulus,
    coefficients: Vec<u16>,
    pub(super) table: Table,
    powers: Powers,
}

impl Small {
    pub(super) fn new(
        simplex: Simplex,
        modulus: Modulus,
        coefficients: Vec<u16>,
        table: Table,
    ) -> Self {
        let powers = Powers::new(modulus.value(), simplex.degree);
        Self {
            backend: Backend::current(),
            simplex,
            modulus,
            coefficients,
            table,
            powers,
        }
    }

    /// Returns the prime p.
    pub(super) fn prime(&self) -> u32 {
        self.modulus.value()
    }

    /// Returns true if all coordinates are tabulated, so that a value is one entry.
    pub(super) fn is_whole(&self) -> bool {
        self.table.tabulated() == self.simplex.variables
    }

    /// Returns true if points that share `shared` coordinates are not sorted further.
    fn is_enough(&self, shared: usize) -> bool {
        if self.is_whole() {
            self.table.layout().part_bytes(shared) <= PART_BYTES
        } else {
            shared >= SHARED.min(self.simplex.variables - 1)
        }
    }

    /// Evaluates f at `count` points, given as a row of residues for each coordinate after the
    /// coordinates that all points share.
    pub(super) fn evaluate(
        &self,
        shared: &[u16],
        rows: &[Vec<u16>],
        count: usize,
    ) -> (Vec<u16>, Effort) {
        let prime = self.modulus.value();
        let order: Vec<u32> = (0..count as u32).collect();
        let points = PointGroup {
            order: &order,
            rows: rows.iter().map(Vec::as_slice).collect(),
        };

        let mut values = vec![0; count];
        let mut effort = Effort::default();
        let mut leaf = GroupEvaluation::new(self);
        walk(
            prime,
            &points,
            &mut shared.to_vec(),
            &|shared, _| self.is_enough(shared),
            &mut |prefix, points| {
                leaf.evaluate(prefix, points, &mut values, &mut effort);
            },
        );

        (values, effort)
    }
}

/// Evaluation of groups of points. It keeps the work that successive groups share.
pub(super) struct GroupEvaluation<'a> {
    small: &'a Small,
    /// The shared coordinates of the last group.
    last: Vec<u16>,
    /// Polynomial that remains when a coordinate and its predecessors are fixed, for each
    /// coordinate of `last`. It is empty where a longer prefix is tabulated.
    fixed: Vec<Vec<u16>>,
    indices: Vec<u32>,
}

impl<'a> GroupEvaluation<'a> {
    pub(super) fn new(small: &'a Small) -> Self {
        Self {
            small,
            last: Vec::new(),
            fixed: Vec::new(),
            indices: Vec::new(),
        }
    }

    /// Evaluates f at points that share `prefix`, and writes the value of point i to `values[i]`.
    pub(super) fn evaluate(
        &mut self,
        prefix: &[u16],
        points: &PointGroup<'_>,
        values: &mut [u16],
        effort: &mut Effort,
    ) {
        effort.points += points.order.len() as u64;

        if self.small.is_whole() {
            self.look_up(prefix, points, values, effort);
        } else if self.small.table.tabulated() > prefix.len() {
            self.look_up_rows(prefix, points, values, effort);
        } else {
            self.evaluate_polynomial(prefix, points, values, effort);
        }
    }

    /// Reads an entry of the table for each point.
    fn look_up(
        &mut self,
        prefix: &[u16],
        points: &PointGroup<'_>,
        values: &mut [u16],
        effort: &mut Effort,
    ) {
        let Small {
            backend,
            modulus,
            table,
            ..
        } = self.small;

        // Groups are sorted until indices in their part of the table fit 32 bits.
        self.indices.clear();
        self.indices.resize(points.order.len(), 0);
        for row in &points.rows {
            small_prime::append(*backend, &mut self.indices, row, modulus.value());
        }

        table.look_up(prefix, points.order.iter().zip(&self.indices), values);
        effort.table_bytes += (points.order.len() * table.layout().width()) as u64;
    }

    /// Reads the remaining polynomial from the table for each point, and evaluates it.
    fn look_up_rows(
        &self,
        prefix: &[u16],
        points: &PointGroup<'_>,
        values: &mut [u16],
        effort: &mut Effort,
    ) {
        let Small {
            simplex,
            modulus,
            table,
            ..
        } = self.small;

        let (tabulated, others) = points.rows.split_at(table.tabulated() - prefix.len());
        let mut row = vec![0; terms(others.len(), simplex.degree)];
        let mut point = vec![0; others.len()];
        let mut prefix = prefix.to_vec();
        let shared = prefix.len();

        for (place, &which) in points.order.iter().enumerate() {
            prefix.truncate(shared);
            prefix.extend(tabulated.iter().map(|row| row[place]));
            table.read(&prefix, &mut row);

            point
                .iter_mut()
                .zip(others)
                .for_each(|(x, row)| *x = row[place].into());
            values[which as usize] = horner(&row, simplex.degree, &point, modulus.value()) as u16;
        }

        let entries = (row.len() * points.order.len()) as u64;
        effort.table_bytes += entries * table.layout().width() as u64;
        effort.multiplications += entries;
    }

    /// Evaluates the polynomial that remains after `prefix` at each point.
    fn evaluate_polynomial(
        &mut self,
        prefix: &[u16],
        points: &PointGroup<'_>,
        values: &mut [u16],
        effort: &mut Effort,
    ) {
        let Small {
            backend,
            simplex,
            modulus,
            ..
        } = self.small;
        let coefficients: Vec<u32> = self
            .remaining(prefix, effort)
            .iter()
            .map(|&coefficient| coefficient.into())
            .collect();

        let mut found = vec![coefficients[0]; points.order.len()];
        if !points.rows.is_empty() {
            let polynomial =
                Polynomial::new(*modulus, points.rows.len(), simplex.degree, &coefficients);
            let words: Vec<u32> = points
                .rows
                .iter()
                .flat_map(|row| row.iter().map(|&word| word.into()))
                .collect();

            polynomial.evaluate(*backend, &words, &mut found);
            effort.multiplications += (coefficients.len() * points.order.len()) as u64;
        }

        for (&point, value) in points.order.iter().zip(found) {
            values[point as usize] = value as u16;
        }
    }

    /// Returns the polynomial in the variables after `prefix`. The prefix has at least the
    /// tabulated variables.
    fn remaining(&mut self, prefix: &[u16], effort: &mut Effort) -> &[u16] {
        // Successive groups often share their first coordinates: the polynomials that remain with
        // these fixed are kept.
        let same = self
            .last
            .iter()
            .zip(prefix)
            .take_while(|(a, b)| a == b)
            .count();
        self.fixed.truncate(same);
        self.last.clear();
        self.last.extend_from_slice(prefix);

        // Everything beyond the common prefix belongs to other coordinates now.
        for done in same..prefix.len() {
            let next = self.fix(prefix, done, effort);
            self.fixed.push(next);
        }

        self.fixed.last().unwrap_or(&self.small.coefficients)
    }

    /// Fixes the coordinate of `prefix` after `done` others in the polynomial that they leave.
    /// Returns an empty polynomial where a longer prefix is tabulated.
    fn fix(&self, prefix: &[u16], done: usize, effort: &mut Effort) -> Vec<u16> {
        let Small {
            simplex,
            modulus,
            coefficients,
            table,
            powers,
            backend: _,
        } = self.small;

        if done + 1 < table.tabulated() {
            return Vec::new();
        }
        let simplex = Simplex {
            variables: simplex.variables - done,
            ..*simplex
        };

        let mut next = vec![0; simplex.rest()];
        if done + 1 == table.tabulated() {
            table.read(&prefix[..=done], &mut next);
            effort.table_bytes += (next.len() * table.layout().width()) as u64;
        } else {
            let whole = self.fixed.last().unwrap_or(coefficients);
            let powers = powers.of(prefix[done].into());
            contract(simplex, whole, powers, modulus.value(), &mut next);
            effort.multiplications += whole.len() as u64;
        }

        next
    }
}

/// Evaluates a polynomial at one point by Horner's rule.
fn horner(coefficients: &[u16], degree: usize, point: &[u32], prime: u32) -> u32 {
    let Some((&x, others)) = point.split_first() else {
        return coefficients[0].into();
    };

    // Higher exponents come later and have shorter rows, so rows are taken from the end.
    let mut end = coefficients.len();
    let mut value = 0;
    for exponent in (0..=degree).rev() {
        let length = terms(others.len(), degree - exponent);
        let row = &coefficients[end - length..end];
        end -= length;

        // All three are at most p − 1, so the sum is at most p(p − 1): it fits 32 bits, since p has
        // 16.
        value = (value * x + horner(row, degree - exponent, others, prime)) % prime;
    }
    value
}
