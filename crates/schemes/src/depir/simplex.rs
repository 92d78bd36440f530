//! Points and exponents (i₁, …, i_m) with i₁ + … + i_m ≤ D, in lexicographic order.

use papir_kernels::poly_eval::{self, MAX_DEGREE};
use subtle::{Choice, ConditionallySelectable, ConstantTimeLess};
use zeroize::Zeroizing;

/// All tuples of `variables` numbers that add up to at most `degree`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simplex {
    /// m, the number of variables, at least 1.
    pub variables: usize,
    /// D, the largest sum.
    pub degree: usize,
}

impl Simplex {
    /// Returns the simplex of least degree in `variables` variables with at least `count` tuples.
    /// If no supported degree suffices, its degree is one above the largest supported.
    pub fn holding(count: u64, variables: usize) -> Self {
        let degree = (0..=MAX_DEGREE)
            .find(|&degree| terms(variables, degree) as u64 >= count)
            .unwrap_or(MAX_DEGREE + 1);
        Self { variables, degree }
    }

    /// Returns the number of tuples: C(D + m, m).
    pub fn len(self) -> usize {
        terms(self.variables, self.degree)
    }

    /// Returns false: the zero tuple always exists.
    pub fn is_empty(self) -> bool {
        false
    }

    /// Returns the number of exponents of the variables after the first one.
    pub(super) fn rest(self) -> usize {
        terms(self.variables - 1, self.degree)
    }

    /// Returns the tuples at these places, with a row of words for each variable. No branch and no
    /// address depends on a place.
    ///
    /// Places must be below [`Simplex::len`]. The tuples of other places are unspecified.
    pub fn points(self, places: &[u64]) -> Zeroizing<Vec<u32>> {
        let counts: Vec<Vec<u64>> = (0..self.variables)
            .map(|variables| {
                (0..=self.degree)
                    .map(|degree| terms(variables, degree) as u64)
                    .collect()
            })
            .collect();

        let mut points = Zeroizing::new(vec![0; self.variables * places.len()]);
        for (column, &place) in places.iter().enumerate() {
            let mut place = place;
            let mut left = self.degree as u64;
            for (row, counts) in counts.iter().rev().enumerate() {
                let coordinate = self.coordinate(counts, &mut place, &mut left);
                points[row * places.len() + column] = coordinate as u32;
            }
        }

        points
    }

    /// Returns the next coordinate: how many counts of the later variables, taken from `counts` for
    /// the remaining degree, fit into the place.
    fn coordinate(self, counts: &[u64], place: &mut u64, left: &mut u64) -> u64 {
        let mut coordinate = 0;
        let mut going = Choice::from(1);

        // Every coordinate takes D steps. After the last count that fits, a step adds nothing.
        for _ in 0..self.degree {
            // All counts are read, so that no address depends on the remaining degree.
            let mut count = 0;
            for (degree, &candidate) in counts.iter().enumerate() {
                count.conditional_assign(
                    &candidate,
                    subtle::ConstantTimeEq::ct_eq(&(degree as u64), left),
                );
            }

            going &= !place.ct_lt(&count);
            let step = u64::from(going.unwrap_u8());
            *place -= count * step;
            coordinate += step;
            *left = left.wrapping_sub(step);
        }

        coordinate
    }
}

/// Returns C(degree + variables, variables), or the largest `usize` if it overflows.
pub fn terms(variables: usize, degree: usize) -> usize {
    poly_eval::terms(variables, degree).unwrap_or(usize::MAX)
}

/// Calls `row` for each row of the tuples with sum at most `small`, within the tuples with sum at
/// most `large`. A row is a run of the last variable. The arguments are the start of the row in
/// both orders, and its length.
pub fn for_each_row(
    variables: usize,
    small: usize,
    large: usize,
    row: &mut impl FnMut(usize, usize, usize),
) {
    nested_rows(variables, small, large, 0, 0, row);
}

/// Works like [`for_each_row`], with rows that start at `from` and `to` in the two orders.
fn nested_rows(
    variables: usize,
    small: usize,
    large: usize,
    mut from: usize,
    mut to: usize,
    row: &mut impl FnMut(usize, usize, usize),
) {
    // With many variables, most tuples have used up their sum long before the last variable.
    if variables <= 1 || small == 0 {
        return row(from, to, if variables == 0 { 1 } else { small + 1 });
    }

    for exponent in 0..=small {
        nested_rows(
            variables - 1,
            small - exponent,
            large - exponent,
            from,
            to,
            row,
        );
        from += terms(variables - 1, small - exponent);
        to += terms(variables - 1, large - exponent);
    }
}
