//! A server's compressed hint: exponents for tickets, residues for answers.

use std::collections::BTreeSet;

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, BlobSlice, Progress, Result, parallel};
use papir_paillier::products::{Exponents, Place, Products, multiply_shifted};
use papir_paillier::{Ciphertext, PublicKey};

use super::compression::{Compression, DIGEST_BYTES};
use super::residues::Residues;
use super::slots::{self, RowSums, SLOT_BITS};
use super::wire::{Digest, Keys, Ticket, malformed};
use crate::shared::packs::sized;

const EXPONENTS: &str = "zip/exponents";
const RESIDUES: &str = "zip/residues";
const SUMS: &str = "zip/sums";
/// Memory for the table and the accumulators of a ticket, which all threads share: 256 MiB.
const MEMORY: usize = 256 << 20;
/// Slots of a ciphertext for each one whose change is multiplied in. If more have changed, the
/// ciphertext is made anew.
const SLOTS_PER_CHANGE: usize = 3;

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
        let parts = [
            compression.exponent_bytes(),
            compression.sums_bytes(),
            compression.residue_bytes(),
        ];
        let all = (0..compression.rows).collect();
        Self::with_rows(
            compression,
            &all,
            row,
            parts.map(AlignedBytes::zeroed),
            progress,
        )
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
        let parts = [
            self.exponents.bytes(),
            self.sums.bytes(),
            self.residues.bytes(),
        ];
        Self::with_rows(
            compression,
            rows,
            row,
            parts.map(AlignedBytes::copy_of),
            progress,
        )
    }

    /// Writes some rows into exponents, sums and residues.
    fn with_rows(
        compression: &Compression,
        rows: &BTreeSet<usize>,
        row: impl Fn(usize) -> Vec<u32> + Sync,
        [mut exponents, mut sums, mut residues]: [AlignedBytes; 3],
        progress: &dyn Progress,
    ) -> Result<Self> {
        let plaintexts = compression.plaintexts();
        let digits = compression.exponent_digits();
        let each = compression.rows_each;
        let t = compression.key_bits;
        let system = compression.residues();
        progress.stage("hint", rows.len() as u64);
        let parts = exponents
            .slice_mut::<u16>()
            .chunks_exact_mut(plaintexts * digits);
        let parts = parts
            .zip(sums.slice_mut::<RowSums>().chunks_mut(each))
            .enumerate();
        parallel::for_each(parts, |(i, (exponents, sums))| {
            for &r in rows.range(i * each..i * each + sums.len()) {
                let slot = (r - i * each) * t;
                sums[r - i * each] =
                    RowSums::write(&row(r), t, exponents.chunks_exact_mut(digits), slot);
                progress.advance(1);
            }
        });
        let ciphertexts: BTreeSet<usize> = rows.iter().map(|row| row / each).collect();
        let exponents: BlobSlice<u16> = BlobSlice::new(exponents.into(), EXPONENTS)?;
        let exponent =
            |i: usize, column: usize| &exponents[(i * plaintexts + column) * digits..][..digits];
        system.fill(
            compression.dimensions(),
            &ciphertexts,
            exponent,
            (residues.slice_mut(), progress),
        );
        let residues = BlobSlice::new(residues.into(), RESIDUES)?;
        Ok(Self::from_parts(
            exponents,
            residues,
            BlobSlice::new(sums.into(), SUMS)?,
            system,
        ))
    }

    fn from_parts(
        exponents: BlobSlice<u16>,
        residues: BlobSlice<i32>,
        sums: BlobSlice<RowSums>,
        system: Residues,
    ) -> Self {
        let mut digest = [0; DIGEST_BYTES];
        digest.copy_from_slice(&blake3::hash(sums.bytes()).as_bytes()[..DIGEST_BYTES]);
        Self {
            exponents,
            residues,
            sums,
            digest,
            system,
        }
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
        Ok(Self::from_parts(
            exponents,
            residues,
            sums,
            compression.residues(),
        ))
    }

    /// The slots of each ciphertext whose digits differ from those of an earlier version; only
    /// ciphertexts with such slots.
    fn changes_since(&self, earlier: &Self, compression: &Compression) -> Vec<(usize, Vec<usize>)> {
        let digits = compression.exponent_digits();
        let each = compression.plaintexts() * digits;
        let pairs = self
            .exponents
            .chunks_exact(each)
            .zip(earlier.exponents.chunks_exact(each));
        let changed = parallel::map(pairs.enumerate(), |(i, (new, old))| {
            if new == old {
                return None;
            }
            let mut differs = vec![false; digits];
            for (new, old) in new.chunks_exact(digits).zip(old.chunks_exact(digits)) {
                differs
                    .iter_mut()
                    .zip(new.iter().zip(old))
                    .for_each(|(differs, (a, b))| *differs |= a != b);
            }
            Some((i, (0..digits).filter(|slot| differs[*slot]).collect()))
        });
        changed.into_iter().flatten().collect()
    }

    /// Changes the ciphertexts of an earlier version's ticket into those of this version: by the
    /// difference, Π ck^ΔH, where few slots have changed, else anew.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for a ticket that was not made with these keys.
    pub(super) fn follow(
        &self,
        compression: &Compression,
        (earlier, ciphertexts): (&Self, &mut [Vec<u64>]),
        (keys, number): (&Keys, u64),
        progress: &dyn Progress,
    ) -> Result<()> {
        let changes = self.changes_since(earlier, compression);
        let few = |(_, slots): &(usize, Vec<usize>)| {
            SLOTS_PER_CHANGE * slots.len() <= compression.slots()
        };
        let (few, many): (Vec<_>, Vec<_>) = changes.into_iter().partition(few);
        let many: Vec<usize> = many.into_iter().map(|(i, _)| i).collect();
        let fresh = self.of_ticket(compression, keys, (number, &many), progress)?;
        many.into_iter()
            .zip(fresh)
            .for_each(|(i, ciphertext)| ciphertexts[i] = ciphertext);
        if few.is_empty() {
            return Ok(());
        }
        let difference = Difference::new(compression, [earlier, self], &few);
        let changed = difference.multiply(keys, number, ciphertexts, progress)?;
        few.into_iter()
            .zip(changed)
            .for_each(|((i, _), ciphertext)| ciphertexts[i] = ciphertext);
        Ok(())
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
        progress.stage("ticket", ciphertexts.len() as u64);
        if ciphertexts.is_empty() {
            return Ok(Vec::new());
        }
        let key = keys.masks(number, compression);
        let exponents = Stored {
            compression,
            hint: self,
            ciphertexts,
        };
        let products = multiply(&keys.public, &key, exponents, progress)?;
        progress.advance(ciphertexts.len() as u64);
        Ok(products
            .iter()
            .map(|ciphertext| ciphertext.words().to_vec())
            .collect())
    }

    /// Line 18: returns H·ck_o of each query over the integers, ciphertext by ciphertext, in one
    /// read of the hint.
    pub(super) fn products(
        &self,
        compression: &Compression,
        queries: &[&[Vec<u16>]],
    ) -> Vec<Vec<Vec<u64>>> {
        let vectors: Vec<_> = queries
            .iter()
            .map(|offsets| self.system.vector(offsets))
            .collect();
        if vectors.is_empty() {
            return Vec::new();
        }
        self.system
            .products(compression.dimensions(), &self.residues, &vectors)
    }

    /// Line 18's sum: puts each row's word in its slot, adds the second product, and adds both to
    /// the ticket's ciphertexts.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for a ticket that was not made with this key.
    pub(super) fn join(
        &self,
        compression: &Compression,
        (keys, ticket): (&Keys, &Ticket),
        (words, products): (&[u16], &[Vec<u64>]),
    ) -> Result<Vec<Vec<u64>>> {
        let slots = slots::spread(words, compression.key_bits);
        let parts = slots
            .chunks(compression.slots())
            .zip(products)
            .zip(&ticket.ciphertexts);
        parallel::try_map(parts, |((slots, product), hint)| {
            let sum = keys.public.reduce(&with_slots(product, slots));
            let hint = keys
                .public
                .ciphertext(hint.clone())
                .map_err(malformed("a ticket"))?;
            Ok(PublicKey::add_plain(&keys.public, &hint, &sum)
                .words()
                .to_vec())
        })
    }

    /// b′ of every row.
    pub(super) fn words(&self, compression: &Compression, rows: &[u32]) -> Vec<u16> {
        let word = |(row, sum): (usize, &u32)| {
            let before = (!row.is_multiple_of(compression.rows_each)).then(|| self.sums[row - 1]);
            slots::word(*sum, self.sums[row], before)
        };
        rows.iter().enumerate().map(word).collect()
    }
}

