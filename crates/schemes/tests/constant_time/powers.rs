//! Powers modulo a long integer, with hidden bases and exponents, as Paillier decryption computes
//! them.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_kernels::Backend;
use papir_kernels::bigint_mod::Modulus;
use rand_core::Rng;

use crate::memcheck::{hidden_bits, hide, is_running, reported, reveal, turn};

/// Words of the modulus.
const WORDS: usize = 12;
/// Bases that are raised together.
const BASES: usize = 3;

#[test]
fn powers_depend_on_neither_bases_nor_exponents() {
    let _turn = turn();
    let rng = &mut ChaCha20Rng::from_seed([5; 32]);
    let mut words = vec![0; WORDS];
    words.fill_with(|| rng.next_u64());
    words[0] |= 1;
    words[WORDS - 1] |= 1 << 63;
    let modulus = Modulus::new(Backend::current(), &words).unwrap();

    let mut integers = vec![0; BASES * WORDS];
    integers.fill_with(|| rng.next_u64());
    let mut exponent = vec![0; WORDS];
    exponent.fill_with(|| rng.next_u64());
    let expected = powers(&modulus, &integers, &exponent);

    hide(&mut integers);
    hide(&mut exponent);
    let (mut found, reports) = reported(|| powers(&modulus, &integers, &exponent));
    let bits = hidden_bits(bytemuck::cast_slice_mut(&mut found));
    assert!(bits > 0 || !is_running());
    reveal(&mut found);
    assert_eq!(found, expected);
    assert_eq!(reports, 0);
}

/// Raises integers to a power, modulo the modulus.
fn powers(modulus: &Modulus, integers: &[u64], exponent: &[u64]) -> Vec<u64> {
    let mut elements = vec![0; BASES * modulus.limbs()];
    modulus.enter(integers, WORDS, &mut elements);
    modulus.power(&mut elements, exponent, 64 * exponent.len());

    let mut powers = vec![0; BASES * modulus.words()];
    modulus.leave(&elements, &mut powers);
    powers
}
