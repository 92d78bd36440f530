//! RLWE encryptions as answers carry them: mask and body switched to few bits each (InsPIRe, Lemma 9,
//! one modulus each), and what the client reads from them.

use papir_ring::{Coefficients, Poly, Ring};
use zeroize::Zeroizing;

use crate::mod_switch::PowerSwitch;
use crate::secret::SecretKey;

/// Deviations of the product of mask and secret that must stay below q/2.
const DEVIATIONS: f64 = 16.0;

/// Bits of a coefficient of an answer's mask and body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResponseBits {
    /// Of the mask.
    pub a: u32,
    /// Of the body; no more than of the mask.
    pub b: u32,
}

impl ResponseBits {
    /// Whether decryption is exact for a ring of this degree and modulus and a secret of this standard
    /// deviation: the mask times the secret, over the integers, must stay below q/2.
    pub fn fit(self, degree: usize, modulus: f64, sigma: f64) -> bool {
        let product = 2f64.powi(self.a as i32) * sigma * (degree as f64).sqrt() * DEVIATIONS;
        (1..=32).contains(&self.a) && (1..=self.a).contains(&self.b) && product < modulus / 2.0
    }

    /// A mask modulo q, switched: d words.
    pub fn mask(self, ring: &Ring, a: &Poly<Coefficients>) -> Vec<u64> {
        switch(ring, self.a, &ring.to_words(a))
    }

    /// The words of bodies modulo q, switched.
    pub fn body(self, ring: &Ring, words: &[u64]) -> Vec<u64> {
        switch(ring, self.b, words)
    }

    /// What the encryption of a mask of d words and as many body coefficients as are given decrypts to:
    /// round((b·2^(a − b) + a·s)·p / 2^a) modulo the plaintext modulus p < 2³².
    pub fn decrypt(
        self,
        ring: &Ring,
        secret: &SecretKey,
        plaintext: u64,
        mask: &[u64],
        body: &[u64],
    ) -> Zeroizing<Vec<u32>> {
        // |a·s| stays below q/2, so the centred product is the product over the integers.
        let product = ring.inverse(ring.mul(&ring.forward(ring.from_words(mask)), secret.values()));
        let product = Zeroizing::new(ring.to_centred(&Zeroizing::new(product)));
        let word = |(&product, &body): (&i64, &u64)| {
            let phase = (body << (self.a - self.b)).wrapping_add(product as u64) & ((1 << self.a) - 1);
            let rounded = (phase * plaintext + (1 << (self.a - 1))) >> self.a;
            // At most p, which stands for zero: no division.
            rounded as u32 * u32::from(rounded < plaintext)
        };
        Zeroizing::new(product.iter().zip(body).map(word).collect())
    }
}

fn switch(ring: &Ring, bits: u32, words: &[u64]) -> Vec<u64> {
    let switch = PowerSwitch::new(ring.modulus(), bits);
    words.iter().map(|&word| switch.down(word)).collect()
}
