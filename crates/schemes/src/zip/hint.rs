//! Compressed hint of a server: exponents for tickets, residues for answers.

use std::collections::BTreeSet;
use std::ops::Range;

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, BlobSlice, Progress, Result, parallel};
use papir_paillier::products::{Exponents, Place, Products, ShiftedFactors, multiply_shifted};
use papir_paillier::{Ciphertext, PublicKey};

use super::compression::{ALIGNMENT, Compression, DIGEST_BYTES};
use super::residues::Residues;
use super::slots::{self, RowSums, SLOT_BITS};
use super::wire::{Digest, Keys, Ticket, malformed};
use crate::shared::packs::{ranged, sized};

const EXPONENTS: &str = "zip/exponents";
const RESIDUES: &str = "zip/residues";
const SUMS: &str = "zip/sums";
/// Name of a ticket in errors.
const TICKET: &str = "a ticket";
/// Bytes of memory for the table and the accumulators of a ticket, which all threads share: 256
/// MiB.
const MEMORY: usize = 256 << 20;
/// Inverse of the share of changed slots in a ciphertext up to which the changes are multiplied in.
/// If more slots have changed, the ciphertext is made anew.
const SLOTS_PER_CHANGE: usize = 3;

/// H as the exponents of compression keys. A clone shares it.
#[derive(Clone)]
pub(super) struct CompressedHint {
    /// Exponents, as ciphertexts × plaintexts of a key × digits.
    pub(super) exponents: BlobSlice<u16>,
    /// Exponents as centred residues.
    pub(super) residues: BlobSlice<i32>,
    /// Sums of each row.
    pub(super) sums: BlobSlice<RowSums>,
    /// Digest of the rows and their sums. Keys and tickets name the hint to which they belong by
    /// its digest.
    pub(super) digest: Digest,
    system: Residues,
}

/// Masks of one number of a client.
#[derive(Clone, Copy)]
pub(super) struct Masks<'a> {
    pub(super) keys: &'a Keys,
    pub(super) number: u64,
}

/// Keys of a client and its ticket for a query.
pub(super) struct TicketHolder<'a> {
    pub(super) keys: &'a Keys,
    pub(super) ticket: &'a Ticket,
}

/// Memory of a hint that is being written.
struct HintBuffers {
    exponents: AlignedBytes,
    sums: AlignedBytes,
    residues: AlignedBytes,
}

/// Slots of a ciphertext whose digits changed.
struct ChangedSlots {
    ciphertext: usize,
    slots: Vec<usize>,
}

impl CompressedHint {
    /// Compresses H, whose row r is `row(r)`, n words.
    pub(super) fn new(
        compression: &Compression,
        row: impl Fn(usize) -> Vec<u32> + Sync,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let all = (0..compression.rows).collect();
        let parts = HintBuffers {
            exponents: AlignedBytes::zeroed(compression.exponent_bytes()),
            sums: AlignedBytes::zeroed(compression.sums_bytes()),
            residues: AlignedBytes::zeroed(compression.residue_bytes()),
        };
        Self::with_rows(compression, &all, row, parts, progress)
    }

    /// Returns H with these rows replaced.
    pub(super) fn changed(
        &self,
        compression: &Compression,
        rows: &BTreeSet<usize>,
        row: impl Fn(usize) -> Vec<u32> + Sync,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let parts = HintBuffers {
            exponents: AlignedBytes::copy_of(self.exponents.bytes()),
            sums: AlignedBytes::copy_of(self.sums.bytes()),
            residues: AlignedBytes::copy_of(self.residues.bytes()),
        };
        Self::with_rows(compression, rows, row, parts, progress)
    }

