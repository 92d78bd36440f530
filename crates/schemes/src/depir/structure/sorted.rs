//! f modulo a small prime at all points, sorted by their first coordinates: what these leave of f is computed, or
//! read of a table, once for all points that share them.

use papir_kernels::pointwise::Modulus;
use papir_kernels::simplex::Simplex as Polynomial;

use super::Effort;
use super::table::{Powers, Table, contract};
use crate::depir::simplex::{Simplex, terms};

/// Coordinates that points are sorted by, where there are more.
const SHARED: usize = 2;

/// f modulo a small prime.
pub struct Small {
    pub(super) simplex: Simplex,
    pub(super) modulus: Modulus,
    pub(super) coefficients: Vec<u16>,
    pub(super) table: Table,
}

/// Points in the order of their first coordinates.
struct Sorted {
    /// Where the points of each prefix begin; one more than there are prefixes.
    starts: Vec<u32>,
    /// Which points they are.
    order: Vec<u32>,
}

impl Sorted {
    /// By the first `shared` coordinates: counting, two passes.
    fn new(prime: u32, rows: &[Vec<u16>], shared: usize) -> Self {
        let points = rows[0].len();
        let prefix = |point: usize| {
            rows[..shared].iter().fold(0, |prefix, row| prefix * prime as usize + usize::from(row[point]))
        };
        let mut starts = vec![0u32; (prime as usize).pow(shared as u32) + 1];
        (0..points).for_each(|point| starts[prefix(point) + 1] += 1);
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut order = vec![0; points];
        for point in 0..points {
            let place = &mut next[prefix(point)];
            order[*place as usize] = point as u32;
            *place += 1;
        }
        Self { starts, order }
    }

    /// The points of a prefix.
    fn of(&self, prefix: usize) -> &[u32] {
        &self.order[self.starts[prefix] as usize..self.starts[prefix + 1] as usize]
    }
}

impl Small {
    /// The values at points, a row of residues for each coordinate.
    pub(super) fn evaluate(&self, rows: &[Vec<u16>]) -> (Vec<u16>, Effort) {
        let shared = SHARED.min(self.simplex.variables - 1);
        let sorted = Sorted::new(self.modulus.value(), rows, shared);
        let mut values = vec![0; rows[0].len()];
        let mut effort = Effort { points: values.len() as u64, ..Effort::default() };
        if self.table.tabulated() > shared {
            self.look_up(rows, &sorted, &mut values, &mut effort);
        } else {
            let mut walk =
                Walk { small: self, rows, sorted: &sorted, values: &mut values, effort: &mut effort };
            walk.descend(self.simplex, &self.coefficients, (0, 0), shared);
        }
        (values, effort)
    }

    /// A row of the table for each point.
    fn look_up(&self, rows: &[Vec<u16>], sorted: &Sorted, values: &mut [u16], effort: &mut Effort) {
        let (prime, tabulated) = (self.modulus.value(), self.table.tabulated());
        let rest = self.simplex.variables - tabulated;
        let mut row = vec![0; terms(rest, self.simplex.degree)];
        let mut point = vec![0; rest];
        for &place in &sorted.order {
            let place = place as usize;
            let prefix = rows[..tabulated]
                .iter()
                .fold(0, |prefix, row| prefix * prime as usize + usize::from(row[place]));
            self.table.read(prefix, &mut row);
            point.iter_mut().zip(&rows[tabulated..]).for_each(|(x, row)| *x = row[place].into());
            values[place] = horner(&row, self.simplex.degree, &point, prime) as u16;
        }
        let entries = (row.len() * values.len()) as u64;
        effort.table_bytes += entries * self.table.width() as u64;
        effort.multiplications += if rest > 0 { entries } else { 0 };
    }
}

/// The value of a polynomial at one point, by Horner's rule.
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

/// What is shared, from the first coordinate on.
struct Walk<'a> {
    small: &'a Small,
    rows: &'a [Vec<u16>],
    sorted: &'a Sorted,
    values: &'a mut [u16],
    effort: &'a mut Effort,
}

impl Walk<'_> {
    /// f with `depth` coordinates fixed, those of a prefix, is a polynomial in the others; `left` more are fixed
    /// before points are evaluated.
    fn descend(
        &mut self,
        simplex: Simplex,
        coefficients: &[u16],
        (depth, prefix): (usize, usize),
        left: usize,
    ) {
        let prime = self.small.modulus.value();
        if left == 0 {
            return self.points(simplex, coefficients, prefix);
        }
        let powers = Powers::new(prime, simplex.degree);
        let rest = Simplex { variables: simplex.variables - 1, ..simplex };
        let mut fixed = vec![0; simplex.rest()];
        for x in 0..prime {
            let prefix = prefix * prime as usize + x as usize;
            // Prefixes below this one, and whether any point has one of them.
            let span = (prime as usize).pow(left as u32 - 1);
            if self.sorted.starts[prefix * span] == self.sorted.starts[(prefix + 1) * span] {
                continue;
            }
            match self.small.table.tabulated().cmp(&(depth + 1)) {
                std::cmp::Ordering::Equal => {
                    self.small.table.read(prefix, &mut fixed);
                    self.effort.table_bytes += (fixed.len() * self.small.table.width()) as u64;
                }
                // A longer prefix is read.
                std::cmp::Ordering::Greater => {}
                std::cmp::Ordering::Less => {
                    contract(simplex, coefficients, powers.of(x), prime, &mut fixed);
                    self.effort.multiplications += coefficients.len() as u64;
                }
            }
            self.descend(rest, &fixed, (depth + 1, prefix), left - 1);
        }
    }

    /// The points of a prefix, under what it leaves of f.
    fn points(&mut self, simplex: Simplex, coefficients: &[u16], prefix: usize) {
        let places = self.sorted.of(prefix);
        let coefficients: Vec<u32> = coefficients.iter().map(|&word| word.into()).collect();
        let Simplex { variables, degree } = simplex;
        let polynomial = Polynomial::new(self.small.modulus, variables, degree, &coefficients);
        let own = &self.rows[self.rows.len() - variables..];
        let points: Vec<u32> =
            own.iter().flat_map(|row| places.iter().map(|&place| row[place as usize].into())).collect();
        let mut values = vec![0; places.len()];
        polynomial.evaluate(&points, &mut values);
        for (&place, value) in places.iter().zip(values) {
            self.values[place as usize] = value as u16;
        }
        self.effort.multiplications += (coefficients.len() * places.len()) as u64;
    }
}
