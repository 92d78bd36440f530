//! Positions of phases in a plaintext.
//!
//! A plaintext is a number in base γ. Each compressed encryption has 2t − 1 of its digits, where t
//! is the number of the secret's digits in one plaintext of the compression key (1 unless the key
//! is packed). The phase is the middle digit.
//!
//! Over the integers every digit is a sum of at most the terms of a linear form, hence from 0 to V
//! = (q − 1)·(1 + n·D), where D is the largest digit of the secret: 1 for binary secrets, 2 for
//! ternary ones (whose entries are shifted by one), q − 1 for general ones. There are two scales:
//!
//! - **Separate.** γ = q·(1 + n·D) or the next power of two, which is more than V. No digit carries
//!   into the next. With P digits the plaintext is at most V·(γ^P − 1)/(γ − 1), which must be below
//!   mˢ. The phase is exactly the digit modulo q.
//! - **Overlapping** (ZipPIR, 3.3.3). γ = q for small secrets, q² for general ones. The lower
//!   digits add the *spill* ⌊Σᵢ vᵢ·γ^(i−j)⌋, i < j, to digit j. It is below V/(γ − 1): at most n·D
//!   for small secrets, at most n − 1 for general ones, since V/(q² − 1) = (1 + n(q − 1))/(q + 1) <
//!   n. The higher digits vanish modulo q, a divisor of γ. The highest digit needs room for V:
//!   V·(γ^P − 1)/(γ − 1) < mˢ. Half the largest spill S is subtracted from each digit, so a phase
//!   is off by at most ⌈S/2⌉. Messages of scale Δ decode while e − ⌊S/2⌋ ≥ −Δ/2 and e + ⌈S/2⌉ <
//!   Δ/2, hence for |e| < Δ/4 if S ≤ Δ/2.

use crypto_bigint::{BoxedUint, ConcatenatingMul, NonZero};
use zeroize::Zeroizing;

use super::lwe::LweParams;
use crate::ciphertext::Plaintext;
use crate::error::{Error, Result};
use crate::integer::{from_words, to_words};
use crate::public::PublicKey;

/// Spacing of the digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// γ = q·(1 + n·D): exact phases.
    Separate,
    /// γ = q or q²: more phases in a ciphertext, with small errors.
    Overlapping,
}

/// Positions of the phases of LWE encryptions in plaintexts of one key size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    lwe: LweParams,
    scale: Scale,
    packing: usize,
    gamma: NonZero<BoxedUint>,
    /// q.
    modulus: NonZero<BoxedUint>,
    slots: usize,
    spill: u64,
}

/// Returns the base γ of the digits.
fn gamma(lwe: &LweParams, scale: Scale) -> BoxedUint {
    let q = BoxedUint::from(lwe.modulus());
    match (scale, lwe.bound()) {
        (Scale::Separate, _) => q.concatenating_mul(lwe.largest_factor()),
        (Scale::Overlapping, Some(_)) => q,
        (Scale::Overlapping, None) => q.concatenating_mul(&q),
    }
}

fn non_zero(number: BoxedUint) -> Result<NonZero<BoxedUint>> {
    NonZero::new(number)
        .into_option()
        .ok_or_else(|| Error::out_of_bounds("LWE modulus", 0, "2 to 2^64"))
}

/// Returns γ and the number of digits that fit below mˢ. A power of two takes fewer multiplications
/// than other numbers of its size, so γ for separate digits is rounded up to one if that costs no
/// digit.
fn base(modulus: &BoxedUint, lwe: &LweParams, scale: Scale) -> Result<(NonZero<BoxedUint>, usize)> {
    let gamma = non_zero(gamma(lwe, scale))?;
    let largest = lwe.largest_value();
    let digits = digits_below(modulus, &largest, &gamma);

    // 2 to the number of γ's bits needs one bit more than γ may have.
    let mut power = BoxedUint::one_with_precision(gamma.bits_precision() + 1);
    power.shl_assign(gamma.as_ref().bit_width_vartime());
    let power = non_zero(power)?;
    if scale == Scale::Separate && digits_below(modulus, &largest, &power) == digits {
        return Ok((power, digits));
    }
    Ok((gamma, digits))
}

