//! Sums of products without anything else: see [`crate::peak`].

use super::lanes::Avx2;
use crate::portable::lanes::Lanes;
use crate::portable::peak::products_on;
use crate::x86_64::lanes::WideLanes;

/// Registers of words at a time.
const SLAB: usize = 2;

/// Products of pairs of 16-bit words and four planes.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn products(words: &[i32]) -> i64 {
    products_on::<_, _, SLAB>(Avx2::new(), words)
}

/// Two products for each word: a 52-bit value has two halves.
#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn wide_products(words: &[i32]) -> i64 {
    let lanes = Avx2::new();
    let (registers, _) = words.as_chunks::<8>();
    let (steps, _) = registers.as_chunks::<SLAB>();

    // Not constants: the compiler would replace products with shifts.
    let halves = [0, 1].map(|i| words.get(i).copied().unwrap_or_default());
    let halves = [lanes.splat(halves[0]), lanes.splat(halves[1])];
    let mut sums = [[lanes.splat(0); 4]; SLAB];

    for step in steps {
        for (sums, words) in sums.iter_mut().zip(step) {
            let even = lanes.load(words);
            let odd = lanes.odd_lanes(even);
            for (sums, half) in sums.chunks_exact_mut(2).zip(halves) {
                sums[0] = lanes.add_64(sums[0], lanes.mul_even_signed(even, half));
                sums[1] = lanes.add_64(sums[1], lanes.mul_even_signed(odd, half));
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
