//! Wide modular multiplication in words of 64 bits, one element at a time.
//!
//! See [`crate::bigint_mod`]. A product is written out in full and then reduced, two [`Rows`]
//! `sums += x·w` at a time.

use std::hint::black_box;

use super::bigint_rows::{Plain, Rows};
use crate::backend::Backend;
use crate::bigint_mod::engine::{Engine, Group};
use crate::bigint_mod::field::Field;
#[cfg(target_arch = "x86_64")]
use crate::x86_64::adx::Adx;

/// Multiplies one element at a time.
pub(crate) struct Words<'a> {
    backend: Backend,
    /// Faster rows of this CPU; `None` on the portable backend.
    #[cfg(target_arch = "x86_64")]
    adx: Option<Adx>,
    field: &'a Field,
    /// Room for the next result.
    out: Group<u64>,
    /// The sums of the low and the high digit: two digits and a word each.
    sums: Group<u64>,
}

impl<'a> Words<'a> {
    pub(crate) fn new(backend: Backend, field: &'a Field) -> Self {
        let out = Group::zero(field.element_limbs());
        let sums = Group::zero(2 * (2 * field.limbs() + 1));
        Self {
            backend,
            #[cfg(target_arch = "x86_64")]
            adx: Adx::detect().filter(|_| backend != Backend::PORTABLE),
            field,
            out,
            sums,
        }
    }
}

impl Engine<1> for Words<'_> {
    type Limb = u64;

    fn backend(&self) -> Backend {
        self.backend
    }

    fn field(&self) -> &Field {
        self.field
    }

    fn load(&self, group: &mut Group<u64>, [element]: [&[u64]; 1]) {
        group.0.copy_from_slice(element);
    }

    fn store(&self, group: &Group<u64>, elements: &mut [u64]) {
        elements.copy_from_slice(&group.0);
    }

    fn multiply(&mut self, x: &mut Group<u64>, y: &[u64]) {
        vectorise!(fn multiply(field: &Field, sums: &mut [u64], x: &[u64], y: &[u64], out: &mut [u64]) in bigint_mod);
        #[cfg(target_arch = "x86_64")]
        if let Some(adx) = self.adx {
            multiply_by(adx, self.field, &mut self.sums.0, &x.0, y, &mut self.out.0);
            return std::mem::swap(x, &mut self.out);
        }
        multiply(
            self.backend,
            self.field,
            &mut self.sums.0,
            &x.0,
            y,
            &mut self.out.0,
        );
        std::mem::swap(x, &mut self.out);
    }

    fn square(&mut self, x: &mut Group<u64>) {
        vectorise!(fn square(field: &Field, sums: &mut [u64], x: &[u64], out: &mut [u64]) in bigint_mod);
        #[cfg(target_arch = "x86_64")]
        if let Some(adx) = self.adx {
            square_by(adx, self.field, &mut self.sums.0, &x.0, &mut self.out.0);
            return std::mem::swap(x, &mut self.out);
        }
        square(
            self.backend,
            self.field,
            &mut self.sums.0,
            &x.0,
            &mut self.out.0,
        );
        std::mem::swap(x, &mut self.out);
    }
}

/// out = x·y/R.
#[inline(always)]
pub(crate) fn multiply(field: &Field, sums: &mut [u64], x: &[u64], y: &[u64], out: &mut [u64]) {
    multiply_by(Plain, field, sums, x, y, out);
}

/// out = x²/R.
#[inline(always)]
pub(crate) fn square(field: &Field, sums: &mut [u64], x: &[u64], out: &mut [u64]) {
    square_by(Plain, field, sums, x, out);
}

/// [`multiply`] by the given rows.
#[inline(always)]
fn multiply_by<R: Rows>(
    rows: R,
    field: &Field,
    sums: &mut [u64],
    x: &[u64],
    y: &[u64],
    out: &mut [u64],
) {
    let n = field.limbs();
    let (low, high) = sums.split_at_mut(2 * n + 1);
    low.fill(0);
    add_product(rows, low, &x[..n], &y[..n]);
    if field.parts() == 2 {
        high.fill(0);
        add_product(rows, high, &x[..n], &y[n..]);
        add_product(rows, high, &x[n..], &y[..n]);
    }
    reduce_digits(rows, field, low, high, out);
}

