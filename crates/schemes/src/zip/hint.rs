//! Compressed hint of a server: exponents for tickets, residues for answers.

use std::collections::BTreeSet;

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, BlobSlice, Progress, Result};
use papir_paillier::PublicKey;
use rayon::prelude::*;

use super::compression::{Compression, DIGEST_BYTES};
use super::residues::Residues;
use super::slots::{self, RowSums};
use super::wire::{Digest, Keys, MaskedKey, Product, Ticket, malformed};
use crate::shared::packs::sized;

const EXPONENTS: &str = "zip/exponents";
const RESIDUES: &str = "zip/residues";
const SUMS: &str = "zip/sums";

/// H as the exponents of compression keys. A clone shares it.
#[derive(Clone)]
pub(super) struct CompressedHint {
    /// ciphertexts × plaintexts of a key × digits.
    pub(super) exponents: BlobSlice<u16>,
    /// The same as centred residues.
    pub(super) residues: BlobSlice<i32>,
    /// (rounding, digits, first) of each row.
    pub(super) sums: BlobSlice<[i32; 3]>,
    /// Digest of the rows' sums, which differ if rows do.
    pub(super) digest: Digest,
    system: Residues,
}

impl CompressedHint {
    /// Compresses H, whose row r is `row(r)`, n words.
    ///
    /// # Errors
    /// None for rows of the right length.
    pub(super) fn new(
        compression: &Compression,
        row: impl Fn(usize) -> Vec<u32> + Sync,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let parts = [compression.exponent_bytes(), compression.sums_bytes(), compression.residue_bytes()];
        let all = (0..compression.rows).collect();
        Self::with_rows(compression, &all, row, parts.map(AlignedBytes::zeroed), progress)
    }

    /// H with some rows replaced.
    ///
    /// # Errors
    /// As [`CompressedHint::new`].
    pub(super) fn changed(
        &self,
        compression: &Compression,
        rows: &BTreeSet<usize>,
        row: impl Fn(usize) -> Vec<u32> + Sync,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let parts = [self.exponents.bytes(), self.sums.bytes(), self.residues.bytes()];
        Self::with_rows(compression, rows, row, parts.map(AlignedBytes::copy_of), progress)
    }

    /// Writes some rows into exponents, sums and residues.
    fn with_rows(
        compression: &Compression,
        rows: &BTreeSet<usize>,
        row: impl Fn(usize) -> Vec<u32> + Sync,
        [mut exponents, mut sums, mut residues]: [AlignedBytes; 3],
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (plaintexts, digits) = (compression.plaintexts(), compression.exponent_digits());
        let (each, t, system) = (compression.rows_each, compression.key_bits, compression.residues());
        progress.stage("hint", rows.len() as u64);
        let parts = exponents.slice_mut::<u16>().par_chunks_exact_mut(plaintexts * digits);
        let parts = parts.zip(sums.slice_mut::<[i32; 3]>().par_chunks_mut(each)).enumerate();
        parts.for_each(|(i, (exponents, sums))| {
            for &r in rows.range(i * each..i * each + sums.len()) {
                let slot = (r - i * each) * t;
                let places = exponents.chunks_exact_mut(digits);
                let RowSums { rounding, digits, first } = RowSums::write(&row(r), t, places, slot);
                sums[r - i * each] = [rounding, digits, first];
                progress.advance(1);
            }
        });
        let ciphertexts: BTreeSet<usize> = rows.iter().map(|row| row / each).collect();
        let exponents: BlobSlice<u16> = BlobSlice::new(exponents.into(), EXPONENTS)?;
        let exponent = |i: usize, column: usize| &exponents[(i * plaintexts + column) * digits..][..digits];
        system.fill(compression.dimensions(), &ciphertexts, exponent, (residues.slice_mut(), progress));
        let residues = BlobSlice::new(residues.into(), RESIDUES)?;
        Ok(Self::from_parts(exponents, residues, BlobSlice::new(sums.into(), SUMS)?, system))
    }

