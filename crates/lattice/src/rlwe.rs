//! RLWE encryption: (a, b) with a·s + b = message + error.

use papir_ring::{Coefficients, Poly, Ring, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::params::RlweParams;
use crate::secret::SecretKey;

/// An RLWE encryption in coefficient form: mask a and body b.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rlwe {
    /// The mask.
    pub a: Poly<Coefficients>,
    /// The body −a·s + error + message.
    pub b: Poly<Coefficients>,
}

/// Returns the body −a·s + e + message of an encryption of `message` under a public mask, in
/// values.
pub fn encrypt(
    params: &RlweParams,
    secret: &SecretKey,
    mask: &Poly<Values>,
    message: &Poly<Values>,
    rng: &mut dyn CryptoRng,
) -> Poly<Values> {
    let ring = params.ring();
    let mut errors = Zeroizing::new(vec![0; ring.degree()]);
    params.error().fill(rng, &mut errors);
    let mut body = ring.forward(ring.from_signed(&errors));
    ring.add_assign(&mut body, message);
    let product = Zeroizing::new(ring.mul(mask, secret.values()));
    ring.sub_assign(&mut body, &product);
    body
}

impl Rlwe {
    /// The noiseless encryption of zero.
    pub fn zero(ring: &Ring) -> Self {
        Self { a: ring.zero(), b: ring.zero() }
    }

    /// `self += other`.
    pub fn add_assign(&mut self, ring: &Ring, other: &Self) {
        ring.add_assign(&mut self.a, &other.a);
        ring.add_assign(&mut self.b, &other.b);
    }

    /// Returns a·s + b: message plus error.
    pub fn phase(&self, ring: &Ring, secret: &SecretKey) -> Poly<Coefficients> {
        let mut phase = ring.inverse(ring.mul(&ring.forward(self.a.clone()), secret.values()));
        ring.add_assign(&mut phase, &self.b);
        phase
    }
}
