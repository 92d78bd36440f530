//! Modular multiplication of wide integers, for batches of them.
//!
//! A [`Modulus`] is any odd number of at most [`MAX_BITS`] bits, or the square of such
//! a number ([`Modulus::of_square`]), which costs little more than half as much.
//! Integers are little-endian words of 64 bits. *Elements* are residues in the form in
//! which the backend multiplies: [`Modulus::limbs`] words each, one after another, no
//! headers. [`Modulus::enter`] makes elements of integers, [`Modulus::leave`] makes
//! integers of elements; in between nobody else reads them, since backends differ in
//! their form and an element has more than one.
//!
//! Nothing but the number of integers, their lengths and [`Modulus::multiply_selected`]'s
//! indices decides which instructions run and which addresses they touch: modulus,
//! elements and exponents may be secret. Copies made on the way are erased, as is the
//! modulus when it is dropped.
//!
//! # Arithmetic
//!
//! Let m have n limbs of b bits and R = 2^(nb) with 64·m ≤ R. An element of an ordinary
//! modulus m is a number below 2m that stands for a·R mod m, and a product is reduced
//! by Montgomery's method (Math. Comp. 44, 1985) without a last subtraction:
//! (x·y + q·m)/R < 2m for x, y < 2m and q < R.
//!
//! An element of the modulus m² is a pair (a, b) of numbers below 2m and stands for
//! a + b·m. With a·c + q·m = r·R, which is the Montgomery reduction of a·c,
//!
//! > (a + b·m)·(c + d·m)/R ≡ r + m·(a·d + b·c − q)/R  (mod m²),
//!
//! and the second digit is reduced modulo m in the same way. So a product modulo m²
//! takes five n×n products of limbs (three of them, two for the reductions), where two
//! 2n×2n products would be eight; a square takes three and a half of six.
//!
//! # Backends
//!
//! - Portable, and AVX2, which has no wide multiply: limbs of 64 bits, one element at a time.
//! - AVX-512: limbs of 52 bits (IFMA), eight elements side by side, one a lane. Batches
//!   are cut into groups of eight; a lone element takes as long as eight.
//!
//! Each implements an engine (`portable/bigint_mod.rs`, `x86_64/avx512/bigint_mod.rs`), which `batch`
//! drives; `field` holds the constants, `radix` and `integer` serve the way in and out.
//! A call sets up and erases room for a few groups: two microseconds that a batch hides.
//!
//! # Cost
//!
//! Let a digit have n limbs. A product of two elements is 2n² products of limbs, n² of them
//! for the reduction, and of a square modulus 5n²; a square is 1.5n² and 3.5n². On AVX-512
//! a product of limbs is two instructions for eight elements, of which a core starts one or
//! two a cycle: modulo the square of 3,072 bits (n = 60) at least 36,000 of them for eight
//! products, 0.67 µs a product at two a cycle and 3.36 GHz. `examples/bigint_mod_times.rs` measures.

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

/// Why a number cannot be a modulus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ModulusError {
    /// Montgomery's reduction needs an odd modulus.
    #[error("the modulus is even: expected an odd number")]
    Even,
    /// Zero and one have no residues to speak of.
    #[error("the modulus is below 3")]
    TooSmall,
    /// The number is longer than the kernels are made for.
    #[error("the modulus has {found} bits: expected at most {MAX_BITS}")]
    TooWide {
        /// The bits of the number given.
        found: usize,
    },
}

/// A modulus with the constants of its arithmetic, for one backend.
pub struct Modulus {
    backend: Backend,
    field: Field,
}

/// Runs an expression with the engine of the modulus, by the name given.
macro_rules! on_engine {
    ($modulus:expr, $engine:ident => $expression:expr) => {
        match $modulus.field.radix() {
            Radix::Words => {
                let $engine = &mut Words::new($modulus.backend, &$modulus.field);
                $expression
            }
            #[cfg(target_arch = "x86_64")]
            Radix::Ifma => {
                // SAFETY: the radix of a backend that exists only where its CPU features were detected.
                let mut engine = unsafe { Ifma::new($modulus.backend, &$modulus.field) };
                let $engine = &mut engine;
                $expression
            }
        }
    };
}

