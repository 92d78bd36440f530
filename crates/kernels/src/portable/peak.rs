//! Sums of products without anything else: see [`crate::peak`].

use super::baseline::Baseline;
use super::lanes::Lanes;

/// Planes of the products: each word is loaded once for all.
const PLANES: usize = 4;
/// Registers of words at a time.
const SLAB: usize = 2;

/// Products of pairs of 16-bit words and four planes.
pub(crate) fn products(words: &[i32]) -> i64 {
    products_on::<_, _, SLAB>(Baseline, words)
}

/// [`products`] on lanes of any width, `S` registers of words at a time: the sums fit the
/// registers.
#[inline(always)]
pub(crate) fn products_on<L: Lanes<N>, const N: usize, const S: usize>(
    lanes: L,
    words: &[i32],
) -> i64 {
    let (registers, _) = words.as_chunks::<N>();
    let (slabs, _) = registers.as_chunks::<S>();
    let mut sums = [[lanes.splat(0); S]; PLANES];

    for slab in slabs {
        let digits = [slab[0][0]; PLANES];
        let words = lanes.load_all(slab);
        for (sums, digit) in sums.iter_mut().zip(digits) {
            let digit = lanes.splat(digit);
            for (sum, &words) in sums.iter_mut().zip(&words) {
                *sum = lanes.add_products(*sum, words, digit);
            }
        }
    }

    i64::from(
        lanes
            .store_all(&sums)
            .as_flattened()
            .as_flattened()
            .iter()
            .fold(0, |all, word| all ^ word),
    )
}

/// One product with a 52-bit value for each word.
pub(crate) fn wide_products(words: &[i32]) -> i64 {
    // Not a constant: the compiler would replace products with shifts.
    let value = i64::from(words.first().copied().unwrap_or_default()) << 20;
    words.iter().fold(0, |sum: i64, &word| {
        sum.wrapping_add(i64::from(word).wrapping_mul(value))
    })
}
