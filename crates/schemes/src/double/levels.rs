//! Both levels of DoublePIR on the server.
//!
//! The first level is SimplePIR over bytes. The second level is SimplePIR over digits of the first
//! level's hint and answers.
//!
//! An update computes the row of D·A₁ of each changed row of D again. Each changed digit is a
//! rank-one update of the second level's hint; if many digits changed, the whole product is
//! computed again. The update copies database, digits and hint once, since the old version still
//! answers, and transforms A₁ once.

use std::collections::BTreeSet;
use std::convert::Infallible;

use papir_core::{AlignedBytes, BlobSlice, Change, Error, Progress, Result, parallel};
use papir_lattice::lwe32::{
    LOG2_Q, LweParams, MaskProducts, Masks, N, add_multiple, matrix_bytes, write_columns,
};
use papir_ring::prg::Seed;

use crate::shared::byte_matrix::{ByteMatrix, Layout, multiply, row_products};
use crate::shared::digits::Digits;

/// Half of the first level's plaintext modulus p = 256, which centring subtracts.
pub(crate) const BYTE_CENTRE: u8 = 128;
/// Bits of a digit.
pub(crate) const DIGIT_BITS: u32 = 7;
/// Half of the digits' modulus, which centring subtracts.
pub(crate) const CENTRE: u8 = 1 << (DIGIT_BITS - 1);
/// Digits of a word of the first hint. The rounding of the hint is multiplied by the secret, so a
/// word of the hint needs more digits than a body.
pub(crate) const MASK: Digits = Digits {
    bits: DIGIT_BITS,
    count: 3,
};
/// Digits of a word of the first answer.
pub(crate) const BODY: Digits = Digits {
    bits: DIGIT_BITS,
    count: 2,
};
/// Inverse of the share of changed units of a column above which it is faster to prepare everything
/// again.
const ALL_FROM: usize = 2;
/// Number of changed units, for each n units of a column, up to which rank-one updates are faster
/// than the product.
const FEW: usize = 4;

/// Splits the leading bits of a word into digits. It is the paper's `Decomp`.
pub(super) fn split(digits: Digits, word: u32) -> impl Iterator<Item = u8> {
    digits.split(digits.leading(word)).map(|digit| digit as u8)
}

/// Returns the number of rows of the matrix of digits, which is the number of offline ciphertexts.
pub(crate) fn digit_rows(layout: &Layout) -> usize {
    layout.unit_layout.unit_bytes * N * MASK.count
}

/// Returns the number of ciphertexts of the second level: digits of B hint rows, and digits of B
/// bodies.
pub(crate) fn coefficients(layout: &Layout) -> usize {
    layout.unit_layout.unit_bytes * (N * MASK.count + BODY.count)
}

/// Returns true if preparing both levels is faster than updating `units` changed units.
pub(crate) fn from_scratch(layout: &Layout, units: usize) -> bool {
    units * ALL_FROM > layout.units
}

/// Returns true if rank-one updates of the second hint are faster than its product.
pub(super) fn few(layout: &Layout, units: usize) -> bool {
    units <= FEW * layout.units.div_ceil(N)
}

/// Returns the masks A₁, which have a row for each column of D.
pub(crate) fn first_masks(seed: Seed) -> Masks {
    Masks::new(seed, "double/first")
}

/// Returns the masks A₂, which have a row for each unit of a column of D.
pub(super) fn second_masks(seed: Seed) -> Masks {
    Masks::new(seed, "double/second")
}

/// The first level: the matrix D of bytes, and A₁ as the seed of its blocks.
#[derive(Clone)]
pub(crate) struct FirstLevel {
    pub(crate) database: ByteMatrix,
    masks: Masks,
}

impl FirstLevel {
    pub(crate) fn new(seed: Seed, database: ByteMatrix) -> Self {
        Self {
            database,
            masks: first_masks(seed),
        }
    }

    fn products(&self, lwe: &LweParams) -> MaskProducts {
        MaskProducts::new(lwe, &self.masks, self.database.columns(), BYTE_CENTRE)
    }

    /// Computes the hint D·A₁: a row of n words for each row of D.
    pub(crate) fn hint(&self, lwe: &LweParams, progress: &dyn Progress) -> AlignedBytes {
        progress.stage("masks", self.database.rows() as u64);
        multiply(lwe, &self.products(lwe), &self.database, progress)
    }

    /// Computes the rows of D·A₁ of some units, B rows of n words for each unit.
    pub(crate) fn hint_rows(&self, lwe: &LweParams, layout: &Layout, units: &[usize]) -> Vec<u32> {
        let products = self.products(lwe);
        let bytes = layout.unit_layout.unit_bytes;
        let rows = units
            .iter()
            .flat_map(|unit| unit * bytes..(unit + 1) * bytes);

        parallel::map(rows, |row| {
            row_products(lwe, &products, &self.database, row)
        })
        .concat()
    }

