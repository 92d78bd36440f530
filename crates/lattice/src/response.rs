//! Modulus-switched RLWE encryptions of answers.
//!
//! Mask and body are each switched to their own power of two (InsPIRe, Lemma 9, one modulus each);
//! the client decrypts them here.

use papir_ring::{Coefficients, CyclotomicRing, Poly, Ring};
use zeroize::Zeroizing;

use crate::mod_switch::PowerSwitch;
use crate::secret::SecretKey;

/// Number of standard deviations of mask times secret that must fit below q/2.
const DEVIATIONS: f64 = 16.0;

/// Bits of one coefficient of an answer's mask and body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseBits {
    /// Bits of the mask.
    pub a: u32,
    /// Bits of the body, at most as many as of the mask.
    pub b: u32,
}

/// The messages of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plaintext {
    /// p, below 2³².
    pub modulus: u64,
    /// Share of half the distance between messages that an error may fill: 1 accepts every phase.
    pub fill: f64,
}

impl ResponseBits {
    /// Returns whether decryption is exact for this ring and a secret of standard deviation
    /// `sigma`: the product of mask and secret over the integers must stay below q/2.
    pub fn fit(self, degree: usize, modulus: f64, sigma: f64) -> bool {
        let product = 2f64.powi(self.a as i32) * sigma * (degree as f64).sqrt() * DEVIATIONS;
        (1..=32).contains(&self.a) && (1..=self.a).contains(&self.b) && product < modulus / 2.0
    }

    /// Switches a mask modulo q; returns d words.
    pub fn mask<R: CyclotomicRing>(self, ring: &R, a: &Poly<Coefficients, R::Word>) -> Vec<u64> {
        switch(ring, self.a, &ring.to_words(a))
    }

    /// Switches the words of bodies modulo q.
    pub fn body(self, ring: &impl CyclotomicRing, words: &[u64]) -> Vec<u64> {
        switch(ring, self.b, words)
    }

    /// Returns the phases b·2^(a − b) + a·s modulo 2^a, in units of q/2^a, one for each body
    /// coefficient; the mask has d words.
    pub fn phases(
        self,
        ring: &Ring,
        secret: &SecretKey,
        mask: &[u64],
        body: &[u64],
    ) -> Zeroizing<Vec<u64>> {
        // |a·s| stays below q/2, so the centred product is the product over the integers.
        let product = ring.inverse(ring.mul(&ring.forward(ring.from_words(mask)), secret.values()));
        let product = Zeroizing::new(ring.to_centred(&Zeroizing::new(product)));
        let phases = product
            .iter()
            .zip(body)
            .map(|(&product, &body)| self.phase(product, body));
        Zeroizing::new(phases.collect())
    }

    /// Returns coefficient 0 of [`ResponseBits::phases`], by an inner product.
    pub fn first_phase(self, secret: &SecretKey, mask: &[u64], body: u64) -> u64 {
        let s = secret.coefficients();
        // Wrapping is exact: the inner product counts modulo 2^a only, and 2^a divides 2^64.
        // Coefficient 0 of a·s is a₀·s₀ − Σ aᵢ·s_{d−i}, since X^d is −1.
        let rest = mask[1..].iter().zip(s[1..].iter().rev());
        let sum = rest
            .map(|(&a, &s)| product(a, s))
            .fold(product(mask[0], s[0]), u64::wrapping_sub);
        self.phase(sum as i64, body)
    }

    fn phase(self, product: i64, body: u64) -> u64 {
        (body << (self.a - self.b)).wrapping_add(product as u64) & ((1 << self.a) - 1)
    }

    /// Decodes a phase to the nearest multiple of 2^a / 2^bits.
    ///
    /// Returns the factor and the distance, in units of q/2^a. The distance distinguishes an
    /// encryption of a message modulo 2^bits from noise.
    ///
    /// # Panics
    /// In debug builds, if `bits` is not below `a`.
    pub fn nearest(self, phase: u64, bits: u32) -> (u64, u64) {
        let log2_scale = self.a - bits;
        let half = 1 << (log2_scale - 1);
        let shifted = phase + half;
        (
            (shifted >> log2_scale) & ((1 << bits) - 1),
            (shifted & (2 * half - 1)).abs_diff(half),
        )
    }

    /// Decrypts a mask of d words and body coefficients to round((b·2^(a − b) + a·s)·p / 2^a)
    /// modulo p. Returns the words, and true if every error is within the plaintext's share. The
    /// time does not depend on either.
    pub fn decrypt(
        self,
        ring: &Ring,
        secret: &SecretKey,
        plaintext: Plaintext,
        mask: &[u64],
        body: &[u64],
    ) -> (Zeroizing<Vec<u32>>, bool) {
        let half = 1 << (self.a - 1);
        let most = (plaintext.fill * half as f64) as u64;
        let phases = self.phases(ring, secret, mask, body);

        let mut within = true;
        let mut words = Zeroizing::new(Vec::<u32>::with_capacity(phases.len()));
        for &phase in phases.iter() {
            // Phase and p are below 2³², so the sum stays below 2⁶⁴.
            let shifted = phase * plaintext.modulus + half;
            // Every phase is tested, without a branch: the time must not tell which error is too
            // large.
            within &= (shifted & (2 * half - 1)).abs_diff(half) <= most;

            // The rounded value is at most p, which stands for zero; a comparison avoids a
            // division.
            let rounded = shifted >> self.a;
            words.push(rounded as u32 * u32::from(rounded < plaintext.modulus));
        }

        (words, within)
    }
}

/// Returns a·s modulo 2⁶⁴.
fn product(a: u64, s: i32) -> u64 {
    a.wrapping_mul(i64::from(s) as u64)
}

fn switch(ring: &impl CyclotomicRing, bits: u32, words: &[u64]) -> Vec<u64> {
    let switch = PowerSwitch::new(ring.modulus(), bits);
    words.iter().map(|&word| switch.down(word)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use papir_ring::prg::Seed;
    use rand_core::SeedableRng;

    use super::*;
    use crate::params::{DEFAULT_PRIMES, Literal, RlweParams};

    #[test]
    fn first_phase_equals_the_first_of_all_phases() {
        let literal = Literal {
            degree: 64,
            primes: DEFAULT_PRIMES,
            sigma: 6.4,
        };
        let params = RlweParams::insecure(literal).unwrap();
        let secret = SecretKey::generate(&params, &mut ChaCha20Rng::from_seed([1; 32]));
        let bits = ResponseBits { a: 18, b: 10 };
        let uniform = params.ring().uniform(&mut Seed([2; 32]).expand("mask", 0));
        let mask = bits.mask(params.ring(), &params.ring().inverse(uniform));
        let phases = bits.phases(params.ring(), &secret, &mask, &[700; 64]);

        assert_eq!(bits.first_phase(&secret, &mask, 700), phases[0]);
        assert!(phases.iter().all(|&phase| phase < 1 << 18) && phases[1] != phases[0]);
    }

    #[test]
    fn nearest_multiples_wrap_modulo_the_plaintext_modulus() {
        let bits = ResponseBits { a: 18, b: 10 };
        for (phase, expected) in [
            (0, (0, 0)),
            (1, (0, 1)),
            (1023, (0, 1023)),
            (1024, (1, 1024)),
            (2048 * 5 - 3, (5, 3)),
            ((1 << 18) - 7, (0, 7)),
        ] {
            assert_eq!(bits.nearest(phase, 7), expected, "{phase}");
        }
    }
}
