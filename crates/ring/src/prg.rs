//! Public expansion of seeds, and secret randomness.
//!
//! The two never mix. Anyone can repeat the public expansion of a [`Seed`]; keys and noise come
//! from [`SecretRng`].
//!
//! Public expansion is AES-128 in counter mode. The key and initial counter of a stream are derived
//! from the seed, a label and an index with BLAKE3's key derivation, so no two masks share a
//! stream. The construction is fixed for a wire version: a test pins its first bytes.

use aes::Aes128;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher, StreamCipherSeek};
use rand_core::{CryptoRng, Infallible, SeedableRng, TryCryptoRng, TryRng};
use zeroize::{Zeroize, Zeroizing};

/// BLAKE3's context string, which separates these keys from all other uses of the hash.
const CONTEXT: &str = "papir 2026 public expansion v1";
/// The context string for derivation from secrets.
const SECRET_CONTEXT: &str = "papir 2026 secret derivation v1";
/// Words that rejection sampling draws at a time.
const BATCH: usize = 1024;

/// A public seed of 256 bits, from which all parties expand the same masks. It is not a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seed(pub [u8; 32]);

impl Seed {
    /// Draws a seed. It becomes public, so the output of `rng` must not reveal its state.
    pub fn random(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = [0; 32];
        rng.fill_bytes(&mut seed);
        Self(seed)
    }

    /// The stream of this seed for the purpose `label` and the number `index` within it.
    ///
    /// Different (seed, label, index) give independent streams.
    pub fn expand(&self, label: &str, index: u64) -> Expander {
        let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
        hasher.update(&self.0);
        // The length keeps labels apart from the index that follows.
        hasher
            .update(&(label.len() as u64).to_le_bytes())
            .update(label.as_bytes());
        hasher.update(&index.to_le_bytes());

        let mut key = [0; 16];
        let mut counter = [0; 16];
        let mut output = hasher.finalize_xof();
        output.fill(&mut key);
        output.fill(&mut counter);

        Expander {
            stream: Ctr128BE::new(&key.into(), &counter.into()),
        }
    }
}

/// A public stream of uniform bytes: AES-128 in counter mode.
pub struct Expander {
    stream: Ctr128BE<Aes128>,
}

impl Expander {
    /// Fills `out` with the next bytes of the stream.
    pub fn fill(&mut self, out: &mut [u8]) {
        out.fill(0);
        self.add_to(out);
    }

    /// Adds the next bytes of the stream to `bytes` modulo 2. Adding them twice removes them.
    pub fn add_to(&mut self, bytes: &mut [u8]) {
        self.stream.apply_keystream(bytes);
    }

    /// Moves to a byte of the stream, counted from its start.
    pub fn seek(&mut self, byte_offset: u64) {
        self.stream.seek(byte_offset);
    }

    /// Fills `out` with uniform 32-bit words: the stream's bytes, little-endian.
    pub fn uniform_bits(&mut self, out: &mut [u32]) {
        self.fill(bytemuck::cast_slice_mut(out));
        out.iter_mut().for_each(|word| *word = u32::from_le(*word));
    }

    /// Fills `out` with uniform residues below `modulus`, without bias.
    ///
    /// Takes 32-bit words of the stream in order, keeps their low ⌈log₂ modulus⌉ bits, and rejects
    /// numbers that are not below the modulus. Runs in variable time, as its output is public.
    ///
    /// # Panics
    /// If `modulus` is zero or at least 2³¹.
    pub fn uniform_u32(&mut self, modulus: u32, out: &mut [u32]) {
        assert!(
            modulus > 0 && modulus < 1 << 31,
            "modulus {modulus}: expected 1 to 2^31 - 1"
        );
        let mask = modulus.next_power_of_two() - 1;
        // The modulus exceeds half of the mask's range, so at least every second word is kept on
        // average.
        keep_below(modulus, out, &mut [0; BATCH], |batch| {
            self.uniform_bits(batch);
            batch.iter_mut().for_each(|word| *word &= mask);
        });
    }

