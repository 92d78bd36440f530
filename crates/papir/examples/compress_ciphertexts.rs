//! Compression of ciphertexts of another scheme.
//!
//! This is section 3 of the ZipPIR paper (Akhavan Mahdavi, Diao, Kerschbaum). A service computes on
//! LWE encryptions like the encryptions of TFHE, and sends the results. A result has 5 KB, and the
//! client needs a few bits of it. A *compression key* is the client's LWE secret, encrypted under
//! its own Paillier key. With it, the service computes the phases of its results under Paillier:
//! 768 bytes for up to 41 results. The same key serves coefficients of RLWE encryptions under that
//! secret.
//!
//! `cargo run --release -p papir --example compress_ciphertexts`

use papir::paillier::compress::{
    CompressionKey, KeyKind, Layout, Lwe, LweParams, Scale, decode, decompress,
};
use papir::paillier::{Params, Result, SecretKey};
use papir::system_rng;
use rand_core::CryptoRng;

/// n of TFHE's encryptions of bits. Their q is 2⁶⁴, so words wrap.
const N: usize = 630;
const Q: u128 = 1 << 64;
/// p, the number of messages: 0 to 15.
const P: u64 = 16;

fn main() -> Result<()> {
    let mut rng = system_rng();
    let messages = [3, 14, 15, 9, 2, 6, 5];
    let (uncompressed, compressed, found) = exchange(Params::PAILLIER_3072, &messages, &mut rng)?;
    println!(
        "{} encryptions of {uncompressed} bytes in {compressed} bytes: {found:?}",
        messages.len()
    );
    Ok(())
}

/// Encrypts messages, lets the service compress the encryptions, and decrypts the result. Returns
/// the bytes before and after, and the messages.
fn exchange(
    params: Params,
    messages: &[u64],
    rng: &mut dyn CryptoRng,
) -> Result<(usize, usize, Vec<u64>)> {
    // The client has an LWE secret, here of bits, and makes a Paillier key. It sends the public key and
    // the compression key, once.
    let lwe = LweParams::new(N, Q, KeyKind::Binary)?;
    let secret: Vec<u64> = (0..N).map(|_| rng.next_u64() & 1).collect();
    let key = SecretKey::generate(params, rng)?;
    let compression = CompressionKey::generate(&key, &lwe, &secret, rng)?;
    let layout = Layout::new(key.public(), lwe, Scale::Separate)?;

    // The service has encryptions of its results, and compresses them.
    let results: Vec<Lwe> = messages
        .iter()
        .map(|&message| encrypt(&secret, message, rng))
        .collect();
    let ciphertexts = compression.compress(&layout, &results)?;

    // The client decrypts the phases Δ·message + error, and rounds them.
    let phases = decompress(&key, &layout, &ciphertexts, results.len())?;
    let found = phases
        .iter()
        .filter_map(|&phase| decode(phase, Q, P))
        .collect();
    let compressed = ciphertexts.len() * params.ciphertext_bytes();
    Ok((
        results.len() * (N + 1) * size_of::<u64>(),
        compressed,
        found,
    ))
}

/// Makes an LWE encryption with a small error.
fn encrypt(secret: &[u64], message: u64, rng: &mut dyn CryptoRng) -> Lwe {
    let mask: Vec<u64> = secret.iter().map(|_| rng.next_u64()).collect();
    let product = mask
        .iter()
        .zip(secret)
        .fold(0u64, |sum, (a, s)| sum.wrapping_add(a.wrapping_mul(*s)));
    let scaled = message << (u64::BITS - P.ilog2());
    let error = rng.next_u64() >> 16;
    Lwe {
        mask,
        body: product.wrapping_add(scaled).wrapping_add(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_results_are_the_messages() -> Result<()> {
        let messages: Vec<u64> = (0..P).collect();
        let (before, after, found) =
            exchange(Params::insecure(768, 1)?, &messages, &mut system_rng())?;
        assert_eq!(found, messages);
        assert!(20 * after < before, "{before} bytes in {after}");
        Ok(())
    }
}
