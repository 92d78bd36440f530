//! Wide modular multiplication in limbs of 52 bits (IFMA), eight elements at a time.
//!
//! See [`crate::bigint_mod`]. A register holds one limb of eight elements. Sums are computed column
//! by column, `BLOCK` columns at a time. The sums of a block stay in registers while all products
//! of limbs in its columns are added: of the factors, and of the quotient and the root.
//! A product of limbs adds its low half to its column and its high half to the next one. The halves
//! are below 2^52 and a column has fewer than 1000 of them (six per limb at the greatest width), so
//! 64 bits need no carry until a block is complete.
#![expect(
    clippy::needless_range_loop,
    reason = "columns live in registers: their loops must have constant bounds, to unroll"
)]

use std::arch::x86_64::*;

use super::transpose::{self, Lanes};
use crate::backend::Backend;
use crate::bigint_mod::engine::{Engine, Group};
use crate::bigint_mod::field::{Field, IFMA_BITS as BITS, IFMA_BLOCK as BLOCK};

/// Rows that share their loads: half the columns of a block, so that they also divide squares.
const ROWS: usize = BLOCK / 2;

/// Multiplies eight elements at a time.
pub(crate) struct Ifma<'a> {
    cpu: Cpu,
    backend: Backend,
    field: &'a Field,
    /// Room for the next result.
    out: Group<Lanes>,
    /// The quotient of the digit that is being reduced.
    quotient: Group<Lanes>,
}

impl<'a> Ifma<'a> {
    /// # Safety
    /// The CPU must have AVX-512 F, DQ and IFMA. The field must have limbs of [`BITS`] bits.
    pub(crate) unsafe fn new(backend: Backend, field: &'a Field) -> Self {
        let [out, quotient] = [field.element_limbs(), field.limbs()].map(Group::zero);
        Self {
            cpu: Cpu(()),
            backend,
            field,
            out,
            quotient,
        }
    }
}

impl Engine<8> for Ifma<'_> {
    type Limb = Lanes;

    fn backend(&self) -> Backend {
        self.backend
    }

    fn field(&self) -> &Field {
        self.field
    }

    fn load(&self, group: &mut Group<Lanes>, elements: [&[u64]; 8]) {
        // SAFETY: an `Ifma` exists only where the CPU has AVX-512 F.
        unsafe { transpose::load(&mut group.0, elements) }
    }

    fn store(&self, group: &Group<Lanes>, elements: &mut [u64]) {
        // SAFETY: an `Ifma` exists only where the CPU has AVX-512 F.
        unsafe { transpose::store(&group.0, elements) }
    }

    fn multiply(&mut self, x: &mut Group<Lanes>, y: &[Lanes]) {
        // SAFETY: an `Ifma` exists only where the CPU has these features.
        unsafe {
            multiply(
                self.cpu,
                self.field,
                &x.0,
                y,
                &mut self.quotient.0,
                &mut self.out.0,
            )
        }
        std::mem::swap(x, &mut self.out);
    }

    fn square(&mut self, x: &mut Group<Lanes>) {
        // SAFETY: an `Ifma` exists only where the CPU has these features.
        unsafe {
            square(
                self.cpu,
                self.field,
                &x.0,
                &mut self.quotient.0,
                &mut self.out.0,
            )
        }
        std::mem::swap(x, &mut self.out);
    }
}

/// out = x·y/R.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn multiply(
    cpu: Cpu,
    field: &Field,
    x: &[Lanes],
    y: &[Lanes],
    quotient: &mut [Lanes],
    out: &mut [Lanes],
) {
    let n = field.limbs();
    let reduction = Reduction::new(cpu, field);
    let (a, b) = x.split_at(n);
    let (c, d) = y.split_at(n);
    let (out_low, out_high) = out.split_at_mut(n);
    reduction.digit(Product { x: a, y: c }, false, quotient, out_low);
    if field.parts() == 2 {
        let terms = Sum(Product { x: a, y: d }, Product { x: b, y: c });
        reduction.digit(terms, true, quotient, out_high);
    }
}

/// out = x²/R.
#[target_feature(enable = "avx512f,avx512dq,avx512ifma")]
fn square(cpu: Cpu, field: &Field, x: &[Lanes], quotient: &mut [Lanes], out: &mut [Lanes]) {
    let n = field.limbs();
    let reduction = Reduction::new(cpu, field);
    let (a, b) = x.split_at(n);
    let (out_low, out_high) = out.split_at_mut(n);
    reduction.digit(Square { x: a }, false, quotient, out_low);
    if field.parts() == 2 {
        reduction.digit(Twice(Product { x: a, y: b }), true, quotient, out_high);
    }
}