    /// Computes D times each query modulo q, in one pass over D. Queries hold the leading `bits` of
    /// their words.
    pub(crate) fn answers(&self, queries: &[&[u32]], bits: u32) -> Vec<Vec<u32>> {
        let mut answers = self.database.products(queries, bits, BYTE_CENTRE);
        // Queries are the leading bits of words: the shift puts the sums back, modulo q.
        answers
            .iter_mut()
            .flatten()
            .for_each(|sum| *sum <<= LOG2_Q - bits);
        answers
    }

    /// Returns the level after changes, and the units that changed in any column. Returns `None` if
    /// no byte differs.
    pub(crate) fn change(
        &self,
        layout: &Layout,
        changes: &[Change],
    ) -> Result<Option<(Self, Vec<usize>)>> {
        let Some((database, differences)) = layout.change(&self.database, changes)? else {
            return Ok(None);
        };

        // A set: a unit with several changed bytes is computed once.
        let units: BTreeSet<usize> = differences
            .iter()
            .map(|difference| difference.row / layout.unit_layout.unit_bytes)
            .collect();
        let first = Self {
            database,
            masks: self.masks,
        };
        Ok(Some((first, units.into_iter().collect())))
    }
}

/// LWE ciphertexts of an answer modulo q = 2³², not rounded. Their phase (body − ⟨mask, s₂⟩) is
/// 2²⁵·(digit − 64) + noise. For a unit of B bytes, they are in this order:
///
/// - 3·n·B ciphertexts of the digits of the unit's B rows of D·A₁ (for each byte, for each of n
///   words, the digits from the lowest on). Their masks are `DoubleServer::offline_masks`.
/// - 2·B ciphertexts of the digits of the first answers. Their masks depend on the query.
#[derive(Clone, Debug)]
pub struct Ciphertexts {
    /// Bodies of all ciphertexts.
    pub bodies: Vec<u32>,
    /// Masks of the last 2·B ciphertexts, n words each.
    pub masks: Vec<u32>,
}

/// The second level: the digits of D·A₁ with a column for each unit of a column of D, A₂, and the
/// product of both.
#[derive(Clone)]
pub(crate) struct SecondLevel {
    unit_bytes: usize,
    /// Digits of D·A₁, with a row for each offline ciphertext and a column for each unit.
    pub(crate) digits: ByteMatrix,
    /// Transformed A₂, for products with digits.
    products: MaskProducts,
    /// Masks of the offline ciphertexts: digits · A₂.
    pub(crate) masks: BlobSlice<u32>,
}

impl SecondLevel {
    /// Prepares the second level over the first level's hint, which has n words for each row.
    pub(crate) fn new(
        lwe: &LweParams,
        layout: &Layout,
        hint: &[u32],
        masks: &Masks,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let digits = split_hint(layout, hint, progress);
        let products = MaskProducts::new(lwe, masks, layout.units, CENTRE);

        progress.stage("hint", digits.rows() as u64);
        let masks = multiply(lwe, &products, &digits, progress);
        let masks = BlobSlice::new(masks.into(), "double's masks")?;

        Self::from_parts(lwe, layout, digits, products, masks)
    }

    /// Creates a second level from its parts. There must be n words of masks for each row of
    /// digits.
    pub(crate) fn from_parts(
        lwe: &LweParams,
        layout: &Layout,
        digits: ByteMatrix,
        products: MaskProducts,
        masks: BlobSlice<u32>,
    ) -> Result<Self> {
        Error::check_length(
            "double's masks",
            masks.bytes().len(),
            4 * lwe.n() * digit_rows(layout),
        )?;

        Ok(Self {
            unit_bytes: layout.unit_layout.unit_bytes,
            digits,
            products,
            masks,
        })
    }

    /// Computes the ciphertexts of each query and its first answers (a word for each row of D), in
    /// one pass over the digits. Queries hold the leading `bits` of their words.
    pub(crate) fn answers(
        &self,
        lwe: &LweParams,
        queries: &[&[u32]],
        bits: u32,
        firsts: &[Vec<u32>],
    ) -> Vec<Ciphertexts> {
        let offline = self.digits.products(queries, bits, CENTRE);

        let mut ciphertexts = Vec::with_capacity(queries.len());
        for ((query, first), mut bodies) in queries.iter().zip(firsts).zip(offline) {
            let online = self.online_digits(first);
            // Online ciphertexts follow those whose masks clients have.
            bodies.extend(online.iter().map(|digits| centred_dot(digits, query)));
            bodies.iter_mut().for_each(|body| *body <<= LOG2_Q - bits);

            let masks = parallel::map(&online, |digits| self.products.of_row(lwe, digits));
            ciphertexts.push(Ciphertexts {
                bodies,
                masks: masks.concat(),
            });
        }
        ciphertexts
    }

