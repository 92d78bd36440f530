//! Prepared matrices of words, and selectors of their columns.

use papir_core::{AlignedBytes, Progress, Result, parallel};
use papir_lattice::lwe::{block_mask, encrypt_selector};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::packing::LweMasks;
use papir_lattice::params::RlweParams;
use papir_lattice::secret::SecretKey;
use papir_lattice::selection::{SelectorMasks, StackedMatrix, Storage, write_columns};
use papir_ring::prg::{Expander, Seed};
use papir_ring::{CyclotomicRing, Poly, Ring, Values};
use rand_core::CryptoRng;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// Number of columns that are encoded together. Their words stay in the cache until they are
/// scattered. It is a multiple of 4, so that pairs and quads of columns are written whole.
pub(crate) const BLOCK_COLUMNS: usize = 64;

/// Bytes of a block of the public stream's cipher.
pub(crate) const BLOCK_BYTES: usize = 16;

/// Fills the zeroed words of a matrix with the columns that `column` returns. A column must have at
/// least one word for each row of the matrix.
pub(crate) fn encode_columns(
    tiles: &mut AlignedBytes,
    columns: usize,
    progress: &dyn Progress,
    column: impl Fn(usize) -> Result<Vec<i16>> + Sync,
) -> Result<()> {
    fill(columns, progress, column, |first, words| {
        write_columns(tiles.slice_mut(), columns, first, words)
    })
}

/// Returns the matrix of columns whose bytes `column` returns, for all rows. `sides` is the number
/// of rows and the number of columns.
pub(crate) fn store_columns(
    storage: Storage,
    sides: (usize, usize),
    progress: &dyn Progress,
    column: impl Fn(usize) -> Result<Vec<u8>> + Sync,
) -> Result<AlignedBytes> {
    let (rows, columns) = sides;
    let mut tiles = AlignedBytes::zeroed(storage.matrix_bytes(rows, columns) as usize);
    fill(columns, progress, column, |first, contents| {
        storage.write_columns(tiles.bytes_mut(), columns, first, contents);
    })?;
    Ok(tiles)
}

/// Passes all columns that `column` returns to `write`, in blocks of adjacent columns with the
/// index of the first one.
fn fill<T: Send>(
    columns: usize,
    progress: &dyn Progress,
    column: impl Fn(usize) -> Result<Vec<T>> + Sync,
    mut write: impl FnMut(usize, &[Vec<T>]),
) -> Result<()> {
    for first in (0..columns).step_by(BLOCK_COLUMNS) {
        let block = first..columns.min(first + BLOCK_COLUMNS);
        // Made in parallel, written by one thread: row groups interleave the columns.
        let contents = parallel::try_map(block, &column)?;
        write(first, &contents);
        progress.advance(contents.len() as u64);
    }
    Ok(())
}

/// Adds the public stream to the bytes of units from unit `first` on, or removes it. A unit has
/// `unit_bytes` bytes.
///
/// For units that are public: servers know which they encode. Clients have [`unwhiten`].
pub(crate) fn whiten(seed: &Seed, label: &str, first: u64, unit_bytes: usize, bytes: &mut [u8]) {
    let mut stream = seed.expand(label, 0);
    // A stream can be entered anywhere, so a record is whitened or read without those before it.
    stream.seek(first * unit_bytes as u64);
    stream.add_to(bytes);
}

/// Removes the public stream from the bytes of a unit.
///
/// On the client the part of the stream reveals which record was asked for. No branch depends on
/// the unit.
pub(crate) fn unwhiten(seed: &Seed, label: &str, unit: u64, bytes: &mut [u8]) {
    let mut stream = seed.expand(label, 0);
    if bytes.len().is_multiple_of(BLOCK_BYTES) {
        seek_block(&mut stream, unit * (bytes.len() / BLOCK_BYTES) as u64);
        // In place, so that no copy of the stream has to be erased.
        stream.add_to(bytes);
    } else {
        add_from(&mut stream, unit * bytes.len() as u64, bytes);
    }
}

/// Moves to the start of a block, which may be secret. The cipher branches on a position inside a
/// block, not on the block.
pub(crate) fn seek_block(stream: &mut Expander, block: u64) {
    stream.seek(block * BLOCK_BYTES as u64);
}