/// Proves that the CPU has AVX-512 F, DQ and IFMA.
#[derive(Clone, Copy)]
struct Cpu(());

impl Cpu {
    registerwise! {
        __m512i:
        fn add(a, b) = _mm512_add_epi64(a, b);
        fn sub(a, b) = _mm512_sub_epi64(a, b);
        fn and(a, b) = _mm512_and_si512(a, b);
        fn add_low(sum, a, b) = _mm512_madd52lo_epu64(sum, a, b);
        fn add_high(sum, a, b) = _mm512_madd52hi_epu64(sum, a, b);
        fn carry(a) = _mm512_srli_epi64::<BITS>(a);
    }

    #[inline(always)]
    fn splat(self, word: u64) -> __m512i {
        // SAFETY: `self` proves AVX-512 F.
        unsafe { _mm512_set1_epi64(word as i64) }
    }
}

/// A source of a register: one limb per lane, or one limb for all lanes.
trait Limb {
    fn register(&self, cpu: Cpu) -> __m512i;
}

impl Limb for Lanes {
    #[inline(always)]
    fn register(&self, _: Cpu) -> __m512i {
        // SAFETY: a `Cpu` proves AVX-512 F; 64 aligned bytes are read.
        unsafe { _mm512_load_si512(std::ptr::from_ref(self).cast()) }
    }
}

impl Limb for u64 {
    #[inline(always)]
    fn register(&self, cpu: Cpu) -> __m512i {
        cpu.splat(*self)
    }
}

/// The sums of the columns of a block: of the low halves, and of the high halves, which
/// belong to the next column.
struct Columns {
    low: [__m512i; BLOCK],
    high: [__m512i; BLOCK],
}

impl Columns {
    #[inline(always)]
    fn zero(cpu: Cpu) -> Self {
        Self {
            low: [cpu.splat(0); BLOCK],
            high: [cpu.splat(0); BLOCK],
        }
    }

    /// Adds the product x·y to column k.
    #[inline(always)]
    fn add(&mut self, cpu: Cpu, k: usize, x: __m512i, y: __m512i) {
        self.low[k] = cpu.add_low(self.low[k], x, y);
        self.high[k] = cpu.add_high(self.high[k], x, y);
    }

    /// Adds x[i]·y[last − i + k] to every column k, for all limbs of x, where `last` is the index
    /// in y of its last window of columns.
    #[inline(always)]
    fn add_rows(&mut self, cpu: Cpu, x: &[Lanes], y: &[impl Limb]) {
        let (sets, _) = x.as_chunks::<ROWS>();
        for (x, y) in sets
            .iter()
            .zip(y.windows(BLOCK + ROWS - 1).rev().step_by(ROWS))
        {
            // The windows of neighbouring rows overlap: BLOCK + ROWS − 1 loads of y serve all rows.
            let x: [__m512i; ROWS] = std::array::from_fn(|r| x[r].register(cpu));
            let y: [__m512i; BLOCK + ROWS - 1] = std::array::from_fn(|r| y[r].register(cpu));
            for r in 0..ROWS {
                for k in 0..BLOCK {
                    self.add(cpu, k, x[r], y[k + ROWS - 1 - r]);
                }
            }
        }
    }

    #[inline(always)]
    fn subtract(&mut self, cpu: Cpu, limbs: &[Lanes]) {
        for k in 0..BLOCK {
            self.low[k] = cpu.sub(self.low[k], limbs[k].register(cpu));
        }
    }

    #[inline(always)]
    fn double(&mut self, cpu: Cpu) {
        for k in 0..BLOCK {
            self.low[k] = cpu.add(self.low[k], self.low[k]);
            self.high[k] = cpu.add(self.high[k], self.high[k]);
        }
    }

    /// Adds the products x·y of columns `at` to `at + BLOCK − 1` with the limbs of x before `at`.
    #[inline(always)]
    fn add_lower_rows(&mut self, cpu: Cpu, x: &[Lanes], y: &[impl Limb], at: usize) {
        self.add_rows(cpu, &x[..at], &y[1..at + BLOCK]);
    }

