//! Uniform ciphertexts from a seed, and encryption by offsets.
//!
//! A uniform ciphertext c encrypts a uniform plaintext r that only the owner of the secret key
//! knows. So c and the *offset* μ − r encrypt μ: anyone computes c·(1 + m)^(μ − r), and only a
//! residue modulo mˢ is sent, half the size of a Paillier ciphertext (ZipPIR, section 4.1, after
//! Beck). The c of a seed, label and number must hide only **one** message: two offsets with the
//! same c reveal the difference of their messages.

use papir_ring::prg::{Expander, Seed};

use crate::ciphertext::{Ciphertext, Plaintext};
use crate::error::{Error, Result};
use crate::integer::{from_bytes, less, to_words};
use crate::public::PublicKey;
use crate::secret::SecretKey;

/// Expands `count` uniform nonzero residues modulo mˢ⁺¹ from a public seed: encryptions of uniform
/// plaintexts that only the owner of the secret key knows.
///
/// `label` is the purpose and `number` counts within it. The stream of the seed under both is cut
/// into numbers of the size of a ciphertext, bits above the length of mˢ⁺¹ are dropped, and
/// zero and numbers not below mˢ⁺¹ are skipped.
///
/// A residue is not a unit with probability 2/√m; this is not checked.
pub fn random_ciphertexts(
    public: &PublicKey,
    seed: &Seed,
    label: &str,
    number: u64,
    count: usize,
) -> Vec<Ciphertext> {
    let words = public.params().ciphertext_words();
    let modulus = to_words(public.cipher().modulus(), words);
    let mut stream = seed.expand(label, number);

    (0..count)
        .map(|_| Ciphertext::new(next_residue(&mut stream, &modulus)))
        .collect()
}

impl SecretKey {
    /// Returns the public offsets μ − r that turn uniform ciphertexts into encryptions of
    /// `plaintexts`.
    ///
    /// # Errors
    /// [`Error::Length`] if the numbers of ciphertexts and plaintexts differ.
    pub fn offsets(
        &self,
        uniform: &[Ciphertext],
        plaintexts: &[Plaintext],
    ) -> Result<Vec<Plaintext>> {
        Error::check_length("plaintexts", plaintexts.len(), uniform.len())?;
        let hidden = self.decrypt_many(uniform);

        let pairs = plaintexts.iter().zip(&hidden);
        Ok(pairs
            .map(|(plaintext, hidden)| self.public().plain_difference(plaintext, hidden))
            .collect())
    }
}

impl PublicKey {
    /// Returns the encryptions given by uniform ciphertexts and offsets.
    ///
    /// # Errors
    /// [`Error::Length`] if the numbers of ciphertexts and offsets differ.
    pub fn with_offsets(
        &self,
        uniform: &[Ciphertext],
        offsets: &[Plaintext],
    ) -> Result<Vec<Ciphertext>> {
        Error::check_length("offsets", offsets.len(), uniform.len())?;
        Ok(uniform
            .iter()
            .zip(offsets)
            .map(|(uniform, offset)| self.add_plain(uniform, offset))
            .collect())
    }
}

/// Returns the next nonzero residue in a stream.
fn next_residue(stream: &mut Expander, modulus: &[u64]) -> Vec<u64> {
    // Without the bits above the modulus, at least every second number is kept on average.
    let unused = modulus.last().map_or(0, |top| top.leading_zeros());
    let mut bytes = vec![0; 8 * modulus.len()];

    loop {
        // Rejection keeps the residues uniform; the stream is public, so its time may vary.
        stream.fill(&mut bytes);
        let mut words = to_words(&from_bytes(&bytes), modulus.len());
        if let Some(top) = words.last_mut() {
            *top &= u64::MAX >> unused;
        }

        if bool::from(less(&words, modulus)) && words.iter().any(|&word| word != 0) {
            return words;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_are_uniform_below_the_modulus() {
        let mut stream = Seed([1; 32]).expand("test", 0);

        let mut counts = [0; 5];
        for _ in 0..5000 {
            let residue = next_residue(&mut stream, &[6]);
            counts[residue[0] as usize - 1] += 1;
        }

        assert!(
            counts.iter().all(|&count| (850..1150).contains(&count)),
            "{counts:?}"
        );
    }
}