/// [`square`] by the given rows.
#[inline(always)]
fn square_by<R: Rows>(rows: R, field: &Field, sums: &mut [u64], x: &[u64], out: &mut [u64]) {
    let n = field.limbs();
    let (low, high) = sums.split_at_mut(2 * n + 1);
    low.fill(0);
    add_square(rows, low, &x[..n]);
    if field.parts() == 2 {
        high.fill(0);
        // The cross products a·b and b·a are equal: one of them, doubled.
        add_product(rows, high, &x[..n], &x[n..]);
        double(high);
    }
    reduce_digits(rows, field, low, high, out);
}

/// Reduces the low digit and, for a square modulus, the high digit minus the quotient of the low
/// one.
#[inline(always)]
fn reduce_digits<R: Rows>(
    rows: R,
    field: &Field,
    low: &mut [u64],
    high: &mut [u64],
    out: &mut [u64],
) {
    let n = field.limbs();
    let (out_low, out_high) = out.split_at_mut(n);
    reduce(rows, field, low);
    out_low.copy_from_slice(&low[n..2 * n]);
    if field.parts() == 2 {
        // The reduction of the low digit has left its quotient in the lowest n words.
        subtract(high, &low[..n]);
        reduce(rows, field, high);
        out_high.copy_from_slice(&high[n..2 * n]);
    }
}

/// Replaces t = sums by the quotient q in the lowest n words and (t + q·root)/R above.
///
/// t may be negative, as a number modulo 2^(64·(2n + 1)), but is above −R. The result is not
/// negative, since t + q·root is a multiple of R above −R.
#[inline(always)]
fn reduce<R: Rows>(rows: R, field: &Field, sums: &mut [u64]) {
    let n = field.limbs();
    let root = field.root_limbs();
    let inverse = field.inverse();
    let mut carry = 0;

    for i in (0..n - 1).step_by(2) {
        let row = &mut sums[i..i + n + 2];
        let first = row[0].wrapping_mul(inverse);
        // The second quotient depends on the row after the first one, of which one word is enough.
        let second = second_word(row, root, first).wrapping_mul(inverse);
        carry = rows.add_two_rows(row, root, [first, second], carry);
        // Both words are zero now, and make room for the quotient.
        (row[0], row[1]) = (first, second);
    }

    if n % 2 == 1 {
        let row = &mut sums[n - 1..2 * n];
        let quotient = row[0].wrapping_mul(inverse);
        carry = add_last_row(rows, row, root, quotient, carry);
        row[0] = quotient;
    }

    sums[2 * n] = sums[2 * n].wrapping_add(carry);
}

/// The second word of `row + x·w`.
#[inline(always)]
fn second_word(row: &[u64], x: &[u64], w: u64) -> u64 {
    let low = u128::from(x[0]) * u128::from(w) + u128::from(row[0]);
    row[1]
        .wrapping_add(x[1].wrapping_mul(w))
        .wrapping_add((low >> 64) as u64)
}

/// `sums += x·y`; the sum must fit.
#[inline(always)]
fn add_product<R: Rows>(rows: R, sums: &mut [u64], x: &[u64], y: &[u64]) {
    let n = x.len();
    let (pairs, last) = y.as_chunks::<2>();
    let mut carry = 0;
    for (i, &pair) in pairs.iter().enumerate() {
        carry = rows.add_two_rows(&mut sums[2 * i..][..n + 2], x, pair, carry);
    }
    if let &[last] = last {
        carry = add_last_row(rows, &mut sums[n - 1..2 * n], x, last, carry);
    }
    sums[2 * n] = sums[2 * n].wrapping_add(carry);
}

