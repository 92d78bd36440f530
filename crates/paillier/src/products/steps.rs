//! Stepwise computation of products of powers.

use std::ops::Range;

use rayon::prelude::*;

use super::exponents::Exponents;
use super::plan::{Plan, Shape};
use crate::batch::LANES;
use crate::ciphertext::Ciphertext;
use crate::error::{Error, Result};
use crate::public::PublicKey;

/// Maximum multiplications of a step on each thread, some milliseconds of work. The last steps of
/// large tables take longer.
const STEP: usize = 4096;
/// Elements that a thread multiplies at a time: whole groups of lanes.
const CHUNK: usize = 64;

/// A computation of products of powers in progress.
///
/// Each [`Products::step`] takes some milliseconds, and the computation may pause between steps for
/// any time. Dropping the value loses all progress, so a caller that must not lose it computes a
/// few rows at a time. The threads of the current pool share the table and the work of a step.
///
/// ```
/// use papir_paillier::products::{ExponentMatrix, Products};
/// # use papir_paillier::{Params, SecretKey};
/// # use chacha20::{ChaCha20Rng, rand_core::SeedableRng};
/// # let mut rng = ChaCha20Rng::from_seed([1; 32]);
/// # let key = SecretKey::generate(Params::insecure(256, 1)?, &mut rng)?;
/// let public = key.public();
/// let numbers = [public.plaintext(&[5])?, public.plaintext(&[7])?];
/// let encrypted = numbers.map(|x| public.encrypt(&x, &mut rng));
/// let matrix = ExponentMatrix::new(1, 2, 8, [10, 3])?;
/// let mut products = Products::new(public, &encrypted, matrix, 0..1, 1 << 20)?;
/// while products.step() {
///     // Other work can be done here.
/// }
/// let product = products.finish();
/// assert_eq!(key.decrypt(&product[0]).words()[0], 5 * 10 + 7 * 3);
/// # Ok::<(), papir_paillier::Error>(())
/// ```
pub struct Products<E> {
    public: PublicKey,
    exponents: E,
    shape: Shape,
    plan: Plan,
    bases: Vec<u64>,
    /// Rows not yet started.
    rows: Range<usize>,
    /// Elements of finished rows.
    finished: Vec<u64>,
    pass: Option<Pass>,
    done: u64,
}

/// The rows in progress.
struct Pass {
    rows: Range<usize>,
    stage: Stage,
    /// Products of subsets of the block.
    table: Vec<u64>,
    /// Table index for each accumulator.
    indices: Vec<u32>,
    /// An element for each bit, lowest first, and row.
    accumulators: Vec<u64>,
}

/// Sets bit `i` of number j for every set bit j of `words`.
fn spread_bits(words: &[u64], i: usize, numbers: &mut [u32]) {
    for (numbers, word) in numbers.chunks_exact_mut(64).zip(words) {
        for (bit, number) in numbers.iter_mut().enumerate() {
            *number |= ((word >> bit) as u32 & 1) << i;
        }
    }
}

/// The next stage of a pass.
enum Stage {
    /// Builds the table of the block at `base`, which so far covers the subsets of `filled` bases.
    Table { base: usize, filled: usize },
    /// Multiplies the block's entries into the accumulators from `at` on.
    Accumulate { base: usize, at: usize },
    /// Combines bits by Horner's rule, down to `bit` so far; the products replace the highest bit's
    /// accumulators.
    Horner { bit: usize },
}

/// Maximum multiplications of a step on all threads.
fn step() -> usize {
    STEP * rayon::current_num_threads()
}

