//! H = D′·A (Algorithm 9, line 7) in the form that packing takes: ãₖ of TRANSFORM for every row.
//!
//! With the masks of LWE encryptions taken d at a time from ring elements aᵢ, row k of H is the
//! coefficient vector of Σᵢ Dₖ,ᵢ(X)·aᵢ(X⁻¹), where Dₖ,ᵢ holds the row's words in block i. TRANSFORM
//! reflects it: ãₖ = d⁻¹·Σᵢ Dₖ,ᵢ(X⁻¹)·aᵢ(X). One forward transform a block, one inverse a row.

use papir_kernels::pointwise::{self, Modulus};
use papir_kernels::rows16;
use papir_lattice::packing::inspiring::LweMasks;
use papir_ring::prg::Seed;
use papir_ring::prime::inverse_mod;
use papir_ring::{Poly, Ring, Values};
use rayon::prelude::*;

use super::layout::Layout;
use super::masks::selector_mask;
use super::params::Params;

/// Products of residues below 2²⁸ that one 64-bit sum takes on top of a reduced residue.
const MAX_PRODUCTS: usize = 255;

/// The masks d⁻¹·aᵢ of all blocks of d columns.
pub fn scaled_masks(params: &Params, seed: &Seed) -> Vec<Poly<Values>> {
    let layout = params.layout();
    let ring = params.rlwe().ring();
    let blocks = layout.columns.div_ceil(layout.degree);
    (0..blocks).into_par_iter().map(|i| divide(ring, &selector_mask(params, seed, i))).collect()
}

/// a/d.
fn divide(ring: &Ring, a: &Poly<Values>) -> Poly<Values> {
    let mut quotient = ring.zero();
    for ((out, part), prime) in quotient.parts_mut().into_iter().zip(a.parts()).zip(ring.primes()) {
        let inverse = inverse_mod(ring.degree() as u64, prime.value().into()) as u32;
        pointwise::scale(out, part, inverse, prime);
    }
    quotient
}

/// The masks of one pack: rows pack·d to (pack + 1)·d of the matrix.
///
/// `exceptions` are all exceptions of the matrix, sorted.
pub fn pack_masks(
    ring: &Ring,
    layout: &Layout,
    tiles: &[i16],
    exceptions: &[[u32; 2]],
    masks: &[Poly<Values>],
    pack: usize,
) -> LweMasks {
    let d = layout.degree;
    let tile_words = layout.pairs() * 2 * rows16::ROWS;
    let groups = d / rows16::ROWS;
    let mut residues = [vec![0u32; d * d], vec![0u32; d * d]];
    let [first, second] = &mut residues;
    let parts =
        first.par_chunks_exact_mut(rows16::ROWS * d).zip(second.par_chunks_exact_mut(rows16::ROWS * d));
    parts.enumerate().for_each(|(g, (first, second))| {
        let group = pack * groups + g;
        let tile = &tiles[group * tile_words..][..tile_words];
        let rows = RowGroup {
            ring,
            layout,
            tile,
            exceptions: within(exceptions, group),
            first_row: group * rows16::ROWS,
        };
        rows.masks(masks, [first, second]);
    });
    LweMasks::new(ring, residues)
}

/// The exceptions in the rows of one group.
fn within(exceptions: &[[u32; 2]], group: usize) -> &[[u32; 2]] {
    let first = (group * rows16::ROWS) as u32;
    let start = exceptions.partition_point(|[row, _]| *row < first);
    let end = exceptions.partition_point(|[row, _]| *row < first + rows16::ROWS as u32);
    &exceptions[start..end]
}

/// 64 rows of the matrix.
struct RowGroup<'a> {
    ring: &'a Ring,
    layout: &'a Layout,
    tile: &'a [i16],
    exceptions: &'a [[u32; 2]],
    first_row: usize,
}

impl RowGroup<'_> {
    /// Σᵢ Dₖ,ᵢ(X⁻¹)·maskᵢ for all rows, in coefficients, modulo both primes.
    fn masks(&self, masks: &[Poly<Values>], out: [&mut [u32]; 2]) {
        let d = self.layout.degree;
        let mut sums = [vec![0u64; rows16::ROWS * d], vec![0u64; rows16::ROWS * d]];
        let mut words = vec![0i16; rows16::ROWS * d];
        let mut row = vec![0i32; d];
        let mut values = vec![0u32; d];
        for (block, mask) in masks.iter().enumerate() {
            self.read_block(block, &mut words);
            for l in 0..rows16::ROWS {
                reflect(&words[l * d..][..d], &mut row);
                self.mend(l, block, &mut row);
                for (i, sums) in sums.iter_mut().enumerate() {
                    papir_kernels::gadget::to_residues(&mut values, &row, self.ring.primes()[i]);
                    self.ring.table(i).forward(&mut values);
                    pointwise::mul_accumulate(&mut sums[l * d..][..d], &values, mask.parts()[i]);
                }
            }
            if (block + 1).is_multiple_of(MAX_PRODUCTS) {
                self.fold(&mut sums);
            }
        }
        for (i, (out, sums)) in out.into_iter().zip(&sums).enumerate() {
            pointwise::reduce(out, sums, self.ring.primes()[i]);
            out.chunks_exact_mut(d).for_each(|poly| self.ring.table(i).inverse(poly));
        }
    }

    /// The words of all rows in one block of d columns; columns beyond the last are zero.
    fn read_block(&self, block: usize, words: &mut [i16]) {
        let d = self.layout.degree;
        let first_pair = block * d / 2;
        let columns = d.min(2 * (self.layout.pairs() - first_pair));
        if columns == d {
            rows16::gather_rows(self.tile, first_pair, d, words);
            return;
        }
        words.fill(0);
        for (l, row) in words.chunks_exact_mut(d).enumerate() {
            rows16::gather_row_block(self.tile, l, first_pair, &mut row[..columns]);
        }
    }

    /// Restores +32768 where the reflected row has −32768 in its place.
    fn mend(&self, l: usize, block: usize, row: &mut [i32]) {
        let d = self.layout.degree;
        for &[at, column] in self.exceptions {
            let column = column as usize;
            if at as usize == self.first_row + l && column / d == block {
                let c = column % d;
                row[(d - c) % d] = if c == 0 { 1 << 15 } else { -(1 << 15) };
            }
        }
    }

    /// Reduces the sums so that they take more products.
    fn fold(&self, sums: &mut [Vec<u64>; 2]) {
        for (sums, prime) in sums.iter_mut().zip(self.ring.primes()) {
            sums.iter_mut().for_each(|sum| *sum = u64::from(Modulus::reduce(prime, *sum)));
        }
    }
}

/// The coefficients of D(X⁻¹): X^{−c} = −X^{d−c} for c > 0.
fn reflect(words: &[i16], row: &mut [i32]) {
    let d = words.len();
    row[0] = i32::from(words[0]);
    for (out, &word) in row[1..].iter_mut().zip(words[1..].iter().rev()) {
        *out = -i32::from(word);
    }
    debug_assert_eq!(row.len(), d);
}