/// Returns the number of digits of base γ and value at most V that fit below mˢ: the largest P with
/// V·(γ^P − 1)/(γ − 1) < mˢ.
fn digits_below(modulus: &BoxedUint, largest: &BoxedUint, gamma: &NonZero<BoxedUint>) -> usize {
    // Room for one more digit than fits: γ and V are below 2¹⁵⁰.
    let bits = modulus.bits_precision() + 512;
    let modulus = widened(modulus, bits);
    let largest = widened(largest, bits);

    let mut sum = widened(&BoxedUint::zero(), bits);
    let mut count = 0;
    loop {
        sum = sum.wrapping_mul(gamma.as_ref()).wrapping_add(&largest);
        if sum.cmp_vartime(&modulus).is_ge() {
            return count;
        }
        count += 1;
    }
}

/// Resizes a number to `bits` bits; it must fit.
fn widened(number: &BoxedUint, bits: u32) -> BoxedUint {
    crypto_bigint::Resize::resize_unchecked(number.clone(), bits)
}

impl Layout {
    /// Creates a layout for an unpacked key, with as many phases as fit.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if no phase fits.
    pub fn new(public: &PublicKey, lwe: LweParams, scale: Scale) -> Result<Self> {
        Self::packed(public, lwe, scale, 1)
    }

    /// Creates a layout for a key with `packing` digits of the secret in each plaintext: the key is
    /// `packing` times smaller, and 2·`packing` − 1 times fewer phases fit.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if no phase fits.
    pub fn packed(
        public: &PublicKey,
        lwe: LweParams,
        scale: Scale,
        packing: usize,
    ) -> Result<Self> {
        let modulus = non_zero(lwe.modulus().into())?;
        let largest = lwe.largest_value();
        let (gamma, digits) = base(public.plain().modulus(), &lwe, scale)?;

        let per_slot = packing.saturating_mul(2).saturating_sub(1);
        // A packing of 0 has no digits in a slot, and is refused like one that is too large.
        let slots = digits.checked_div(per_slot).unwrap_or(0);
        if slots == 0 {
            let expected = format!("1 to {}", digits.div_ceil(2));
            return Err(Error::out_of_bounds(
                "packing of the secret",
                packing as u64,
                expected,
            ));
        }

        let spill = match scale {
            Scale::Separate => 0,
            Scale::Overlapping => largest_spill(&largest, &gamma),
        };

        Ok(Self {
            lwe,
            scale,
            packing,
            gamma,
            modulus,
            slots,
            spill,
        })
    }

    /// Limits the number of phases in a ciphertext to `slots`.
    #[must_use]
    pub fn with_at_most(mut self, slots: usize) -> Self {
        self.slots = self.slots.min(slots.max(1));
        self
    }

    /// Returns the maximum packing: digits of the secret in one plaintext of the compression key.
    ///
    /// # Errors
    /// The errors of [`Layout::new`].
    pub fn largest_packing(public: &PublicKey, lwe: LweParams, scale: Scale) -> Result<usize> {
        Ok(Self::new(public, lwe, scale)?.slots.div_ceil(2))
    }

    /// The LWE encryptions that are compressed.
    pub fn lwe(&self) -> &LweParams {
        &self.lwe
    }

    /// Spacing of the digits.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// t, the digits of the secret in each plaintext of the compression key.
    pub fn packing(&self) -> usize {
        self.packing
    }

    /// Phases in a ciphertext.
    pub fn slots(&self) -> usize {
        self.slots
    }

    /// Number of ciphertexts for `phases` phases.
    pub fn ciphertexts(&self, phases: usize) -> usize {
        phases.div_ceil(self.slots)
    }

    /// Maximum error of a phase in units of 1/q: ⌈S/2⌉.
    pub fn phase_error(&self) -> u64 {
        self.spill.div_ceil(2)
    }

    /// γ in little-endian words.
    pub(crate) fn gamma_words(&self) -> Vec<u64> {
        to_words(
            self.gamma.as_ref(),
            self.gamma.bits_precision().div_ceil(64) as usize,
        )
    }

    /// Returns the lowest `count` phases modulo q in a plaintext, lowest first; at most one for
    /// each slot.
    ///
    /// Takes the same time for all plaintexts.
    pub fn phases(&self, plaintext: &Plaintext, count: usize) -> Zeroizing<Vec<u64>> {
        let mut rest = Zeroizing::new(from_words(plaintext.words()));
        let mut phases = Zeroizing::new(Vec::with_capacity(count.min(self.slots)));

        for _ in 0..count.min(self.slots) {
            for position in 0..2 * self.packing - 1 {
                // The time of `vartime` depends on the divisor only, which is public.
                let (quotient, digit) = rest.div_rem_vartime(&self.gamma);
                rest = Zeroizing::new(quotient);
                let digit = Zeroizing::new(digit);

                if position == self.packing - 1 {
                    phases.push(self.phase(&digit));
                }
            }
        }
        phases
    }