impl<E: Exponents> Products<E> {
    /// Prepares the products of these rows, with about `memory` bytes for the table and
    /// accumulators; less memory makes the computation slower. Only the bases are converted yet.
    ///
    /// # Errors
    /// [`Error::Length`] if the numbers of bases and columns differ, [`Error::OutOfBounds`] for
    /// rows outside the matrix.
    pub fn new(
        public: &PublicKey,
        bases: &[Ciphertext],
        exponents: E,
        rows: Range<usize>,
        memory: usize,
    ) -> Result<Self> {
        Error::check_length("bases", bases.len(), exponents.columns())?;

        if rows.end > exponents.rows() {
            let expected = format!("up to {}", exponents.rows());
            return Err(Error::out_of_bounds("last row", rows.end as u64, expected));
        }
        if exponents.bits() == 0 {
            return Err(Error::out_of_bounds(
                "bits of the exponents",
                0,
                "at least 1",
            ));
        }

        let shape = Shape {
            rows: rows.len(),
            columns: exponents.columns(),
            bits: exponents.bits(),
            element_bytes: 8 * public.batch().limbs(),
        };
        let bases = public.batch().enter_ciphertexts(bases);
        let plan = Plan::choose(&shape, memory);

        Ok(Self {
            public: public.clone(),
            exponents,
            shape,
            plan,
            bases,
            rows,
            finished: Vec::new(),
            pass: None,
            done: 0,
        })
    }

    /// The plan of the computation.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Total number of multiplications.
    pub fn work(&self) -> u64 {
        self.plan.multiplications(&self.shape)
    }

    /// Multiplications done so far, out of [`Products::work`].
    pub fn work_done(&self) -> u64 {
        let finished = self.pass.is_none() && self.rows.is_empty();
        if finished {
            self.work()
        } else {
            self.done.min(self.work())
        }
    }

    /// Works for some milliseconds; returns `false` when no work is left.
    pub fn step(&mut self) -> bool {
        let Some(mut pass) = self.pass.take().or_else(|| self.next_pass()) else {
            return false;
        };

        let next = match pass.stage {
            Stage::Table { base, filled } => self.extend_table(&mut pass, base, filled),
            Stage::Accumulate { base, at } => self.accumulate(&mut pass, base, at),
            Stage::Horner { bit } => self.horner(&mut pass, bit),
        };

        if let Some(stage) = next {
            pass.stage = stage;
            self.pass = Some(pass);
        } else {
            // Horner's rule leaves the products in the accumulators of the highest bit, the last
            // ones.
            let products = pass.rows.len() * self.public.batch().limbs();
            self.finished
                .extend_from_slice(&pass.accumulators[pass.accumulators.len() - products..]);
        }

        self.pass.is_some() || !self.rows.is_empty()
    }

    /// Elements of finished rows.
    pub(crate) fn elements(&self) -> &[u64] {
        &self.finished
    }

    /// Completes the computation and returns one ciphertext for each row.
    pub fn finish(mut self) -> Vec<Ciphertext> {
        while self.step() {}
        self.public.batch().leave_ciphertexts(&self.finished)
    }

    /// Starts the next rows.
    fn next_pass(&mut self) -> Option<Pass> {
        if self.rows.is_empty() {
            return None;
        }

        let end = self.rows.end.min(self.rows.start + self.plan.rows_at_once);
        let rows = self.rows.start..end;
        self.rows.start = end;

        let count = rows.len() * self.shape.bits as usize;
        let one = self.public.batch().kernel().one();
        // The first block fills the accumulators, a step at a time.
        let mut accumulators = Vec::with_capacity(count * one.len());
        if self.shape.columns == 0 {
            accumulators = one.repeat(count);
        }

        let stage = self.table_stage(0, rows.len());
        Some(Pass {
            rows,
            stage,
            table: Vec::new(),
            indices: Vec::new(),
            accumulators,
        })
    }

    /// Returns the stage of the block at `base`, or the stage after the last block.
    fn table_stage(&mut self, base: usize, rows: usize) -> Stage {
        if base < self.shape.columns {
            return Stage::Table { base, filled: 0 };
        }
        // The accumulators of the highest bit are where Horner's rule starts: their share of the
        // work is counted, but nothing is to be done.
        self.done += 2 * rows as u64;
        Stage::Horner {
            bit: (self.shape.bits as usize).saturating_sub(1),
        }
    }

    /// Bases of the block at `base`.
    fn block(&self, base: usize) -> Range<usize> {
        base..self.shape.columns.min(base + self.plan.block as usize)
    }

