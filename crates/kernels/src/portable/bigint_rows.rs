//! Rows of products of 64-bit words.

/// Rows of products, which products and reductions consist of.
pub(crate) trait Rows: Copy {
    /// `row += x·w`; returns the carry.
    fn add_row(self, row: &mut [u64], x: &[u64], w: u64) -> u64;

    /// `row += x·(w[0] + 2^64·w[1]) + 2^(64n)·carry` for n words x and n + 2 words of `row`;
    /// returns the new carry.
    fn add_two_rows(self, row: &mut [u64], x: &[u64], w: [u64; 2], carry: u64) -> u64;
}

/// Rows in plain Rust.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Rows for Plain {
    #[inline(always)]
    fn add_row(self, row: &mut [u64], x: &[u64], w: u64) -> u64 {
        row.iter_mut().zip(x).fold(0, |carry, (row, &x)| {
            let sum = u128::from(x) * u128::from(w) + u128::from(*row) + u128::from(carry);
            *row = sum as u64;
            (sum >> 64) as u64
        })
    }

    /// Two rows at once load and store each sum once instead of twice, and their carry chains are
    /// independent.
    #[inline(always)]
    fn add_two_rows(self, row: &mut [u64], x: &[u64], w: [u64; 2], carry: u64) -> u64 {
        let n = x.len();
        let mut before = 0;
        let mut carries = [0; 2];

        // No sum overflows: (2⁶⁴ − 1)² + 2·(2⁶⁴ − 1) = 2¹²⁸ − 1.
        for (row, &x) in row[..n].iter_mut().zip(x) {
            let sum = u128::from(x) * u128::from(w[0]) + u128::from(*row) + u128::from(carries[0]);
            let next = u128::from(before) * u128::from(w[1])
                + u128::from(sum as u64)
                + u128::from(carries[1]);
            *row = next as u64;
            carries = [(sum >> 64) as u64, (next >> 64) as u64];
            before = x;
        }

        let rest = u128::from(row[n]) | u128::from(row[n + 1]) << 64;
        let product =
            u128::from(before) * u128::from(w[1]) + u128::from(carries[0]) + u128::from(carries[1]);
        let (sum, first) = rest.overflowing_add(product);
        let (sum, second) = sum.overflowing_add(u128::from(carry));
        (row[n], row[n + 1]) = (sum as u64, (sum >> 64) as u64);

        u64::from(first) + u64::from(second)
    }
}
