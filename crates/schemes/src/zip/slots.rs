//! Many rows in one plaintext: batched compression (section 3.3) with overlapping slots (3.3.3).
//!
//! A plaintext is cut into slots of 16 bits, the lowest first; row r lies in slot r mod S of ciphertext
//! ⌊r/S⌋. With g = −h the row's hint negated, b its word of D·qu and q = 2³², a slot's share of the plaintext is
//!
//! > Tᵣ = b′ + Σᵢ uᵢ·sᵢ, uᵢ = (round(gᵢ/2¹⁶) + 2¹⁵) mod 2¹⁶, b′ = round((b − mean)/2¹⁶) mod 2¹⁶,
//!
//! so that Tᵣ − 2¹⁵·Σ sᵢ is the phase b − ⟨h, s⟩ in units of 2¹⁶, modulo 2¹⁶. Tᵣ is longer than its slot by the
//! logarithm of n; what spills into the next slot is noise there (`super::noise`), and the last slot has
//! room above it. The digits u of one key bit, slot after slot, are the exponent that its ciphertext is
//! raised to.

use papir_lattice::lwe32::LOG2_Q;

/// Bits of a slot.
pub(super) const SLOT_BITS: u32 = 16;
/// log₂ of what the last bit of a slot counts.
pub(super) const LOG2_UNIT: u32 = LOG2_Q - SLOT_BITS;
/// log₂ of the plaintext modulus p: a word of D is a byte.
const LOG2_P: u32 = 8;
/// log₂ of Δ = q/p.
pub(super) const LOG2_DELTA: u32 = LOG2_Q - LOG2_P;
/// log₂ of Δ in units.
pub(super) const LOG2_DELTA_UNITS: u32 = SLOT_BITS - LOG2_P;
/// What makes digits of signed ones.
const OFFSET: u32 = 1 << (SLOT_BITS - 1);

/// Slots of a plaintext modulo an m of so many bits: Σ Tᵣ·2^(16r) stays below m for keys of n bits.
pub(super) fn slots(modulus_bits: u32, n: usize) -> usize {
    // Tᵣ ≤ (n + 1)·2¹⁶, and m ≥ 2^(modulus_bits − 1).
    let spill = (n + 1).next_power_of_two().ilog2() + 1;
    ((modulus_bits - 1 - spill) / SLOT_BITS) as usize
}

/// A word of H as a digit, and what rounding it added, in q.
pub(super) fn digit(hint: u32) -> (u16, i32) {
    let negated = hint.wrapping_neg();
    let rounded = negated.wrapping_add(1 << (LOG2_UNIT - 1)) >> LOG2_UNIT;
    let error = (rounded << LOG2_UNIT).wrapping_sub(negated) as i32;
    (((rounded + OFFSET) & 0xffff) as u16, error)
}

/// A row's sums over its n words: of what rounding added, in q, and of the digits less 2¹⁵. The means of
/// what keys make of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct RowSums {
    pub(super) rounding: i32,
    pub(super) digits: i32,
}

impl RowSums {
    /// A row's digits, and their sums.
    pub(super) fn of(hint: &[u32], digits: &mut [u16]) -> Self {
        let mut sums = Self::default();
        for (word, out) in hint.iter().zip(digits) {
            let (digit, error) = digit(*word);
            *out = digit;
            sums.rounding += error;
            sums.digits += i32::from(digit) - OFFSET as i32;
        }
        sums
    }
}

/// b′: a row's word of D·qu less the means of its own rounding and of the spill from the slot below.
pub(super) fn word(sum: u32, row: RowSums, below: Option<RowSums>) -> u16 {
    // Σ(u − 2¹⁵)/2¹⁶ units are Σ(u − 2¹⁵) in q; keys have half of their bits set.
    let spill = below.map_or(0, |below| below.digits >> 1);
    let centred = sum.wrapping_sub((row.rounding >> 1) as u32).wrapping_sub(spill as u32);
    (centred.wrapping_add(1 << (LOG2_UNIT - 1)) >> LOG2_UNIT) as u16
}

/// Slots as words of 64 bits, the lowest first.
pub(super) fn words(slots: &[u16]) -> impl Iterator<Item = u64> {
    let word = |slots: &[u16]| slots.iter().rev().fold(0, |word, slot| word << SLOT_BITS | u64::from(*slot));
    slots.chunks((u64::BITS / SLOT_BITS) as usize).map(word)
}

/// Words of 64 bits as slots.
pub(super) fn of_words(words: &[u64]) -> impl Iterator<Item = u16> {
    words
        .iter()
        .flat_map(|word| (0..u64::BITS).step_by(SLOT_BITS as usize).map(move |shift| (word >> shift) as u16))
}

/// The nearest word of D to a slot's value, and the distance from it in units, for a key of so many bits
/// set; `lowest` for the slot that nothing spills into.
pub(super) fn decode(value: u16, weight: u32, lowest: bool) -> (u8, u16) {
    let spill = if lowest { 0 } else { weight / 2 };
    let phase = value.wrapping_sub((weight * OFFSET).wrapping_add(spill) as u16);
    let half = 1u16 << (LOG2_DELTA_UNITS - 1);
    let shifted = phase.wrapping_add(half);
    ((shifted >> LOG2_DELTA_UNITS) as u8, (shifted & (2 * half - 1)).abs_diff(half))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modulus_of_3072_bits_has_191_slots() {
        assert_eq!((slots(3072, 1280), slots(512, 1280)), (191, 31));
    }

    #[test]
    fn digits_are_the_negated_hint_rounded() {
        for hint in [0u32, 1, 0x7fff, 0x8000, 0x8001, 0x1234_5678, u32::MAX, 0x8000_0000] {
            let (digit, error) = digit(hint);
            let units = i32::from(digit) - OFFSET as i32;
            let back = ((units as u32) << LOG2_UNIT).wrapping_sub(error as u32);
            assert_eq!(back, hint.wrapping_neg(), "{hint:x}");
            assert!(error.abs() <= 1 << (LOG2_UNIT - 1));
        }
    }

    #[test]
    fn slots_are_words_and_back() {
        let slots: Vec<u16> = (0..9u16).map(|i| i.wrapping_mul(0x3579)).collect();
        let packed: Vec<u64> = words(&slots).collect();
        assert_eq!((packed.len(), packed[0] & 0xffff_ffff, packed[2]), (3, 0x3579_0000, u64::from(slots[8])));
        assert_eq!(of_words(&packed).take(9).collect::<Vec<_>>(), slots);
    }

    #[test]
    fn slots_decode_to_the_words_they_were_made_of() {
        for (word, noise) in [(0u8, 0i32), (255, 127), (255, -128), (17, 100), (128, -5)] {
            for (weight, lowest) in [(0, true), (1, true), (641, false), (1280, false)] {
                let phase = (i32::from(word) << LOG2_DELTA_UNITS) + noise;
                let spill = if lowest { 0 } else { weight / 2 };
                let value = (phase as u32).wrapping_add(weight * OFFSET).wrapping_add(spill) as u16;
                assert_eq!(decode(value, weight, lowest), (word, noise.unsigned_abs() as u16));
            }
        }
    }
}
