//! Modulus switching with rounding to nearest (InsPIRe, Lemma 9).

use papir_ring::{Coefficients, CyclotomicRing, Poly, Values};

/// Switches between a modulus q and 2^k.
#[derive(Clone, Copy, Debug)]
pub struct PowerSwitch {
    modulus: u64,
    bits: u32,
    /// ⌊2^(64+k) / q⌋.
    reciprocal: u128,
}

impl PowerSwitch {
    /// Prepares switching between q < 2⁶² and 2^bits < q, for one bit or more.
    ///
    /// # Panics
    /// If the moduli are outside these ranges.
    pub fn new(modulus: u64, bits: u32) -> Self {
        assert!(
            modulus < 1 << 62,
            "modulus {modulus}: expected one below 2^62"
        );
        // The range first: a shift by 64 bits or more has no meaning.
        assert!(
            (1..62).contains(&bits) && 1u64 << bits < modulus,
            "{bits} bits for modulus {modulus}: expected 1 or more, with 2^bits below the modulus"
        );
        Self {
            modulus,
            bits,
            reciprocal: (1u128 << (64 + bits)) / u128::from(modulus),
        }
    }

    /// Returns round(x·2^k / q) mod 2^k for x < q, without division or branch.
    pub fn down(&self, x: u64) -> u64 {
        // The reciprocal is below 2^64, since 2^k is below q: its product with x fits 128 bits.
        let estimate = ((u128::from(x) * self.reciprocal) >> 64) as u64;
        // The estimate is at most 1 too small, so the remainder is below 2q; it is exact modulo
        // 2^64.
        let rest = (x << self.bits).wrapping_sub(estimate.wrapping_mul(self.modulus));
        let carry = u64::from(rest >= self.modulus);
        let rest = rest - carry * self.modulus;
        let round = u64::from(2 * rest >= self.modulus);
        (estimate + carry + round) & ((1 << self.bits) - 1)
    }

    /// Returns round(y·q / 2^k) in [0, q) for y < 2^k.
    pub fn up(&self, y: u64) -> u64 {
        let product = u128::from(y) * u128::from(self.modulus) + (1u128 << (self.bits - 1));
        // 2^k is below q, so y·q/2^k rounds to at most q − 1.
        (product >> self.bits) as u64
    }
}

/// Returns round(x·to / from) modulo `to` for x < from, for any moduli below 2⁶².
pub fn switch(x: u64, from: u64, to: u64) -> u64 {
    let rounded = (u128::from(x) * u128::from(to) + u128::from(from / 2)) / u128::from(from);
    // The quotient rounds to at most `to`, which stands for zero.
    rounded as u64 % to
}

/// Rounds the coefficients of public ring elements to `bits` bits, the wire form of key material.
pub fn round_elements<R: CyclotomicRing>(
    ring: &R,
    bits: u32,
    elements: Vec<Poly<Values, R::Word>>,
) -> Vec<u64> {
    let switch = PowerSwitch::new(ring.modulus(), bits);
    let words = elements
        .into_iter()
        .flat_map(|element| ring.to_words(&ring.inverse(element)));
    words.map(|word| switch.down(word)).collect()
}

/// Lifts the output of [`round_elements`] back to q; `words` holds d words for each ring element.
pub fn lift_elements<R: CyclotomicRing>(
    ring: &R,
    bits: u32,
    words: &[u64],
) -> Vec<Poly<Coefficients, R::Word>> {
    let switch = PowerSwitch::new(ring.modulus(), bits);
    words
        .chunks_exact(ring.degree())
        .map(|words| {
            let lifted: Vec<u64> = words.iter().map(|&word| switch.up(word)).collect();
            ring.from_words(&lifted)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../docs/vectors/arithmetic/lattice.json");

    #[test]
    fn switches_are_those_of_the_definition() {
        for [q, bits, x, expected] in rows::<4>(VECTORS, "power_switch.down") {
            let found = PowerSwitch::new(q as u64, bits as u32).down(x as u64);
            assert_eq!(i128::from(found), expected, "{x} from {q} to {bits} bits");
        }
        for [q, bits, y, expected] in rows::<4>(VECTORS, "power_switch.up") {
            let found = PowerSwitch::new(q as u64, bits as u32).up(y as u64);
            assert_eq!(i128::from(found), expected, "{y} from {bits} bits to {q}");
        }
        for [x, from, to, expected] in rows::<4>(VECTORS, "switch") {
            let found = switch(x as u64, from as u64, to as u64);
            assert_eq!(i128::from(found), expected, "{x} from {from} to {to}");
        }
    }

    /// Every word of every small modulus, and every power of two below it.
    #[test]
    fn small_switches_are_exact() {
        for q in 3..=130u64 {
            for bits in (1..8).filter(|&bits| 1u64 << bits < q) {
                let power = PowerSwitch::new(q, bits);
                for x in 0..q {
                    let exact = (((2 * x) << bits) + q) / (2 * q) % (1 << bits);
                    assert_eq!(power.down(x), exact, "{x} from {q} to {bits} bits");
                }
                for y in 0..1u64 << bits {
                    let exact = (2 * y * q + (1 << bits)) >> (bits + 1);
                    assert_eq!(power.up(y), exact, "{y} from {bits} bits to {q}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "0 bits for modulus 17: expected 1 or more")]
    fn no_bits_panic() {
        PowerSwitch::new(17, 0);
    }

    #[test]
    #[should_panic(expected = "64 bits for modulus 17: expected 1 or more")]
    fn more_bits_than_a_word_panic() {
        PowerSwitch::new(17, 64);
    }

    #[test]
    fn one_bit_is_rounded() {
        let switch = PowerSwitch::new(17, 1);
        let down: Vec<u64> = (0..17).map(|x| switch.down(x)).collect();
        // 17/4 and 3·17/4 are the ends of the words that round to 1.
        let expected: Vec<u64> = (0..17).map(|x| u64::from((5..13).contains(&x))).collect();
        assert_eq!(down, expected);
        assert_eq!([0, 1].map(|y| switch.up(y)), [0, 9]);
    }

    #[test]
    fn down_is_the_rounded_quotient() {
        let q = 268_369_921 * 249_561_089u64;
        for bits in [20, 28, 42, 50] {
            let switch = PowerSwitch::new(q, bits);
            let spread = (0..10_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % q);
            for x in spread.chain([0, 1, q / 2, q - 1]) {
                let exact = ((u128::from(x) << bits) + u128::from(q / 2)) / u128::from(q);
                assert_eq!(
                    switch.down(x),
                    (exact % (1 << bits)) as u64,
                    "x = {x}, {bits} bits"
                );
                let lifted = switch.up(switch.down(x));
                let error = (lifted.abs_diff(x)).min(q - lifted.abs_diff(x));
                assert!(
                    error <= (q >> bits) / 2 + 1,
                    "x = {x} came back as {lifted}"
                );
            }
        }
    }
}
