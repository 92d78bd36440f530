//! LWE encryption and direct decryption: the oracle of compression.
#![allow(dead_code)]

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_paillier::compress::{KeyKind, Lwe, LweParams};
use papir_paillier::{Params, SecretKey};

pub(crate) fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// An insecure key.
pub(crate) fn small_key(bits: u32, s: u32) -> SecretKey {
    SecretKey::generate(Params::insecure(bits, s).unwrap(), &mut rng(1)).unwrap()
}

/// Draws a residue below q.
pub(crate) fn residue(q: u128, rng: &mut impl Rng) -> u64 {
    (u128::from(rng.next_u64()) % q) as u64
}

/// Returns x modulo q.
pub(crate) fn modulo(x: i128, q: u128) -> u64 {
    x.rem_euclid(q as i128) as u64
}

/// Draws a secret of the kind of `lwe`, as residues.
pub(crate) fn secret(lwe: &LweParams, rng: &mut impl Rng) -> Vec<u64> {
    let q = lwe.modulus();
    let entry = |rng: &mut _| match lwe.kind() {
        KeyKind::Binary => residue(2, rng),
        KeyKind::Ternary => modulo(i128::from(residue(3, rng)) - 1, q),
        KeyKind::Bounded(b) => modulo(
            i128::from(residue(2 * u128::from(b) + 1, rng)) - i128::from(b),
            q,
        ),
        KeyKind::General => residue(q, rng),
    };
    (0..lwe.dimension()).map(|_| entry(rng)).collect()
}

/// Returns ⟨a, s⟩ modulo q.
pub(crate) fn dot(lwe: &LweParams, mask: &[u64], secret: &[u64]) -> u64 {
    let q = lwe.modulus();
    let product = |(&a, &s): (&u64, &u64)| u128::from(a) * u128::from(s) % q;
    mask.iter()
        .zip(secret)
        .map(product)
        .fold(0, |sum, x| (sum + x) % q) as u64
}

/// Returns b − ⟨a, s⟩ modulo q.
pub(crate) fn phase(lwe: &LweParams, encryption: &Lwe, secret: &[u64]) -> u64 {
    modulo(
        i128::from(encryption.body) - i128::from(dot(lwe, &encryption.mask, secret)),
        lwe.modulus(),
    )
}

/// Returns an encryption with this phase.
pub(crate) fn encrypt(lwe: &LweParams, secret: &[u64], phase: i128, rng: &mut impl Rng) -> Lwe {
    let mask: Vec<u64> = (0..lwe.dimension())
        .map(|_| residue(lwe.modulus(), rng))
        .collect();
    let body = modulo(i128::from(dot(lwe, &mask, secret)) + phase, lwe.modulus());
    Lwe { mask, body }
}

/// Returns a − b modulo q, centred.
pub(crate) fn difference(a: u64, b: u64, q: u128) -> i128 {
    let x = i128::from(modulo(i128::from(a) - i128::from(b), q));
    if x > q as i128 / 2 { x - q as i128 } else { x }
}
