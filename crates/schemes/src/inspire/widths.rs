//! Search for the message bits with the smallest messages, for a modulus and numbers of digits.
//!
//! The variances of selector, packs, point and response add up, and each depends on one width or
//! two. The search starts at full precision and repeatedly removes the bit that saves most for the
//! variance it adds; then it exchanges bits as long as messages get smaller.

use std::cell::Cell;

use super::layout::Layout;
use super::literal::{KeyBits, Literal, MAX_QUERY_BITS};
use super::moduli::{LEAST_KEY_BITS, Modulus, Rounded};
use super::noise;

/// Message bits, at the following places.
pub(super) type Widths = [u32; 6];
pub(super) const QUERY: usize = 0;
pub(super) const Y_G: usize = 1;
pub(super) const Y_H: usize = 2;
pub(super) const RGSW: usize = 3;
pub(super) const MASK: usize = 4;
pub(super) const BODY: usize = 5;
/// Fewest bits that are tried.
pub(super) const LEAST: Widths = [20, LEAST_KEY_BITS, LEAST_KEY_BITS, LEAST_KEY_BITS, 17, 17];
/// Most bits of an answer's coefficient.
const MOST_ANSWER: u32 = 32;

/// Variances of selector, packs, point and response.
type Parts = [f64; 4];
/// A width, its part after a change of one bit, and the increase.
type Change = (usize, f64, f64);
/// The part that each width changes.
const PART: [usize; 6] = [0, 1, 1, 2, 3, 3];

/// A modulus and numbers of digits, for one layout.
pub(super) struct Frame<'a> {
    pub(super) modulus: &'a Modulus,
    pub(super) layout: &'a Layout,
    pub(super) packing: &'a [Rounded],
    pub(super) rgsw: &'a [Rounded],
    /// Largest variance of an answer.
    pub(super) allowed: f64,
    /// Factor of the variance of a selector entry.
    pub(super) squared_sums: f64,
    /// Number of coefficients of each width.
    pub(super) coefficients: [u64; 6],
    /// Number of computed variances.
    pub(super) tried: &'a Cell<usize>,
}