    /// Writes these rows into exponents, sums and residues.
    fn with_rows(
        compression: &Compression,
        rows: &BTreeSet<usize>,
        row: impl Fn(usize) -> Vec<u32> + Sync,
        parts: HintBuffers,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let plaintexts = compression.plaintexts();
        let digits = compression.exponent_digits();
        let each = compression.rows_each;
        let t = compression.key_bits;
        let system = compression.residues();
        let HintBuffers {
            mut exponents,
            mut sums,
            mut residues,
        } = parts;

        // A thread has all rows of a ciphertext, since they share its exponents.
        progress.stage("hint", rows.len() as u64);
        let ciphertexts = exponents
            .slice_mut::<u16>()
            .chunks_exact_mut(plaintexts * digits)
            .zip(sums.slice_mut::<RowSums>().chunks_mut(each))
            .enumerate();
        parallel::for_each(ciphertexts, |(i, (exponents, sums))| {
            for &r in rows.range(i * each..i * each + sums.len()) {
                let slot = (r - i * each) * t;
                sums[r - i * each] =
                    RowSums::write(&row(r), t, exponents.chunks_exact_mut(digits), slot);
                progress.advance(1);
            }
        });

        let written: BTreeSet<usize> = rows.iter().map(|row| row / each).collect();
        let exponents: BlobSlice<u16> = BlobSlice::new(exponents.into(), EXPONENTS)?;
        system.fill(
            compression.dimensions(),
            &written,
            |i, column| &exponents[(i * plaintexts + column) * digits..][..digits],
            residues.slice_mut(),
            progress,
        );

        let residues = BlobSlice::new(residues.into(), RESIDUES)?;
        let sums: BlobSlice<RowSums> = BlobSlice::new(sums.into(), SUMS)?;
        Ok(Self {
            // Without the residues, which follow from the exponents.
            digest: digest_of(&[exponents.bytes(), sums.bytes()]),
            exponents,
            residues,
            sums,
            system,
        })
    }

    /// Writes the hint's sections. The digest is after the sums.
    pub(super) fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(EXPONENTS, &[self.exponents.bytes()])?;
        sink.put(RESIDUES, &[self.residues.bytes()])?;