    /// Returns a digit modulo q minus half the largest spill.
    fn phase(&self, digit: &BoxedUint) -> u64 {
        let residue = Zeroizing::new(digit.rem_vartime(&self.modulus));
        let shift = u128::from(self.spill / 2) % self.lwe.modulus();

        // q ≤ 2⁶⁴, so one word suffices; the reduction has no branch.
        let residue = Zeroizing::new(to_words(&residue, 1));
        let sum = u128::from(residue[0]) + self.lwe.modulus() - shift;
        (sum - u128::from(sum >= self.lwe.modulus()) * self.lwe.modulus()) as u64
    }
}

/// Returns ⌈V/(γ − 1)⌉ − 1, the largest integer below V/(γ − 1).
fn largest_spill(largest: &BoxedUint, gamma: &NonZero<BoxedUint>) -> u64 {
    let one = BoxedUint::one_with_precision(gamma.bits_precision());
    let below = largest.wrapping_sub(BoxedUint::one());
    let divisor = NonZero::new(gamma.as_ref().wrapping_sub(one)).into_option();
    divisor.map_or(0, |divisor| {
        // The spill is at most n·D ≤ 2⁴¹ for small secrets and below n for general ones: one word.
        to_words(&below.div_rem_vartime(&divisor).0, 4)[0]
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::compress::KeyKind;

    /// A key whose modulus is about the smallest of its size, 9/16·2³⁰⁷².
    fn smallest_key() -> PublicKey {
        let mut words = vec![0; 48];
        (words[0], words[47]) = (1, 9 << 60);
        PublicKey::from_checked(Params::default(), from_words(&words)).unwrap()
    }

    fn slots(n: usize, bits: u32, kind: KeyKind, scale: Scale) -> usize {
        let lwe = LweParams::new(n, 1 << bits, kind).unwrap();
        Layout::new(&smallest_key(), lwe, scale).unwrap().slots()
    }

    #[test]
    fn slots_of_a_3072_bit_plaintext() {
        let separate = Scale::Separate;
        let overlapping = Scale::Overlapping;
        assert_eq!(
            slots(630, 64, KeyKind::Binary, separate),
            41,
            "73.3 bits each"
        );
        assert_eq!(
            slots(630, 64, KeyKind::Ternary, separate),
            41,
            "74.3 bits each"
        );
        assert_eq!(
            slots(630, 64, KeyKind::General, separate),
            22,
            "137.3 bits each"
        );
        assert_eq!(
            slots(630, 64, KeyKind::Binary, overlapping),
            47,
            "64 bits each, 10 more at the top"
        );
        assert_eq!(
            slots(630, 64, KeyKind::General, overlapping),
            23,
            "128 bits each, 10 more at the top"
        );
        assert_eq!(
            slots(1305, 11, KeyKind::Binary, separate),
            143,
            "21.4 bits each"
        );
        assert_eq!(
            slots(1024, 27, KeyKind::Ternary, separate),
            80,
            "38.0 bits each"
        );
    }

    #[test]
    fn many_phases_need_several_ciphertexts() {
        let lwe = LweParams::new(630, 1 << 64, KeyKind::Binary).unwrap();
        let layout = Layout::new(&smallest_key(), lwe, Scale::Separate).unwrap();
        assert_eq!(
            [1, 41, 42, 256].map(|count| layout.ciphertexts(count)),
            [1, 1, 2, 7]
        );
        assert_eq!(layout.with_at_most(10).ciphertexts(41), 5);
    }

    #[test]
    fn spills_match_the_module_documentation() {
        let spill = |n, q, kind| {
            let lwe = LweParams::new(n, q, kind).unwrap();
            Layout::new(&smallest_key(), lwe, Scale::Overlapping)
                .unwrap()
                .spill
        };
        assert_eq!(spill(630, 1 << 64, KeyKind::Binary), 630);
        assert_eq!(spill(630, 1 << 20, KeyKind::Ternary), 1260);
        assert_eq!(spill(100, 12_289, KeyKind::Bounded(3)), 600);
        assert_eq!(spill(630, 1 << 64, KeyKind::General), 629);
        assert_eq!(spill(1, 2, KeyKind::General), 0);
    }
}
