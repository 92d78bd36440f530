//! The second reduction: f modulo a prime from its values modulo smaller ones.

use papir_kernels::Backend;
use papir_kernels::pointwise::Modulus;
use papir_kernels::small_prime::{self, Shortest};
use papir_ring::crt::{Lift, Sums};

use super::effort::Effort;
use super::small::{GroupEvaluation, Small};
use super::sorting::{PointGroup, walk};

/// Largest number of coordinates that points share where polynomials are evaluated.
const SHARED: usize = 2;
/// Length in bytes of a part of the largest table. Groups whose part is at most this long are not
/// divided further.
const PART_BYTES: u64 = 1 << 14;
/// Number of points below which groups are not divided further.
const FEW: usize = 256;

/// A prime of the first level, and the smaller primes to which it is reduced.
pub(super) struct Second<'a> {
    backend: Backend,
    prime: u32,
    small: &'a [Small],
    reductions: Vec<Shortest>,
    lift: Lift,
    /// Number of variables.
    variables: usize,
}

impl<'a> Second<'a> {
    /// Prepares the reductions of `prime` to `primes`, the primes of `small`.
    pub(super) fn new(prime: u32, primes: &[u32], small: &'a [Small], variables: usize) -> Self {
        let reductions = primes
            .iter()
            .map(|&smaller| Shortest::new(prime, smaller))
            .collect();
        Self {
            backend: Backend::current(),
            prime,
            small,
            reductions,
            lift: Lift::new(primes, Modulus::new(prime)),
            variables,
        }
    }

    /// Evaluates f at `count` points, given as a row of residues for each coordinate. If all points
    /// share the first coordinate, `first` has it as a number and it has no row.
    pub(super) fn evaluate(
        &self,
        first: Option<u32>,
        rows: &[Vec<u16>],
        count: usize,
    ) -> (Vec<u16>, Effort) {
        let order: Vec<u32> = (0..count as u32).collect();
        let points = PointGroup {
            order: &order,
            rows: rows.iter().map(Vec::as_slice).collect(),
        };

        let mut prefix: Vec<u16> = first.iter().map(|&x| x as u16).collect();
        let mut values = vec![0; count];
        let mut effort = Effort::default();
        let mut leaves: Vec<GroupEvaluation<'_>> =
            self.small.iter().map(GroupEvaluation::new).collect();
        let mut buffers = Buffers::default();

        walk(
            self.prime,
            &points,
            &mut prefix,
            &|shared, points| self.is_enough(shared, points),
            &mut |prefix: &[u16], points: &PointGroup<'_>| {
                let prefix = Prefix {
                    first: first.map(|_| prefix[0]),
                    others: &prefix[usize::from(first.is_some())..],
                };
                self.group(&mut leaves, prefix, points, &mut buffers, &mut effort);
                // Values of a group are in the order of its points.
                for (&point, &value) in points.order.iter().zip(&buffers.lifted) {
                    values[point as usize] = value as u16;
                }
            },
        );

        (values, effort)
    }

    /// Returns true if a group of `points` points that share `shared` coordinates is not sorted
    /// further.
    fn is_enough(&self, shared: usize, points: usize) -> bool {
        let Some(small) = self.small.last().filter(|small| small.is_whole()) else {
            return shared >= SHARED.min(self.variables - 1);
        };
        let part = small.table.layout().part_bytes(shared);
        // Indices in a part have 32 bits.
        part <= PART_BYTES || points < FEW && part <= u32::MAX.into()
    }

    /// Evaluates the points of one group, which share the coordinates of `prefix`.
    fn group(
        &self,
        leaves: &mut [GroupEvaluation<'_>],
        prefix: Prefix<'_>,
        points: &PointGroup<'_>,
        buffers: &mut Buffers,
        effort: &mut Effort,
    ) {
        let count = points.order.len();
        buffers.reset(count, points.rows.len());

        for (place, (leaf, &reduction)) in leaves.iter_mut().zip(&self.reductions).enumerate() {
            // A number is reduced as it is, unlike residues, which are lifted to the shortest.
            let first = prefix
                .first
                .map(|x| (u32::from(x) % self.small[place].prime()) as u16);
            let others = prefix.others.iter().map(|&x| reduction.apply(x.into()));
            let reduced: Vec<u16> = first.into_iter().chain(others).collect();

            for (out, row) in buffers.rows.iter_mut().zip(&points.rows) {
                small_prime::reduce_small(self.backend, out, row, reduction);
            }
            let points = PointGroup {
                order: &buffers.order[..count],
                rows: buffers.rows.iter().map(Vec::as_slice).collect(),
            };

            leaf.evaluate(&reduced, &points, &mut buffers.values, effort);
            self.lift.add_all(&mut buffers.sums, place, &buffers.values);
        }

        self.lift.finish_all(&buffers.sums, &mut buffers.lifted);
    }
}

/// Coordinates that the points of a group share.
#[derive(Clone, Copy)]
struct Prefix<'a> {
    /// The first coordinate as a number if all points share it, else `None`.
    first: Option<u16>,
    /// The other coordinates, as residues modulo the prime of the first level.
    others: &'a [u16],
}

/// Buffers for one group, which the next group uses again.
#[derive(Default)]
struct Buffers {
    order: Vec<u32>,
    rows: Vec<Vec<u16>>,
    values: Vec<u16>,
    sums: Sums,
    lifted: Vec<u32>,
}

impl Buffers {
    fn reset(&mut self, count: usize, rows: usize) {
        // Within a group, points have the numbers 0, 1, …: an order that only ever grows.
        self.order.extend(self.order.len() as u32..count as u32);
        self.rows.resize_with(rows, Vec::new);
        self.rows.iter_mut().for_each(|row| row.resize(count, 0));
        self.values.resize(count, 0);
        self.lifted.resize(count, 0);
        self.sums.reset(count);
    }
}