        let sums = self.sums.bytes();
        let padding = vec![0; sums.len().next_multiple_of(ALIGNMENT) - sums.len()];
        sink.put(SUMS, &[sums, &padding, &self.digest])
    }

    /// Reads the sections of [`CompressedHint::save`], or the sections of papir 0.1.0.
    pub(super) fn load(compression: &Compression, source: &dyn SectionSource) -> Result<Self> {
        let exponents = sized(source, EXPONENTS, compression.exponent_bytes())?;
        let residues = sized(source, RESIDUES, compression.residue_bytes())?;

        // 0.1.0 wrote no digest: its clients and tickets have one of the sums, which stays in use
        // until an update makes another hint.
        let length = compression.sums_bytes();
        let is_older = source.length(SUMS)? == length;
        let place = compression.digest_place();
        let all = if is_older { length } else { place.end };

        let sums: BlobSlice<RowSums> = ranged(source, SUMS, 0..length, all)?;
        let digest = if is_older {
            digest_of(&[sums.bytes()])
        } else {
            read_digest(source, place)?
        };

        Ok(Self {
            exponents,
            residues,
            sums,
            digest,
            system: compression.residues(),
        })
    }

    /// Returns the changed slots of the ciphertexts that differ from an earlier version.
    fn changes_since(&self, earlier: &Self, compression: &Compression) -> Vec<ChangedSlots> {
        let digits = compression.exponent_digits();
        let each = compression.plaintexts() * digits;
        let pairs = self
            .exponents
            .chunks_exact(each)
            .zip(earlier.exponents.chunks_exact(each));

        let changed = parallel::map(pairs.enumerate(), |(ciphertext, (new, old))| {
            if new == old {
                return None;
            }
            let slots = differing_slots(new, old, digits);
            Some(ChangedSlots { ciphertext, slots })
        });
        changed.into_iter().flatten().collect()
    }

    /// Changes the ciphertexts of an earlier version's ticket into ciphertexts of this version. If
    /// few slots of a ciphertext have changed, it multiplies by the difference, Π ck^ΔH; otherwise
    /// it makes the ciphertext anew.
    ///
    /// It refuses a ticket that was not made with these masks.
    pub(super) fn follow(
        &self,
        compression: &Compression,
        earlier: &Self,
        masks: Masks<'_>,
        ciphertexts: &mut [Vec<u64>],
        progress: &dyn Progress,
    ) -> Result<()> {
        let changes = self.changes_since(earlier, compression);
        let (few, many): (Vec<_>, Vec<_>) = changes
            .into_iter()
            .partition(|change| SLOTS_PER_CHANGE * change.slots.len() <= compression.slots());

        let many: Vec<usize> = many.iter().map(|change| change.ciphertext).collect();
        let fresh = self.of_ticket(compression, masks, &many, progress)?;
        for (i, ciphertext) in many.into_iter().zip(fresh) {
            ciphertexts[i] = ciphertext;
        }
        // Without places, a difference still has the row that divides.
        if few.is_empty() {
            return Ok(());
        }

        let difference = Difference::new(compression, [earlier, self], &few);
        let changed = difference.multiply(masks, ciphertexts, progress)?;
        for (change, ciphertext) in few.into_iter().zip(changed) {
            ciphertexts[change.ciphertext] = ciphertext;
        }
        Ok(())
    }

    /// Computes line 7: the hint's products with a number's masks, which are some ciphertexts of
    /// its ticket.
    pub(super) fn of_ticket(
        &self,
        compression: &Compression,
        masks: Masks<'_>,
        ciphertexts: &[usize],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<u64>>> {
        progress.stage("ticket", ciphertexts.len() as u64);
        // Expanding the masks takes work for each plaintext of a key, whatever is then made of
        // them.
        if ciphertexts.is_empty() {
            return Ok(Vec::new());
        }

        let key = masks.expand(compression);
        let exponents = StoredExponents {
            compression,
            hint: self,
            ciphertexts,
        };
        let products = multiply(&masks.keys.public, &key, exponents, progress)?;
        progress.advance(ciphertexts.len() as u64);
        Ok(words_of(&products))
    }

    /// Computes the product of line 18. Returns H·ck_o of each query over the integers, ciphertext
    /// by ciphertext, in one read of the hint.
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

    /// Computes the sum of line 18: puts each row's word in its slot, adds the second product, and
    /// adds both to the ticket's ciphertexts. Refuses a ticket that was not made with this key.
    pub(super) fn join(
        &self,
        compression: &Compression,
        caller: TicketHolder<'_>,
        words: &[u16],
        products: &[Vec<u64>],
    ) -> Result<Vec<Vec<u64>>> {
        let public = &caller.keys.public;
        let slots = slots::spread(words, compression.key_bits);
        let parts = slots
            .chunks(compression.slots())
            .zip(products)
            .zip(&caller.ticket.ciphertexts);

        parallel::try_map(parts, |((slots, product), hint)| {
            // Added over the integers, so that one reduction serves product and words.
            let sum = public.reduce(&with_slots(product, slots));
            let hint = public.ciphertext(hint.clone()).map_err(malformed(TICKET))?;
            Ok(public.add_plain(&hint, &sum).words().to_vec())
        })
    }

    /// Computes b′ of every row.
    pub(super) fn words(&self, compression: &Compression, rows: &[u32]) -> Vec<u16> {
        let words = rows.iter().enumerate().map(|(row, sum)| {
            // A ciphertext's first row has no row below it.
            let before = (!row.is_multiple_of(compression.rows_each)).then(|| self.sums[row - 1]);
            slots::word(*sum, self.sums[row], before)
        });
        words.collect()
    }
}

/// Reads a digest from its place in the section of sums, which ends with it.
fn read_digest(source: &dyn SectionSource, place: Range<usize>) -> Result<Digest> {
    let length = place.end;
    let stored: BlobSlice<u8> = ranged(source, SUMS, place, length)?;

    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(&stored);
    Ok(digest)
}

/// Returns the first bytes of the BLAKE3 hash of the parts, one after another.
fn digest_of(parts: &[&[u8]]) -> Digest {
    let mut hasher = blake3::Hasher::new();
    for part in parts {
        hasher.update(part);
    }

    let mut digest = [0; DIGEST_BYTES];
    digest.copy_from_slice(&hasher.finalize().as_bytes()[..DIGEST_BYTES]);
    digest
}

impl Masks<'_> {
    /// Expands ck_r.
    fn expand(&self, compression: &Compression) -> Vec<Ciphertext> {
        self.keys.masks(self.number, compression)
    }
}

/// Returns the slots whose digits differ in any exponent of a ciphertext.
fn differing_slots(new: &[u16], old: &[u16], digits: usize) -> Vec<usize> {
    // A place is multiplied by all masks, so a slot counts if it differs in any exponent.
    let mut differs = vec![false; digits];
    for (new, old) in new.chunks_exact(digits).zip(old.chunks_exact(digits)) {
        differs
            .iter_mut()
            .zip(new.iter().zip(old))
            .for_each(|(differs, (a, b))| *differs |= a != b);
    }
    (0..digits).filter(|slot| differs[*slot]).collect()
}

