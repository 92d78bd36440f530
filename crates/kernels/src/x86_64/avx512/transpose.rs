//! Transposition of eight rows of words to eight words side by side, and back.

use std::arch::x86_64::*;

use bytemuck::{Pod, Zeroable};

/// One word per lane, for eight lanes.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C, align(64))]
pub(crate) struct Lanes([u64; 8]);

impl Lanes {
    /// Stores a register.
    #[inline(always)]
    pub(super) fn set(&mut self, register: __m512i) {
        // SAFETY: a register has the 64 bytes of eight words, for which all bits are valid.
        self.0 = unsafe { std::mem::transmute::<__m512i, [u64; 8]>(register) };
    }
}

/// Writes `rows[l][k]` to lane l of `group[k]`.
#[target_feature(enable = "avx512f")]
pub(super) fn load(group: &mut [Lanes], rows: [&[u64]; 8]) {
    let rows = rows.map(|row| &row[..group.len()]);
    for (b, group) in group.chunks_mut(8).enumerate() {
        let words = transpose(rows.map(|row| read(&row[8 * b..][..group.len()])));
        for (lanes, words) in group.iter_mut().zip(words) {
            lanes.set(words);
        }
    }
}

/// Writes lane l of each `group[k]` to row l, for as many whole rows as there are.
#[target_feature(enable = "avx512f")]
pub(super) fn store(group: &[Lanes], rows: &mut [u64]) {
    let length = group.len();
    for (b, group) in group.chunks(8).enumerate() {
        let words = transpose(std::array::from_fn(|k| {
            read(group.get(k).map_or(&[], |lanes| &lanes.0))
        }));
        for (row, words) in rows.chunks_exact_mut(length).zip(words) {
            write(&mut row[8 * b..][..group.len()], words);
        }
    }
}

/// Reads at most eight words, padded with zeros.
#[inline]
#[target_feature(enable = "avx512f")]
fn read(words: &[u64]) -> __m512i {
    let mask = mask(words.len());
    // SAFETY: the mask limits the read to the words of the slice.
    unsafe { _mm512_maskz_loadu_epi64(mask, words.as_ptr().cast()) }
}

/// Writes the first words of a register, at most eight.
#[inline]
#[target_feature(enable = "avx512f")]
fn write(words: &mut [u64], register: __m512i) {
    let mask = mask(words.len());
    // SAFETY: the mask limits the write to the words of the slice.
    unsafe { _mm512_mask_storeu_epi64(words.as_mut_ptr().cast(), mask, register) }
}

/// The mask of the first `count` of eight lanes.
fn mask(count: usize) -> __mmask8 {
    ((1_u16 << count) - 1) as __mmask8
}

/// Transposes an 8 × 8 matrix of words.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(rows: [__m512i; 8]) -> [__m512i; 8] {
    let [a, b, c, d, e, f, g, h] = rows;
    // Pairs of words of two rows, then quarters of four, then halves of eight.
    let pairs = |x, y| [_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y)];
    let quarters = |x, y| {
        [
            _mm512_shuffle_i64x2::<0x88>(x, y),
            _mm512_shuffle_i64x2::<0xdd>(x, y),
        ]
    };

    let [ab, cd, ef, gh] = [pairs(a, b), pairs(c, d), pairs(e, f), pairs(g, h)];
    let column = |k: usize| {
        let [front, back] = [quarters(ab[k], cd[k]), quarters(ef[k], gh[k])];
        // Words 0 and 4, 2 and 6 of four rows: their even halves are words 0 and 2 of eight.
        [quarters(front[0], back[0]), quarters(front[1], back[1])]
    };

    let even = column(0);
    let odd = column(1);
    [
        even[0][0], odd[0][0], even[1][0], odd[1][0], even[0][1], odd[0][1], even[1][1], odd[1][1],
    ]
}