impl Modulus {
    /// The modulus of these words, for the backend in use.
    ///
    /// # Errors
    /// [`ModulusError`] where it is even, below 3 or above [`MAX_BITS`] bits.
    pub fn new(words: &[u64]) -> Result<Self, ModulusError> {
        Self::new_with(Backend::current(), words)
    }

    /// [`Modulus::new`] for the backend given.
    ///
    /// # Errors
    /// As [`Modulus::new`].
    pub fn new_with(backend: Backend, words: &[u64]) -> Result<Self, ModulusError> {
        let field = Field::new(Radix::of(backend), check(words)?, 1);
        Ok(Self { backend, field })
    }

    /// The square of the number of these words as modulus, for the backend in use.
    ///
    /// # Errors
    /// [`ModulusError`] where the number is even, below 3 or above [`MAX_BITS`] bits.
    pub fn of_square(root: &[u64]) -> Result<Self, ModulusError> {
        Self::of_square_with(Backend::current(), root)
    }

    /// [`Modulus::of_square`] for the backend given.
    ///
    /// # Errors
    /// As [`Modulus::of_square`].
    pub fn of_square_with(backend: Backend, root: &[u64]) -> Result<Self, ModulusError> {
        let field = Field::new(Radix::of(backend), check(root)?, 2);
        Ok(Self { backend, field })
    }

    /// The backend that this modulus was made for.
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

    /// Words of an integer below the number whose square the modulus is; of an ordinary
    /// modulus, of the modulus itself.
    pub fn root_words(&self) -> usize {
        self.field.root().len()
    }

    /// The element one.
    pub fn one(&self) -> &[u64] {
        self.field.one()
    }

    /// Makes elements of integers of `words` words each, which need not be below the
    /// modulus: every integer is reduced. The cost is two multiplications for each piece
    /// of the modulus' length (for a square, of the root's length), or one if there is
    /// only one.
    ///
    /// # Panics
    /// Where `integers` is not as many integers as `elements` has elements, or `words` is 0.
    pub fn enter(&self, integers: &[u64], words: usize, elements: &mut [u64]) {
        let count = self.count(elements);
        assert!(words > 0, "integers of at least one word");
        assert_eq!(integers.len(), count * words, "words of the integers");
        on_engine!(self, engine => batch::enter(engine, integers, words, elements));
    }

    /// Makes integers below the modulus, [`Modulus::words`] words each, of elements.
    ///
    /// # Panics
    /// Where `integers` is not as many integers as `elements` has elements.
    pub fn leave(&self, elements: &[u64], integers: &mut [u64]) {
        let count = self.count(elements);
        assert_eq!(integers.len(), count * self.words(), "words of the integers");
        on_engine!(self, engine => batch::leave(engine, elements, integers));
    }

    /// Makes digits `low + high·root`, both below the root, of elements of a square
    /// modulus; [`Modulus::root_words`] words each. With an element that is 1 modulo the
    /// root, `high` is Paillier's function L: (x − 1)/root.
    ///
    /// # Panics
    /// Where the modulus is not made by [`Modulus::of_square`], or `low` or `high` is not
    /// as many integers as `elements` has elements.
    pub fn leave_digits(&self, elements: &[u64], low: &mut [u64], high: &mut [u64]) {
        let count = self.count(elements);
        assert_eq!(self.field.parts(), 2, "digits of a square modulus");
        assert_eq!(low.len(), count * self.root_words(), "words of the low digits");
        assert_eq!(high.len(), count * self.root_words(), "words of the high digits");
        on_engine!(self, engine => batch::leave_digits(engine, elements, low, high));
    }

    /// `acc[e] *= by[e]` for all elements.
    ///
    /// # Panics
    /// Where the lengths differ or are not whole elements.
    pub fn multiply(&self, acc: &mut [u64], by: &[u64]) {
        self.count(acc);
        assert_eq!(acc.len(), by.len(), "limbs of the factors");
        let limbs = self.limbs();
        on_engine!(self, engine => batch::multiply(engine, acc, |e| &by[e * limbs..][..limbs]));
    }

