//! Matrices of public exponents.

use crate::error::{Error, Result};

/// A matrix of public exponents, possibly generated on the fly.
pub trait Exponents {
    /// Number of rows, one for each product.
    fn rows(&self) -> usize;
    /// Number of columns, one for each base.
    fn columns(&self) -> usize;
    /// Bit length: every exponent is below 2 to this power.
    fn bits(&self) -> u32;
    /// Writes an exponent to `words`, little-endian: [`Exponents::bits`] rounded up to whole words.
    fn read(&self, row: usize, column: usize, words: &mut [u64]);
}

impl<E: Exponents + ?Sized> Exponents for &E {
    fn rows(&self) -> usize {
        (**self).rows()
    }
    fn columns(&self) -> usize {
        (**self).columns()
    }
    fn bits(&self) -> u32 {
        (**self).bits()
    }
    fn read(&self, row: usize, column: usize, words: &mut [u64]) {
        (**self).read(row, column, words);
    }
}

/// Exponents in memory, row by row.
#[derive(Clone, Debug)]
pub struct ExponentMatrix<T> {
    rows: usize,
    columns: usize,
    bits: u32,
    words: T,
}

impl<T: AsRef<[u64]>> ExponentMatrix<T> {
    /// Creates a matrix of exponents below 2 to the power `bits`, each in ⌈`bits`/64⌉ words.
    ///
    /// # Errors
    /// [`Error::Length`] for a wrong number of words, [`Error::OutOfBounds`] for too large an
    /// exponent.
    pub fn new(rows: usize, columns: usize, bits: u32, words: T) -> Result<Self> {
        let per_entry = bits.div_ceil(64) as usize;
        let expected = rows.saturating_mul(columns).saturating_mul(per_entry);
        Error::check_length("words of the exponents", words.as_ref().len(), expected)?;

        // Words below the highest may have any value.
        let largest_top = u64::MAX >> (64 * per_entry as u32 - bits);
        let tops = words
            .as_ref()
            .chunks(per_entry.max(1))
            .filter_map(<[u64]>::last);
        if let Some(&top) = tops.max()
            && top > largest_top
        {
            return Err(Error::out_of_bounds(
                "highest word of an exponent",
                top,
                format!("up to {largest_top}"),
            ));
        }

        Ok(Self {
            rows,
            columns,
            bits,
            words,
        })
    }
}

impl<T: AsRef<[u64]>> Exponents for ExponentMatrix<T> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    fn read(&self, row: usize, column: usize, words: &mut [u64]) {
        let entry = (row * self.columns + column) * words.len();
        words.copy_from_slice(&self.words.as_ref()[entry..entry + words.len()]);
    }
}
