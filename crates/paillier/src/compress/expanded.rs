//! Fast compression with an expanded key (ZipPIR, Algorithm 4).
//!
//! The expanded key has each encrypted digit of the secret raised to the powers 2^(w·k). A window
//! of w bits of a coefficient, at position k, is then an exponent below 2ʷ over its own base. Bases
//! with the same exponent are multiplied into the same bucket (Pippenger's method). The product of
//! the buckets' powers Π Bₑ^e takes two multiplications for each bucket: e = u·2^(w/2) + v, so it
//! is (Π Rᵤ^u)^(2^(w/2))·Π Cᵥ^v, where Rᵤ and Cᵥ are the products of the buckets in rows and
//! columns.
//!
//! Algorithm 4 is the case w = 1: a multiplication for every second bit of every coefficient. With
//! w = 8, one LWE encryption of 630 coefficients of 64 bits takes 5,400 multiplications instead of
//! 20,000, from 5,040 bases.

use super::combine::combine;
use super::key::CompressionKey;
use super::layout::Layout;
use super::lwe::{Linear, Lwe};
use crate::batch::Batch;
use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};

/// Maximum width of a window.
const MAXIMUM_WINDOW: u32 = 12;

/// A compression key with powers of its ciphertexts, for coefficients of limited size.
pub struct ExpandedKey {
    key: CompressionKey,
    bits: u32,
    window: u32,
    /// For each window, lowest first, an element for each base.
    powers: Vec<u64>,
}

/// Multiplications for one encryption with windows of w bits.
fn multiplications(n: usize, bits: u32, window: u32) -> u64 {
    n as u64 * u64::from(bits.div_ceil(window)) + 2 * (1 << window)
}

impl ExpandedKey {
    /// Expands a key for encryptions modulo q of at most `bits` bits, with the fastest window for a
    /// single encryption.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for more than 64 bits.
    pub fn new(key: CompressionKey, bits: u32) -> Result<Self> {
        if !(1..=64).contains(&bits) {
            return Err(Error::out_of_bounds(
                "bits of the coefficients",
                bits.into(),
                "1 to 64",
            ));
        }

        let n = key.ciphertexts().len();
        // Even widths only, since `weigh` splits a window into halves.
        let windows = (2..=MAXIMUM_WINDOW).step_by(2);
        let window = windows
            .min_by_key(|&window| multiplications(n, bits, window))
            .unwrap_or(2);

        let batch = key.public().batch();
        let mut next = batch.enter_ciphertexts(key.ciphertexts());
        let mut powers = next.clone();
        for _ in 1..bits.div_ceil(window) {
            batch.kernel().square_repeatedly(&mut next, window as usize);
            powers.extend_from_slice(&next);
        }

        Ok(Self {
            key,
            bits,
            window,
            powers,
        })
    }

    /// Memory of the expanded key in bytes.
    pub fn bytes(&self) -> usize {
        8 * self.powers.len()
    }

    /// Compresses encryptions in batches of one for each slot of the layout. Uses
    /// [`CompressionKey::compress`] if that takes fewer multiplications for their number.
    ///
    /// # Errors
    /// The errors of [`CompressionKey::compress`], and [`Error::OutOfBounds`] if q has more bits
    /// than the key is expanded for.
    pub fn compress(&self, layout: &Layout, encryptions: &[Lwe]) -> Result<Vec<Ciphertext>> {
        self.key.check(layout)?;
        let bits = layout.lwe().modulus_bits();
        if bits > self.bits {
            return Err(Error::out_of_bounds(
                "bits of q",
                bits.into(),
                format!("up to {}", self.bits),
            ));
        }

        // Long batches share the table of the direct method, which then is the faster one.
        let each = multiplications(layout.lwe().dimension(), bits, self.window);
        if self.key.multiplications(layout, encryptions.len()) < each * encryptions.len() as u64 {
            return self.key.compress(layout, encryptions);
        }

        let forms: Vec<Linear> = encryptions
            .iter()
            .map(|lwe| layout.lwe().linear(lwe))
            .collect::<Result<_>>()?;
        let products: Vec<u64> = forms
            .iter()
            .flat_map(|form| self.product(&form.coefficients))
            .collect();
        combine(self.key.public(), layout, &forms, &products)
    }

    /// Returns Π bᵢ^cᵢ as an element.
    fn product(&self, coefficients: &[u64]) -> Vec<u64> {
        let batch = self.key.public().batch();
        let buckets = fill_buckets(batch, &self.powers, &self.indices(coefficients));
        weigh(batch, &buckets, self.window)
    }

    /// Returns the indices of the bases for each exponent of a window.
    fn indices(&self, coefficients: &[u64]) -> Vec<Vec<u32>> {
        let mask = (1 << self.window) - 1;

        let mut buckets = vec![Vec::new(); 1 << self.window];
        for position in 0..self.bits.div_ceil(self.window) {
            let first = position as usize * coefficients.len();
            for (i, coefficient) in coefficients.iter().enumerate() {
                let digit = (coefficient >> (position * self.window)) & mask;
                buckets[digit as usize].push((first + i) as u32);
            }
        }

        // Powers with exponent zero are one.
        buckets[0].clear();
        buckets
    }
}

