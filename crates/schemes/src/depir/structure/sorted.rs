//! Evaluation at sorted points, modulo a small prime.
//!
//! Points are sorted by their first coordinates. The remaining polynomial is computed, or read from
//! a table, once for all points that share these coordinates.

use std::cmp::Ordering;

use papir_kernels::pointwise::Modulus;
use papir_kernels::poly_eval::Polynomial;

use super::table::{Powers, Table, contract};
use crate::depir::simplex::{Simplex, terms};

/// Most coordinates that points are sorted by.
const SHARED: usize = 2;

/// Work of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Points looked up or computed modulo a small prime.
    pub points: u64,
    /// Bytes read from tables.
    pub table_bytes: u64,
    /// Products of small residues.
    pub multiplications: u64,
}

impl Effort {
    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            points: self.points + other.points,
            table_bytes: self.table_bytes + other.table_bytes,
            multiplications: self.multiplications + other.multiplications,
        }
    }
}

/// f modulo a small prime.
pub struct Small {
    pub(super) simplex: Simplex,
    pub(super) modulus: Modulus,
    pub(super) coefficients: Vec<u16>,
    pub(super) table: Table,
}

impl Small {
    /// Evaluates f at points, given as a row of residues for each coordinate.
    pub(super) fn evaluate(&self, rows: &[Vec<u16>]) -> (Vec<u16>, Effort) {
        let count = rows[0].len();
        let mut values = vec![0; count];
        let mut effort = Effort { points: count as u64, ..Effort::default() };
        let order: Vec<u32> = (0..count as u32).collect();
        let points = Group { order: &order, rows: rows.iter().map(Vec::as_slice).collect() };
        let powers = Powers::new(self.modulus.value(), self.simplex.degree);
        let mut walk = Walk { small: self, powers, values: &mut values, effort: &mut effort };
        let shared = SHARED.min(self.simplex.variables - 1);
        walk.descend((self.simplex, &self.coefficients), 0, &points, shared);
        (values, effort)
    }
}

/// Points by their remaining coordinates.
struct Group<'a> {
    /// Numbers of the points.
    order: &'a [u32],
    rows: Vec<&'a [u16]>,
}

/// Points in the order of their first coordinate, which is removed.
struct Sorted {
    /// Start of each value's points; one more than there are values.
    starts: Vec<u32>,
    order: Vec<u32>,
    rows: Vec<Vec<u16>>,
}

impl Sorted {
    /// Counting sort in two passes. The result stays in the cache for the next sort.
    fn new(prime: u32, points: &Group<'_>) -> Self {
        let (first, others) = (points.rows[0], &points.rows[1..]);
        let mut starts = vec![0u32; prime as usize + 1];
        first.iter().for_each(|&x| starts[usize::from(x) + 1] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let places: Vec<u32> = first
            .iter()
            .map(|&x| {
                let place = next[usize::from(x)];
                next[usize::from(x)] += 1;
                place
            })
            .collect();
        let mut order = vec![0; first.len()];
        for (&place, &point) in places.iter().zip(points.order) {
            order[place as usize] = point;
        }
        let moved = |row: &&[u16]| {
            let mut out = vec![0; row.len()];
            for (&place, &word) in places.iter().zip(*row) {
                out[place as usize] = word;
            }
            out
        };
        Self { starts, order, rows: others.iter().map(moved).collect() }
    }

    /// Points with this value.
    fn of(&self, x: u32) -> Group<'_> {
        let range = self.starts[x as usize] as usize..self.starts[x as usize + 1] as usize;
        Group {
            order: &self.order[range.clone()],
            rows: self.rows.iter().map(|row| &row[range.clone()]).collect(),
        }
    }
}

/// Traversal of shared coordinates, from the first on.
struct Walk<'a> {
    small: &'a Small,
    powers: Powers,
    values: &'a mut [u16],
    effort: &'a mut Effort,
}

