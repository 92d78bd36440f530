//! Modular arithmetic on batches of wide integers.
//!
//! A [`Modulus`] is any odd number of at most [`MAX_BITS`] bits, or the square of such a number
//! ([`Modulus::of_square`]), which costs little more than half as much. Integers are little-endian
//! words of 64 bits. *Elements* are residues in the backend's own form, [`Modulus::limbs`] words
//! each, one after another. [`Modulus::enter`] converts integers to elements, and
//! [`Modulus::leave`] converts them back. Other code must not interpret elements: their form
//! differs between backends, and a residue has more than one.
//!
//! Modulus, elements and exponents may be secret. The instructions and addresses depend only on the
//! number of integers, their lengths and the indices of [`Modulus::multiply_selected`].
//! Intermediate copies are erased, as is the modulus when it is dropped.
//!
//! # Arithmetic
//!
//! Let m have n limbs of b bits and let R = 2^(nb) with 64·m ≤ R. An element of an ordinary modulus
//! m is a number below 2m that represents a·R mod m. Products are reduced by Montgomery's method
//! (Math. Comp. 44, 1985) without a final subtraction: (x·y + q·m)/R < 2m for x, y < 2m and q < R.
//!
//! An element of the modulus m² is a pair (a, b) of numbers below 2m that represents a + b·m. Let
//! a·c + q·m = r·R be the Montgomery reduction of a·c. Then
//!
//! > (a + b·m)·(c + d·m)/R ≡ r + m·(a·d + b·c − q)/R  (mod m²),
//!
//! and the second digit is reduced modulo m in the same way. So a product modulo m² takes five n×n
//! products of limbs (three, and two for the reductions) instead of the eight of two 2n×2n
//! products; a square takes three and a half instead of six.
//!
//! # Backends
//!
//! - Portable, and AVX2, which has no wide multiply: limbs of 64 bits, one element at a time.
//! - AVX-512: limbs of 52 bits (IFMA), eight elements side by side, one per lane. Batches are split
//!   into groups of eight; a single element takes as long as eight.
//!
//! Each implements an engine (`portable/bigint_mod.rs`, `x86_64/avx512/bigint_mod.rs`), which
//! `batch` drives; `field` holds the constants, `radix` and `integer` serve the way in and out. A
//! call sets up and erases room for a few groups: two microseconds that a batch hides.
//!
//! # Cost
//!
//! Let a digit have n limbs. A product of two elements takes 2n² products of limbs, n² of them for
//! the reduction, and 5n² for a square modulus; a square takes 1.5n² and 3.5n². On AVX-512 a
//! product of limbs is two instructions for eight elements, and a core starts one or two of them
//! per cycle. Modulo the square of a number of 3,072 bits (n = 60), eight products take at least
//! 36,000 instructions: 0.67 µs a product at two per cycle and 3.36 GHz. `benches/bigint_mod.rs`
//! measures it.

use zeroize::Zeroizing;

use crate::backend::Backend;
use crate::portable::bigint_mod::Words;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::avx512::bigint_mod::Ifma;

mod batch;
pub(crate) mod engine;
pub(crate) mod field;
mod integer;
mod linear;
mod radix;

use field::{Field, Radix};
pub use linear::MAX_SCALE;

/// The most bits that a modulus, or the number that is squared, may have.
pub const MAX_BITS: usize = 8192;

/// Error from [`Modulus::new`] and [`Modulus::of_square`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ModulusError {
    /// Montgomery's reduction needs an odd modulus.
    #[error("the modulus is even: expected an odd number")]
    Even,
    /// The modulus is 0 or 1.
    #[error("the modulus is below 3")]
    TooSmall,
    /// The number exceeds [`MAX_BITS`] bits.
    #[error("the modulus has {found} bits: expected at most {MAX_BITS}")]
    TooWide {
        /// The bits of the given number.
        found: usize,
    },
}

/// A modulus and the constants of its arithmetic, for one backend.
pub struct Modulus {
    backend: Backend,
    field: Field,
}

/// Evaluates an expression with the engine of a modulus bound to the given name.
macro_rules! on_engine {
    ($modulus:expr, $engine:ident => $expression:expr) => {
        match $modulus.field.radix() {
            Radix::Words => {
                let $engine = &mut Words::new($modulus.backend, &$modulus.field);
                $expression
            }
            #[cfg(target_arch = "x86_64")]
            Radix::Ifma => {
                // SAFETY: only a backend whose CPU features were detected has this radix.
                let mut engine = unsafe { Ifma::new($modulus.backend, &$modulus.field) };
                let $engine = &mut engine;
                $expression
            }
        }
    };
}