    /// Doubles the table until the work of a step is done.
    fn extend_table(&mut self, pass: &mut Pass, base: usize, mut filled: usize) -> Option<Stage> {
        let batch = self.public.batch();
        let limbs = self.public.batch().limbs();
        if filled == 0 {
            pass.table = batch.kernel().one().to_vec();
        }

        let block = self.block(base);
        let mut work = 0;
        while filled < block.len() && work < step() {
            let factor = &self.bases[(base + filled) * limbs..][..limbs];

            // Entry j is the product of the bases at the set bits of j, so each base doubles the
            // table.
            let size = pass.table.len();
            pass.table.extend_from_within(..);
            let doubled = pass.table[size..].par_chunks_mut(CHUNK * limbs);
            doubled.for_each(|elements| batch.kernel().multiply_all(elements, factor));
            filled += 1;
            work += size / limbs;
        }

        self.done += work as u64;
        if filled < block.len() {
            return Some(Stage::Table { base, filled });
        }

        self.fill_indices(pass, block);
        Some(Stage::Accumulate { base, at: 0 })
    }

    /// Computes the table index for each bit and row: its bits are bits of the block's exponents.
    fn fill_indices(&self, pass: &mut Pass, block: Range<usize>) {
        let bits = self.shape.bits as usize;
        let rows = pass.rows.len();
        pass.indices.clear();
        pass.indices.resize(bits * rows, 0);

        let mut words = vec![0; bits.div_ceil(64)];
        let mut of_row = vec![0; 64 * words.len()];
        for (position, row) in pass.rows.clone().enumerate() {
            of_row.fill(0);
            for (i, column) in block.clone().enumerate() {
                self.exponents.read(row, column, &mut words);
                spread_bits(&words, i, &mut of_row);
            }

            // Accumulators are ordered by bits, so those of one row are `rows` apart.
            for (index, &found) in pass.indices[position..]
                .iter_mut()
                .step_by(rows)
                .zip(&of_row)
            {
                *index = found;
            }
        }
    }

    /// Multiplies entries of the table into the accumulators, as many as a step has.
    fn accumulate(&mut self, pass: &mut Pass, base: usize, at: usize) -> Option<Stage> {
        let batch = self.public.batch();
        let limbs = self.public.batch().limbs();
        let end = pass.indices.len().min(at + step());
        let indices = &pass.indices[at..end];

        // The first block's entries are the first factors.
        if base == 0 {
            for &index in indices {
                let entry = &pass.table[index as usize * limbs..][..limbs];
                pass.accumulators.extend_from_slice(entry);
            }
        } else {
            let accumulators =
                pass.accumulators[at * limbs..end * limbs].par_chunks_mut(CHUNK * limbs);
            accumulators
                .zip(indices.par_chunks(CHUNK))
                .for_each(|(accumulators, indices)| {
                    batch
                        .kernel()
                        .multiply_selected(accumulators, &pass.table, indices);
                });
        }

        self.done += (end - at) as u64;
        if end < pass.indices.len() {
            return Some(Stage::Accumulate { base, at: end });
        }
        Some(self.table_stage(self.block(base).end, pass.rows.len()))
    }

    /// Combines as many bits as a step has.
    fn horner(&mut self, pass: &mut Pass, mut bit: usize) -> Option<Stage> {
        let batch = self.public.batch();
        let rows = pass.rows.len();
        let row_limbs = rows * batch.limbs();
        let top = pass.accumulators.len() - row_limbs;
        let (lower, products) = pass.accumulators.split_at_mut(top);
        // At least one bit, or a pass of many rows would never end.
        let lowest = bit.saturating_sub((step() / (2 * rows)).max(1));

        // Each thread has its own rows, whole groups of lanes.
        let each = rows
            .div_ceil(rayon::current_num_threads())
            .next_multiple_of(LANES)
            * batch.limbs();
        products
            .par_chunks_mut(each)
            .enumerate()
            .for_each(|(chunk, products)| {
                for bit in (lowest..bit).rev() {
                    batch.kernel().square(products);
                    batch.kernel().multiply(
                        products,
                        &lower[bit * row_limbs + chunk * each..][..products.len()],
                    );
                }
            });

        let work = 2 * rows * (bit - lowest);
        bit = lowest;
        self.done += work as u64;
        (bit > 0).then_some(Stage::Horner { bit })
    }
}
