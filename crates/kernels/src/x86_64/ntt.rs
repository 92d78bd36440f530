//! Negacyclic transforms: the stages whose halves are whole registers.
//!
//! Two stages at a time run over the whole array, in radix 4, which halves the loads and stores.
//! The stages within registers are in the folders of the instruction sets.

use super::field::{Factors, Field};
use super::lanes::WideLanes;
use crate::ntt::table::{NttTable, Roots};

/// All stages of the forward transform except those on blocks of two registers.
#[inline(always)]
pub(super) fn forward<L: WideLanes<N>, const N: usize>(
    field: Field<L, N>,
    roots: &Roots,
    vectors: &mut [[u32; N]],
) {
    let mut half = vectors.len() / 2;

    // An odd number of stages: one alone, and the rest in pairs.
    if half.ilog2() % 2 == 1 {
        forward_radix2(field, field.one_factor(roots.at(1)), vectors);
        half /= 2;
    }

    while half >= 4 {
        let first = vectors.len() / (2 * half);
        for (i, block) in vectors.chunks_exact_mut(2 * half).enumerate() {
            on_quarters(
                field.lanes,
                block,
                Forward(Tree::new(field, roots, first + i)),
            );
        }
        half /= 4;
    }
}

/// One stage on one block.
#[inline(always)]
fn forward_radix2<L: WideLanes<N>, const N: usize>(
    field: Field<L, N>,
    w: Factors<L::Vector>,
    block: &mut [[u32; N]],
) {
    let (low, high) = block.split_at_mut(block.len() / 2);
    for (a, b) in low.iter_mut().zip(high) {
        let (u, v) = field.forward((field.lanes.load(a), field.lanes.load(b)), w);
        field.lanes.store(a, u);
        field.lanes.store(b, v);
    }
}

/// All stages of the inverse transform except those on blocks of two registers.
#[inline(always)]
pub(super) fn inverse<L: WideLanes<N>, const N: usize>(
    field: Field<L, N>,
    table: &NttTable,
    vectors: &mut [[u32; N]],
) {
    let roots = &table.inverse_roots;
    let mut half = 4;

    while 2 * half < vectors.len() {
        let first = vectors.len() / (2 * half);
        for (i, block) in vectors.chunks_exact_mut(2 * half).enumerate() {
            on_quarters(
                field.lanes,
                block,
                Inverse(Tree::new(field, roots, first + i)),
            );
        }
        half *= 4;
    }

    let last = [
        field.one_factor(table.scale),
        field.one_factor(table.scaled_root),
    ];
    // Pairs of stages start at the bottom here, so an odd stage is left for the end. The last stage
    // also divides by d.
    if 2 * half == vectors.len() {
        on_quarters(field.lanes, vectors, Last(Tree::new(field, roots, 1), last));
    } else {
        inverse_last_radix2(field, last, vectors);
    }
}

/// The last stage alone.
#[inline(always)]
fn inverse_last_radix2<L: WideLanes<N>, const N: usize>(
    field: Field<L, N>,
    last: [Factors<L::Vector>; 2],
    vectors: &mut [[u32; N]],
) {
    let (low, high) = vectors.split_at_mut(vectors.len() / 2);
    for (a, b) in low.iter_mut().zip(high) {
        let (u, v) = field.last(field.lanes.load(a), field.lanes.load(b), last);
        field.lanes.store(a, u);
        field.lanes.store(b, v);
    }
}

/// Two stages on one block of four quarters.
///
/// A trait instead of a closure, which would not be compiled for the instruction set.
trait Radix4<V> {
    /// The butterflies on a register of each quarter.
    fn butterflies(&self, quarters: [V; 4]) -> [V; 4];
}

/// Replaces the registers of the four quarters of a block.
#[inline(always)]
fn on_quarters<L: WideLanes<N>, const N: usize>(
    lanes: L,
    block: &mut [[u32; N]],
    stages: impl Radix4<L::Vector>,
) {
    let quarter = block.len() / 4;
    let (low, high) = block.split_at_mut(2 * quarter);
    let (a, b) = low.split_at_mut(quarter);
    let (c, e) = high.split_at_mut(quarter);
    // One register of each quarter at a time: between the two stages nothing leaves the registers.
    for (((a, b), c), e) in a.iter_mut().zip(b).zip(c).zip(e) {
        let values = [lanes.load(a), lanes.load(b), lanes.load(c), lanes.load(e)];
        let values = stages.butterflies(values);
        lanes.store(a, values[0]);
        lanes.store(b, values[1]);
        lanes.store(c, values[2]);
        lanes.store(e, values[3]);
    }
}

/// The roots of two stages on one block: of the stage on its halves, and of the stage on the
/// quarters of its left and right half.
struct Tree<L: WideLanes<N>, const N: usize> {
    field: Field<L, N>,
    outer: Factors<L::Vector>,
    left: Factors<L::Vector>,
    right: Factors<L::Vector>,
}

impl<L: WideLanes<N>, const N: usize> Tree<L, N> {
    /// The roots below the one at `index`.
    #[inline(always)]
    fn new(field: Field<L, N>, roots: &Roots, index: usize) -> Self {
        // Block i of b has the halves 2i and 2i + 1 of 2b: their roots are at twice its index.
        Self {
            field,
            outer: field.one_factor(roots.at(index)),
            left: field.one_factor(roots.at(2 * index)),
            right: field.one_factor(roots.at(2 * index + 1)),
        }
    }
}

/// First on the halves, then on the quarters.
struct Forward<L: WideLanes<N>, const N: usize>(Tree<L, N>);

impl<L: WideLanes<N>, const N: usize> Radix4<L::Vector> for Forward<L, N> {
    #[inline(always)]
    fn butterflies(&self, [a, b, c, e]: [L::Vector; 4]) -> [L::Vector; 4] {
        let Tree {
            field,
            outer,
            left,
            right,
        } = self.0;
        let (a, c) = field.forward((a, c), outer);
        let (b, e) = field.forward((b, e), outer);
        let (a, b) = field.forward((a, b), left);
        let (c, e) = field.forward((c, e), right);
        [a, b, c, e]
    }
}

/// First on the quarters, then on the halves.
struct Inverse<L: WideLanes<N>, const N: usize>(Tree<L, N>);

impl<L: WideLanes<N>, const N: usize> Radix4<L::Vector> for Inverse<L, N> {
    #[inline(always)]
    fn butterflies(&self, [a, b, c, e]: [L::Vector; 4]) -> [L::Vector; 4] {
        let Tree {
            field,
            outer,
            left,
            right,
        } = self.0;
        let (a, b) = field.inverse((a, b), left);
        let (c, e) = field.inverse((c, e), right);
        let (a, c) = field.inverse((a, c), outer);
        let (b, e) = field.inverse((b, e), outer);
        [a, b, c, e]
    }
}

/// [`Inverse`] at the end of the transform, with the factors of the last stage.
struct Last<L: WideLanes<N>, const N: usize>(Tree<L, N>, [Factors<L::Vector>; 2]);

impl<L: WideLanes<N>, const N: usize> Radix4<L::Vector> for Last<L, N> {
    #[inline(always)]
    fn butterflies(&self, [a, b, c, e]: [L::Vector; 4]) -> [L::Vector; 4] {
        // The last factors include the outer root and 1/d, so the root of the tree is not used.
        let Tree {
            field, left, right, ..
        } = self.0;
        let (a, b) = field.inverse((a, b), left);
        let (c, e) = field.inverse((c, e), right);
        let (a, c) = field.last(a, c, self.1);
        let (b, e) = field.last(b, e, self.1);
        [a, b, c, e]
    }
}