    /// Adds the products x·y of columns n + at to n + at + BLOCK − 1.
    #[inline(always)]
    fn add_upper(&mut self, cpu: Cpu, x: &[Lanes], y: &[impl Limb], at: usize) {
        self.add_upper_triangle(cpu, &x[at..at + BLOCK], &y[y.len() - BLOCK..]);
        self.add_rows(cpu, &x[at + BLOCK..], &y[at + 1..]);
    }

    /// Adds the products of x[s] and y[t] with s + t = BLOCK + k.
    #[inline(always)]
    fn add_upper_triangle(&mut self, cpu: Cpu, x: &[Lanes], y: &[impl Limb]) {
        for s in 1..BLOCK {
            let x = x[s].register(cpu);
            for k in 0..s {
                self.add(cpu, k, x, y[BLOCK + k - s].register(cpu));
            }
        }
    }
}

/// The sum of products of a digit.
trait Terms {
    /// Adds the parts in columns `at` to `at + BLOCK − 1`.
    fn add_lower(&self, cpu: Cpu, columns: &mut Columns, at: usize);

    /// Adds the parts in columns `n + at` to `n + at + BLOCK − 1`.
    fn add_upper(&self, cpu: Cpu, columns: &mut Columns, at: usize);
}

/// x·y.
struct Product<'a> {
    x: &'a [Lanes],
    y: &'a [Lanes],
}

impl Terms for Product<'_> {
    #[inline(always)]
    fn add_lower(&self, cpu: Cpu, columns: &mut Columns, at: usize) {
        columns.add_lower_rows(cpu, self.x, self.y, at);
        let x = &self.x[at..at + BLOCK];
        let y = &self.y[..BLOCK];
        for s in 0..BLOCK {
            let x = x[s].register(cpu);
            for k in s..BLOCK {
                columns.add(cpu, k, x, y[k - s].register(cpu));
            }
        }
    }

    #[inline(always)]
    fn add_upper(&self, cpu: Cpu, columns: &mut Columns, at: usize) {
        columns.add_upper(cpu, self.x, self.y, at);
    }
}

/// The sum of both.
struct Sum<S, T>(S, T);

impl<S: Terms, T: Terms> Terms for Sum<S, T> {
    #[inline(always)]
    fn add_lower(&self, cpu: Cpu, columns: &mut Columns, at: usize) {
        self.0.add_lower(cpu, columns, at);
        self.1.add_lower(cpu, columns, at);
    }

    #[inline(always)]
    fn add_upper(&self, cpu: Cpu, columns: &mut Columns, at: usize) {
        self.0.add_upper(cpu, columns, at);
        self.1.add_upper(cpu, columns, at);
    }
}

/// Twice the terms. They must be added first, since doubling affects the whole sums.
struct Twice<T>(T);

impl<T: Terms> Terms for Twice<T> {
    #[inline(always)]
    fn add_lower(&self, cpu: Cpu, columns: &mut Columns, at: usize) {
        self.0.add_lower(cpu, columns, at);
        columns.double(cpu);
    }

    #[inline(always)]
    fn add_upper(&self, cpu: Cpu, columns: &mut Columns, at: usize) {
        self.0.add_upper(cpu, columns, at);
        columns.double(cpu);
    }
}

/// x²: twice the products of different limbs, and the squares. It must be added first, since
/// doubling affects the whole sums.
struct Square<'a> {
    x: &'a [Lanes],
}

impl Square<'_> {
    /// Doubles the sums and adds the squares of the limbs from `middle` on.
    #[inline(always)]
    fn add_diagonal(&self, cpu: Cpu, columns: &mut Columns, middle: usize) {
        columns.double(cpu);
        let x = &self.x[middle..middle + BLOCK / 2];
        for s in 0..BLOCK / 2 {
            let x = x[s].register(cpu);
            columns.add(cpu, 2 * s, x, x);
        }
    }

    /// Adds the products around the middle limb of column 0: x[middle + s]·x[middle + k − s].
    #[inline(always)]
    fn add_centre(&self, cpu: Cpu, columns: &mut Columns, middle: usize) {
        for s in 0..BLOCK / 2 {
            let x = self.x[middle + s].register(cpu);
            for k in 2 * s + 1..BLOCK {
                columns.add(cpu, k, x, self.x[middle + k - s].register(cpu));
            }
        }
    }
}

