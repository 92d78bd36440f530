//! Trial division by small primes.

use crypto_bigint::{BoxedUint, Limb, NonZero};

/// Exclusive bound on the prime factors that public moduli are checked for.
pub const TRIAL_BOUND: u32 = 1 << 16;

/// Returns the primes below [`TRIAL_BOUND`], by the sieve of Eratosthenes.
fn small_primes() -> impl Iterator<Item = u32> {
    const BOUND: usize = TRIAL_BOUND as usize;

    let mut composite = vec![false; BOUND];
    for i in (2..).take_while(|i| i * i < BOUND) {
        if !composite[i] {
            (i * i..BOUND)
                .step_by(i)
                .for_each(|multiple| composite[multiple] = true);
        }
    }

    (2..TRIAL_BOUND).filter(move |&i| !composite[i as usize])
}

/// Returns the smallest prime below [`TRIAL_BOUND`] that divides `number`, in variable time.
pub(crate) fn smallest_factor(number: &BoxedUint) -> Option<u32> {
    small_primes().find(|&prime| divides(prime, number))
}

/// Returns whether `prime` divides `number`, in variable time.
fn divides(prime: u32, number: &BoxedUint) -> bool {
    let prime = NonZero::new(Limb::from(prime)).into_option();
    prime.is_some_and(|prime| number.rem_limb(prime) == Limb::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sieve_finds_all_small_primes() {
        assert_eq!(small_primes().count(), 6542);
        assert_eq!(small_primes().last(), Some(65_521));
    }

    #[test]
    fn factors_are_found_only_below_the_bound() {
        assert_eq!(
            smallest_factor(&BoxedUint::from(65_521u128 * 65_537 * 65_539)),
            Some(65_521)
        );
        assert_eq!(smallest_factor(&BoxedUint::from(3u128 * 65_521)), Some(3));
        assert_eq!(smallest_factor(&BoxedUint::from(65_537u128 * 65_539)), None);
    }
}
