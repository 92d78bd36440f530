//! Lazy arithmetic modulo q on lanes, after Harvey: see [`crate::ntt`].

use super::lanes::WideLanes;
use crate::modulus::Factor;
use crate::ntt::table::Roots;

/// One factor per lane, with its Shoup quotient.
#[derive(Clone, Copy)]
pub(super) struct Factors<V> {
    value: V,
    /// The quotients of the even lanes, in even lanes; odd lanes are not read.
    even: V,
    /// The quotients of the odd lanes, moved to even ones.
    odd: V,
}

/// q and 2q in all lanes.
#[derive(Clone, Copy)]
pub(super) struct Field<L: WideLanes<N>, const N: usize> {
    pub(super) lanes: L,
    q: L::Vector,
    twice: L::Vector,
}

impl<L: WideLanes<N>, const N: usize> Field<L, N> {
    #[inline(always)]
    pub(super) fn new(lanes: L, q: u32) -> Self {
        Self {
            lanes,
            q: lanes.splat(q),
            twice: lanes.splat(2 * q),
        }
    }

    /// One factor in all lanes.
    #[inline(always)]
    pub(super) fn one_factor(self, factor: Factor) -> Factors<L::Vector> {
        let quotient = self.lanes.splat(factor.quotient);
        Factors {
            value: self.lanes.splat(factor.value),
            even: quotient,
            odd: quotient,
        }
    }

    /// The `N` roots of block `index`, in order.
    #[inline(always)]
    pub(super) fn in_order(self, roots: &Roots, index: usize) -> Factors<L::Vector> {
        let value = self.lanes.load(&roots.values.as_chunks().0[index]);
        let even = self.lanes.load(&roots.quotients.as_chunks().0[index]);
        Factors {
            value,
            even,
            odd: self.lanes.odd_lanes(even),
        }
    }

    /// The `R` roots of block `index`, with root `places[k]` in lane k.
    ///
    /// If `R` is less than `N`, lanes 2k and 2k + 1 must have the same root.
    #[inline(always)]
    pub(super) fn spread<const R: usize>(
        self,
        roots: &Roots,
        index: usize,
        places: &[u32; N],
    ) -> Factors<L::Vector> {
        let lanes = self.lanes;
        let places = self.lanes.load(places);
        let value = lanes.load_low(&roots.values.as_chunks::<R>().0[index]);
        let quotient = lanes.load_low(&roots.quotients.as_chunks::<R>().0[index]);
        let even = lanes.permute(quotient, places);
        // With fewer roots than lanes, neighbours share one, and so the even quotient serves both.
        let odd = if R == N { lanes.odd_lanes(even) } else { even };
        Factors {
            value: lanes.permute(value, places),
            even,
            odd,
        }
    }

    /// v·w modulo q, in [0, 2q), for any v; see [`Factor::mul_lazy`].
    ///
    /// The products that the quotients come from have 64 bits, so even and odd lanes take one
    /// multiplication each.
    #[inline(always)]
    fn mul_lazy(self, v: L::Vector, w: Factors<L::Vector>) -> L::Vector {
        let lanes = self.lanes;
        let even = lanes.mul_even(v, w.even);
        let odd = lanes.mul_even(lanes.odd_lanes(v), w.odd);
        let quotient = lanes.high_halves(even, odd);
        // The result is below 2q < 2³¹, so the low words of both products determine it.
        let product = lanes.mul_low(v, w.value);
        lanes.sub(product, lanes.mul_low(quotient, self.q))
    }

    /// From [0, 2q) to [0, q).
    #[inline(always)]
    fn subtract_q(self, x: L::Vector) -> L::Vector {
        // If x is below q, the difference wraps and is the larger word.
        self.lanes.min(x, self.lanes.sub(x, self.q))
    }

    /// From [0, 4q) to [0, 2q).
    #[inline(always)]
    fn subtract_2q(self, x: L::Vector) -> L::Vector {
        self.lanes.min(x, self.lanes.sub(x, self.twice))
    }

    /// From [0, 4q) to [0, q) if `REDUCE`.
    #[inline(always)]
    pub(super) fn finish<const REDUCE: bool>(self, x: L::Vector) -> L::Vector {
        if REDUCE {
            self.subtract_q(self.subtract_2q(x))
        } else {
            x
        }
    }

    /// u + 2q − v, positive for v below 2q.
    #[inline(always)]
    fn difference(self, u: L::Vector, v: L::Vector) -> L::Vector {
        self.lanes.sub(self.lanes.add(u, self.twice), v)
    }

    /// (u, v) ← (u + w·v, u − w·v): below 4q in and out (Cooley–Tukey).
    #[inline(always)]
    pub(super) fn forward(
        self,
        (u, v): (L::Vector, L::Vector),
        w: Factors<L::Vector>,
    ) -> (L::Vector, L::Vector) {
        let sum = self.subtract_2q(u);
        let product = self.mul_lazy(v, w);
        (self.lanes.add(sum, product), self.difference(sum, product))
    }

    /// (u, v) ← (u + v, w·(u − v)): below 2q in and out (Gentleman–Sande).
    #[inline(always)]
    pub(super) fn inverse(
        self,
        (u, v): (L::Vector, L::Vector),
        w: Factors<L::Vector>,
    ) -> (L::Vector, L::Vector) {
        let sum = self.subtract_2q(self.lanes.add(u, v));
        (sum, self.mul_lazy(self.difference(u, v), w))
    }

    /// (u, v) ← (s·(u + v), w·(u − v)), from below 2q to [0, q): the last stage of the inverse.
    #[inline(always)]
    pub(super) fn last(
        self,
        u: L::Vector,
        v: L::Vector,
        [s, w]: [Factors<L::Vector>; 2],
    ) -> (L::Vector, L::Vector) {
        // A lazy product takes any word: sum and difference, below 4q, are not reduced first.
        let sum = self.mul_lazy(self.lanes.add(u, v), s);
        let difference = self.mul_lazy(self.difference(u, v), w);
        (self.subtract_q(sum), self.subtract_q(difference))
    }
}
