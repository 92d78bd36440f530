//! Negacyclic transforms, one stage at a time; the bounds are Harvey's.

use crate::modulus::Factor;
use crate::ntt::table::NttTable;

/// The roots of a transform and the butterflies of its words.
pub(crate) trait Butterflies {
    type Word: Copy;
    type Root: Copy;

    /// The number of words.
    fn degree(&self) -> usize;

    /// The root of the forward transform at an index.
    fn root(&self, index: usize) -> Self::Root;

    /// The root of the inverse at an index.
    fn inverse_root(&self, index: usize) -> Self::Root;

    /// (u, v) ← (u + w·v, u − w·v): below 4q in and out (Cooley–Tukey).
    fn forward(&self, u: Self::Word, v: Self::Word, w: Self::Root) -> (Self::Word, Self::Word);

    /// From [0, 4q) to [0, q).
    fn reduce(&self, x: Self::Word) -> Self::Word;

    /// (u, v) ← (u + v, w·(u − v)): below 2q in and out (Gentleman–Sande).
    fn inverse(&self, u: Self::Word, v: Self::Word, w: Self::Root) -> (Self::Word, Self::Word);

    /// The butterfly of the last stage of the inverse, which also divides by d and reduces to
    /// [0, q).
    fn last(&self, u: Self::Word, v: Self::Word) -> (Self::Word, Self::Word);
}

pub(crate) fn forward<T: Butterflies>(table: &T, x: &mut [T::Word]) {
    forward_lazy(table, x);
    for value in x {
        *value = table.reduce(*value);
    }
}

pub(crate) fn forward_lazy<T: Butterflies>(table: &T, x: &mut [T::Word]) {
    let mut half = table.degree() / 2;
    while half > 0 {
        let first = table.degree() / (2 * half);
        for (i, block) in x.chunks_exact_mut(2 * half).enumerate() {
            // In bit-reversed order, a stage of b blocks has its roots at b to 2b − 1.
            let w = table.root(first + i);
            on_halves(block, |u, v| table.forward(u, v, w));
        }
        half /= 2;
    }
}

pub(crate) fn inverse<T: Butterflies>(table: &T, x: &mut [T::Word]) {
    let mut half = 1;
    while half < table.degree() / 2 {
        let first = table.degree() / (2 * half);
        for (i, block) in x.chunks_exact_mut(2 * half).enumerate() {
            let w = table.inverse_root(first + i);
            on_halves(block, |u, v| table.inverse(u, v, w));
        }
        half *= 2;
    }
    on_halves(x, |u, v| table.last(u, v));
}

/// Replaces the pairs of a word in the lower half and its partner in the upper half.
#[inline(always)]
fn on_halves<W: Copy>(block: &mut [W], butterfly: impl Fn(W, W) -> (W, W)) {
    let (low, high) = block.split_at_mut(block.len() / 2);
    for (u, v) in low.iter_mut().zip(high) {
        (*u, *v) = butterfly(*u, *v);
    }
}

/// x mod m for x below 2m: if x < m, the difference wraps and is the larger one.
#[inline(always)]
fn subtract_once(x: u32, m: u32) -> u32 {
    x.min(x.wrapping_sub(m))
}

impl Butterflies for NttTable {
    type Word = u32;
    type Root = Factor;

    #[inline(always)]
    fn degree(&self) -> usize {
        self.d
    }

    #[inline(always)]
    fn root(&self, index: usize) -> Factor {
        self.roots.at(index)
    }

    #[inline(always)]
    fn inverse_root(&self, index: usize) -> Factor {
        self.inverse_roots.at(index)
    }

    /// u is first reduced below 2q, and the lazy product is below 2q for any v.
    #[inline(always)]
    fn forward(&self, u: u32, v: u32, w: Factor) -> (u32, u32) {
        let sum = subtract_once(u, 2 * self.q);
        // Both terms are below 2q, and q is below 2³⁰: neither result overflows its word.
        let product = w.mul_lazy(v, self.q);
        (sum + product, sum + 2 * self.q - product)
    }

    #[inline(always)]
    fn reduce(&self, x: u32) -> u32 {
        subtract_once(subtract_once(x, 2 * self.q), self.q)
    }

    #[inline(always)]
    fn inverse(&self, u: u32, v: u32, w: Factor) -> (u32, u32) {
        (
            subtract_once(u + v, 2 * self.q),
            w.mul_lazy(u + 2 * self.q - v, self.q),
        )
    }

    #[inline(always)]
    fn last(&self, u: u32, v: u32) -> (u32, u32) {
        let sum = u + v;
        let difference = u + 2 * self.q - v;
        let reduced = |w: Factor, x| subtract_once(w.mul_lazy(x, self.q), self.q);
        (
            reduced(self.scale, sum),
            reduced(self.scaled_root, difference),
        )
    }
}