    /// Splits the first answers into digits. Returns a row of all units for each byte of a unit and
    /// each of its digits.
    fn online_digits(&self, first: &[u32]) -> Vec<Vec<u8>> {
        let mut digits =
            vec![Vec::with_capacity(first.len() / self.unit_bytes); self.unit_bytes * BODY.count];

        // Rows of D are unit after unit, so each column of digits grows in the order of units.
        for (row, &word) in first.iter().enumerate() {
            let columns = digits
                .chunks_exact_mut(BODY.count)
                .nth(row % self.unit_bytes);
            for (column, digit) in columns.into_iter().flatten().zip(split(BODY, word)) {
                column.push(digit);
            }
        }

        digits
    }

    /// Returns the level after changes. `encryption` has the parameters and A₂ of the level;
    /// `changed` has the changed units and their new rows of D·A₁. The function does not fail for a
    /// second level of this layout and encryption.
    pub(crate) fn change(
        &self,
        encryption: (&LweParams, &Masks),
        layout: &Layout,
        changed: (&[usize], &[u32]),
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (lwe, masks) = encryption;
        let (units, hint) = changed;

        // The old version still answers, so that this one changes copies.
        let mut sums = few(layout, units.len()).then(|| AlignedBytes::copy_of(self.masks.bytes()));
        let mut tiles = AlignedBytes::copy_of(self.digits.tiles());
        let bytes = tiles.bytes_mut();
        let mut digits = vec![0; digit_rows(layout)];
        let mut mask = vec![0; lwe.n()];

        for (&unit, words) in units.iter().zip(hint.chunks_exact(self.unit_bytes * N)) {
            split_words(words, &mut digits);
            // Only rank-one updates need the unit's row of A₂.
            if sums.is_some() {
                masks.row(unit, &mut mask);
            }

            // A digit that changes by x adds x times the unit's row of A₂ to its row of masks.
            for (row, &digit) in digits.iter().enumerate() {
                let old = &mut bytes[self.digits.position(row, unit)];
                let difference = i32::from(digit) - i32::from(*old);
                if difference != 0
                    && let Some(sums) = &mut sums
                {
                    add_multiple(
                        &mut sums.slice_mut()[row * lwe.n()..][..lwe.n()],
                        &mask,
                        difference,
                    );
                }
                *old = digit;
            }
            progress.advance(1);
        }

        let digits = ByteMatrix::new(digits.len(), layout.units, tiles.into());
        let sums = sums.unwrap_or_else(|| {
            progress.stage("hint", digits.rows() as u64);
            multiply(lwe, &self.products, &digits, progress)
        });
        let masks = BlobSlice::new(sums.into(), "double's masks")?;
        Self::from_parts(lwe, layout, digits, self.products.clone(), masks)
    }
}

/// Computes Σ centred digit·x modulo q.
fn centred_dot(digits: &[u8], query: &[u32]) -> u32 {
    let centred = digits
        .iter()
        .map(|&digit| u32::from(digit).wrapping_sub(CENTRE.into()));
    centred.zip(query).fold(0, |sum, (digit, x)| {
        sum.wrapping_add(digit.wrapping_mul(*x))
    })
}

/// Splits the first hint into digits, with a column for each unit.
fn split_hint(layout: &Layout, hint: &[u32], progress: &dyn Progress) -> ByteMatrix {
    let rows = digit_rows(layout);
    let columns = layout.units;
    let words = layout.unit_layout.unit_bytes * N;

    progress.stage("digits", columns as u64);
    let mut tiles = AlignedBytes::zeroed(matrix_bytes(rows, columns) as usize);
    let Ok(()) = write_columns(tiles.bytes_mut(), rows, columns, |unit, out| {
        split_words(&hint[unit * words..][..words], out);
        progress.advance(1);
        Ok::<(), Infallible>(())
    });

    ByteMatrix::new(rows, columns, tiles.into())
}

/// Writes the digits of each word, one word after the other.
fn split_words(words: &[u32], out: &mut [u8]) {
    for (word, digits) in words.iter().zip(out.chunks_exact_mut(MASK.count)) {
        digits
            .iter_mut()
            .zip(split(MASK, *word))
            .for_each(|(out, digit)| *out = digit);
    }
}