    /// [`Expander::uniform_u32`] for a modulus up to 2⁶², from 64-bit words of the stream.
    ///
    /// # Panics
    /// If `modulus` is zero or above 2⁶².
    pub fn uniform_u64(&mut self, modulus: u64, out: &mut [u64]) {
        assert!(
            modulus > 0 && modulus <= 1 << 62,
            "modulus {modulus}: expected 1 to 2^62"
        );
        let mask = modulus.next_power_of_two() - 1;
        keep_below(modulus, out, &mut [0; BATCH], |batch| {
            self.fill(bytemuck::cast_slice_mut(batch));
            batch
                .iter_mut()
                .for_each(|word| *word = u64::from_le(*word) & mask);
        });
    }
}

/// Fills `out` with the words that `draw` writes and that are below `bound`, in order.
///
/// Never draws more words than are missing, so no words are lost after the last one, and the result
/// does not depend on the size of a batch.
fn keep_below<W: Copy + PartialOrd>(
    bound: W,
    out: &mut [W],
    batch: &mut [W; BATCH],
    mut draw: impl FnMut(&mut [W]),
) {
    let mut done = 0;
    while done < out.len() {
        let batch = &mut batch[..BATCH.min(out.len() - done)];
        draw(batch);

        for &word in &*batch {
            out[done] = word;
            // A rejected word is overwritten by the next one.
            done += usize::from(word < bound);
            if done == out.len() {
                break;
            }
        }
    }
}

/// Generator of secrets: ChaCha20, seeded once from the caller's generator and erased on drop.
///
/// Keys and noise are not drawn from the caller's generator directly, so its other outputs, such as
/// public seeds, reveal nothing about them.
pub struct SecretRng {
    rng: chacha20::ChaCha20Rng,
}

impl SecretRng {
    /// A generator with a fresh 256-bit seed from `rng`.
    pub fn new(rng: &mut dyn CryptoRng) -> Self {
        let mut seed = Zeroizing::new([0; 32]);
        rng.fill_bytes(seed.as_mut_slice());
        Self {
            rng: chacha20::ChaCha20Rng::from_seed(*seed),
        }
    }

    /// Derives the generator for the purpose `label` from a secret of 256 bits.
    ///
    /// The same secret and label always give the same generator.
    pub fn derived(secret: &[u8; 32], label: &str) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(SECRET_CONTEXT);
        hasher.update(secret).update(label.as_bytes());

        let mut seed = Zeroizing::new([0; 32]);
        let mut output = hasher.finalize_xof();
        output.fill(seed.as_mut_slice());

        // Erased: the seed can be computed again from either.
        output.zeroize();
        hasher.zeroize();

        Self {
            rng: chacha20::ChaCha20Rng::from_seed(*seed),
        }
    }
}

impl TryRng for SecretRng {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        self.rng.try_next_u32()
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        self.rng.try_next_u64()
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        self.rng.try_fill_bytes(out)
    }
}

