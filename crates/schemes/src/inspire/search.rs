//! Search for parameters.
//!
//! For a shape and an interpolation, it finds modulus, gadgets (appendix G.1) and message bits with
//! the smallest messages at a failure probability of 2⁻⁴⁰; for a goal, also the t.

use std::cell::Cell;

use papir_core::{Goal, Result, Shape};
use papir_lattice::params::Literal as RlweLiteral;

use super::interpolation::Interpolation;
use super::layout::{Layout, elements};
use super::literal::unfit;
use super::moduli::{MODULI, Modulus, PACKING_LEVELS, RGSW_LEVELS};
use super::noise;
use super::params::Params;
use super::widths::Frame;
use crate::shared::parameters::{MAX_FAILURE_LOG2, best, successes};

/// Moduli and numbers of digits are polished if their messages are at most a 32nd larger than the
/// smallest.
const CLOSE: u64 = 32;
/// Odd factors of a t other than powers of two. The rotations of an interpolation grow with their
/// squares.
pub(super) const ODD_FACTORS: [usize; 2] = [3, 5];
/// Factor by which a t that is not a power of two must be better.
const PREFERENCE: f64 = 0.99;
/// Factor by which its setup may take longer.
const MAX_SETUP: f64 = 2.0;

/// The moduli and gadgets that are searched.
pub(super) struct Search {
    moduli: Vec<Modulus>,
    /// log₂ of the largest failure probability.
    failure_log2: f64,
    /// Number of computed variances; a test bounds it.
    tried: Cell<usize>,
}

impl Search {
    /// Builds the tables.
    ///
    /// # Errors
    /// None for [`MODULI`].
    pub(super) fn new() -> Result<Self> {
        Self::failing(MAX_FAILURE_LOG2)
    }

    /// [`Search::new`] for a failure probability of at most 2^`failure_log2`.
    ///
    /// # Errors
    /// As [`Search::new`].
    pub(super) fn failing(failure_log2: f64) -> Result<Self> {
        let moduli = MODULI.into_iter().map(Modulus::new).collect::<Result<_>>()?;
        Ok(Self { moduli, failure_log2, tried: Cell::new(0) })
    }

    /// The smallest messages for a shape and an interpolation; of equal ones those with the fewest
    /// digits, then the smallest modulus.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] if no answer would decode, or as [`Layout::new`].
    pub(super) fn smallest(&self, shape: Shape, interpolation: Interpolation) -> Result<Params> {
        let layout = Layout::new(shape, RlweLiteral::DEFAULT.degree, interpolation)?;
        let frames = self.frames(&layout);
        let cut: Vec<_> = frames.iter().filter_map(|frame| Some((frame, frame.cut()?))).collect();
        let least = cut.iter().map(|(frame, widths)| frame.bits(widths)).min().unwrap_or(0);
        let close = cut.into_iter().filter(|(frame, widths)| frame.bits(widths) <= least + least / CLOSE);
        let polished = close.map(|(frame, widths)| (frame, frame.polish(widths)));
        let best = polished.min_by_key(|(frame, widths)| frame.bits(widths));
        let found =
            best.and_then(|(frame, widths)| Some((frame.literal(&widths)?, frame.modulus.rlwe.clone())));
        let (literal, rlwe) = found.ok_or_else(|| unfit(too_noisy(&layout)))?;
        Params::of_ring(literal, rlwe)
    }

    /// Fewest digits first, then the smallest modulus.
    fn frames<'a>(&'a self, layout: &'a Layout) -> Vec<Frame<'a>> {
        let mut frames = Vec::new();
        for packing in 0..PACKING_LEVELS.len() {
            for rgsw in 0..RGSW_LEVELS.len() {
                frames.extend(
                    self.moduli.iter().filter_map(|modulus| self.frame(modulus, layout, packing, rgsw)),
                );
            }
        }
        frames
    }

