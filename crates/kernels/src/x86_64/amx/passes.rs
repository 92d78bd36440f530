//! Passes over a matrix for several queries: see [`crate::matvec_u8`], [`crate::matvec_u4`] and
//! [`crate::matvec_i16`].

use super::product::DigitRows;
use super::unit::{Block, QUAD_BYTES, SIDE, Unit};
use crate::layout::ROWS;
use crate::portable::matvec_i16::PLANE_BITS as WORD_PLANE_BITS;

/// The queries' digits of 8 bits, and how many each value has.
struct Queries {
    rows: DigitRows,
    count: usize,
    planes: usize,
}

/// Adds the rows of every group of bytes times each query to its sums.
pub(crate) fn bytes<U: Unit>(
    unit: &mut U,
    tiles: &[u8],
    quads: usize,
    queries: &[&[i8]],
    planes: usize,
    outs: &mut [&mut [u32]],
) {
    let queries = Queries::of_bytes(queries, quads, planes);
    let mut blocks = zeroed(quads);
    for (group, tile) in tiles.chunks_exact(quads * QUAD_BYTES).enumerate() {
        // Blocks have 16 quads each. The quads after the last one stay zero and add nothing.
        blocks.as_flattened_mut()[..quads].copy_from_slice(tile.as_chunks().0);
        queries.add::<_, false>(unit, &blocks, 0, outs, group * ROWS);
    }
}

/// Adds the rows of every group of 4-bit words times each query to its sums.
pub(crate) fn nibbles<U: Unit>(
    unit: &mut U,
    tiles: &[u8],
    quads: usize,
    queries: &[&[i8]],
    planes: usize,
    outs: &mut [&mut [u32]],
) {
    let queries = Queries::of_bytes(queries, quads, planes);
    let mut blocks = zeroed(quads);

    for (group, tile) in tiles.chunks_exact(quads * QUAD_BYTES).enumerate() {
        for (half, shift) in [0, 4].into_iter().enumerate() {
            let bytes = blocks.as_flattened_mut().as_flattened_mut();
            bytes
                .iter_mut()
                .zip(tile)
                .for_each(|(out, byte)| *out = byte >> shift & 15);

            queries.add::<_, false>(unit, &blocks, 0, outs, (2 * group + half) * ROWS);
        }
    }
}

/// Adds the rows of every group of 16-bit words times each query to its sums.
pub(crate) fn words<U: Unit>(
    unit: &mut U,
    tiles: &[i16],
    pairs: usize,
    queries: &[&[i16]],
    planes: usize,
    outs: &mut [&mut [u64]],
) {
    let queries = Queries::of_words(queries, pairs, planes);
    let mut blocks = zeroed(pairs.div_ceil(2));
    for (group, tile) in tiles.chunks_exact(pairs * 2 * ROWS).enumerate() {
        // A word is its low byte, unsigned, plus 2^8 times its high byte, which has the sign.
        split(tile, &mut blocks, |word| word as u8);
        queries.add::<_, false>(unit, &blocks, 0, outs, group * ROWS);
        split(tile, &mut blocks, |word| (word >> 8) as u8);
        queries.add::<_, true>(unit, &blocks, 8, outs, group * ROWS);
    }
}

/// Enough blocks for `quads` quads of columns, filled with zeros.
fn zeroed(quads: usize) -> Vec<Block> {
    vec![[[0; QUAD_BYTES]; SIDE]; quads.div_ceil(SIDE)]
}

/// Writes one byte of each word: two pairs of columns make a quad.
fn split(tile: &[i16], blocks: &mut [Block], byte: impl Fn(i16) -> u8) {
    let (cells, _) = tile.as_chunks::<2>();
    for (quad, pairs) in blocks
        .as_flattened_mut()
        .iter_mut()
        .zip(cells.chunks(2 * ROWS))
    {
        let (quad, _) = quad.as_chunks_mut::<4>();
        for (half, cells) in pairs.chunks(ROWS).enumerate() {
            for (quad, cell) in quad.iter_mut().zip(cells) {
                quad[2 * half] = byte(cell[0]);
                quad[2 * half + 1] = byte(cell[1]);
            }
        }
    }
}

impl Queries {
    /// Planes of [`crate::matvec_u8`].
    fn of_bytes(queries: &[&[i8]], quads: usize, planes: usize) -> Self {
        let rows = DigitRows::new(queries.len() * planes, 4 * quads, |row, column| {
            queries[row / planes][(column / 4 * planes + row % planes) * 4 + column % 4]
        });
        Self {
            rows,
            count: queries.len(),
            planes,
        }
    }

    /// Planes of [`crate::matvec_i16`], joined and split again into digits of 8 bits.
    fn of_words(queries: &[&[i16]], pairs: usize, planes: usize) -> Self {
        // One bit more than the planes have: balanced digits exceed their range a little.
        let count = (WORD_PLANE_BITS as usize * planes + 1).div_ceil(8);
        let values: Vec<Vec<[i8; 8]>> = queries
            .iter()
            .map(|query| digits_of_words(query, planes))
            .collect();
        let rows = DigitRows::new(queries.len() * count, 2 * pairs, |row, column| {
            values[row / count][column][row % count]
        });

        Self {
            rows,
            count: queries.len(),
            planes: count,
        }
    }

    /// Adds the rows of one group, of which every word counts 2^`shift`, times each query to its
    /// sums from `first` on.
    fn add<U: Unit, const SIGNED: bool>(
        &self,
        unit: &mut U,
        blocks: &[Block],
        shift: usize,
        outs: &mut [&mut [impl Sum]],
        first: usize,
    ) {
        self.rows.times::<_, SIGNED>(unit, blocks, |row, l, sums| {
            // Rows that pad the last tiles belong to no query.
            if row < self.count * self.planes {
                let out = &mut outs[row / self.planes][first + l..][..sums.len()];
                let shift = shift + 8 * (row % self.planes);
                out.iter_mut()
                    .zip(sums)
                    .for_each(|(out, &sum)| out.add(sum, shift));
            }
        });
    }
}

