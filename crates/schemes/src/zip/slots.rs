//! Slots: many rows of the hint in one plaintext.
//!
//! This is batched compression (section 3.3) with overlapping slots (3.3.3), for packed keys
//! (Appendix A).
//!
//! A plaintext is cut into slots of 16 bits, the lowest first. Bit i of the LWE key is slot i mod t
//! of plaintext ⌊i/t⌋ of the compression key. Row r is in ciphertext ⌊r/R⌋, in the highest of the t
//! slots from t·(r mod R) on. Let g = −h be the row's negated hint, b its word of the answer and q
//! = 2³². The share of that slot in the plaintext is
//!
//! > Tᵣ = b′ + Σᵢ uᵢ·sᵢ, uᵢ = (round(gᵢ/2¹⁶) + 2¹⁵) mod 2¹⁶, b′ = round((b − mean)/2¹⁶) mod 2¹⁶,
//!
//! so that Tᵣ − 2¹⁵·Σ sᵢ is the phase b − ⟨h, s⟩ in units of 2¹⁶, modulo 2¹⁶.
//!
//! The digits of one plaintext's bits, t for each row, form the exponent of its ciphertext. A row's
//! digits are in falling order and the key's slots in rising order, so that products of equal i
//! meet in the highest slot. The other t − 1 slots collect products of different i, which are
//! unused: packed keys are t times shorter, and answers t times longer. (The paper reserves 2t − 1
//! slots for a row and packs keys of single ciphertexts only. Unused slots of neighbours may
//! overlap, so t slots are enough.)
//!
//! Tᵣ is longer than its slot by the logarithm of n. The spill into the next slot is noise there
//! (`super::noise`), and the last slot has room above it.

use bytemuck::{Pod, Zeroable};
use papir_lattice::lwe32::LOG2_Q;
use zeroize::{Zeroize, Zeroizing};

/// Number of bits of a slot.
pub(super) const SLOT_BITS: u32 = 16;
/// log₂ of the weight of a slot's last bit.
pub(super) const LOG2_UNIT: u32 = LOG2_Q - SLOT_BITS;
/// Offset from signed to unsigned digits.
pub(super) const OFFSET: u32 = 1 << (SLOT_BITS - 1);

/// Returns R, the number of rows that fit a plaintext modulo m of `modulus_bits` bits, for keys of
/// n bits with t bits in one plaintext. Products have t − 1 more slots than exponents, and Σ T·2¹⁶ᵏ
/// over all slots k must be below m.
pub(super) fn rows_each(modulus_bits: u32, n: usize, key_bits: usize) -> usize {
    // T ≤ (n + 1)·2¹⁶, and m ≥ 2^(modulus_bits − 1).
    let spill = (n + 1).next_power_of_two().ilog2() + 1;
    let slots = ((modulus_bits - 1 - spill) / SLOT_BITS) as usize;
    (slots + 1) / key_bits - 1
}

/// Returns a word of H as a digit, and the rounding error in q.
pub(super) fn digit(hint: u32) -> (u16, i32) {
    let negated = hint.wrapping_neg();
    let rounded = negated.wrapping_add(1 << (LOG2_UNIT - 1)) >> LOG2_UNIT;
    let error = (rounded << LOG2_UNIT).wrapping_sub(negated) as i32;
    (((rounded + OFFSET) & 0xffff) as u16, error)
}

/// Sums over a row's n words, which give the means of noise over keys.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub(super) struct RowSums {
    /// Sum of rounding errors, in q.
    rounding: i32,
    /// Sum of digits less 2¹⁵.
    digits: i32,
    /// Sum of digits less 2¹⁵ in the first slot of a key's plaintext.
    first: i32,
}

impl RowSums {
    /// Writes a row's digits to its place in every exponent, starting at a slot, and returns their
    /// sums.
    pub(super) fn write<'a>(
        hint: &[u32],
        key_bits: usize,
        exponents: impl Iterator<Item = &'a mut [u16]>,
        slot: usize,
    ) -> Self {
        let mut sums = Self::default();
        for (words, exponent) in hint.chunks(key_bits).zip(exponents) {
            let place = &mut exponent[slot..slot + key_bits];
            // Missing bits of the last plaintext count as zero words.
            place.fill(OFFSET as u16);

            for (j, (word, out)) in words.iter().zip(place.iter_mut().rev()).enumerate() {
                let (digit, error) = digit(*word);
                *out = digit;

                let centred = i32::from(digit) - OFFSET as i32;
                sums.rounding += error;
                sums.digits += centred;
                sums.first += if j == 0 { centred } else { 0 };
            }
        }
        sums
    }

    /// Returns the sum of the digits less 2¹⁵ in the slot below a row's own: the row's digits
    /// except the first digit of each plaintext, and the first digits of the row before it, if the
    /// ciphertext has one.
    fn below(self, before: Option<Self>) -> i32 {
        self.digits - self.first + before.map_or(0, |before| before.first)
    }
}

