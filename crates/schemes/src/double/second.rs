//! The second level on the server: SimplePIR over digits.
//!
//! The digits are those of the first level's hint and answer, with a column for each unit of a
//! column of D.

use std::convert::Infallible;

use papir_core::{AlignedBytes, BlobSlice, Error, Progress, Result};
use papir_lattice::lwe32::{LOG2_Q, LweParams, MaskProducts, Masks, N, matrix_bytes, write_columns};
use papir_ring::prg::Seed;
use rayon::prelude::*;

use super::digits::{BODY, CENTRE, MASK, split};
use super::first::ByteMatrix;
use super::layout::Layout;

/// A₂, with a row for each unit of a column of D.
pub(crate) fn second_masks(seed: Seed) -> Masks {
    Masks::new(seed, "double/second")
}

/// LWE ciphertexts of an answer modulo q = 2³², not rounded, with the phase (body − ⟨mask, s₂⟩)
/// 2²⁵·(digit − 64) + noise. For a unit of B bytes, in this order:
///
/// - 3·n·B ciphertexts of the digits of the unit's B rows of D·A₁ (for each byte, for each of n words, the
///   digits from the lowest on). Their masks are `DoubleServer::offline_masks`.
/// - 2·B ciphertexts of the digits of the first answers. Their masks depend on the query.
#[derive(Clone, Debug)]
pub struct Ciphertexts {
    /// Bodies of all ciphertexts.
    pub bodies: Vec<u32>,
    /// Masks of the last 2·B, n words each.
    pub masks: Vec<u32>,
}

/// The digits of D·A₁, A₂, and the product of both.
#[derive(Clone)]
pub(crate) struct SecondLevel {
    unit_bytes: usize,
    /// A row for each offline ciphertext, a column for each unit.
    pub(crate) digits: ByteMatrix,
    /// A₂, for products with digits.
    pub(crate) products: MaskProducts,
    /// The offline ciphertexts' masks: digits · A₂.
    pub(crate) masks: BlobSlice<u32>,
}

/// Rows of the matrix of digits: offline ciphertexts.
pub(crate) fn digit_rows(layout: &Layout) -> usize {
    layout.unit_bytes * N * MASK.count
}

impl SecondLevel {
    /// The second level over the hint of the first, rows × n words.
    ///
    /// # Errors
    /// As [`SecondLevel::from_parts`], whose lengths are right here.
    pub(crate) fn new(
        lwe: &LweParams,
        layout: &Layout,
        hint: &[u32],
        masks: &Masks,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let digits = split_hint(layout, hint, progress);
        let products = MaskProducts::new(lwe, masks, layout.units, CENTRE);
        let masks = multiply(lwe, &products, &digits, progress);
        Self::from_parts(lwe, layout, digits, products, BlobSlice::new(masks.into(), "double's masks")?)
    }

    /// A second level from its parts.
    ///
    /// # Errors
    /// [`Error::Length`] for masks that are not n words a row of digits.
    pub(crate) fn from_parts(
        lwe: &LweParams,
        layout: &Layout,
        digits: ByteMatrix,
        products: MaskProducts,
        masks: BlobSlice<u32>,
    ) -> Result<Self> {
        Error::check_length("double's masks", masks.bytes().len(), 4 * lwe.n() * digit_rows(layout))?;
        Ok(Self { unit_bytes: layout.unit_bytes, digits, products, masks })
    }

    /// The ciphertexts of each query and its first answers (a word for each row of D), in one pass
    /// over the digits. Queries hold the leading `bits` of their words.
    pub(crate) fn answers(
        &self,
        lwe: &LweParams,
        queries: &[&[u32]],
        bits: u32,
        firsts: &[Vec<u32>],
    ) -> Vec<Ciphertexts> {
        let offline = self.digits.products(queries, bits, CENTRE);
        let ciphertexts = |((query, first), mut bodies): ((&&[u32], &Vec<u32>), Vec<u32>)| {
            let online = self.online_digits(first);
            bodies.extend(online.iter().map(|digits| centred_dot(digits, query)));
            bodies.iter_mut().for_each(|body| *body <<= LOG2_Q - bits);
            let masks = online.par_iter().flat_map_iter(|digits| self.products.of_row(lwe, digits));
            Ciphertexts { bodies, masks: masks.collect() }
        };
        queries.iter().zip(firsts).zip(offline).map(ciphertexts).collect()
    }

    /// The digits of first answers: for each byte of a unit and each digit, those of all units.
    fn online_digits(&self, first: &[u32]) -> Vec<Vec<u8>> {
        let mut digits =
            vec![Vec::with_capacity(first.len() / self.unit_bytes); self.unit_bytes * BODY.count];
        for (row, &word) in first.iter().enumerate() {
            let columns = digits.chunks_exact_mut(BODY.count).nth(row % self.unit_bytes);
            for (column, digit) in columns.into_iter().flatten().zip(split(BODY, word)) {
                column.push(digit);
            }
        }
        digits
    }
}

/// Σ centred digit·x modulo q.
fn centred_dot(digits: &[u8], query: &[u32]) -> u32 {
    let centred = digits.iter().map(|&digit| u32::from(digit).wrapping_sub(CENTRE.into()));
    centred.zip(query).fold(0, |sum, (digit, x)| sum.wrapping_add(digit.wrapping_mul(*x)))
}

/// The digits of the first hint, a column for each unit.
fn split_hint(layout: &Layout, hint: &[u32], progress: &dyn Progress) -> ByteMatrix {
    let (rows, columns) = (digit_rows(layout), layout.units);
    progress.stage("digits", columns as u64);
    let mut tiles = AlignedBytes::zeroed(matrix_bytes(rows, columns) as usize);
    let Ok(()) = write_columns(tiles.bytes_mut(), rows, columns, |unit, out| {
        split_words(&hint[unit * layout.unit_bytes * N..][..layout.unit_bytes * N], out);
        progress.advance(1);
        Ok::<(), Infallible>(())
    });
    ByteMatrix::new(rows, columns, tiles.into())
}

/// digits · A₂: n words for each row of digits.
pub(crate) fn multiply(
    lwe: &LweParams,
    products: &MaskProducts,
    digits: &ByteMatrix,
    progress: &dyn Progress,
) -> AlignedBytes {
    let mut masks = AlignedBytes::zeroed(digits.rows() * lwe.n() * 4);
    progress.stage("hint", digits.rows() as u64);
    products.add_matrix(lwe, digits, masks.slice_mut(), |rows| progress.advance(rows as u64));
    masks
}

/// The digits of each word, one word after the other.
pub(crate) fn split_words(words: &[u32], out: &mut [u8]) {
    for (word, digits) in words.iter().zip(out.chunks_exact_mut(MASK.count)) {
        digits.iter_mut().zip(split(MASK, *word)).for_each(|(out, digit)| *out = digit);
    }
}