/// The digits of 8 bits of each value of a query of [`crate::matvec_i16`].
fn digits_of_words(query: &[i16], planes: usize) -> Vec<[i8; 8]> {
    let values = query.chunks_exact(2 * planes).flat_map(|pair| {
        [0, 1].map(|h| {
            let digits = pair.iter().skip(h).step_by(2).rev();
            digits.fold(0, |value: i64, &digit| {
                (value << WORD_PLANE_BITS) + i64::from(digit)
            })
        })
    });
    values.map(balanced).collect()
}

/// The balanced digits of 8 bits of a value, lowest first.
fn balanced(mut value: i64) -> [i8; 8] {
    std::array::from_fn(|_| {
        // The difference to the digit is a multiple of 2^8, so the shift is exact.
        let digit = value as i8;
        value = (value - i64::from(digit)) >> 8;
        digit
    })
}

/// A sum that wraps.
trait Sum {
    /// Adds a number times 2^`shift`.
    fn add(&mut self, number: i32, shift: usize);
}

impl Sum for u32 {
    fn add(&mut self, number: i32, shift: usize) {
        *self = self.wrapping_add((number as Self) << shift);
    }
}

impl Sum for u64 {
    fn add(&mut self, number: i32, shift: usize) {
        *self = self.wrapping_add((i64::from(number) as Self) << shift);
    }
}

#[cfg(test)]
mod tests {
    use super::super::unit::Software;
    use super::*;
    use crate::portable;

    fn numbers(seed: usize) -> impl Iterator<Item = u64> {
        (seed as u64..).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32)
    }

    /// The sums of `on` and of `pass` for each query, from the same start.
    fn both<T: Clone + Default, D>(
        rows: usize,
        queries: &[&[D]],
        mut on: impl FnMut(&[&[D]], &mut [&mut [T]]),
        pass: impl Fn(&[D], &mut [T]),
    ) -> [Vec<Vec<T>>; 2] {
        let mut found = vec![vec![T::default(); rows]; queries.len()];
        let mut expected = vec![];
        let mut outs: Vec<&mut [T]> = found.iter_mut().map(Vec::as_mut_slice).collect();
        on(queries, &mut outs);
        on(queries, &mut outs);
        for query in queries {
            let mut sums = vec![T::default(); rows];
            pass(query, &mut sums);
            pass(query, &mut sums);
            expected.push(sums);
        }
        [found, expected]
    }

    #[test]
    fn passes_are_those_of_portable_code() {
        for (quads, groups, clients) in [(1, 2, 1), (16, 1, 3), (33, 2, 9)] {
            let tiles: Vec<u8> = numbers(quads)
                .map(|n| n as u8)
                .take(groups * quads * 256)
                .collect();
            for planes in 1..=4 {
                let length = quads * planes * 4;
                let digits: Vec<i8> = numbers(7).map(|n| n as i8).take(clients * length).collect();
                let queries: Vec<&[i8]> = digits.chunks(length).collect();
                let [found, expected] = both(
                    groups * 64,
                    &queries,
                    |queries, outs| {
                        bytes(&mut Software::new(), &tiles, quads, queries, planes, outs)
                    },
                    |query, sums| portable::matvec_u8::pass(&tiles, quads, query, planes, sums),
                );
                assert_eq!(found, expected, "bytes, {quads} quads, {planes} planes");
                let [found, expected] = both(
                    groups * 128,
                    &queries,
                    |queries, outs| {
                        nibbles(&mut Software::new(), &tiles, quads, queries, planes, outs)
                    },
                    |query, sums| portable::matvec_u4::pass(&tiles, quads, query, planes, sums),
                );
                assert_eq!(found, expected, "nibbles, {quads} quads, {planes} planes");
            }
        }
    }

    #[test]
    fn words_of_either_sign_and_all_planes_agree() {
        for (pairs, clients) in [(1, 2), (5, 3), (64, 4)] {
            for planes in 1..=5 {
                let tiles: Vec<i16> = numbers(pairs)
                    .map(|n| n as i16)
                    .take(2 * pairs * 128)
                    .collect();
                let length = pairs * planes * 2;
                let digits: Vec<i16> = numbers(99)
                    .map(|n| (n % 2048) as i16 - 1024)
                    .take(clients * length)
                    .collect();
                let queries: Vec<&[i16]> = digits.chunks(length).collect();
                let [found, expected] = both(
                    2 * 64,
                    &queries,
                    |queries, outs| {
                        words(&mut Software::new(), &tiles, pairs, queries, planes, outs)
                    },
                    |query, sums| portable::matvec_i16::pass(&tiles, pairs, query, planes, sums),
                );
                assert_eq!(found, expected, "{pairs} pairs, {planes} planes");
            }
        }
    }

    /// Sums of products beyond 32 bits are joined exactly.
    #[test]
    fn the_longest_sums_do_not_overflow() {
        let pairs = 40_000;
        for (word, digit) in [(i16::MIN, -1024), (i16::MAX, 1023), (255, -1024)] {
            let tiles = vec![word; pairs * 128];
            let query = vec![digit; pairs * 2];
            let [found, expected] = both(
                64,
                &[&query[..]; 2],
                |queries, outs| words(&mut Software::new(), &tiles, pairs, queries, 1, outs),
                |query, sums| portable::matvec_i16::pass(&tiles, pairs, query, 1, sums),
            );
            assert_eq!(found, expected);
        }
    }
}
