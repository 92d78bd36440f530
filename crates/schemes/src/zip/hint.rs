//! A server's compressed hint: exponents for tickets, residues for answers.

use std::collections::BTreeSet;

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, BlobSlice, Progress, Result};
use papir_paillier::products::{Exponents, Products};
use papir_paillier::{Ciphertext, PublicKey};
use rayon::prelude::*;

use super::compression::{Compression, DIGEST_BYTES};
use super::residues::Residues;
use super::slots::{self, RowSums, SLOT_BITS};
use super::wire::{Digest, Keys, Product, Ticket, ZipQuery, malformed};
use crate::shared::packs::sized;

const EXPONENTS: &str = "zip/exponents";
const RESIDUES: &str = "zip/residues";
const SUMS: &str = "zip/sums";
/// Memory for the table and the accumulators of one thread that makes a ticket: 128 MiB.
const MEMORY: usize = 128 << 20;
/// Most ciphertexts of one task of a ticket. More would share a larger table.
const ROWS: usize = 32;

/// H as the exponents of compression keys. A clone shares it.
#[derive(Clone)]
pub(super) struct CompressedHint {
    /// ciphertexts × plaintexts of a key × digits.
    pub(super) exponents: BlobSlice<u16>,
    /// The same as centred residues.
    pub(super) residues: BlobSlice<i32>,
    /// Sums of each row.
    pub(super) sums: BlobSlice<RowSums>,
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
    /// The errors of [`CompressedHint::new`].
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
        let parts = parts.zip(sums.slice_mut::<RowSums>().par_chunks_mut(each)).enumerate();
        parts.for_each(|(i, (exponents, sums))| {
            for &r in rows.range(i * each..i * each + sums.len()) {
                let slot = (r - i * each) * t;
                sums[r - i * each] = RowSums::write(&row(r), t, exponents.chunks_exact_mut(digits), slot);
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
        sums: BlobSlice<RowSums>,
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

    /// The ciphertexts whose exponents differ from those of an earlier version.
    pub(super) fn changes_since(&self, earlier: &Self, compression: &Compression) -> Vec<usize> {
        let each = compression.plaintexts() * compression.exponent_digits();
        let pairs = self.exponents.chunks_exact(each).zip(earlier.exponents.chunks_exact(each)).enumerate();
        pairs.filter(|(_, (new, old))| new != old).map(|(i, _)| i).collect()
    }

    /// Line 7: the hint's products with a number's masks, some ciphertexts of its ticket.
    ///
    /// # Errors
    /// None for keys that were checked.
    pub(super) fn of_ticket(
        &self,
        compression: &Compression,
        keys: &Keys,
        (number, ciphertexts): (u64, &[usize]),
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<u64>>> {
        let key = keys.masks(number, compression);
        progress.stage("ticket", ciphertexts.len() as u64);
        let each = ciphertexts.len().div_ceil(rayon::current_num_threads()).clamp(1, ROWS);
        let parts = ciphertexts.par_chunks(each).map(|ciphertexts| {
            let exponents = Stored { compression, hint: self, ciphertexts };
            multiply(&keys.public, &key, exponents, progress)
        });
        Ok(parts.collect::<Result<Vec<_>>>()?.concat())
    }

    /// Line 18: returns H·ck_o of each query over the integers, ciphertext by ciphertext, in one
    /// read of the hint.
    pub(super) fn products(&self, compression: &Compression, queries: &[&ZipQuery]) -> Vec<Vec<Vec<u64>>> {
        let vectors: Vec<_> = queries.iter().map(|query| self.system.vector(&query.offsets)).collect();
        self.system.products(compression.dimensions(), &self.residues, &vectors)
    }

    /// Line 18's sum: puts each row's word in its slot, adds the second product, and adds both to
    /// the ticket's ciphertexts unless the client holds the ticket.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for a ticket that was not made with this key.
    pub(super) fn join(
        &self,
        compression: &Compression,
        (keys, ticket): (&Keys, &Ticket),
        held: bool,
        (rows, products): (&[u32], &[Vec<u64>]),
    ) -> Result<Product> {
        let words = self.words(compression, rows);
        let sums = words.par_chunks(compression.slots()).zip(products);
        let sums = sums.map(|(words, product)| keys.public.reduce(&with_words(product, words)));
        if held {
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
        let t = compression.key_bits;
        let mut words = vec![0; rows.len() * t];
        for (row, (sum, slots)) in rows.iter().zip(words.chunks_exact_mut(t)).enumerate() {
            let before = (!row.is_multiple_of(compression.rows_each)).then(|| self.sums[row - 1]);
            slots[t - 1] = slots::word(*sum, self.sums[row], before);
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

/// Stored exponents of some ciphertexts.
struct Stored<'a> {
    compression: &'a Compression,
    hint: &'a CompressedHint,
    ciphertexts: &'a [usize],
}

impl Exponents for Stored<'_> {
    fn rows(&self) -> usize {
        self.ciphertexts.len()
    }

    fn columns(&self) -> usize {
        self.compression.plaintexts()
    }

    fn bits(&self) -> u32 {
        self.compression.slots() as u32 * SLOT_BITS
    }

    fn read(&self, row: usize, column: usize, words: &mut [u64]) {
        let digits = self.compression.exponent_digits();
        let place = self.ciphertexts[row] * self.columns() + column;
        let exponent = &self.hint.exponents[place * digits..][..digits];
        words.iter_mut().zip(slots::words(exponent)).for_each(|(out, word)| *out = word);
    }
}

/// Multiplies exponents by the masks, in steps of some milliseconds between which the work can
/// pause.
fn multiply(
    public: &PublicKey,
    key: &[Ciphertext],
    exponents: Stored<'_>,
    progress: &dyn Progress,
) -> Result<Vec<Vec<u64>>> {
    let count = exponents.rows();
    let products = Products::new(public, key, exponents, 0..count, MEMORY);
    let mut products = products.map_err(malformed("a client's masks"))?;
    while products.step() {
        progress.advance(0);
    }
    progress.advance(count as u64);
    Ok(products.finish().iter().map(|ciphertext| ciphertext.words().to_vec()).collect())
}