/// Adds slots to a product.
fn with_slots(product: &[u64], slots: &[u16]) -> Vec<u64> {
    let mut sum = product.to_vec();
    let mut carry = false;
    for (out, addend) in sum
        .iter_mut()
        .zip(slots::words(slots).chain(std::iter::repeat(0)))
    {
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
        words
            .iter_mut()
            .zip(slots::words(exponent))
            .for_each(|(out, word)| *out = word);
    }
}

/// Multiplies exponents by the masks, in steps of some milliseconds between which the work can
/// pause.
fn multiply(
    public: &PublicKey,
    key: &[Ciphertext],
    exponents: impl Exponents,
    progress: &dyn Progress,
) -> Result<Vec<Ciphertext>> {
    let count = exponents.rows();
    let products = Products::new(public, key, exponents, 0..count, MEMORY);
    let mut products = products.map_err(malformed("a client's masks"))?;
    while products.step() {
        progress.advance(0);
    }
    Ok(products.finish())
}

/// Changed slots of two versions' exponents, a row each: the new digit less the old one, plus 2¹⁶. The
/// last row has 2¹⁶ alone, and divides all others.
struct Difference<'a> {
    compression: &'a Compression,
    /// The old hint and the new one.
    hints: [&'a CompressedHint; 2],
    /// Numbers of the changed ciphertexts.
    ciphertexts: Vec<usize>,
    /// The places of changed slots in these.
    places: Vec<Place>,
}

