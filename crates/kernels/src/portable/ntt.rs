//! Negacyclic transforms, one stage at a time; the bounds are Harvey's.

use crate::modulus::Factor;
use crate::ntt::table::NttTable;

/// x mod m for x below 2m: if x < m, the difference wraps and is the larger one.
#[inline(always)]
fn subtract_once(x: u32, m: u32) -> u32 {
    x.min(x.wrapping_sub(m))
}

pub(crate) fn forward(table: &NttTable, x: &mut [u32]) {
    forward_lazy(table, x);
    for value in x {
        *value = subtract_once(subtract_once(*value, 2 * table.q), table.q);
    }
}

pub(crate) fn forward_lazy(table: &NttTable, x: &mut [u32]) {
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
/// and the lazy product is below 2q for any v.
#[inline(always)]
fn forward_butterflies(low: &mut [u32], high: &mut [u32], w: Factor, q: u32) {
    for (u, v) in low.iter_mut().zip(high) {
        let sum = subtract_once(*u, 2 * q);
        let product = w.mul_lazy(*v, q);
        *u = sum + product;
        *v = sum + 2 * q - product;
    }
}

pub(crate) fn inverse(table: &NttTable, x: &mut [u32]) {
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
fn inverse_butterflies(low: &mut [u32], high: &mut [u32], w: Factor, q: u32) {
    for (u, v) in low.iter_mut().zip(high) {
        let difference = *u + 2 * q - *v;
        *u = subtract_once(*u + *v, 2 * q);
        *v = w.mul_lazy(difference, q);
    }
}

/// The last stage, which also divides by d and reduces to [0, q).
#[inline(always)]
fn inverse_last_stage(table: &NttTable, x: &mut [u32]) {
    let q = table.q;
    let (low, high) = x.split_at_mut(table.d / 2);
    for (u, v) in low.iter_mut().zip(high) {
        let (sum, difference) = (*u + *v, *u + 2 * q - *v);
        *u = subtract_once(table.scale.mul_lazy(sum, q), q);
        *v = subtract_once(table.scaled_root.mul_lazy(difference, q), q);
    }
}