    fn from_parts(
        exponents: BlobSlice<u16>,
        residues: BlobSlice<i32>,
        sums: BlobSlice<[i32; 3]>,
        system: Residues,
    ) -> Self {
        let mut digest = [0; DIGEST_BYTES];
        digest.copy_from_slice(&blake3::hash(sums.bytes()).as_bytes()[..DIGEST_BYTES]);
        Self { exponents, residues, sums, digest, system }
    }

    pub(super) fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(EXPONENTS, &[self.exponents.bytes()])?;
        sink.put(RESIDUES, &[self.residues.bytes()])?;
        sink.put(SUMS, &[self.sums.bytes()])
    }

    /// # Errors
    /// [`papir_core::Error::MissingSection`] or [`papir_core::Error::Length`].
    pub(super) fn load(compression: &Compression, source: &dyn SectionSource) -> Result<Self> {
        let exponents = sized(source, EXPONENTS, compression.exponent_bytes())?;
        let residues = sized(source, RESIDUES, compression.residue_bytes())?;
        let sums = sized(source, SUMS, compression.sums_bytes())?;
        Ok(Self::from_parts(exponents, residues, sums, compression.residues()))
    }

    /// One plaintext's exponent in a ciphertext.
    pub(super) fn exponent(&self, compression: &Compression, ciphertext: usize, column: usize) -> &[u16] {
        let digits = compression.exponent_digits();
        &self.exponents[(ciphertext * compression.plaintexts() + column) * digits..][..digits]
    }

    /// Line 18: returns H·ck_o of each query over the integers, ciphertext by ciphertext, in one
    /// read of the hint.
    pub(super) fn products(&self, compression: &Compression, keys: &[&MaskedKey]) -> Vec<Vec<Vec<u64>>> {
        let vectors: Vec<_> = keys.iter().map(|key| self.system.vector(&key.offsets)).collect();
        self.system.products(compression.dimensions(), &self.residues, &vectors)
    }

    /// Line 18's sum: puts each row's word in its slot, adds the second product, and adds both to
    /// the ticket's ciphertexts unless the client holds them.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for a ticket that was not made with this key.
    pub(super) fn join(
        &self,
        compression: &Compression,
        (keys, ticket): (&Keys, &Ticket),
        key: &MaskedKey,
        (rows, products): (&[u32], &[Vec<u64>]),
    ) -> Result<Product> {
        let words = self.words(compression, rows);
        let sums = words.par_chunks(compression.slots()).zip(products);
        let sums = sums.map(|(words, product)| keys.public.reduce(&with_words(product, words)));
        if key.held {
            return Ok(Product::Apart(sums.map(|sum| sum.words().to_vec()).collect()));
        }
        let join = |(sum, hint): (_, &Vec<u64>)| {
            let hint = keys.public.ciphertext(hint.clone()).map_err(malformed("a ticket"))?;
            Ok(PublicKey::add_plain(&keys.public, &hint, &sum).words().to_vec())
        };
        Ok(Product::Joined(sums.zip(&ticket.ciphertexts).map(join).collect::<Result<_>>()?))
    }

    /// b′ of every row in its highest slot, and zeros in the others.
    fn words(&self, compression: &Compression, rows: &[u32]) -> Vec<u16> {
        let sums = |row: usize| {
            let [rounding, digits, first] = self.sums[row];
            RowSums { rounding, digits, first }
        };
        let t = compression.key_bits;
        let mut words = vec![0; rows.len() * t];
        for (row, (sum, slots)) in rows.iter().zip(words.chunks_exact_mut(t)).enumerate() {
            let before = (!row.is_multiple_of(compression.rows_each)).then(|| sums(row - 1));
            slots[t - 1] = slots::word(*sum, sums(row), before);
        }
        words
    }
}

/// Adds the words of its slots to a product.
fn with_words(product: &[u64], words: &[u16]) -> Vec<u64> {
    let (mut sum, mut carry) = (product.to_vec(), false);
    for (out, addend) in sum.iter_mut().zip(slots::words(words).chain(std::iter::repeat(0))) {
        let (first, over) = out.overflowing_add(addend);
        let (second, again) = first.overflowing_add(u64::from(carry));
        (*out, carry) = (second, over || again);
    }
    sum
}