impl Frame<'_> {
    /// One of [`Parts`].
    pub(super) fn part(&self, part: usize, widths: &Widths) -> f64 {
        self.tried.set(self.tried.get() + 1);
        let Modulus { literal, value, .. } = self.modulus;
        let points = self.layout.points as f64;
        let least = |variances: &mut dyn Iterator<Item = f64>| variances.fold(f64::INFINITY, f64::min);
        match part {
            0 => self.squared_sums * noise::selector(literal.sigma, *value, widths[QUERY]),
            1 => points * least(&mut self.packing.iter().map(|one| self.pack(one, widths))),
            2 => (points - 1.0) * least(&mut self.rgsw.iter().map(|one| one.variance[widths[RGSW] as usize])),
            _ => self.modulus.setting(0).response_switch(widths[MASK], widths[BODY]),
        }
    }

    /// Variance of one pack.
    fn pack(&self, keys: &Rounded, widths: &Widths) -> f64 {
        let switches = (self.layout.degree - 2) as f64;
        switches * keys.variance[widths[Y_G] as usize] + keys.variance[widths[Y_H] as usize]
    }

    /// The packing gadget that adds least.
    fn keys(&self, widths: &Widths) -> Option<&Rounded> {
        self.packing.iter().min_by(|a, b| self.pack(a, widths).total_cmp(&self.pack(b, widths)))
    }

    /// The RGSW gadget that adds least.
    fn point(&self, widths: &Widths) -> Option<&Rounded> {
        let variance = |one: &&Rounded| one.variance[widths[RGSW] as usize];
        self.rgsw.iter().min_by(|a, b| variance(a).total_cmp(&variance(b)))
    }

    /// All parts.
    pub(super) fn parts(&self, widths: &Widths) -> Parts {
        [0, 1, 2, 3].map(|part| self.part(part, widths))
    }

    /// Bits of all messages.
    pub(super) fn bits(&self, widths: &Widths) -> u64 {
        self.coefficients.iter().zip(widths).map(|(count, &width)| count * u64::from(width)).sum()
    }

    /// Full precision.
    pub(super) fn widest(&self) -> Widths {
        let most = self.modulus.most_bits;
        [MAX_QUERY_BITS.min(most), most, most, most, MOST_ANSWER, MOST_ANSWER]
    }

    /// Whether the widths are valid.
    pub(super) fn in_range(&self, widths: &Widths) -> bool {
        let most = self.widest();
        widths[BODY] <= widths[MASK]
            && (0..6).all(|place| (LEAST[place]..=most[place]).contains(&widths[place]))
    }

    /// Removes bits from full precision; `None` if that does not decode.
    pub(super) fn cut(&self) -> Option<Widths> {
        let widest = self.widest();
        self.holds(&widest).then(|| self.cut_from(widest))
    }

    /// Repeatedly removes the bit that saves most for the variance it adds.
    fn cut_from(&self, mut widths: Widths) -> Widths {
        let mut parts = self.parts(&widths);
        loop {
            let left = self.allowed - parts.iter().sum::<f64>();
            let fits = |&(_, _, added): &Change| added <= left;
            let worth =
                |(place, _, added): &Change| self.coefficients[*place] as f64 / added.max(f64::MIN_POSITIVE);
            let changes = self.changes(&widths, &parts, u32::wrapping_sub).filter(fits);
            let Some((place, part, _)) = changes.max_by(|a, b| worth(a).total_cmp(&worth(b))) else {
                return widths;
            };
            widths[place] -= 1;
            parts[PART[place]] = part;
        }
    }

    /// Removes a bit in one place and adds bits in other parts where they help most.
    fn exchange(&self, widths: &Widths, fewer: usize) -> Option<Widths> {
        let mut widths = *widths;
        widths[fewer] -= 1;
        if !self.in_range(&widths) {
            return None;
        }
        let mut parts = self.parts(&widths);
        while parts.iter().sum::<f64>() > self.allowed {
            let worth = |(place, _, added): &Change| -added / self.coefficients[*place] as f64;
            let changes = self.changes(&widths, &parts, u32::wrapping_add);
            let others = changes.filter(|change| PART[change.0] != PART[fewer]);
            let (place, part, _) = others.max_by(|a, b| worth(a).total_cmp(&worth(b)))?;
            widths[place] += 1;
            parts[PART[place]] = part;
        }
        Some(self.cut_from(widths))
    }

    /// Exchanges bits as long as messages get smaller.
    pub(super) fn polish(&self, mut widths: Widths) -> Widths {
        loop {
            let sent = (0..6).filter(|&place| self.coefficients[place] > 0);
            let exchanged = sent.filter_map(|place| self.exchange(&widths, place));
            match exchanged.min_by_key(|other| self.bits(other)) {
                Some(better) if self.bits(&better) < self.bits(&widths) => widths = better,
                _ => return widths,
            }
        }
    }

    /// Changes of each width by one.
    fn changes(
        &self,
        widths: &Widths,
        parts: &Parts,
        step: fn(u32, u32) -> u32,
    ) -> impl Iterator<Item = Change> {
        let change = |place: usize| {
            let mut changed = *widths;
            changed[place] = step(changed[place], 1);
            let part = (self.coefficients[place] > 0 && self.in_range(&changed))
                .then(|| self.part(PART[place], &changed))?;
            Some((place, part, part - parts[PART[place]]))
        };
        [0, 1, 2, 3, 4, 5].map(change).into_iter().flatten()
    }

    /// Whether answers decode.
    pub(super) fn holds(&self, widths: &Widths) -> bool {
        self.parts(widths).iter().sum::<f64>() <= self.allowed
    }

    /// The parameters with these widths.
    pub(super) fn literal(&self, widths: &Widths) -> Option<Literal> {
        // Without an RGSW encryption its bits are unused: they are set to those of y_g.
        let rgsw = widths[if self.layout.points == 1 { Y_G } else { RGSW }];
        Some(Literal {
            shape: self.layout.shape,
            rlwe: self.modulus.literal,
            interpolation: self.layout.interpolation,
            key_switch: self.keys(widths)?.gadget,
            rgsw: self.point(widths)?.gadget,
            query_bits: widths[QUERY],
            key_bits: KeyBits { y_g: widths[Y_G], y_h: widths[Y_H], rgsw },
            answer_bits: (widths[MASK], widths[BODY]),
        })
    }
}
