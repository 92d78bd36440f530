//! Public exponents.

use crate::error::{Error, Result};

/// A matrix of public exponents, which may be made as they are read.
pub trait Exponents {
    /// Rows: products.
    fn rows(&self) -> usize;
    /// Columns: bases.
    fn columns(&self) -> usize;
    /// Every exponent is below 2 to this power.
    fn bits(&self) -> u32;
    /// Writes an exponent, little-endian, to [`Exponents::bits`] rounded up to whole words.
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

/// Exponents in memory, row after row.
#[derive(Clone, Debug)]
pub struct ExponentMatrix<T> {
    rows: usize,
    columns: usize,
    bits: u32,
    words: T,
}

impl<T: AsRef<[u64]>> ExponentMatrix<T> {
    /// Exponents below 2 to the power `bits`, each in as few words as hold so many bits.
    ///
    /// # Errors
    /// [`Error::Length`] for a wrong number of words, [`Error::OutOfBounds`] for an exponent that is too
    /// large.
    pub fn new(rows: usize, columns: usize, bits: u32, words: T) -> Result<Self> {
        let per_entry = bits.div_ceil(64) as usize;
        let expected = rows.saturating_mul(columns).saturating_mul(per_entry);
        Error::check_length("words of the exponents", words.as_ref().len(), expected)?;
        let largest_top = u64::MAX >> (64 * per_entry as u32 - bits);
        let tops = words.as_ref().chunks(per_entry.max(1)).filter_map(<[u64]>::last);
        match tops.copied().max().filter(|&top| top > largest_top) {
            Some(top) => {
                Err(Error::out_of_bounds("highest word of an exponent", top, format!("up to {largest_top}")))
            }
            None => Ok(Self { rows, columns, bits, words }),
        }
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
