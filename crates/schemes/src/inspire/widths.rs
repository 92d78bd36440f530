//! Search for the message bits with the smallest messages.
//!
//! A modulus and numbers of digits are given. Gadgets (appendix G.1) are exact, or they are
//! approximate and drop the lowest bits. The variances of selector, packs, point and response add
//! up, and each depends on one width or two. The search starts at full precision and repeatedly
//! removes the bit that saves most for the variance it adds. Then it exchanges bits while messages
//! get smaller.

use std::cell::Cell;

use papir_core::{FailureBound, Result};
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::noise::Setting;
use papir_lattice::params::{DEFAULT_PRIMES, Literal as RlweLiteral, RlweParams};
use papir_ring::CyclotomicRing;

use super::layout::Layout;
use super::literal::{KeyBits, LEAST_ANSWER_BITS, Literal, MAX_QUERY_BITS, NAME, check_matrix};
use super::noise;
use crate::shared::parameters::refused;

/// Primes of the moduli that are tried. The moduli are below 2⁵³, 2⁵⁵ and 2^55.9. Of two moduli
/// with equal messages the search takes the smaller one, which is more secure.
pub(super) const MODULI: [[u32; 2]; 3] = [
    [134_176_769, 67_104_769],
    [268_369_921, 134_176_769],
    DEFAULT_PRIMES,
];
/// Numbers of digits of the packing keys. One digit is too few for d − 1 switches.
pub(super) const PACKING_LEVELS: [usize; 2] = [2, 3];
/// Numbers of digits of RGSW encryptions. One digit is enough for a few products.
pub(super) const RGSW_LEVELS: [usize; 3] = [1, 2, 3];
/// Least number of bits to which key material is rounded.
const LEAST_KEY_BITS: u32 = 20;
/// log₂ of the bases that are tried. The packing matrix sets a further bound on the bases of
/// packing keys.
const LOG_BASES: std::ops::RangeInclusive<u32> = 8..=29;

/// A gadget and the variance that it adds for each number of key bits.
pub(super) struct Rounded {
    pub(super) gadget: GadgetParams,
    pub(super) variance: Vec<f64>,
}

/// A modulus with its gadgets.
pub(super) struct Modulus {
    pub(super) literal: RlweLiteral,
    pub(super) rlwe: RlweParams,
    /// Modulus q.
    pub(super) value: f64,
    /// The largest b with 2^b below q.
    pub(super) most_bits: u32,
    /// Gadgets for one key switch, for each number of digits in [`PACKING_LEVELS`].
    pub(super) packing: [Vec<Rounded>; 2],
    /// Gadgets for one external product, for each number of digits in [`RGSW_LEVELS`].
    pub(super) rgsw: [Vec<Rounded>; 3],
}

impl Modulus {
    /// Builds the tables for a modulus of these primes.
    pub(super) fn new(primes: [u32; 2]) -> Result<Self> {
        let literal = RlweLiteral {
            primes,
            ..RlweLiteral::DEFAULT
        };
        let rlwe = RlweParams::new(literal).map_err(refused(NAME))?;
        let value = rlwe.ring().modulus();

        // Gadgets are compared by variances in the modulus, so they follow once it exists.
        let packing = PACKING_LEVELS.map(|_| Vec::new());
        let rgsw = RGSW_LEVELS.map(|_| Vec::new());
        let mut modulus = Self {
            literal,
            value: value as f64,
            most_bits: value.ilog2(),
            packing,
            rgsw,
            rlwe,
        };

        modulus.packing = PACKING_LEVELS.map(|levels| {
            modulus.gadgets(levels, Setting::key_switch, |gadget| {
                check_matrix(literal.degree, *gadget).is_ok()
            })
        });
        modulus.rgsw =
            RGSW_LEVELS.map(|levels| modulus.gadgets(levels, Setting::external_product, |_| true));
        Ok(modulus)
    }

