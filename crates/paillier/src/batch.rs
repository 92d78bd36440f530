//! Batches of residues modulo a power, on the kernels.

use crypto_bigint::BoxedUint;
use papir_kernels::bigint_mod::{MAX_BITS, Modulus};
use zeroize::Zeroizing;

use crate::ciphertext::Ciphertext;
use crate::error::Result;
use crate::integer::{Residues, from_words, integer_power, kernel_modulus, to_words};

/// Ciphertexts that the fastest kernels process side by side; batches of a multiple waste no lane.
pub const LANES: usize = 8;

/// Arithmetic modulo a power of an odd number, on kernel elements.
pub(crate) struct Batch {
    kernel: Modulus,
    /// Words of a residue.
    words: usize,
    /// The modulus, if the kernel computes modulo a higher power.
    reduce: Option<Residues>,
}

impl Batch {
    /// Creates a batch modulo base^`power`.
    ///
    /// The kernels need half the work for square moduli. Odd powers too wide for the kernels are
    /// computed modulo the next square.
    pub(crate) fn of_power(base: &BoxedUint, power: u32) -> Result<Self> {
        let modulus = Zeroizing::new(integer_power(base, power));
        let bits = modulus.bits_precision();
        // Of the odd powers only m³ can be wide. Its next square m⁴ has the root m², of at most
        // 2·4,096 bits.
        let is_wide = bits as usize > MAX_BITS;
        let is_square = power.is_multiple_of(2) || is_wide;

        let root_power = if is_square { power.div_ceil(2) } else { power };
        let root = Zeroizing::new(integer_power(base, root_power));
        let words = (root.bits_precision() / 64) as usize;
        let kernel = kernel_modulus(&Zeroizing::new(to_words(&root, words)), is_square)?;

        let reduce = if is_square && !power.is_multiple_of(2) {
            // Powers of a key's prime are within the kernels' limit: this one is public.
            Some(Residues::public((*modulus).clone())?)
        } else {
            None
        };
        Ok(Self {
            kernel,
            words: (bits / 64) as usize,
            reduce,
        })
    }

    pub(crate) fn kernel(&self) -> &Modulus {
        &self.kernel
    }

    /// Words of an element.
    pub(crate) fn limbs(&self) -> usize {
        self.kernel.limbs()
    }

    /// Converts integers of `words` words, not necessarily reduced, to elements.
    fn enter(&self, integers: &[u64], words: usize) -> Zeroizing<Vec<u64>> {
        let mut elements = Zeroizing::new(vec![0; integers.len() / words * self.limbs()]);
        self.kernel.enter(integers, words, &mut elements);
        elements
    }

    /// Converts elements to residues.
    fn leave(&self, elements: &[u64]) -> Zeroizing<Vec<u64>> {
        let words = self.kernel.words();
        let mut integers = Zeroizing::new(vec![0; elements.len() / self.limbs() * words]);
        self.kernel.leave(elements, &mut integers);

        // The kernel drops leading zero words; residues have the length given by the key size.
        let mut residues = Zeroizing::new(Vec::with_capacity(integers.len() / words * self.words));
        for integer in integers.chunks(words) {
            residues.extend_from_slice(&self.residue(integer));
        }
        residues
    }

    /// Converts an integer of the kernel to a residue.
    fn residue(&self, integer: &[u64]) -> Zeroizing<Vec<u64>> {
        let number = Zeroizing::new(from_words(integer));
        let reduced = self
            .reduce
            .as_ref()
            .map(|modulus| Zeroizing::new(modulus.reduce(&number)));
        Zeroizing::new(to_words(reduced.as_ref().unwrap_or(&number), self.words))
    }

    /// Converts ciphertexts to elements.
    pub(crate) fn enter_ciphertexts(&self, ciphertexts: &[Ciphertext]) -> Vec<u64> {
        let words: Vec<u64> = ciphertexts
            .iter()
            .flat_map(|ciphertext| ciphertext.words())
            .copied()
            .collect();
        // Ciphertexts are public, so their elements leave the wrapper that would erase them.
        std::mem::take(&mut *self.enter(&words, self.words))
    }

    /// Converts elements to ciphertexts.
    pub(crate) fn leave_ciphertexts(&self, elements: &[u64]) -> Vec<Ciphertext> {
        self.leave(elements)
            .chunks(self.words)
            .map(|words| Ciphertext::new(words.to_vec()))
            .collect()
    }

    /// Raises residues to a power, in time independent of the residues and of the exponent's bits.
    pub(crate) fn powers(&self, bases: &[u64], exponent: &[u64]) -> Zeroizing<Vec<u64>> {
        self.powers_of_integers(bases, self.words, exponent)
    }

    /// [`Batch::powers`] of integers of `words` words, which are reduced first.
    pub(crate) fn powers_of_integers(
        &self,
        bases: &[u64],
        words: usize,
        exponent: &[u64],
    ) -> Zeroizing<Vec<u64>> {
        let mut elements = self.enter(bases, words);
        self.kernel
            .power(&mut elements, exponent, 64 * exponent.len());
        self.leave(&elements)
    }

    /// Raises elements to a public power, in time that depends on its bits.
    pub(crate) fn power_vartime(&self, elements: &mut [u64], exponent: &[u64]) {
        let top = (0..64 * exponent.len())
            .rev()
            .find(|&i| bit(exponent, i) == 1);
        let Some(top) = top else {
            let one = self.kernel.one();
            for element in elements.chunks_exact_mut(one.len()) {
                element.copy_from_slice(one);
            }
            return;
        };

        // The top bit is the base itself. Squarings up to the next set bit are one call, which
        // loads each element once.
        let bases = Zeroizing::new(elements.to_vec());
        let mut squarings = 0;
        for i in (0..top).rev() {
            squarings += 1;
            if bit(exponent, i) == 1 {
                self.kernel.square_repeatedly(elements, squarings);
                self.kernel.multiply(elements, &bases);
                squarings = 0;
            }
        }
        self.kernel.square_repeatedly(elements, squarings);
    }
}

/// Bit `i` of a number in little-endian words.
fn bit(words: &[u64], i: usize) -> u64 {
    words[i / 64] >> (i % 64) & 1
}
