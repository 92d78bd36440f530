//! Constants of a wide modulus, in the form of a backend.

use zeroize::{Zeroize, Zeroizing};

use super::{integer, radix};
use crate::backend::{Backend, Isa};

/// Bits of a limb for products of 52 bits (IFMA).
#[cfg(target_arch = "x86_64")]
pub(crate) const IFMA_BITS: u32 = 52;
/// Columns of limbs that the IFMA engine sums at a time. Even, as half a block of rows shares its
/// loads. The number of limbs is a multiple of it.
#[cfg(target_arch = "x86_64")]
pub(crate) const IFMA_BLOCK: usize = 6;

/// Bits by which R exceeds the root. They keep sums of a few products of unreduced factors in the
/// range that the reduction brings below twice the root.
const SPARE_BITS: usize = 6;

/// The form of numbers in a backend.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Radix {
    /// Words of 64 bits.
    Words,
    /// Limbs of 52 bits; only for a backend whose CPU has IFMA.
    #[cfg(target_arch = "x86_64")]
    Ifma,
}

impl Radix {
    /// The form in which the backend multiplies.
    pub(super) fn of(backend: Backend) -> Self {
        match backend.isa() {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 | Isa::Amx(_) => Self::Ifma,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => Self::Words,
            #[cfg(target_arch = "aarch64")]
            Isa::Neon => Self::Words,
            Isa::Portable => Self::Words,
        }
    }

    /// Bits of a limb.
    const fn bits(self) -> u32 {
        match self {
            Self::Words => 64,
            #[cfg(target_arch = "x86_64")]
            Self::Ifma => IFMA_BITS,
        }
    }

    /// Divides the number of limbs.
    const fn block(self) -> usize {
        match self {
            Self::Words => 1,
            #[cfg(target_arch = "x86_64")]
            Self::Ifma => IFMA_BLOCK,
        }
    }
}

/// The modulus `root^parts` and the constants of its arithmetic; see [`crate::bigint_mod`].
pub(crate) struct Field {
    radix: Radix,
    /// Digits of an element: 1, or 2 if the modulus is a square.
    parts: usize,
    /// n, the limbs of a digit.
    limbs: usize,
    /// The modulus and the root, in words without leading zeros.
    modulus: Vec<u64>,
    root: Vec<u64>,
    /// The root in limbs.
    root_limbs: Vec<u64>,
    /// −root⁻¹ modulo 2^64.
    inverse: u64,
    /// The element 1, which is R.
    one: Vec<u64>,
    /// The element R, which is R²: a plain number times it is the number's element.
    entry: Vec<u64>,
    /// The element 2^(64·piece).
    step: Vec<u64>,
}

impl Field {
    /// The constants of a root without leading zeros.
    pub(super) fn new(radix: Radix, root: Zeroizing<Vec<u64>>, parts: usize) -> Self {
        let bits = integer::bits(&root) + SPARE_BITS;
        // Whole blocks of columns, so that no loop over blocks has a rest.
        let limbs = bits
            .div_ceil(radix.bits() as usize)
            .next_multiple_of(radix.block());

        let mut root_limbs = vec![0; limbs];
        radix::split(&root, radix.bits(), &mut root_limbs);

        let mut field = Self {
            radix,
            parts,
            limbs,
            modulus: if parts == 1 {
                root.to_vec()
            } else {
                square(&root)
            },
            inverse: integer::negated_inverse(root[0]),
            root: root.to_vec(),
            root_limbs,
            one: Vec::new(),
            entry: Vec::new(),
            step: Vec::new(),
        };

        field.find_powers();
        field
    }

    /// Doubles 1 until it is R, 2^(64·piece)·R and R².
    fn find_powers(&mut self) {
        let r = self.limbs * self.radix.bits() as usize;
        let piece = self.piece_words() * 64;

        // A piece has at most the bits of R, so one run of doublings passes all three powers.
        // Doublings take the same time for all moduli of one length; a division might not.
        let mut power = Power::one(&self.root, self.parts);
        power.double(r);
        self.one = power.element(self);
        power.double(piece);
        self.step = power.element(self);
        power.double(r - piece);
        self.entry = power.element(self);
    }

    pub(crate) fn radix(&self) -> Radix {
        self.radix
    }

    /// Bits of a limb.
    pub(crate) fn limb_bits(&self) -> u32 {
        self.radix.bits()
    }

    pub(crate) fn parts(&self) -> usize {
        self.parts
    }

    /// Limbs of a digit.
    pub(crate) fn limbs(&self) -> usize {
        self.limbs
    }

    /// Limbs of an element.
    pub(crate) fn element_limbs(&self) -> usize {
        self.parts * self.limbs
    }

    pub(crate) fn modulus(&self) -> &[u64] {
        &self.modulus
    }

    pub(crate) fn root(&self) -> &[u64] {
        &self.root
    }

    pub(crate) fn root_limbs(&self) -> &[u64] {
        &self.root_limbs
    }

    pub(crate) fn inverse(&self) -> u64 {
        self.inverse
    }

    pub(crate) fn one(&self) -> &[u64] {
        &self.one
    }

    pub(crate) fn entry(&self) -> &[u64] {
        &self.entry
    }

    pub(crate) fn step(&self) -> &[u64] {
        &self.step
    }

    /// Words of a piece in the conversion of integers: the most that fit a digit.
    pub(crate) fn piece_words(&self) -> usize {
        self.limbs * self.radix.bits() as usize / 64
    }
}

impl Drop for Field {
    fn drop(&mut self) {
        // All of them depend on the modulus, which may be secret.
        let lists = [&mut self.modulus, &mut self.root, &mut self.root_limbs];
        lists
            .into_iter()
            .chain([&mut self.one, &mut self.entry, &mut self.step])
            .for_each(Zeroize::zeroize);
        self.inverse.zeroize();
    }
}

/// The square of a number, without leading zeros.
fn square(root: &[u64]) -> Vec<u64> {
    let mut square = vec![0; 2 * root.len()];
    integer::add_product(&mut square, root, root);
    // A square of n words has 2n words or one fewer.
    let length = square
        .iter()
        .rposition(|&word| word != 0)
        .map_or(0, |last| last + 1);
    square.truncate(length);
    square
}

/// A power of two modulo `root^parts`: its digits to the base root, the lowest first.
struct Power<'a> {
    root: &'a [u64],
    digits: Zeroizing<Vec<u64>>,
}

impl<'a> Power<'a> {
    fn one(root: &'a [u64], parts: usize) -> Self {
        let mut digits = Zeroizing::new(vec![0; parts * root.len()]);
        digits[0] = 1;
        Self { root, digits }
    }

    /// Doubles the number `times` times. A digit that reaches the root carries to the next.
    fn double(&mut self, times: usize) {
        for _ in 0..times {
            let digits = self.digits.chunks_exact_mut(self.root.len());
            digits.fold(0, |carry, digit| {
                let top = integer::double(digit, carry);
                integer::subtract_once(digit, top, self.root)
            });
        }
    }

    /// The digits in limbs.
    fn element(&self, field: &Field) -> Vec<u64> {
        let mut element = vec![0; field.element_limbs()];
        let digits = self.digits.chunks_exact(self.root.len());
        for (limbs, digit) in element.chunks_exact_mut(field.limbs).zip(digits) {
            radix::split(digit, field.radix.bits(), limbs);
        }
        element
    }
}