/// `row += x·w + 2^(64n)·carry` for n words x and n + 1 words of `row`; returns the new carry.
#[inline(always)]
fn add_last_row<R: Rows>(rows: R, row: &mut [u64], x: &[u64], w: u64, carry: u64) -> u64 {
    let n = x.len();
    let high = rows.add_row(&mut row[..n], x, w);
    let sum = u128::from(row[n]) + u128::from(high) + u128::from(carry);
    row[n] = sum as u64;
    (sum >> 64) as u64
}

/// `sums += x²` for sums of zero: twice the products of different words, then the squares.
#[inline(always)]
fn add_square<R: Rows>(rows: R, sums: &mut [u64], x: &[u64]) {
    let n = x.len();
    for i in 0..n {
        let row = &mut sums[2 * i + 1..=i + n];
        let rest = &x[i + 1..];
        // Word i + n is still zero, as earlier rows end before it: the carry is stored, not added.
        row[rest.len()] = rows.add_row(&mut row[..rest.len()], rest, x[i]);
    }

    double(sums);
    let (pairs, _) = sums.as_chunks_mut::<2>();
    let mut carry = false;
    for (pair, &x) in pairs.iter_mut().zip(x) {
        let square = u128::from(x) * u128::from(x);
        (pair[0], carry) = add_with_carry(pair[0], square as u64, carry);
        (pair[1], carry) = add_with_carry(pair[1], (square >> 64) as u64, carry);
    }
}

/// Doubles a number.
#[inline(always)]
fn double(words: &mut [u64]) {
    words.iter_mut().fold(0, |low, word| {
        let high = *word >> 63;
        *word = *word << 1 | low;
        high
    });
}

/// `sums −= x`, modulo 2^(64·length).
#[inline(always)]
fn subtract(sums: &mut [u64], x: &[u64]) {
    let (low, high) = sums.split_at_mut(x.len());
    let borrow = low.iter_mut().zip(x).fold(false, |borrow, (word, &x)| {
        // At most one of both underflows: a difference that wrapped is not zero.
        let (difference, first) = word.overflowing_sub(x);
        let (difference, second) = difference.overflowing_sub(u64::from(borrow));
        *word = difference;
        first | second
    });

    // Over all words: where the borrow ends may be secret.
    high.iter_mut().fold(borrow, |borrow, word| {
        let (difference, borrow) = word.overflowing_sub(u64::from(borrow));
        *word = difference;
        borrow
    });
}

/// a + b + carry and the new carry.
#[inline(always)]
fn add_with_carry(a: u64, b: u64, carry: bool) -> (u64, bool) {
    // At most one of both overflows: a sum that wrapped is at most 2⁶⁴ − 2.
    let (sum, first) = a.overflowing_add(b);
    let (sum, second) = sum.overflowing_add(u64::from(carry));
    (sum, first | second)
}

/// Copies entry `index` of a table of entries as long as `out`; reads every entry.
#[inline(always)]
pub(crate) fn select(out: &mut [u64], table: &[u64], index: u64) {
    let length = out.len();

    let (blocks, rest) = out.as_chunks_mut::<8>();
    let done = 8 * blocks.len();
    for (b, block) in blocks.iter_mut().enumerate() {
        select_words(block, table, length, 8 * b, index);
    }
    for (k, word) in rest.iter_mut().enumerate() {
        select_words(std::array::from_mut(word), table, length, done + k, index);
    }
}

/// Copies `N` words of entry `index`, from word `at` on.
#[inline(always)]
fn select_words<const N: usize>(
    out: &mut [u64; N],
    table: &[u64],
    length: usize,
    at: usize,
    index: u64,
) {
    let mut sum = [0; N];

    for (k, entry) in table.chunks_exact(length).enumerate() {
        let differs = k as u64 ^ index;
        // The top bit of x | −x is set unless x is 0: all ones for the entry, zero for others.
        let mask = ((differs | differs.wrapping_neg()) >> 63).wrapping_sub(1);
        // Otherwise the compiler branches on the secret index, and reads its entry only.
        let mask = black_box(mask);

        for (sum, &word) in sum.iter_mut().zip(&entry[at..at + N]) {
            *sum |= word & mask;
        }
    }

    *out = sum;
}