impl Terms for Square<'_> {
    #[inline(always)]
    fn add_lower(&self, cpu: Cpu, columns: &mut Columns, at: usize) {
        // Pairs of different limbs once: all before the middle, then the few around it.
        let middle = at / 2;
        columns.add_rows(cpu, &self.x[..middle], &self.x[at - middle + 1..at + BLOCK]);
        self.add_centre(cpu, columns, middle);
        self.add_diagonal(cpu, columns, middle);
    }

    #[inline(always)]
    fn add_upper(&self, cpu: Cpu, columns: &mut Columns, at: usize) {
        let n = self.x.len();
        let middle = (n + at) / 2;
        if at + BLOCK == n {
            // The last block of limbs with itself: each pair of different limbs once.
            let x = &self.x[at..];
            for s in 1..BLOCK {
                for t in (s + 1).max(BLOCK - s)..BLOCK {
                    columns.add(cpu, s + t - BLOCK, x[s].register(cpu), x[t].register(cpu));
                }
            }
        } else {
            columns.add_upper_triangle(cpu, &self.x[at..at + BLOCK], &self.x[n - BLOCK..]);
            columns.add_rows(cpu, &self.x[at + BLOCK..middle], &self.x[middle + 1..]);
            self.add_centre(cpu, columns, middle);
        }

        self.add_diagonal(cpu, columns, middle);
    }
}

/// Montgomery reduction by the root.
struct Reduction<'a> {
    cpu: Cpu,
    root: &'a [u64],
    /// −root⁻¹ modulo 2^52.
    inverse: __m512i,
    /// 2^52 − 1.
    ones: __m512i,
}

impl<'a> Reduction<'a> {
    #[inline(always)]
    fn new(cpu: Cpu, field: &'a Field) -> Self {
        // Products read the lowest 52 bits of a factor, here the inverse modulo 2^52.
        let inverse = cpu.splat(field.inverse());
        let ones = cpu.splat((1 << BITS) - 1);
        Self {
            cpu,
            root: field.root_limbs(),
            inverse,
            ones,
        }
    }

    /// Computes the quotient q and `out` with t + q·root = out·R, where t is the sum of the terms,
    /// minus the old quotient for the high digit.
    #[inline(always)]
    fn digit(&self, terms: impl Terms, high: bool, quotient: &mut [Lanes], out: &mut [Lanes]) {
        let cpu = self.cpu;
        let mut carry = cpu.splat(0);

        for at in (0..out.len()).step_by(BLOCK) {
            let mut columns = Columns::zero(cpu);
            terms.add_lower(cpu, &mut columns, at);
            // `quotient` holds the new quotient before `at` and the old one from there on, which is
            // read before `divide` overwrites it.
            if high {
                columns.subtract(cpu, &quotient[at..at + BLOCK]);
            }
            columns.add_lower_rows(cpu, quotient, self.root, at);
            carry = self.divide(columns, carry, &mut quotient[at..at + BLOCK]);
        }

        for at in (0..out.len()).step_by(BLOCK) {
            let mut columns = Columns::zero(cpu);
            terms.add_upper(cpu, &mut columns, at);
            columns.add_upper(cpu, quotient, self.root, at);
            carry = self.settle(&columns, carry, &mut out[at..at + BLOCK]);
        }
    }

    /// Writes the limbs of a block of the quotient; returns the carry to the next block.
    ///
    /// Limb k raises its column to the next multiple of 2^52, so the carry is known before the
    /// product. That multiple is at least 0 even if the limb of the old quotient, which is below
    /// 2^52, exceeds all other terms.
    #[inline(always)]
    fn divide(&self, mut columns: Columns, mut carry: __m512i, quotient: &mut [Lanes]) -> __m512i {
        let cpu = self.cpu;
        for k in 0..BLOCK {
            let sum = cpu.add(columns.low[k], carry);
            let limb = cpu.add_low(cpu.splat(0), sum, self.inverse);
            quotient[k].set(limb);
            columns.high[k] = cpu.add_high(columns.high[k], limb, self.root[0].register(cpu));
            for j in 1..BLOCK - k {
                columns.add(cpu, k + j, limb, self.root[j].register(cpu));
            }
            carry = cpu.add(cpu.carry(cpu.add(sum, self.ones)), columns.high[k]);
        }
        carry
    }

    /// Writes the limbs of a block of the result; returns the carry to the next block.
    #[inline(always)]
    fn settle(&self, columns: &Columns, mut carry: __m512i, out: &mut [Lanes]) -> __m512i {
        let cpu = self.cpu;
        for k in 0..BLOCK {
            let sum = cpu.add(columns.low[k], carry);
            out[k].set(cpu.and(sum, self.ones));
            carry = cpu.add(cpu.carry(sum), columns.high[k]);
        }
        carry
    }
}