impl Walk<'_> {
    /// Evaluates points under the polynomial that a prefix of coordinates leaves of f; `left` more
    /// coordinates are shared first. Coefficients are undefined where a longer prefix is tabulated.
    fn descend(
        &mut self,
        (simplex, coefficients): (Simplex, &[u16]),
        prefix: usize,
        points: &Group<'_>,
        left: usize,
    ) {
        if left == 0 {
            return match self.small.table.tabulated > self.depth(simplex) {
                true => self.look_up(simplex, prefix, points),
                false => self.evaluate(simplex, coefficients, points),
            };
        }
        let prime = self.small.modulus.value();
        let sorted = Sorted::new(prime, points);
        let rest = Simplex { variables: simplex.variables - 1, ..simplex };
        let mut fixed = vec![0; simplex.rest()];
        for x in 0..prime {
            let points = sorted.of(x);
            if points.order.is_empty() {
                continue;
            }
            let prefix = prefix * prime as usize + x as usize;
            match self.small.table.tabulated.cmp(&self.depth(rest)) {
                Ordering::Greater => {}
                Ordering::Equal => {
                    self.small.table.read(prefix, &mut fixed);
                    self.effort.table_bytes += (fixed.len() * self.small.table.width()) as u64;
                }
                Ordering::Less => {
                    contract(simplex, coefficients, self.powers.of(x), prime, &mut fixed);
                    self.effort.multiplications += coefficients.len() as u64;
                }
            }
            self.descend((rest, &fixed), prefix, &points, left - 1);
        }
    }

    /// Number of fixed coordinates, given the remaining simplex.
    fn depth(&self, simplex: Simplex) -> usize {
        self.small.simplex.variables - simplex.variables
    }

    /// Evaluates points under one polynomial.
    fn evaluate(&mut self, simplex: Simplex, coefficients: &[u16], points: &Group<'_>) {
        let coefficients: Vec<u32> = coefficients.iter().map(|&word| word.into()).collect();
        let Simplex { variables, degree } = simplex;
        let polynomial = Polynomial::new(self.small.modulus, variables, degree, &coefficients);
        let words: Vec<u32> =
            points.rows.iter().flat_map(|row| row.iter().map(|&word| word.into())).collect();
        let mut values = vec![0; points.order.len()];
        polynomial.evaluate(&words, &mut values);
        for (&point, value) in points.order.iter().zip(values) {
            self.values[point as usize] = value as u16;
        }
        self.effort.multiplications += (coefficients.len() * points.order.len()) as u64;
    }

    /// Reads a row of the table for each point.
    fn look_up(&mut self, simplex: Simplex, prefix: usize, points: &Group<'_>) {
        let table = &self.small.table;
        let (prime, degree) = (self.small.modulus.value(), simplex.degree);
        let (tabulated, others) = points.rows.split_at(table.tabulated - self.depth(simplex));
        let mut row = vec![0; terms(others.len(), degree)];
        let mut point = vec![0; others.len()];
        for (place, &which) in points.order.iter().enumerate() {
            let prefix = tabulated
                .iter()
                .fold(prefix, |prefix, row| prefix * prime as usize + usize::from(row[place]));
            table.read(prefix, &mut row);
            point.iter_mut().zip(others).for_each(|(x, row)| *x = row[place].into());
            self.values[which as usize] = horner(&row, degree, &point, prime) as u16;
        }
        let entries = (row.len() * points.order.len()) as u64;
        self.effort.table_bytes += entries * table.width() as u64;
        self.effort.multiplications += if others.is_empty() { 0 } else { entries };
    }
}

/// Evaluates a polynomial at one point by Horner's rule.
fn horner(coefficients: &[u16], degree: usize, point: &[u32], prime: u32) -> u32 {
    let Some((&x, others)) = point.split_first() else {
        return coefficients[0].into();
    };
    let mut end = coefficients.len();
    let mut value = 0;
    for exponent in (0..=degree).rev() {
        let length = terms(others.len(), degree - exponent);
        let row = &coefficients[end - length..end];
        end -= length;
        value = (value * x + horner(row, degree - exponent, others, prime)) % prime;
    }
    value
}