    fn frame<'a>(
        &'a self,
        modulus: &'a Modulus,
        layout: &'a Layout,
        packing: usize,
        rgsw: usize,
    ) -> Option<Frame<'a>> {
        let allowed = noise::allowed(layout, modulus.value, self.failure_log2)?;
        let d = layout.degree as u64;
        let keys = PACKING_LEVELS[packing] as u64 * d;
        let points = 2 * RGSW_LEVELS[rgsw] as u64 * layout.interpolation.variables().len() as u64 * d;
        let answer = layout.chunks as u64 * d;
        Some(Frame {
            modulus,
            layout,
            packing: &modulus.packing[packing],
            rgsw: &modulus.rgsw[rgsw],
            // The checked parameters sum up in another order.
            allowed: allowed * (1.0 - 1e-9),
            squared_sums: noise::squared_sums(layout),
            coefficients: [layout.columns as u64, keys, keys, points, answer, answer],
            tried: &self.tried,
        })
    }

    /// The smallest messages of each t: the powers of two that no other dominates in size and time,
    /// then other t that nothing dominates.
    ///
    /// # Errors
    /// That of the last t if none fits.
    fn candidates(&self, shape: Shape) -> Result<Vec<Params>> {
        let degree = RlweLiteral::DEFAULT.degree;
        let largest = elements(&shape, degree)?.next_power_of_two().min(8 * degree as u64) as usize;
        let multiples = |odd: usize| std::iter::successors(Some(odd), |t| Some(2 * t));
        let of_points =
            |t| Interpolation::of_points(t, degree).and_then(|points| self.smallest(shape, points));
        let powers = multiples(1).take_while(|&t| t <= largest).map(of_points);
        let mut candidates = undominated(successes(powers)?);
        let most = largest.min(2 * degree);
        let others = ODD_FACTORS.into_iter().flat_map(|odd| multiples(odd).take_while(|&t| t < most));
        let others: Vec<Params> = others.map(of_points).filter_map(Result::ok).collect();
        let all: Vec<Params> = candidates.iter().cloned().chain(others).collect();
        candidates.extend(undominated(all).into_iter().filter(|one| !is_power(one)));
        Ok(candidates)
    }
}

/// The candidates that no other dominates in message bytes and answer time.
fn undominated(all: Vec<Params>) -> Vec<Params> {
    let costs: Vec<(u64, f64)> = all.iter().map(|one| (one.message_bytes(), one.rough_seconds())).collect();
    let dominated = |i: usize| {
        let (bytes, seconds) = costs[i];
        let beats = |(j, other): (usize, &(u64, f64))| {
            let equal = *other == (bytes, seconds);
            other.0 <= bytes && other.1 <= seconds && (!equal || j < i)
        };
        costs.iter().enumerate().any(beats)
    };
    let keep: Vec<bool> = (0..all.len()).map(|i| !dominated(i)).collect();
    all.into_iter().zip(keep).filter_map(|(one, keep)| keep.then_some(one)).collect()
}

fn is_power(params: &Params) -> bool {
    params.layout().points.is_power_of_two()
}

/// All parameters worth comparing for a shape.
///
/// # Errors
/// That of the last t if none fits.
pub(super) fn candidates(shape: Shape) -> Result<Vec<Params>> {
    Search::new()?.candidates(shape)
}

/// The best of [`candidates`] for a goal. A t that is not a power of two must be better by 1 %, and
/// its setup may take at most twice as long.
///
/// # Errors
/// If no t fits, or the packing matrices of each would exceed the database.
pub(super) fn choose(shape: Shape, goal: Goal) -> Result<Params> {
    let affordable = candidates(shape)?.into_iter().filter(|one| one.affordable(goal));
    let (powers, others): (Vec<_>, Vec<_>) = affordable.partition(is_power);
    let best = |all: Vec<Params>| best(all, |params| params.score(goal));
    let better = |power: &Params, other: &Params| {
        other.score(goal) < PREFERENCE * power.score(goal)
            && other.rough_setup_seconds() <= MAX_SETUP * power.rough_setup_seconds()
    };
    match (best(powers), best(others)) {
        (Some(power), Some(other)) if better(&power, &other) => Ok(other),
        (Some(one), _) | (None, Some(one)) => Ok(one),
        (None, None) => Err(unfit(format!("{shape:?}: the packing matrices would exceed the database"))),
    }
}

fn too_noisy(layout: &Layout) -> String {
    format!(
        "t = {} and {} columns fail with probability above 2^-40 even at full message precision",
        layout.interpolation, layout.columns
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
