//! The ring `Z_Q[X]/(X^d + 1)` for a product Q of many primes.
//!
//! Numbers are residues modulo each prime (a residue number system), for ciphertext moduli of
//! hundreds of bits. A polynomial is a slice of words: d for each prime, in the order of the
//! primes.

use papir_kernels::Backend;
use papir_kernels::ntt::NttTable;
use papir_kernels::pointwise::Modulus;

use crate::prime::is_ntt_prime;
use crate::ring::{RingError, ntt_table};

/// The ring with its precomputed tables.
#[derive(Debug, Clone)]
pub struct RnsRing {
    backend: Backend,
    degree: usize,
    tables: Vec<NttTable>,
}

impl RnsRing {
    /// The ring of `degree` coefficients modulo the product of these primes.
    ///
    /// # Errors
    /// [`RingError`] if the degree is not supported, there are no primes, or a modulus is not a
    /// prime from 3 to 2²⁸, has no 2d-th root of unity or is given twice.
    pub fn new(degree: usize, primes: &[u32]) -> Result<Self, RingError> {
        // Degree and primes may come from the wire, so they are checked before any computation.
        if !degree.is_power_of_two() || !(16..=65_536).contains(&degree) {
            return Err(RingError::Degree(degree));
        }
        if primes.is_empty() {
            return Err(RingError::NotPrime(0));
        }

        // A prime p given twice would leave residues that determine numbers only modulo Q/p.
        for (i, &prime) in primes.iter().enumerate() {
            if !is_ntt_prime(prime) {
                return Err(RingError::NotPrime(prime));
            }
            if primes[..i].contains(&prime) {
                return Err(RingError::SamePrime(prime));
            }
        }

        let tables = primes.iter().map(|&prime| ntt_table(prime, degree));
        Ok(Self {
            backend: Backend::current(),
            degree,
            tables: tables.collect::<Result<_, _>>()?,
        })
    }

    /// The degree d.
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The number of primes.
    pub fn len(&self) -> usize {
        self.tables.len()
    }

    /// Always false, as a ring has at least one prime.
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// The instructions of the transforms.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// The transforms modulo each prime, in order.
    pub fn tables(&self) -> &[NttTable] {
        &self.tables
    }

    /// The primes with their reduction constants, in order.
    pub fn moduli(&self) -> impl ExactSizeIterator<Item = Modulus> + '_ {
        self.tables
            .iter()
            .map(|table| Modulus::new(table.modulus()))
    }

    /// The primes.
    pub fn primes(&self) -> Vec<u32> {
        self.tables.iter().map(NttTable::modulus).collect()
    }

    /// log₂ Q.
    pub fn log2_modulus(&self) -> f64 {
        log2_product(&self.primes())
    }
}

/// log₂ of the product of `primes`.
pub fn log2_product(primes: &[u32]) -> f64 {
    primes.iter().map(|&prime| f64::from(prime).log2()).sum()
}

/// The product of `factors` modulo a prime below 2³².
pub fn product_mod(factors: &[u32], prime: u32) -> u32 {
    let prime = u64::from(prime);
    factors.iter().fold(1 % prime, |product, &factor| {
        product * u64::from(factor) % prime
    }) as u32
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::prime::ntt_primes;

    #[test]
    fn rings_are_checked() {
        let primes = ntt_primes(27, 64, 5);
        let ring = RnsRing::new(64, &primes).unwrap();

        assert_eq!(
            (ring.degree(), ring.len(), ring.primes()),
            (64, 5, primes.clone())
        );
        assert!((ring.log2_modulus() - 135.0).abs() < 0.01);
        assert!(matches!(
            RnsRing::new(60, &primes),
            Err(RingError::Degree(60))
        ));
        assert!(matches!(RnsRing::new(64, &[]), Err(RingError::NotPrime(0))));
        assert!(matches!(
            RnsRing::new(64, &[97]),
            Err(RingError::NoRoot { prime: 97, .. })
        ));
        assert!(matches!(
            RnsRing::new(16, &[97, 129]),
            Err(RingError::NotPrime(129))
        ));
        assert!(matches!(
            RnsRing::new(16, &[97, 193, 97]),
            Err(RingError::SamePrime(97))
        ));
    }

    #[test]
    fn products_modulo_primes() {
        assert_eq!(product_mod(&[10, 11, 12], 97), 1320 % 97);
        assert_eq!(product_mod(&[], 97), 1);
    }
}
