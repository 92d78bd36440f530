//! Negacyclic transforms modulo a wide prime, one stage at a time.

use crate::wide::modulus::Factor;
use crate::wide::table::NttTable;

/// x mod m for x below 2m: if x < m, the difference wraps and is the larger one.
#[inline(always)]
fn subtract_once(x: u64, m: u64) -> u64 {
    x.min(x.wrapping_sub(m))
}

pub(crate) fn forward(table: &NttTable, x: &mut [u64]) {
    forward_lazy(table, x);
    for value in x {
        *value = subtract_once(subtract_once(*value, 2 * table.q), table.q);
    }
}

pub(crate) fn forward_lazy(table: &NttTable, x: &mut [u64]) {
    let mut half = table.d / 2;
    while half > 0 {
        let first = table.d / (2 * half);
        for (i, block) in x.chunks_exact_mut(2 * half).enumerate() {
            let (low, high) = block.split_at_mut(half);
            forward_butterflies(low, high, table.roots.at(first + i), table.q);
        }
        half /= 2;
    }
}

/// (u, v) ← (u + w·v, u − w·v): below 4q in and out (Cooley–Tukey). u is first reduced below 2q,
/// and the product plus q is below 2q.
#[inline(always)]
fn forward_butterflies(low: &mut [u64], high: &mut [u64], w: Factor, q: u64) {
    for (u, v) in low.iter_mut().zip(high) {
        let sum = subtract_once(*u, 2 * q);
        let product = w.mul_signed(*v, q).wrapping_add(q);
        *u = sum.wrapping_add(product);
        *v = sum.wrapping_add(2 * q).wrapping_sub(product);
    }
}

pub(crate) fn inverse(table: &NttTable, x: &mut [u64]) {
    let mut half = 1;
    while half < table.d / 2 {
        let first = table.d / (2 * half);
        for (i, block) in x.chunks_exact_mut(2 * half).enumerate() {
            let (low, high) = block.split_at_mut(half);
            inverse_butterflies(low, high, table.inverse_roots.at(first + i), table.q);
        }
        half *= 2;
    }
    inverse_last_stage(table, x);
}

/// (u, v) ← (u + v, w·(u − v)): below 2q in and out (Gentleman–Sande).
#[inline(always)]
fn inverse_butterflies(low: &mut [u64], high: &mut [u64], w: Factor, q: u64) {
    for (u, v) in low.iter_mut().zip(high) {
        let difference = u.wrapping_add(2 * q).wrapping_sub(*v);
        *u = subtract_once(u.wrapping_add(*v), 2 * q);
        *v = w.mul_signed(difference, q).wrapping_add(q);
    }
}

/// The last stage, which also divides by d and reduces to [0, q).
#[inline(always)]
fn inverse_last_stage(table: &NttTable, x: &mut [u64]) {
    let (q, [scale, scaled_root]) = (table.q, table.last);
    let (low, high) = x.split_at_mut(table.d / 2);
    for (u, v) in low.iter_mut().zip(high) {
        let (sum, difference) = (u.wrapping_add(*v), u.wrapping_add(2 * q).wrapping_sub(*v));
        *u = from_signed(scale.mul_signed(sum, q), q);
        *v = from_signed(scaled_root.mul_signed(difference, q), q);
    }
}

/// From (−q, q) to [0, q): a negative x is a large word.
#[inline(always)]
fn from_signed(x: u64, q: u64) -> u64 {
    x.min(x.wrapping_add(q))
}
