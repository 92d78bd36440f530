//! Butterflies of the negacyclic transform modulo a wide prime. The stages are in
//! [`ntt`](super::ntt).

use super::ntt::Butterflies;
pub(crate) use super::ntt::{forward, forward_lazy, inverse};
use crate::wide::modulus::Factor;
use crate::wide::table::NttTable;

/// x mod m for x below 2m: if x < m, the difference wraps and is the larger one.
#[inline(always)]
fn subtract_once(x: u64, m: u64) -> u64 {
    x.min(x.wrapping_sub(m))
}

/// From (−q, q) to [0, q): a negative x is a large word.
#[inline(always)]
fn from_signed(x: u64, q: u64) -> u64 {
    x.min(x.wrapping_add(q))
}

impl Butterflies for NttTable {
    type Word = u64;
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

    /// u is first reduced below 2q, and the product plus q is below 2q.
    #[inline(always)]
    fn forward(&self, u: u64, v: u64, w: Factor) -> (u64, u64) {
        let sum = subtract_once(u, 2 * self.q);
        let product = w.mul_signed(v, self.q).wrapping_add(self.q);
        (
            sum.wrapping_add(product),
            sum.wrapping_add(2 * self.q).wrapping_sub(product),
        )
    }

    #[inline(always)]
    fn reduce(&self, x: u64) -> u64 {
        subtract_once(subtract_once(x, 2 * self.q), self.q)
    }

    #[inline(always)]
    fn inverse(&self, u: u64, v: u64, w: Factor) -> (u64, u64) {
        let difference = u.wrapping_add(2 * self.q).wrapping_sub(v);
        let product = w.mul_signed(difference, self.q).wrapping_add(self.q);
        (subtract_once(u.wrapping_add(v), 2 * self.q), product)
    }

    #[inline(always)]
    fn last(&self, u: u64, v: u64) -> (u64, u64) {
        let sum = u.wrapping_add(v);
        let difference = u.wrapping_add(2 * self.q).wrapping_sub(v);
        let reduced = |w: Factor, x| from_signed(w.mul_signed(x, self.q), self.q);
        (
            reduced(self.last[0], sum),
            reduced(self.last[1], difference),
        )
    }
}