/// Adds the stream from a secret position on to bytes.
fn add_from(stream: &mut Expander, position: u64, bytes: &mut [u8]) {
    let mut blocks = Zeroizing::new(vec![0; bytes.len() + BLOCK_BYTES]);
    seek_block(stream, position / BLOCK_BYTES as u64);
    stream.fill(&mut blocks);

    // Every offset in the first block is tried under a mask.
    let offset = position % BLOCK_BYTES as u64;
    for (number, from) in (0u64..).zip(0..BLOCK_BYTES) {
        let mask = number.ct_eq(&offset).unwrap_u8().wrapping_neg();
        for (out, byte) in bytes.iter_mut().zip(&blocks[from..]) {
            *out ^= byte & mask;
        }
    }
}

/// Rows of one matrix and the masks of its selector, both split into packs.
pub(crate) struct RowMasks<'a> {
    pub(crate) ring: &'a Ring,
    pub(crate) matrix: StackedMatrix<'a>,
    pub(crate) masks: SelectorMasks,
    /// Number of rows in a pack.
    pub(crate) rows: usize,
    pub(crate) progress: &'a dyn Progress,
}

impl RowMasks<'_> {
    /// Returns the masks of the rows of one pack.
    pub(crate) fn of_pack(&self, pack: usize) -> LweMasks {
        self.progress.advance(1);
        self.masks.of_rows(
            self.ring,
            self.matrix.clone(),
            pack * self.rows..(pack + 1) * self.rows,
        )
    }
}

/// Parameters of a selector: a rounded LWE encryption of the unit vector of a column.
#[derive(Clone, Copy, Debug)]
pub struct Selector<'a> {
    pub(crate) rlwe: &'a RlweParams,
    /// Label of the masks' stream, which has one index for each block of d columns.
    pub(crate) label: &'static str,
    /// Number of entries.
    pub(crate) columns: usize,
    /// Δ, the message at the selected column.
    pub(crate) scale: u64,
    /// Number of bits to which an entry is rounded.
    pub(crate) bits: u32,
}

impl Selector<'_> {
    /// Expands the mask of a block of d columns.
    pub fn mask(&self, seed: &Seed, block: usize) -> Poly<Values> {
        block_mask(self.rlwe, seed, self.label, block)
    }

    /// Expands the masks of all blocks, for packs of `capacity` rows. The capacity is 1 for rows
    /// that are not packed.
    pub(crate) fn masks(&self, seed: &Seed, capacity: usize) -> SelectorMasks {
        SelectorMasks::new(self.rlwe, seed, self.label, self.columns, capacity)
    }

    /// Encrypts the unit vector of a column and rounds it. No branch depends on the column.
    pub(crate) fn encrypt(
        &self,
        seed: &Seed,
        key: &SecretKey,
        selected: u32,
        rng: &mut dyn CryptoRng,
    ) -> Vec<u64> {
        let masks = (0..).map(|block| self.mask(seed, block));
        let bodies = encrypt_selector(
            self.rlwe,
            key,
            masks,
            self.columns,
            selected,
            self.scale,
            rng,
        );

        let switch = PowerSwitch::new(self.rlwe.ring().modulus(), self.bits);
        bodies.into_iter().map(|body| switch.down(body)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From every unit, also if units end inside blocks of the cipher.
    #[test]
    fn whitening_is_the_stream_at_the_place_of_a_unit() {
        let seed = Seed([7; 32]);
        let mut stream = vec![0; 1000];
        seed.expand("test", 0).fill(&mut stream);

        for unit_bytes in [1, 2, 8, 15, 16, 17, 24, 32, 48] {
            for first in 0..10 {
                let mut bytes = vec![0; 2 * unit_bytes];
                whiten(&seed, "test", first, unit_bytes, &mut bytes);

                let from = first as usize * unit_bytes;
                let expected = &stream[from..from + bytes.len()];
                assert_eq!(bytes, expected, "unit {first} of {unit_bytes} bytes");

                let unit = &mut bytes[..unit_bytes];
                unwhiten(&seed, "test", first, unit);
                assert!(
                    unit.iter().all(|&byte| byte == 0),
                    "unit {first} of {unit_bytes} bytes"
                );
            }
        }
    }
}
