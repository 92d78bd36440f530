//! Eight 16-bit words at a time, and sums of their products.
//!
//! Every x86-64 has SSE2 and with it the product of pairs (`pmaddwd`), which LLVM finds
//! in plain loops by luck only; elsewhere plain loops do.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// Eight signed words.
#[derive(Clone, Copy)]
pub(super) struct Words(Repr);

/// Four 32-bit sums.
#[derive(Clone, Copy)]
pub(super) struct Sums(SumsRepr);

#[cfg(target_arch = "x86_64")]
type Repr = __m128i;
#[cfg(target_arch = "x86_64")]
type SumsRepr = __m128i;
#[cfg(not(target_arch = "x86_64"))]
type Repr = [i16; 8];
#[cfg(not(target_arch = "x86_64"))]
type SumsRepr = [i32; 4];

#[cfg(target_arch = "x86_64")]
impl Words {
    /// Four pairs of words.
    #[inline(always)]
    pub(super) fn new(pairs: [[i16; 2]; 4]) -> Self {
        Self(bytemuck::cast(pairs))
    }

    /// Bytes 0 and 2 of each cell, and bytes 1 and 3, as words that are not negative.
    #[inline(always)]
    pub(super) fn from_bytes(cells: [[u8; 4]; 4]) -> [Self; 2] {
        let cells = bytemuck::cast(cells);
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            let even = _mm_and_si128(cells, _mm_set1_epi16(0xff));
            [Self(even), Self(_mm_srli_epi16::<8>(cells))]
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
impl Words {
    /// Four pairs of words.
    #[inline(always)]
    pub(super) fn new(pairs: [[i16; 2]; 4]) -> Self {
        Self(bytemuck::cast(pairs))
    }

    /// Bytes 0 and 2 of each cell, and bytes 1 and 3, as words that are not negative.
    #[inline(always)]
    pub(super) fn from_bytes(cells: [[u8; 4]; 4]) -> [Self; 2] {
        let cells = cells.map(|cell| cell.map(i16::from));
        [Self::new(cells.map(|cell| [cell[0], cell[2]])), Self::new(cells.map(|cell| [cell[1], cell[3]]))]
    }
}

impl Sums {
    /// Adds the products of each pair, modulo 2^32: sum `i` grows by
    /// `a[2i]·b[2i] + a[2i+1]·b[2i+1]`.
    #[inline(always)]
    pub(super) fn add_products(&mut self, a: Words, b: Words) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 has SSE2.
        unsafe {
            self.0 = _mm_add_epi32(self.0, _mm_madd_epi16(a.0, b.0));
        }
        #[cfg(not(target_arch = "x86_64"))]
        for (i, sum) in self.0.iter_mut().enumerate() {
            for j in [2 * i, 2 * i + 1] {
                *sum = sum.wrapping_add(i32::from(a.0[j]) * i32::from(b.0[j]));
            }
        }
    }

    /// The four sums.
    #[inline(always)]
    pub(super) fn get(self) -> [i32; 4] {
        bytemuck::cast(self.0)
    }
}

impl Default for Sums {
    #[inline(always)]
    fn default() -> Self {
        Self(bytemuck::cast([0i32; 4]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_of_pairs_are_summed_over_four_cells() {
        let words = Words::new([[1, 2], [-3, 4], [i16::MIN, i16::MIN], [5, -6]]);
        let x = Words::new([[10, 100], [10, 100], [i16::MIN, i16::MIN], [-7, 8]]);
        let mut sums = Sums::default();
        sums.add_products(words, x);
        assert_eq!(sums.get(), [210, 370, i32::MIN, -83]);
        sums.add_products(words, x);
        assert_eq!(sums.get(), [420, 740, 0, -166]);
    }

    #[test]
    fn bytes_become_words_that_are_not_negative() {
        let [even, odd] = Words::from_bytes([[255, 1, 2, 3], [4, 250, 6, 7], [8; 4], [0; 4]]);
        let x = Words::new([[1, 1000]; 4]);
        for (words, expected) in [(even, [2255, 6004, 8008, 0]), (odd, [3001, 7250, 8008, 0])] {
            let mut sums = Sums::default();
            sums.add_products(words, x);
            assert_eq!(sums.get(), expected);
        }
    }
}