/// Computes b′: a row's word less the means of its rounding and of the spill from the slot below.
pub(super) fn word(sum: u32, row: RowSums, before: Option<RowSums>) -> u16 {
    // Σ(u − 2¹⁵)/2¹⁶ units are Σ(u − 2¹⁵) in q. On average half of a key's bits are set.
    let spill = row.below(before) >> 1;

    let centred = sum
        .wrapping_sub((row.rounding >> 1) as u32)
        .wrapping_sub(spill as u32);
    (centred.wrapping_add(1 << (LOG2_UNIT - 1)) >> LOG2_UNIT) as u16
}

/// Returns slots with each row's word in the highest of its `key_bits` slots, and zeros in the
/// other slots.
pub(super) fn spread(words: &[u16], key_bits: usize) -> Vec<u16> {
    let mut slots = vec![0; words.len() * key_bits];
    slots
        .iter_mut()
        .skip(key_bits - 1)
        .step_by(key_bits)
        .zip(words)
        .for_each(|(slot, word)| *slot = *word);
    slots
}

/// Returns slots as words of 64 bits, the lowest first.
pub(super) fn words(slots: &[u16]) -> impl Iterator<Item = u64> {
    let words = slots.chunks((u64::BITS / SLOT_BITS) as usize);
    words.map(|slots| {
        slots
            .iter()
            .rev()
            .fold(0, |word, slot| word << SLOT_BITS | u64::from(*slot))
    })
}

/// Returns key bits as slots, packed into words.
pub(super) fn of_bits(bits: &[u32]) -> Zeroizing<Vec<u64>> {
    let bits: Zeroizing<Vec<u16>> = Zeroizing::new(bits.iter().map(|bit| *bit as u16).collect());
    Zeroizing::new(words(&bits).collect())
}

/// Returns the slots of 64-bit words.
pub(super) fn of_words(words: &[u64]) -> impl Iterator<Item = u16> {
    words.iter().flat_map(|word| {
        (0..u64::BITS)
            .step_by(SLOT_BITS as usize)
            .map(move |shift| (word >> shift) as u16)
    })
}

/// Rounds a row of n mask words and its body to units, less the mean of the words' rounding errors.
pub(super) fn centred_row(mask: &[u32], body: u32) -> Vec<u16> {
    let half = 1 << (LOG2_UNIT - 1);

    let mut sum = 0i32;
    let rounded = mask.iter().map(|word| {
        let rounded = word.wrapping_add(half) >> LOG2_UNIT;
        sum += (rounded << LOG2_UNIT).wrapping_sub(*word) as i32;
        rounded as u16
    });
    let mut words: Vec<u16> = rounded.collect();

    words.push((body.wrapping_add((sum >> 1) as u32).wrapping_add(half) >> LOG2_UNIT) as u16);
    words
}

/// Numbers of set key bits: of all bits, and of the bits that are not in the last slot of their
/// plaintext. The latter spill into a ciphertext's lowest row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Zeroize)]
pub(super) struct Weights {
    all: u32,
    lowest: u32,
}

impl Weights {
    pub(super) fn of(key: &[u32], key_bits: usize) -> Self {
        let last: u32 = key.iter().skip(key_bits - 1).step_by(key_bits).sum();
        let all = key.iter().sum();
        Self {
            all,
            lowest: all - last,
        }
    }

    /// Returns the phase in units, modulo 2¹⁶, of a slot's value. `lowest` is true for a
    /// ciphertext's lowest row.
    pub(super) fn phase(&self, value: u16, lowest: bool) -> u16 {
        let spill = if lowest { self.lowest } else { self.all } / 2;
        value.wrapping_sub((self.all * OFFSET).wrapping_add(spill) as u16)
    }
}

/// Message of a row, and its distance from a multiple of Δ in units.
pub(super) type DecodedRow = (u8, u16);

/// Returns the largest distance of all rows, without a branch.
pub(super) fn worst_distance(rows: &[DecodedRow]) -> u16 {
    rows.iter()
        .fold(0, |worst, (_, distance)| worst.max(*distance))
}

/// Returns the message of `message_bits` bits nearest to a phase, and the distance in units.
pub(super) fn decode(phase: u16, message_bits: u32) -> DecodedRow {
    let log2_delta = SLOT_BITS - message_bits;
    let half = 1u16 << (log2_delta - 1);
    let shifted = phase.wrapping_add(half);
    (
        (shifted >> log2_delta) as u8,
        (shifted & (2 * half - 1)).abs_diff(half),
    )
}
