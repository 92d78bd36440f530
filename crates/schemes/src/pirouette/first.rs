//! Phase 1: for each column and query, the sum over rows of polynomial times selector.
//!
//! A polynomial of the database is transformed once for all queries of a batch.

use papir_kernels::pointwise;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::Rows;
use papir_ring::{Poly, Ring, Values};

use super::chain::DEGREE;

/// Rows transformed together. They and their selectors stay in the second-level cache.
const BLOCK: usize = 16;

/// The transformed polynomials of a block of rows, modulo each prime.
struct Block {
    rows: [Vec<u32>; 2],
}

impl Block {
    fn new() -> Self {
        Self { rows: [0, 1].map(|_| vec![0; BLOCK * DEGREE]) }
    }

    /// Transforms a polynomial of signed bytes into row `row`.
    fn transform(&mut self, ring: &Ring, row: usize, bytes: &[u8]) {
        for (prime, rows) in self.rows.iter_mut().enumerate() {
            let out = &mut rows[row * DEGREE..][..DEGREE];
            let q = ring.primes()[prime].value();
            // Below 2q, as the lazy transform requires.
            let residues = bytes.iter().map(|&byte| q.wrapping_add_signed(i32::from(byte as i8)));
            out.iter_mut().zip(residues).for_each(|(out, residue)| *out = residue);
            ring.table(prime).forward_lazy(out);
        }
    }
}

/// The polynomials of one plane.
#[derive(Clone, Copy)]
pub(super) enum Plane<'a> {
    /// Row by row, d bytes each.
    Bytes(&'a [u8]),
    /// Column by column: all rows modulo q₁, in values, then all rows modulo q₂.
    Values(&'a [u32]),
}

/// Returns, for each query, the encryptions of the columns in `range`: selectors times the plane's
/// polynomials. The plane has `columns` columns, stored row by row.
pub(super) fn columns(
    ring: &Ring,
    plane: Plane<'_>,
    (columns, range): (usize, std::ops::Range<usize>),
    selectors: &[&Rows],
) -> Vec<Vec<Rlwe>> {
    let rows = selectors.first().map_or(0, |selectors| selectors.count());
    let zero = || vec![[ring.zero::<Values>(), ring.zero::<Values>()]; range.len()];
    let mut sums: Vec<Vec<[Poly<Values>; 2]>> = selectors.iter().map(|_| zero()).collect();
    let (mut block, mut product) = (Block::new(), vec![0; DEGREE]);
    for first in (0..rows).step_by(BLOCK) {
        let count = BLOCK.min(rows - first);
        for (place, column) in range.clone().enumerate() {
            let polys = match plane {
                Plane::Bytes(bytes) => {
                    for row in 0..count {
                        let poly = (first + row) * columns + column;
                        block.transform(ring, row, &bytes[poly * DEGREE..][..DEGREE]);
                    }
                    [0, 1].map(|prime| &block.rows[prime][..count * DEGREE])
                }
                Plane::Values(values) => [0, 1].map(|prime| {
                    let start = (2 * column + prime) * rows + first;
                    &values[start * DEGREE..][..count * DEGREE]
                }),
            };
            for (sums, selectors) in sums.iter_mut().zip(selectors) {
                add_products(ring, polys, (first, count), selectors, &mut sums[place], &mut product);
            }
        }
    }
    let rlwe = |[a, b]: [Poly<Values>; 2]| Rlwe { a: ring.inverse(a), b: ring.inverse(b) };
    sums.into_iter().map(|sums| sums.into_iter().map(rlwe).collect()).collect()
}

/// `sum` += Σ polyᵢ·selector_{first + i}, polynomials modulo each prime.
fn add_products(
    ring: &Ring,
    polys: [&[u32]; 2],
    (first, count): (usize, usize),
    selectors: &Rows,
    sum: &mut [Poly<Values>; 2],
    product: &mut [u32],
) {
    for (part, sum) in sum.iter_mut().enumerate() {
        for (prime, sum) in sum.parts_mut().into_iter().enumerate() {
            let modulus = ring.primes()[prime];
            let selectors = &selectors.residues(part, prime)[first * DEGREE..(first + count) * DEGREE];
            pointwise::dot(product, polys[prime], selectors, modulus);
            pointwise::add_assign(sum, product, modulus);
        }
    }
}
