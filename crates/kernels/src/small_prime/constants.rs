//! Constants of reductions modulo small primes.

use crate::modulus::Factor;

/// The largest modulus of residues in 16 bits.
pub const MAX_PRIME: u32 = u16::MAX as u32;

/// Reduction of the shortest lift of a residue modulo q to a residue modulo a small prime p.
#[derive(Clone, Copy, Debug)]
pub struct Shortest {
    pub(crate) half: u32,
    pub(crate) p: u32,
    pub(crate) one: Factor,
    /// q modulo p.
    pub(crate) wrapped: u32,
}

impl Shortest {
    /// The reduction from q to p.
    ///
    /// # Panics
    /// If p exceeds [`MAX_PRIME`] or is below 2.
    pub fn new(q: u32, p: u32) -> Self {
        assert!(
            (2..=MAX_PRIME).contains(&p),
            "modulus {p}: expected 2 to {MAX_PRIME}"
        );
        Self {
            half: q / 2,
            p,
            one: Factor::new(1, p),
            wrapped: q % p,
        }
    }

    /// The shortest lift of a residue modulo q, modulo p.
    #[inline(always)]
    pub fn apply(self, word: u32) -> u16 {
        let lazy = self.one.mul_lazy(word, self.p);
        let residue = lazy.min(lazy.wrapping_sub(self.p));
        // The shortest lift of a word above q/2 is the word less q.
        let negative = residue.wrapping_sub(if word > self.half { self.wrapped } else { 0 });
        negative.min(negative.wrapping_add(self.p)) as u16
    }
}

/// Bits of a quotient after the point. Each quotient is short by less than 2⁻³⁴.
pub(crate) const QUOTIENT_BITS: u32 = 50;

/// Constants of a prime p in the reconstruction of numbers from residues. P is the product of all
/// primes.
///
/// A residue x modulo p adds v·(P/p) modulo the target to one sum and v/p, in units of 2⁻⁵⁰, to
/// another, where v = x·(P/p)⁻¹ mod p.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub(crate) p: u32,
    pub(crate) inverse: Factor,
    pub(crate) cofactor: u32,
    pub(crate) unit: u64,
}

impl Share {
    /// The share of a prime, by (P/p)⁻¹ modulo p and P/p modulo the target.
    ///
    /// # Panics
    /// If p exceeds [`MAX_PRIME`] or is below 2, or `inverse` is not below p.
    pub fn new(p: u32, inverse: u32, cofactor: u32) -> Self {
        assert!(
            (2..=MAX_PRIME).contains(&p),
            "modulus {p}: expected 2 to {MAX_PRIME}"
        );
        assert!(inverse < p, "a residue {inverse} modulo {p}");

        let unit = (1 << QUOTIENT_BITS) / u64::from(p);
        Self {
            p,
            inverse: Factor::new(inverse, p),
            cofactor,
            unit,
        }
    }
}
