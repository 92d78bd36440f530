//! The server's side of the second level: SimplePIR over the digits of the first level's hint and
//! answer, a column for each unit of a column of D.

use papir_core::{AlignedBytes, BlobSlice, Progress, Result};

use super::byte_matrix::ByteMatrix;
use super::digits::{BODY, CENTRE, MASK};
use super::hint;
use super::layout::Layout;
use super::lwe::{self, LOG2_Q, Masks, N};

/// Bits with which a centred digit is a query's value.
const DIGIT_VALUE_BITS: u32 = 8;

/// What an answer encrypts at the second level: LWE ciphertexts modulo q = 2³², not rounded, whose
/// phase (body − ⟨mask, s₂⟩) is 2²⁵·(digit − 64) + noise. For a unit of B bytes, in this order:
///
/// - 3·n·B ciphertexts of the digits of the unit's B rows of D·A₁ (for each byte, for each of n words, the
///   digits from the lowest on). Their masks are `DoubleServer::offline_masks`.
/// - 2·B ciphertexts of the digits of the first answers. Their masks depend on the query.
#[derive(Clone, Debug)]
pub struct Ciphertexts {
    /// The bodies of all.
    pub bodies: Vec<u32>,
    /// The masks of the last 2·B, each n words.
    pub masks: Vec<u32>,
}

/// The digits of D·A₁, A₂, and the product of both.
#[derive(Clone)]
pub(crate) struct SecondLevel {
    unit_bytes: usize,
    /// A row for each offline ciphertext, a column for each unit.
    pub(crate) digits: ByteMatrix,
    /// The bytes of A₂, a row for each byte of n words, a column for each unit.
    pub(crate) transposed: ByteMatrix,
    /// The offline ciphertexts' masks: digits · A₂.
    pub(crate) masks: BlobSlice<u32>,
}

/// Rows of the matrix of digits: offline ciphertexts.
pub(crate) fn digit_rows(layout: &Layout) -> usize {
    layout.unit_bytes * N * MASK.count
}

/// Rows of the matrix of A₂'s bytes.
pub(crate) const TRANSPOSED_ROWS: usize = 4 * N;

impl SecondLevel {
    /// The second level over the hint of the first, rows × n words.
    ///
    /// # Errors
    /// None of its own: those of reading columns, which does not fail.
    pub(crate) fn new(layout: &Layout, hint: &[u32], masks: &Masks, progress: &dyn Progress) -> Result<Self> {
        progress.stage("digits", 2);
        let unit_words = layout.unit_bytes * N;
        let digits = ByteMatrix::from_columns(digit_rows(layout), layout.units, |unit, out| {
            split_words(&hint[unit * unit_words..][..unit_words], out);
            Ok(())
        })?;
        progress.advance(1);
        let transposed = transpose(layout, masks)?;
        progress.advance(1);
        let products = hint::product(&digits, masks, CENTRE, "hint", progress).into();
        Self::from_parts(layout, digits, transposed, BlobSlice::new(products, "double's masks")?)
    }

    /// A second level whose matrices are at hand.
    ///
    /// # Errors
    /// [`papir_core::Error::Length`] for masks that are not n words a row of digits.
    pub(crate) fn from_parts(
        layout: &Layout,
        digits: ByteMatrix,
        transposed: ByteMatrix,
        masks: BlobSlice<u32>,
    ) -> Result<Self> {
        papir_core::Error::check_length("double's masks", masks.bytes().len(), 4 * N * digit_rows(layout))?;
        Ok(Self { unit_bytes: layout.unit_bytes, digits, transposed, masks })
    }

    /// The ciphertexts of each query and its first answers (a word for each row of D), in one read of
    /// the digits and one of A₂. Queries hold the leading `bits` of their words.
    pub(crate) fn answers(&self, queries: &[&[u32]], bits: u32, firsts: &[Vec<u32>]) -> Vec<Ciphertexts> {
        let per_query = self.unit_bytes * BODY.count;
        let online: Vec<Vec<u32>> = firsts.iter().flat_map(|first| self.online_digits(first)).collect();
        let masks = self.online_masks(&online);
        let offline = self.digits.products(queries, bits, CENTRE);
        let parts = online.chunks_exact(per_query).zip(masks.chunks_exact(per_query));
        let ciphertexts = |((query, mut bodies), (online, masks)): ((&&[u32], Vec<u32>), _)| {
            let (online, masks): (&[Vec<u32>], &[Vec<u32>]) = (online, masks);
            bodies.extend(online.iter().map(|digits| lwe::dot(digits, query)));
            bodies.iter_mut().for_each(|body| *body <<= LOG2_Q - bits);
            Ciphertexts { bodies, masks: masks.concat() }
        };
        queries.iter().zip(offline).zip(parts).map(ciphertexts).collect()
    }

    /// The centred digits of first answers: for each byte of a unit and each digit, those of all units.
    fn online_digits(&self, first: &[u32]) -> Vec<Vec<u32>> {
        let mut digits =
            vec![Vec::with_capacity(first.len() / self.unit_bytes); self.unit_bytes * BODY.count];
        for (row, &word) in first.iter().enumerate() {
            let columns = digits.chunks_exact_mut(BODY.count).nth(row % self.unit_bytes);
            for (column, digit) in columns.into_iter().flatten().zip(BODY.split(word)) {
                column.push(u32::from(digit).wrapping_sub(CENTRE));
            }
        }
        digits
    }

    /// Σ digit·A₂ for each vector of centred digits: n words.
    fn online_masks(&self, digits: &[Vec<u32>]) -> Vec<Vec<u32>> {
        let digits: Vec<&[u32]> = digits.iter().map(Vec::as_slice).collect();
        let sums = self.transposed.products(&digits, DIGIT_VALUE_BITS, 0);
        let word =
            |bytes: &[u32]| bytes.iter().rev().fold(0u32, |word, &byte| (word << 8).wrapping_add(byte));
        sums.iter().map(|sums| sums.chunks_exact(4).map(word).collect()).collect()
    }
}

/// The digits of each word, one word after the other.
pub(crate) fn split_words(words: &[u32], out: &mut [u8]) {
    for (word, digits) in words.iter().zip(out.chunks_exact_mut(MASK.count)) {
        digits.iter_mut().zip(MASK.split(*word)).for_each(|(out, digit)| *out = digit);
    }
}

/// A₂ by its bytes.
///
/// # Errors
/// Those of reading columns, which does not fail.
pub(crate) fn transpose(layout: &Layout, masks: &Masks) -> Result<ByteMatrix> {
    let mut row = AlignedBytes::zeroed(4 * N);
    ByteMatrix::from_columns(TRANSPOSED_ROWS, layout.units, |unit, out| {
        masks.row(unit, row.slice_mut());
        out.copy_from_slice(row.as_ref());
        Ok(())
    })
}
