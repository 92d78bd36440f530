//! Products of matrices in tiles of bytes: every backend against the definition.

use papir_kernels::Backend;

use crate::common::{byte_sums, bytes, digits, numbers};

type Pass = fn(Backend, &[u8], usize, &[i8], usize, &mut [u32]);
type PassMany = fn(Backend, &[u8], usize, &[&[i8]], usize, &mut [&mut [u32]]);

/// The kernel for words of one length.
pub(crate) struct ByteProduct {
    /// Rows of a group.
    pub(crate) rows: usize,
    /// The word of a row in its group, from the byte.
    pub(crate) word: fn(usize, u8) -> u8,
    pub(crate) pass: Pass,
    pub(crate) pass_many: PassMany,
}

impl ByteProduct {
    /// The sums by the definition, modulo 2^32.
    fn sums(&self, tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize) -> Vec<u32> {
        byte_sums(self.rows, tiles, quads, planes, plane_count, self.word)
    }

    /// Compares `pass` on every backend with the definition, from sums other than zero.
    fn check(&self, tiles: &[u8], quads: usize, planes: &[i8], plane_count: usize) {
        let mut expected = self.sums(tiles, quads, planes, plane_count);
        let start: Vec<u32> = numbers(7).map(|n| n as u32).take(expected.len()).collect();
        for (sum, start) in expected.iter_mut().zip(&start) {
            *sum = sum.wrapping_add(*start);
        }

        for backend in Backend::available() {
            let mut out = start.clone();
            (self.pass)(backend, tiles, quads, planes, plane_count, &mut out);
            assert_eq!(
                out, expected,
                "{backend}, {quads} quads, {plane_count} planes"
            );
        }
    }

    /// Compares matrices of these widths with the definition.
    pub(crate) fn check_widths(&self, widths: &[usize]) {
        for plane_count in 1..=4 {
            for &quads in widths {
                for groups in [1, 3] {
                    let tiles = bytes(groups * quads * 256, quads as u64);
                    let planes = digits(quads * plane_count * 4, 99 + quads as u64);
                    self.check(&tiles, quads, &planes, plane_count);
                }
            }
        }
    }

    /// Compares a wide matrix of one byte and one digit with the definition.
    pub(crate) fn check_extremes(&self, byte: u8, digit: i8) {
        let quads = 20_000;
        let tiles = vec![byte; quads * 256];
        self.check(&tiles, quads, &vec![digit; quads * 16], 4);
        self.check(&tiles, quads, &vec![digit; quads * 4], 1);
    }

    /// Compares `pass_many` with the definition.
    pub(crate) fn check_many(&self, plane_count: usize) {
        let groups = 2;
        let quads = 150;
        let tiles = bytes(groups * quads * 256, 1);
        let queries: Vec<Vec<i8>> = (0..3)
            .map(|q| digits(quads * plane_count * 4, q * 1000))
            .collect();
        let expected: Vec<Vec<u32>> = queries
            .iter()
            .map(|q| self.sums(&tiles, quads, q, plane_count))
            .collect();

        let queries: Vec<&[i8]> = queries.iter().map(Vec::as_slice).collect();
        for backend in Backend::available() {
            let mut sums = vec![vec![0; self.rows * groups]; 3];
            let mut outs: Vec<&mut [u32]> = sums.iter_mut().map(Vec::as_mut_slice).collect();
            (self.pass_many)(backend, &tiles, quads, &queries, plane_count, &mut outs);
            assert_eq!(sums, expected, "{backend}");
        }
    }
}