/// Returns the words of each ciphertext.
fn words_of(ciphertexts: &[Ciphertext]) -> Vec<Vec<u64>> {
    ciphertexts
        .iter()
        .map(|ciphertext| ciphertext.words().to_vec())
        .collect()
}

/// Adds slots to a product.
fn with_slots(product: &[u64], slots: &[u16]) -> Vec<u64> {
    let mut sum = product.to_vec();
    let addends = slots::words(slots).chain(std::iter::repeat(0));

    let mut carry = false;
    for (out, addend) in sum.iter_mut().zip(addends) {
        let (first, over) = out.overflowing_add(addend);
        // At most one of both additions overflows: after the first did, its sum is not full.
        let (second, again) = first.overflowing_add(u64::from(carry));
        (*out, carry) = (second, over || again);
    }
    sum
}

/// Stored exponents of a list of ciphertexts.
struct StoredExponents<'a> {
    compression: &'a Compression,
    hint: &'a CompressedHint,
    ciphertexts: &'a [usize],
}

impl Exponents for StoredExponents<'_> {
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

/// Raises the masks to the exponents and multiplies them, in steps of some milliseconds. The work
/// can pause between steps.
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

/// Changed slots of the exponents of two versions, a row each: the new digit less the old one, plus
/// 2¹⁶. The last row is 2¹⁶ alone, and divides all other rows.
struct Difference<'a> {
    compression: &'a Compression,
    /// The old hint and the new one.
    hints: [&'a CompressedHint; 2],
    /// Indices of the changed ciphertexts.
    ciphertexts: Vec<usize>,
    /// Places of the changed slots in these ciphertexts.
    places: Vec<Place>,
}

impl<'a> Difference<'a> {
    fn new(
        compression: &'a Compression,
        hints: [&'a CompressedHint; 2],
        changes: &[ChangedSlots],
    ) -> Self {
        let mut ciphertexts = Vec::with_capacity(changes.len());
        let mut places = Vec::new();
        for (product, change) in changes.iter().enumerate() {
            ciphertexts.push(change.ciphertext);
            places.extend(change.slots.iter().map(|slot| Place {
                product,
                position: *slot as u32,
            }));
        }

        Self {
            compression,
            hints,
            ciphertexts,
            places,
        }
    }

    /// Returns the changed ciphertexts of a ticket, in order. Refuses a ticket that was not made
    /// with these masks.
    fn multiply(
        &self,
        masks: Masks<'_>,
        ticket: &[Vec<u64>],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<u64>>> {
        progress.stage("difference", self.ciphertexts.len() as u64);
        let public = &masks.keys.public;
        let starts: Vec<Ciphertext> = self
            .ciphertexts
            .iter()
            .map(|i| public.ciphertext(ticket[*i].clone()))
            .collect::<papir_paillier::Result<_>>()
            .map_err(malformed(TICKET))?;

        let key = masks.expand(self.compression);
        let mut factors = multiply(public, &key, self, progress)?;
        let divisor = factors.split_off(self.places.len());

        let shifted = ShiftedFactors {
            factors: &factors,
            places: &self.places,
            divisor: &divisor[0],
            step: SLOT_BITS,
        };
        let changed = multiply_shifted(public, &starts, shifted, || progress.advance(0));
        progress.advance(self.ciphertexts.len() as u64);
        let changed = changed.map_err(malformed(TICKET))?;
        Ok(words_of(&changed))
    }

    /// Returns the digit of a changed slot in one column.
    fn digit(&self, hint: &CompressedHint, place: &Place, column: usize) -> u64 {
        let digits = self.compression.exponent_digits();
        let exponent = self.ciphertexts[place.product] * self.columns() + column;
        u64::from(hint.exponents[exponent * digits + place.position as usize])
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
        let [old, new] = self.hints;

        // The offset first: exponents are unsigned, and the new digit may be the smaller one.
        let offset = 1u64 << SLOT_BITS;
        words[0] = match self.places.get(row) {
            Some(place) => offset + self.digit(new, place, column) - self.digit(old, place, column),
            None => offset,
        };
    }
}