impl Modulus {
    /// The modulus with these words, for a backend.
    ///
    /// # Errors
    /// [`ModulusError`] if it is even, below 3 or above [`MAX_BITS`] bits.
    pub fn new(backend: Backend, words: &[u64]) -> Result<Self, ModulusError> {
        let field = Field::new(Radix::of(backend), check(words)?, 1);
        Ok(Self { backend, field })
    }

    /// The modulus `root²`, for a backend.
    ///
    /// # Errors
    /// [`ModulusError`] if the root is even, below 3 or above [`MAX_BITS`] bits.
    pub fn of_square(backend: Backend, root: &[u64]) -> Result<Self, ModulusError> {
        let field = Field::new(Radix::of(backend), check(root)?, 2);
        Ok(Self { backend, field })
    }

    /// The backend of this modulus.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Words of an element.
    pub fn limbs(&self) -> usize {
        self.field.element_limbs()
    }

    /// Words of an integer below the modulus.
    pub fn words(&self) -> usize {
        self.field.modulus().len()
    }

    /// Words of an integer below the root of a square modulus; for an ordinary modulus, below the
    /// modulus itself.
    pub fn root_words(&self) -> usize {
        self.field.root().len()
    }

    /// The element one.
    pub fn one(&self) -> &[u64] {
        self.field.one()
    }

    /// Converts integers of `words` words each to elements. Integers may exceed the modulus; they
    /// are reduced.
    ///
    /// The cost is two multiplications for each piece of the length of the modulus (for a square,
    /// of the root), or one for a single piece.
    ///
    /// # Panics
    /// If the numbers of integers and elements differ, or `words` is 0.
    pub fn enter(&self, integers: &[u64], words: usize, elements: &mut [u64]) {
        let count = self.count(elements);
        assert!(words > 0, "integers need at least one word");
        assert_eq!(integers.len(), count * words, "words of the integers");
        on_engine!(self, engine => batch::enter(engine, integers, words, elements));
    }

    /// Converts elements to integers below the modulus, of [`Modulus::words`] words each.
    ///
    /// # Panics
    /// If the numbers of integers and elements differ.
    pub fn leave(&self, elements: &[u64], integers: &mut [u64]) {
        let count = self.count(elements);
        assert_eq!(
            integers.len(),
            count * self.words(),
            "words of the integers"
        );
        on_engine!(self, engine => batch::leave(engine, elements, integers));
    }

    /// Converts elements of a square modulus to digits `low + high·root`, both below the root, of
    /// [`Modulus::root_words`] words each.
    ///
    /// For an element that is 1 modulo the root, `high` is Paillier's function L: (x − 1)/root.
    ///
    /// # Panics
    /// If the modulus is not from [`Modulus::of_square`], or the numbers of digits and elements
    /// differ.
    pub fn leave_digits(&self, elements: &[u64], low: &mut [u64], high: &mut [u64]) {
        let count = self.count(elements);
        assert_eq!(self.field.parts(), 2, "digits of a square modulus");
        assert_eq!(
            low.len(),
            count * self.root_words(),
            "words of the low digits"
        );
        assert_eq!(
            high.len(),
            count * self.root_words(),
            "words of the high digits"
        );
        on_engine!(self, engine => batch::leave_digits(engine, elements, low, high));
    }

    /// `acc[e] *= by[e]` for all elements.
    ///
    /// # Panics
    /// If the lengths differ or are not of whole elements.
    pub fn multiply(&self, acc: &mut [u64], by: &[u64]) {
        self.count(acc);
        assert_eq!(acc.len(), by.len(), "limbs of the factors");
        let limbs = self.limbs();
        on_engine!(self, engine => batch::multiply(engine, acc, |e| &by[e * limbs..][..limbs]));
    }

    /// `acc[e] *= by` for all elements.
    ///
    /// # Panics
    /// If `acc` is not whole elements or `by` is not one.
    pub fn multiply_all(&self, acc: &mut [u64], by: &[u64]) {
        self.count(acc);
        assert_eq!(by.len(), self.limbs(), "limbs of the factor");
        on_engine!(self, engine => batch::multiply(engine, acc, |_| by));
    }

