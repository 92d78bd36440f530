//! Dot products of signed bytes, and passes over tiles of bytes with them.

use std::arch::aarch64::*;
use std::arch::asm;

use super::neon::Neon;
use crate::portable::lanes::Lanes;
use crate::stream::Ahead;

/// Registers of a quad of columns of a group, of four rows each.
pub(super) const REGISTERS: usize = 16;
/// Registers of a slab: the sums of four planes fit the registers of the CPU.
pub(super) const SLAB: usize = 4;
/// Quads of a block, which stays in the first-level cache while all slabs of rows use it.
pub(super) const BLOCK_QUADS: usize = 32;

/// A quad of columns of a group: 64 cells of four bytes.
pub(super) type Columns = [[[u8; 4]; 4]; REGISTERS];
/// Sums of the rows of a slab for each plane.
pub(super) type Sums<const P: usize> = [[uint32x4_t; SLAB]; P];

/// Adds to each lane of `sum` the four products of the signed bytes of `a` and `b` there, modulo
/// 2^32.
#[inline]
#[target_feature(enable = "dotprod")]
fn add_dot(mut sum: uint32x4_t, a: uint8x16_t, b: uint32x4_t) -> uint32x4_t {
    // SAFETY: the instruction works on registers alone, and the CPU has it.
    unsafe {
        asm!(
            ".arch_extension dotprod",
            "sdot {sum:v}.4s, {a:v}.16b, {b:v}.16b",
            sum = inout(vreg) sum,
            a = in(vreg) a,
            b = in(vreg) b,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    sum
}

/// Sums a block of columns for the rows of one slab; `signed` makes signed bytes of stored ones.
#[inline]
#[target_feature(enable = "dotprod")]
pub(super) fn sum<const P: usize>(
    block: &[Columns],
    slab: usize,
    digits: &[[[i8; 4]; P]],
    ahead: &mut Ahead,
    signed: impl Fn(uint8x16_t) -> uint8x16_t,
) -> Sums<P> {
    let mut sums = [[Neon.splat(0u32); SLAB]; P];

    // The sums wrap modulo 2^32, as results do, so no length of a block is too long for them.
    for (columns, digits) in block.iter().zip(digits) {
        ahead.step(block);

        let cells = &columns[slab * SLAB..][..SLAB];
        for (i, cells) in cells.iter().enumerate() {
            let bytes = signed(bytes(cells));
            for (sums, &x) in sums.iter_mut().zip(digits) {
                sums[i] = add_dot(sums[i], bytes, Neon.splat(x));
            }
        }
    }
    sums
}

/// Loads four cells.
#[inline]
fn bytes(cells: &[[u8; 4]; 4]) -> uint8x16_t {
    // SAFETY: every aarch64 CPU has NEON; 16 bytes are read, at any alignment.
    unsafe { vld1q_u8(cells.as_ptr().cast()) }
}