impl<'a> Difference<'a> {
    fn new(
        compression: &'a Compression,
        hints: [&'a CompressedHint; 2],
        changes: &[(usize, Vec<usize>)],
    ) -> Self {
        let place = |product| {
            move |slot: &usize| Place {
                product,
                position: *slot as u32,
            }
        };
        let places = changes
            .iter()
            .enumerate()
            .flat_map(|(i, (_, slots))| slots.iter().map(place(i)));
        let ciphertexts = changes.iter().map(|(i, _)| *i).collect();
        Self {
            compression,
            hints,
            ciphertexts,
            places: places.collect(),
        }
    }

    /// The changed ciphertexts of a ticket, in order.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for a ticket that was not made with these keys.
    fn multiply(
        &self,
        keys: &Keys,
        number: u64,
        ticket: &[Vec<u64>],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<u64>>> {
        const WHAT: &str = "a ticket";
        progress.stage("difference", self.ciphertexts.len() as u64);
        let starts = self
            .ciphertexts
            .iter()
            .map(|i| keys.public.ciphertext(ticket[*i].clone()));
        let starts: Vec<_> = starts
            .collect::<papir_paillier::Result<_>>()
            .map_err(malformed(WHAT))?;
        let key = keys.masks(number, self.compression);
        let mut factors = multiply(&keys.public, &key, self, progress)?;
        let divisor = factors.split_off(self.places.len());
        let factors = (&self.places[..], &factors[..]);
        let divisor = (&divisor[0], SLOT_BITS);
        let changed = multiply_shifted(&keys.public, &starts, factors, divisor, || {
            progress.advance(0)
        });
        progress.advance(self.ciphertexts.len() as u64);
        let changed = changed.map_err(malformed(WHAT))?;
        Ok(changed
            .iter()
            .map(|ciphertext| ciphertext.words().to_vec())
            .collect())
    }
}

impl Exponents for Difference<'_> {
    fn rows(&self) -> usize {
        self.places.len() + 1
    }

    fn columns(&self) -> usize {
        self.compression.plaintexts()
    }

    fn bits(&self) -> u32 {
        SLOT_BITS + 1
    }

    fn read(&self, row: usize, column: usize, words: &mut [u64]) {
        let digits = self.compression.exponent_digits();
        let digit = |hint: &CompressedHint, place: &Place| {
            let exponent = self.ciphertexts[place.product] * self.columns() + column;
            u64::from(hint.exponents[exponent * digits + place.position as usize])
        };
        let [old, new] = self.hints;
        let difference = self
            .places
            .get(row)
            .map(|place| (digit(old, place), digit(new, place)));
        let (old, new) = difference.unwrap_or_default();
        words[0] = (1 << SLOT_BITS) + new - old;
    }
}