    /// `acc[e] *= table[indices[e]]` for all elements; the indices are public.
    ///
    /// # Panics
    /// If a length is not of whole elements, the number of indices differs from the number of
    /// elements of `acc`, or an index is outside the table.
    pub fn multiply_selected(&self, acc: &mut [u64], table: &[u64], indices: &[u32]) {
        let count = self.count(acc);
        let entries = self.count(table);
        assert_eq!(indices.len(), count, "one index for each element");

        // Before the first product: an index outside the table leaves all elements as they were.
        let largest = indices.iter().max().map_or(0, |&index| index as usize);
        assert!(
            count == 0 || largest < entries,
            "index {largest} into a table of {entries} elements"
        );

        let limbs = self.limbs();
        on_engine!(self, engine => batch::multiply(engine, acc, |e| {
            &table[indices[e] as usize * limbs..][..limbs]
        }));
    }

    /// `acc[e] = acc[e]²` for all elements.
    ///
    /// # Panics
    /// If `acc` is not whole elements.
    pub fn square(&self, acc: &mut [u64]) {
        self.square_repeatedly(acc, 1);
    }

    /// `acc[e] = acc[e]^(2^times)` for all elements; `times` is public.
    ///
    /// # Panics
    /// If `acc` is not whole elements.
    pub fn square_repeatedly(&self, acc: &mut [u64], times: usize) {
        self.count(acc);
        on_engine!(self, engine => batch::square(engine, acc, times));
    }

    /// `bases[e] = bases[e]^x` for all elements, where x is the lowest `bits` bits of `exponent`.
    ///
    /// Time and memory accesses depend only on `bits` and the number of bases.
    ///
    /// # Panics
    /// If `bases` is not whole elements or `exponent` has fewer bits.
    pub fn power(&self, bases: &mut [u64], exponent: &[u64], bits: usize) {
        self.count(bases);
        assert!(
            bits <= exponent.len() * 64,
            "{bits} bits of {} words",
            exponent.len()
        );
        on_engine!(self, engine => batch::power(engine, bases, exponent, bits));
    }

    /// `acc[e] += Σ scale·terms[e]` over the pairs of terms and scales, for all elements of an
    /// ordinary modulus. Scales are public and below [`MAX_SCALE`] in absolute value.
    ///
    /// # Panics
    /// If the modulus is from [`Modulus::of_square`], lengths differ or are not of whole elements,
    /// or a scale is too large.
    pub fn add_multiples<const N: usize>(&self, acc: &mut [u64], terms: [(&[u64], i64); N]) {
        self.count(acc);
        assert_eq!(self.field.parts(), 1, "sums modulo an ordinary modulus");
        for (elements, scale) in &terms {
            assert_eq!(acc.len(), elements.len(), "limbs of the terms");
            assert!(
                // The absolute value of the least `i64` does not fit an `i64`.
                scale.unsigned_abs() < MAX_SCALE.unsigned_abs(),
                "scale {scale}: expected an absolute value below 2^30"
            );
        }

        let sums = linear::Sums::new(&self.field);
        let limbs = self.limbs();
        for (e, acc) in acc.chunks_exact_mut(limbs).enumerate() {
            sums.add(
                acc,
                terms.map(|(elements, scale)| (&elements[e * limbs..][..limbs], scale)),
            );
        }
    }

    /// The number of elements in a slice.
    fn count(&self, elements: &[u64]) -> usize {
        assert_eq!(elements.len() % self.limbs(), 0, "limbs of whole elements");
        elements.len() / self.limbs()
    }
}

/// The words of a modulus without leading zeros.
fn check(words: &[u64]) -> Result<Zeroizing<Vec<u64>>, ModulusError> {
    let length = words
        .iter()
        .rposition(|&word| word != 0)
        .map_or(0, |last| last + 1);
    let words = &words[..length];

    // Zero has no words left, so the size is checked before the parity reads `words[0]`.
    let bits = integer::bits(words);
    if bits < 2 {
        return Err(ModulusError::TooSmall);
    }
    if bits > MAX_BITS {
        return Err(ModulusError::TooWide { found: bits });
    }
    if words[0] & 1 == 0 {
        return Err(ModulusError::Even);
    }

    Ok(Zeroizing::new(words.to_vec()))
}
