//! Operations of AVX2 and AVX-512 beyond [`Lanes`].

use crate::portable::lanes::Lanes;

/// Lanes with products of 32-bit words.
pub(super) trait WideLanes<const N: usize>: Lanes<N> {
    /// Loads `R` words (2, 4 or 8) into the lowest lanes; the other lanes are unspecified.
    fn load_low<const R: usize>(self, words: &[u32; R]) -> Self::Vector;

    /// a + b, modulo 2^32.
    fn add(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// a − b, modulo 2^32.
    fn sub(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The smaller unsigned word of each lane.
    fn min(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The low half of a·b.
    fn mul_low(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The products of the even lanes, 64 bits each.
    fn mul_even(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// The products of the even lanes as signed words, 64 bits each.
    fn mul_even_signed(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// a + b on lanes of 64 bits, modulo 2^64.
    fn add_64(self, a: Self::Vector, b: Self::Vector) -> Self::Vector;

    /// Moves the odd lanes to the even ones; the odd lanes become zero.
    fn odd_lanes(self, a: Self::Vector) -> Self::Vector;

    /// Interleaves the high halves of the products of the even lanes and of the odd lanes.
    fn high_halves(self, even: Self::Vector, odd: Self::Vector) -> Self::Vector;

    /// `a[indices[k] mod N]` in lane k.
    fn permute(self, a: Self::Vector, indices: Self::Vector) -> Self::Vector;

    /// True if all words are in the aligned run of `N` numbers that contains `first`.
    fn in_one_run(self, words: Self::Vector, first: u32) -> bool;
}