    /// Returns the gadgets of `levels` digits that are best for some rounding.
    fn gadgets(
        &self,
        levels: usize,
        variance: Variance,
        fits: impl Fn(&GadgetParams) -> bool,
    ) -> Vec<Rounded> {
        let gadgets = LOG_BASES
            .filter_map(|log_base| least_drop(&self.rlwe, levels, log_base))
            .filter(fits);
        useful(
            gadgets
                .map(|gadget| self.rounded(gadget, variance))
                .collect(),
        )
    }

    /// Computes the variances of a gadget for each number of key bits.
    pub(super) fn rounded(&self, gadget: GadgetParams, variance: Variance) -> Rounded {
        let variance = (0..=self.most_bits)
            .map(|bits| variance(&self.setting(bits), gadget))
            .collect();
        Rounded { gadget, variance }
    }

    /// Returns the setting of keys that are rounded to `key_bits` bits.
    fn setting(&self, key_bits: u32) -> Setting {
        let RlweLiteral { degree, sigma, .. } = self.literal;
        Setting::error_like(degree, self.value, sigma, key_bits)
    }
}

/// Function that returns the variance that a gadget adds in a setting.
type Variance = fn(&Setting, GadgetParams) -> f64;

/// Returns the gadget of this base that drops the fewest bits. It drops none if its digits cover
/// all of q. Returns `None` if no gadget of this base fits.
fn least_drop(rlwe: &RlweParams, levels: usize, log_base: u32) -> Option<GadgetParams> {
    let bits = rlwe.ring().modulus().ilog2();
    let first = bits.saturating_sub(levels as u32 * log_base);
    let mut gadgets = (first..first + 3).map(|drop| GadgetParams {
        levels,
        log_base,
        drop,
    });
    gadgets.find(|&gadget| Gadget::new(rlwe.ring(), gadget).is_ok())
}

/// Returns the gadgets that are best for some number of bits.
fn useful(all: Vec<Rounded>) -> Vec<Rounded> {
    let mut least = vec![f64::INFINITY; all.first().map_or(0, |one| one.variance.len())];
    for one in &all {
        for (least, &variance) in least.iter_mut().zip(&one.variance) {
            *least = least.min(variance);
        }
    }
    all.into_iter().filter(|one| reaches(one, &least)).collect()
}

/// Returns true if a gadget has the least variance for some number of bits.
fn reaches(one: &Rounded, least: &[f64]) -> bool {
    one.variance
        .iter()
        .zip(least)
        .skip(LEAST_KEY_BITS as usize)
        .any(|(variance, least)| variance <= least)
}

/// Message bits, at the following places.
pub(super) type Widths = [u32; 6];
pub(super) const QUERY: usize = 0;
pub(super) const Y_G: usize = 1;
pub(super) const Y_H: usize = 2;
pub(super) const RGSW: usize = 3;
pub(super) const MASK: usize = 4;
pub(super) const BODY: usize = 5;
/// Least message bits that are tried.
pub(super) const LEAST: Widths = [
    20,
    LEAST_KEY_BITS,
    LEAST_KEY_BITS,
    LEAST_KEY_BITS,
    LEAST_ANSWER_BITS,
    LEAST_ANSWER_BITS,
];
/// Largest number of bits of an answer's coefficient.
const MOST_ANSWER: u32 = 32;

/// Variances of selector, packs, point and response.
type PartVariances = [f64; 4];
/// Index in [`PartVariances`] of the part that each width changes.
const PART: [usize; 6] = [0, 1, 1, 2, 3, 3];

/// A change of one width by one bit.
struct Change {
    /// Index of the width in [`Widths`].
    place: usize,
    /// Part of the width after the change.
    part: f64,
    /// Increase of the part by the change.
    added: f64,
}

/// A gadget and the variance that it adds.
struct AddedNoise {
    variance: f64,
    gadget: GadgetParams,
}

/// A modulus and numbers of digits, for one layout.
pub(super) struct Frame<'a> {
    pub(super) modulus: &'a Modulus,
    pub(super) layout: &'a Layout,
    pub(super) packing: &'a [Rounded],
    pub(super) rgsw: &'a [Rounded],
    /// Bound on the failure probability.
    pub(super) failure: FailureBound,
    /// Largest allowed variance of an answer.
    pub(super) allowed: f64,
    /// Factor of the variance of a selector entry.
    pub(super) squared_sums: f64,
    /// Number of coefficients of each width.
    pub(super) coefficients: [u64; 6],
    /// Number of computed variances.
    pub(super) tried: &'a Cell<usize>,
}