/// Returns the product of each bucket's bases. Buckets are processed in descending order of size,
/// so that buckets with a next base are always contiguous.
fn fill_buckets(batch: &Batch, bases: &[u64], buckets: &[Vec<u32>]) -> Vec<u64> {
    let kernel = batch.kernel();
    let limbs = batch.limbs();
    let mut order: Vec<usize> = (0..buckets.len()).collect();
    order.sort_by_key(|&bucket| std::cmp::Reverse(buckets[bucket].len()));

    let mut sorted = kernel.one().repeat(buckets.len());
    for round in 0..buckets[order[0]].len() {
        let next = order
            .iter()
            .map_while(|&bucket| buckets[bucket].get(round).copied());
        let indices: Vec<u32> = next.collect();

        if round == 0 {
            for (product, &index) in sorted.chunks_exact_mut(limbs).zip(&indices) {
                product.copy_from_slice(&bases[index as usize * limbs..][..limbs]);
            }
        } else {
            kernel.multiply_selected(&mut sorted[..indices.len() * limbs], bases, &indices);
        }
    }

    let mut products = vec![0; sorted.len()];
    for (product, &bucket) in sorted.chunks_exact(limbs).zip(&order) {
        products[bucket * limbs..][..limbs].copy_from_slice(product);
    }
    products
}

/// Returns Π Bₑ^e for buckets of every e below 2^`window`, an even number of bits.
fn weigh(batch: &Batch, buckets: &[u64], window: u32) -> Vec<u64> {
    let side = 1u32 << (window / 2);

    let mut lines = batch.kernel().one().repeat(2 * side as usize);
    for i in 0..side {
        let columns = (0..side).map(|line| i * side + line);
        let rows = (0..side).map(|line| line * side + i);
        let indices: Vec<u32> = columns.chain(rows).collect();
        batch
            .kernel()
            .multiply_selected(&mut lines, buckets, &indices);
    }

    // Columns represent the low bits of e, rows the high bits.
    let bits = bit_products(batch, &lines, window / 2);
    // The bits of the rows follow those of the columns, so one run of squarings weighs both.
    horner(batch, &bits)
}

/// Returns, for each bit of a line number, the product of the lines with that bit set: first for
/// columns, then for rows.
fn bit_products(batch: &Batch, lines: &[u64], bits: u32) -> Vec<u64> {
    let side = 1u32 << bits;

    let mut members: Vec<Vec<u32>> = Vec::new();
    for half in 0..2 {
        for bit in 0..bits {
            let lines = (0..side).filter(|line| line >> bit & 1 == 1);
            members.push(lines.map(|line| half * side + line).collect());
        }
    }

    let mut products = batch.kernel().one().repeat(members.len());
    // Half of the lines have a given bit set.
    for i in 0..side as usize / 2 {
        let indices: Vec<u32> = members.iter().map(|members| members[i]).collect();
        batch
            .kernel()
            .multiply_selected(&mut products, lines, &indices);
    }
    products
}

/// Returns Π xᵢ^(2^i).
fn horner(batch: &Batch, factors: &[u64]) -> Vec<u64> {
    let mut factors = factors.chunks_exact(batch.limbs()).rev();
    let mut product = factors.next().unwrap_or(batch.kernel().one()).to_vec();
    for factor in factors {
        batch.kernel().square(&mut product);
        batch.kernel().multiply(&mut product, factor);
    }
    product
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_ring::prg::Seed;

    use super::*;
    use crate::compress::{KeyKind, LweParams};
    use crate::{Params, PublicKey, random_ciphertexts};

    /// A modulus of 256 bits with unknown factors.
    fn public_key() -> PublicKey {
        let modulus = crate::integer::from_words(&[1, 2, 3, 9 << 60]);
        PublicKey::from_checked(Params::insecure(256, 1).unwrap(), modulus).unwrap()
    }

    fn naive(public: &PublicKey, bases: &[Ciphertext], exponents: &[u64]) -> Ciphertext {
        let powers = bases
            .iter()
            .zip(exponents)
            .map(|(base, &exponent)| public.multiply_plain(base, &[exponent]));
        powers.reduce(|a, b| public.add(&a, &b)).unwrap()
    }

    #[test]
    fn buckets_compute_the_product_of_powers() {
        let public = public_key();
        for (n, bits) in [(1, 1), (1, 64), (3, 11), (100, 64), (300, 43), (1000, 12)] {
            let bases = random_ciphertexts(&public, &Seed([1; 32]), "test", 0, n);
            let lwe = LweParams::new(n, 1 << bits, KeyKind::Binary).unwrap();
            let key = CompressionKey::from_ciphertexts(&public, &lwe, bases.clone()).unwrap();
            let expanded = ExpandedKey::new(key, bits).unwrap();

            let mut words = vec![0; n];
            Seed([2; 32])
                .expand("exponents", 0)
                .uniform_bits(&mut words);
            let largest = u64::MAX >> (64 - bits);
            let random = words
                .iter()
                .map(|&word| (u64::from(word) << 32 | u64::from(word)) & largest)
                .collect();

            for exponents in [random, vec![0; n], vec![largest; n], vec![1; n]] {
                let product = public
                    .batch()
                    .leave_ciphertexts(&expanded.product(&exponents));
                assert_eq!(
                    product,
                    [naive(&public, &bases, &exponents)],
                    "{n} bases, {bits} bits"
                );
            }
        }
    }
}
