//! Rows of digits times the bytes of a row group.

use super::unit::{Block, Digits, SIDE, Unit, WIDTH};
use crate::layout::ROWS;

/// Blocks of columns whose sums of products of bytes fit 32 bits: 2^15 columns, up to 2^30.
const BLOCKS: usize = (1 << 15) / WIDTH;

/// Rows of digits in pairs of tiles, for each block of columns.
pub(super) struct DigitRows {
    /// For each pair of tiles, for each block.
    pairs: Vec<Vec<[Digits; 2]>>,
}

impl DigitRows {
    /// Arranges `rows` rows of digits in `columns` columns; `digit` returns one of a row and a
    /// column.
    pub(super) fn new(rows: usize, columns: usize, digit: impl Fn(usize, usize) -> i8) -> Self {
        let mut pairs =
            vec![vec![[[[0; WIDTH]; SIDE]; 2]; columns.div_ceil(WIDTH)]; rows.div_ceil(2 * SIDE)];
        // Digits of rows and columns that pad the tiles stay zero and add nothing.
        for row in 0..rows {
            for column in 0..columns {
                let block = &mut pairs[row / (2 * SIDE)][column / WIDTH];
                block[row / SIDE % 2][row % SIDE][column % WIDTH] = digit(row, column);
            }
        }
        Self { pairs }
    }

    /// Calls `take` with each row, and sums of products of its digits for the 64 rows of a group,
    /// which add up to its product. The last of `blocks` may be padded with zeros.
    ///
    /// The sums of a call are exact; their total may need more than 32 bits.
    pub(super) fn times<U: Unit, const SIGNED: bool>(
        &self,
        unit: &mut U,
        blocks: &[Block],
        mut take: impl FnMut(usize, usize, &[i32; SIDE]),
    ) {
        for (pair, digits) in self.pairs.iter().enumerate() {
            for (digits, blocks) in digits.chunks(BLOCKS).zip(blocks.chunks(BLOCKS)) {
                // Four tiles of sums hold half of a group, and stay loaded for a run of blocks.
                for half in 0..2 {
                    unit.clear();
                    for ([first, second], block) in digits.iter().zip(blocks) {
                        unit.add::<SIGNED>([first, second], block, half);
                    }

                    for (i, sums) in unit.sums().iter().enumerate() {
                        for (row, sums) in sums.iter().enumerate() {
                            let row = (2 * pair + i / 2) * SIDE + row;
                            take(row, ROWS / 2 * half + SIDE * (i % 2), sums);
                        }
                    }
                }
            }
        }
    }
}