impl Frame<'_> {
    /// Computes one of [`PartVariances`].
    pub(super) fn part(&self, part: usize, widths: &Widths) -> f64 {
        self.tried.set(self.tried.get() + 1);
        let Modulus { literal, value, .. } = self.modulus;
        let points = self.layout.points as f64;

        match part {
            0 => self.squared_sums * noise::selector(literal.sigma, *value, widths[QUERY]),
            1 => points * variance(self.keys(widths)),
            2 => (points - 1.0) * variance(self.point(widths)),
            _ => self
                .modulus
                .setting(0)
                .response_switch(widths[MASK], widths[BODY]),
        }
    }

    /// Returns the packing gadget that adds least to one pack, or `None` if there is no gadget.
    fn keys(&self, widths: &Widths) -> Option<AddedNoise> {
        // A full pack has d − 2 key switches under y_g and one under y_h.
        let switches = (self.layout.degree - 2) as f64;
        let [y_g, y_h] = [Y_G, Y_H].map(|place| widths[place] as usize);
        least(self.packing, |one| {
            switches * one.variance[y_g] + one.variance[y_h]
        })
    }

    /// Returns the RGSW gadget that adds least to one product, or `None` if there is no gadget.
    fn point(&self, widths: &Widths) -> Option<AddedNoise> {
        least(self.rgsw, |one| one.variance[widths[RGSW] as usize])
    }

    /// Computes all parts.
    pub(super) fn parts(&self, widths: &Widths) -> PartVariances {
        [0, 1, 2, 3].map(|part| self.part(part, widths))
    }

    /// Returns the number of bits of all messages.
    pub(super) fn bits(&self, widths: &Widths) -> u64 {
        self.coefficients
            .iter()
            .zip(widths)
            .map(|(count, &width)| count * u64::from(width))
            .sum()
    }

    /// Returns the widths of full precision.
    pub(super) fn widest(&self) -> Widths {
        let most = self.modulus.most_bits;
        [
            MAX_QUERY_BITS.min(most),
            most,
            most,
            most,
            MOST_ANSWER,
            MOST_ANSWER,
        ]
    }

    /// Returns true if the widths are valid.
    pub(super) fn in_range(&self, widths: &Widths) -> bool {
        let most = self.widest();
        widths[BODY] <= widths[MASK]
            && (0..6).all(|place| (LEAST[place]..=most[place]).contains(&widths[place]))
    }

    /// Removes bits from full precision. Returns `None` if full precision does not decode.
    pub(super) fn cut(&self) -> Option<Widths> {
        let widest = self.widest();
        self.holds(&widest).then(|| self.cut_from(widest))
    }

    /// Repeatedly removes the bit that saves most for the variance it adds.
    fn cut_from(&self, mut widths: Widths) -> Widths {
        let mut parts = self.parts(&widths);
        loop {
            // Each round removes a bit, so the loop ends.
            let left = self.allowed - parts.iter().sum::<f64>();
            let fitting = self
                .changes(&widths, &parts, u32::wrapping_sub)
                .filter(|change| change.added <= left);

            let best = fitting.max_by(|a, b| self.saved(a).total_cmp(&self.saved(b)));
            let Some(Change { place, part, .. }) = best else {
                return widths;
            };
            widths[place] -= 1;
            parts[PART[place]] = part;
        }
    }

    /// Returns the message bits that the removal of a bit saves, divided by the variance that it
    /// adds.
    fn saved(&self, change: &Change) -> f64 {
        // A bit that adds nothing would divide by zero.
        self.coefficients[change.place] as f64 / change.added.max(f64::MIN_POSITIVE)
    }

    /// Removes a bit in one place and adds bits in other parts where they help most. Returns `None`
    /// if the result is out of range or does not decode.
    fn exchange(&self, widths: &Widths, fewer: usize) -> Option<Widths> {
        let mut widths = *widths;
        widths[fewer] -= 1;
        if !self.in_range(&widths) {
            return None;
        }

        let mut parts = self.parts(&widths);
        // Other widths only grow, each up to its most, so this loop ends too.
        while parts.iter().sum::<f64>() > self.allowed {
            let others = self
                .changes(&widths, &parts, u32::wrapping_add)
                .filter(|change| PART[change.place] != PART[fewer]);

            let best = others.max_by(|a, b| self.relieved(a).total_cmp(&self.relieved(b)));
            let Change { place, part, .. } = best?;
            widths[place] += 1;
            parts[PART[place]] = part;
        }

        // The last bit may have removed more variance than needed.
        Some(self.cut_from(widths))
    }

    /// Returns the variance that a further bit removes, divided by the message bits that it costs.
    fn relieved(&self, change: &Change) -> f64 {
        -change.added / self.coefficients[change.place] as f64
    }

    /// Exchanges bits while messages get smaller.
    pub(super) fn polish(&self, mut widths: Widths) -> Widths {
        loop {
            let sent = (0..6).filter(|&place| self.coefficients[place] > 0);
            let exchanged = sent.filter_map(|place| self.exchange(&widths, place));
            // Messages get shorter in each round but the last, so the loop ends.
            match exchanged.min_by_key(|other| self.bits(other)) {
                Some(better) if self.bits(&better) < self.bits(&widths) => widths = better,
                _ => return widths,
            }
        }
    }

    /// Returns the changes of each width by one bit.
    fn changes(
        &self,
        widths: &Widths,
        parts: &PartVariances,
        step: fn(u32, u32) -> u32,
    ) -> impl Iterator<Item = Change> {
        [0, 1, 2, 3, 4, 5]
            .map(|place| self.change(widths, parts, place, step))
            .into_iter()
            .flatten()
    }

    /// Returns a change of one width. Returns `None` if the width is not sent, or if it is out of
    /// range after the change.
    fn change(
        &self,
        widths: &Widths,
        parts: &PartVariances,
        place: usize,
        step: fn(u32, u32) -> u32,
    ) -> Option<Change> {
        let mut changed = *widths;
        changed[place] = step(changed[place], 1);
        if self.coefficients[place] == 0 || !self.in_range(&changed) {
            return None;
        }

        let part = self.part(PART[place], &changed);
        let added = part - parts[PART[place]];
        Some(Change { place, part, added })
    }

    /// Returns true if answers decode.
    pub(super) fn holds(&self, widths: &Widths) -> bool {
        self.parts(widths).iter().sum::<f64>() <= self.allowed
    }

    /// Returns the values of the parameters with these widths, or `None` if there is no gadget for
    /// them.
    pub(super) fn literal(&self, widths: &Widths) -> Option<Literal> {
        // Without an RGSW encryption its bits are unused: they are set to y_g's.
        let rgsw = widths[if self.layout.points == 1 { Y_G } else { RGSW }];

        Some(Literal {
            shape: self.layout.shape,
            rlwe: self.modulus.literal,
            interpolation: self.layout.interpolation,
            key_switch: self.keys(widths)?.gadget,
            rgsw: self.point(widths)?.gadget,
            query_bits: widths[QUERY],
            key_bits: KeyBits {
                y_g: widths[Y_G],
                y_h: widths[Y_H],
                rgsw,
            },
            answer_bits: (widths[MASK], widths[BODY]),
            reserved: true,
            failure: self.failure,
        })
    }
}

/// Returns the gadget of the least variance, or `None` if there are no gadgets.
fn least(gadgets: &[Rounded], variance: impl Fn(&Rounded) -> f64) -> Option<AddedNoise> {
    let all = gadgets.iter().map(|one| AddedNoise {
        variance: variance(one),
        gadget: one.gadget,
    });
    all.min_by(|a, b| a.variance.total_cmp(&b.variance))
}

/// Returns the variance that a gadget adds. It is infinite without a gadget.
fn variance(least: Option<AddedNoise>) -> f64 {
    least.map_or(f64::INFINITY, |least| least.variance)
}