    /// `acc[e] *= by` for all elements.
    ///
    /// # Panics
    /// Where `acc` is not whole elements or `by` is not one.
    pub fn multiply_all(&self, acc: &mut [u64], by: &[u64]) {
        self.count(acc);
        assert_eq!(by.len(), self.limbs(), "limbs of the factor");
        on_engine!(self, engine => batch::multiply(engine, acc, |_| by));
    }

    /// `acc[e] *= table[indices[e]]` for all elements; the indices are public.
    ///
    /// # Panics
    /// Where lengths are not whole elements, there is not one index for each element of
    /// `acc`, or an index is outside the table.
    pub fn multiply_selected(&self, acc: &mut [u64], table: &[u64], indices: &[u32]) {
        let (count, entries) = (self.count(acc), self.count(table));
        assert_eq!(indices.len(), count, "one index for each element");
        let largest = indices.iter().max().map_or(0, |&index| index as usize);
        assert!(count == 0 || largest < entries, "index {largest} into a table of {entries} elements");
        let limbs = self.limbs();
        let entry = |e: usize| &table[indices[e] as usize * limbs..][..limbs];
        on_engine!(self, engine => batch::multiply(engine, acc, entry));
    }

    /// `acc[e] = acc[e]²` for all elements.
    ///
    /// # Panics
    /// Where `acc` is not whole elements.
    pub fn square(&self, acc: &mut [u64]) {
        self.square_repeatedly(acc, 1);
    }

    /// `acc[e] = acc[e]^(2^times)` for all elements; `times` is public.
    ///
    /// # Panics
    /// Where `acc` is not whole elements.
    pub fn square_repeatedly(&self, acc: &mut [u64], times: usize) {
        self.count(acc);
        on_engine!(self, engine => batch::square(engine, acc, times));
    }

    /// `bases[e] = bases[e]^exponent` for all elements, where the exponent is the lowest
    /// `bits` bits of `exponent`. Time and memory accesses depend on `bits` and the number
    /// of bases only.
    ///
    /// # Panics
    /// Where `bases` is not whole elements or `exponent` has fewer bits.
    pub fn power(&self, bases: &mut [u64], exponent: &[u64], bits: usize) {
        self.count(bases);
        assert!(bits <= exponent.len() * 64, "{bits} bits of {} words", exponent.len());
        on_engine!(self, engine => batch::power(engine, bases, exponent, bits));
    }

    /// `acc[e] += Σ scale·terms[e]` over the pairs of terms and scales, for all elements of an ordinary
    /// modulus. Scales are public, and below [`MAX_SCALE`] in size.
    ///
    /// # Panics
    /// Where the modulus is made by [`Modulus::of_square`], lengths differ or are not whole elements, or a
    /// scale is too large.
    pub fn add_multiples<const N: usize>(&self, acc: &mut [u64], terms: [(&[u64], i64); N]) {
        self.count(acc);
        assert_eq!(self.field.parts(), 1, "sums modulo an ordinary modulus");
        for (elements, scale) in &terms {
            assert_eq!(acc.len(), elements.len(), "limbs of the terms");
            assert!(scale.abs() < MAX_SCALE, "a scale below 2^30, not {scale}");
        }
        let (sums, limbs) = (linear::Sums::new(&self.field), self.limbs());
        for (e, acc) in acc.chunks_exact_mut(limbs).enumerate() {
            sums.add(acc, terms.map(|(elements, scale)| (&elements[e * limbs..][..limbs], scale)));
        }
    }

    /// The number of elements in a slice.
    fn count(&self, elements: &[u64]) -> usize {
        assert_eq!(elements.len() % self.limbs(), 0, "limbs of whole elements");
        elements.len() / self.limbs()
    }
}

/// The words of a modulus without leading zeros, or what is wrong with it.
fn check(words: &[u64]) -> Result<Zeroizing<Vec<u64>>, ModulusError> {
    let length = words.iter().rposition(|&word| word != 0).map_or(0, |last| last + 1);
    let words = &words[..length];
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