impl TryCryptoRng for SecretRng {}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    const SEED: Seed = Seed([7; 32]);

    fn bytes(mut expander: Expander, count: usize) -> Vec<u8> {
        let mut out = vec![1; count];
        expander.fill(&mut out);
        out
    }

    #[test]
    fn golden_bytes() {
        let expected = [
            204, 199, 192, 173, 111, 207, 0, 220, 91, 156, 48, 59, 10, 98, 37, 99,
        ];
        assert_eq!(bytes(SEED.expand("golden", 5), 16), expected);
    }

    #[test]
    fn bytes_of_the_stream_are_added_modulo_2() {
        let stream = bytes(SEED.expand("added", 0), 100);
        let expected: Vec<u8> = (0..100)
            .zip(&stream[..])
            .map(|(i, byte)| i ^ byte)
            .collect();

        let mut added: Vec<u8> = (0..100).collect();
        let mut expander = SEED.expand("added", 0);
        expander.add_to(&mut added[..33]);
        expander.add_to(&mut added[33..]);
        assert_eq!(added, expected);
    }

    #[test]
    fn seed_label_and_index_each_change_the_stream() {
        let streams = [
            SEED.expand("a", 0),
            SEED.expand("a", 1),
            SEED.expand("b", 0),
            SEED.expand("", 0),
            SEED.expand("a\0", 0),
            Seed([8; 32]).expand("a", 0),
        ];
        let streams: Vec<_> = streams
            .into_iter()
            .map(|stream| bytes(stream, 16))
            .collect();
        for (i, a) in streams.iter().enumerate() {
            assert!(streams[..i].iter().all(|b| a != b), "stream {i} repeats");
        }
    }

    #[test]
    fn seeking_and_pieces_give_the_same_stream() {
        let whole = bytes(SEED.expand("a", 0), 1000);
        let mut expander = SEED.expand("a", 0);
        for start in [501, 0, 16, 999] {
            let mut part = vec![0; (1000 - start).min(77)];
            expander.seek(start as u64);
            expander.fill(&mut part);
            assert_eq!(part, whole[start..start + part.len()], "from {start}");
        }
    }

    #[test]
    fn residues_follow_the_order_of_the_stream() {
        for modulus in [
            1,
            2,
            3,
            65_537,
            (1 << 27) + 1,
            (1 << 28) - 57,
            (1 << 31) - 1,
        ] {
            let mut found = vec![0; 5000];
            let mut expander = SEED.expand("residues", 0);
            expander.uniform_u32(modulus, &mut found);
            let mut next = [0];
            expander.uniform_bits(&mut next);
            let mut words = vec![0; 12_000];
            SEED.expand("residues", 0).uniform_bits(&mut words);
            let bits = u64::from(modulus - 1)
                .checked_ilog2()
                .map_or(0, |top| top + 1);
            let below = |word: &u32| (word & ((1u64 << bits) - 1) as u32) < modulus;
            let last = words
                .iter()
                .enumerate()
                .filter(|(_, word)| below(word))
                .nth(4999)
                .map(|(at, _)| at);
            let expected: Vec<u32> = words
                .iter()
                .filter(|word| below(word))
                .map(|word| word & ((1u64 << bits) - 1) as u32)
                .collect();
            assert_eq!(found, expected[..5000], "modulus {modulus}");
            assert_eq!(
                last.map(|at| words[at + 1]),
                Some(next[0]),
                "modulus {modulus}: words lost"
            );
        }
    }

    #[test]
    fn wide_residues_follow_the_order_of_the_stream() {
        for modulus in [1, 3, (1 << 50) - 16_383, (1 << 49) + 1, 1 << 62] {
            let mut found = vec![0; 3000];
            SEED.expand("residues", 0).uniform_u64(modulus, &mut found);
            let mut bytes = vec![0; 8 * 9000];
            SEED.expand("residues", 0).fill(&mut bytes);
            let words = bytes
                .as_chunks::<8>()
                .0
                .iter()
                .map(|word| u64::from_le_bytes(*word));
            let bits = modulus.next_power_of_two().trailing_zeros();
            let below = words
                .map(|word| word & ((1 << bits) - 1))
                .filter(|&word| word < modulus);
            assert_eq!(
                found,
                below.take(3000).collect::<Vec<_>>(),
                "modulus {modulus}"
            );
        }
    }

    #[test]
    fn residues_are_uniform() {
        let modulus = 10;
        let mut values = vec![0; 100_000];
        SEED.expand("uniform", 0).uniform_u32(modulus, &mut values);
        let mut counts = [0f64; 10];
        values
            .iter()
            .for_each(|&value| counts[value as usize] += 1.0);
        let chi2: f64 = counts
            .iter()
            .map(|count| (count - 10_000.0).powi(2) / 10_000.0)
            .sum();

        assert!(chi2 < 35.0, "chi-square {chi2} with 9 degrees of freedom");
    }

    #[test]
    fn derived_secrets_depend_on_the_secret_and_the_label() {
        let word = |secret, label| SecretRng::derived(&[secret; 32], label).next_u64();

        assert_eq!(word(1, "a"), word(1, "a"));
        let words = [word(1, "a"), word(2, "a"), word(1, "b"), word(1, "")];
        for (i, found) in words.iter().enumerate() {
            assert!(
                words[..i].iter().all(|other| other != found),
                "word {i} repeats"
            );
        }
    }

    #[test]
    fn the_secret_stream_differs_from_the_callers() {
        let mut caller = chacha20::ChaCha20Rng::from_seed([1; 32]);
        let mut secret = SecretRng::new(&mut caller);
        let mut again = chacha20::ChaCha20Rng::from_seed([1; 32]);
        let mut first = SecretRng::new(&mut again);
        assert_eq!(secret.next_u64(), first.next_u64());
        assert_eq!(caller.next_u64(), again.next_u64());
        assert_ne!(secret.next_u64(), caller.next_u64());
    }
}
