//! RLWE encryption: (a, b) with a·s + b = message + error.

use papir_ring::{Coefficients, CyclotomicRing, Poly, Values, Word};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::params::RlweParams;
use crate::secret::SecretKey;

/// An RLWE encryption in coefficient form: mask a and body b.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rlwe<W: Word = u32> {
    /// The mask.
    pub a: Poly<Coefficients, W>,
    /// The body −a·s + error + message.
    pub b: Poly<Coefficients, W>,
}

/// Returns the body −a·s + e + message of an encryption of `message` under a public mask, in
/// values.
pub fn encrypt<R: CyclotomicRing>(
    params: &RlweParams<R>,
    secret: &SecretKey<R::Word>,
    mask: &Poly<Values, R::Word>,
    message: &Poly<Values, R::Word>,
    rng: &mut dyn CryptoRng,
) -> Poly<Values, R::Word> {
    let ring = params.ring();
    let mut errors = Zeroizing::new(vec![0; ring.degree()]);
    params.error().fill(rng, &mut errors);

    // The transformed errors become the body itself, so no copy of them is left to erase.
    let mut body = ring.forward(ring.from_signed(&errors));
    ring.add_assign(&mut body, message);

    let product = Zeroizing::new(ring.mul(mask, secret.values()));
    ring.sub_assign(&mut body, &product);
    body
}

impl<W: Word> Rlwe<W> {
    /// The noiseless encryption of zero.
    pub fn zero<R: CyclotomicRing<Word = W>>(ring: &R) -> Self {
        Self {
            a: ring.zero(),
            b: ring.zero(),
        }
    }

    /// `self += other`.
    pub fn add_assign<R: CyclotomicRing<Word = W>>(&mut self, ring: &R, other: &Self) {
        ring.add_assign(&mut self.a, &other.a);
        ring.add_assign(&mut self.b, &other.b);
    }

    /// `self -= other`.
    pub fn sub_assign<R: CyclotomicRing<Word = W>>(&mut self, ring: &R, other: &Self) {
        ring.sub_assign(&mut self.a, &other.a);
        ring.sub_assign(&mut self.b, &other.b);
    }

    /// Returns a·s + b: message plus error.
    pub fn phase<R: CyclotomicRing<Word = W>>(
        &self,
        ring: &R,
        secret: &SecretKey<W>,
    ) -> Poly<Coefficients, W> {
        let mut phase = ring.inverse(ring.mul(&ring.forward(self.a.clone()), secret.values()));
        ring.add_assign(&mut phase, &self.b);
        phase
    }
}
