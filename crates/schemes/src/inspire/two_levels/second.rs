//! The second level: RESPOND, lines 9 to 12 (Algorithm 5).
//!
//! Its database has a column for each unit of a column of D: the digits of the unit's encryption.
//! The digits of masks are a matrix, made at setup and packed ahead like the first level
//! ([`digit_column`]). The digits of bodies come from each query's first answer; their masks and
//! packs are the only ones made while a query waits ([`Online`]).

use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, PartialInspiring};
use papir_lattice::packing::{Bodies, OnlineKey, PackingError, RingPacking};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::SelectorMasks;
use papir_ring::{Coefficients, Poly, Ring};

use super::params::Params;
use crate::shared::packs::encryptions;

/// The digits of a unit's mask a, switched: a column of the second level's matrix. Digit j of
/// coefficient c is at j·d + c.
pub fn digit_column(params: &Params, a: &Poly<Coefficients>) -> Vec<i16> {
    let (ring, digits) = (params.rlwe().ring(), params.literal().mask);
    let words = params.literal().first_bits().mask(ring, a);
    let d = ring.degree();
    let mut column = vec![0; params.digit_rows()];
    for (c, word) in words.into_iter().enumerate() {
        digits.split_centred(word).enumerate().for_each(|(j, digit)| column[j * d + c] = digit);
    }
    column
}

/// The digits of all units' bodies, switched, row by row of t: digit j of coefficient c of unit k
/// is at (j·γ₀ + c)·t + k. Rows are as many as fill the third packing's packs.
pub fn body_digits(params: &Params, bodies: &Bodies) -> Vec<i16> {
    let ring = params.rlwe().ring();
    let (digits, [gamma, _, last]) = (params.literal().body, params.literal().gammas);
    let (t, [_, packs]) = (params.layout().blocks, params.literal().packs());
    let switch = PowerSwitch::new(ring.modulus(), params.literal().first_bits().b);
    let mut rows = vec![0; packs * last * t];
    for (i, word) in bodies.to_words(ring).into_iter().enumerate() {
        let (unit, c) = (i / gamma, i % gamma);
        let split = digits.split_centred(switch.down(word)).enumerate();
        split.for_each(|(j, digit)| rows[(j * gamma + c) * t + unit] = digit);
    }
    rows
}

/// The third packing, made while a query waits.
pub struct Online<'a> {
    /// The ring.
    pub ring: &'a Ring,
    /// PartialInspiRING of γ₂.
    pub packing: &'a PartialInspiring,
    /// The masks of the second selector, for packs of γ₂.
    pub masks: &'a SelectorMasks,
    /// t.
    pub columns: usize,
    /// Bits of the second selector.
    pub bits: u32,
}

impl Online<'_> {
    /// resp₂: selects from rows of digits ([`body_digits`]) and packs the selection.
    ///
    /// # Errors
    /// [`PackingError`], which random masks and a key of γ₂ do not cause.
    pub fn respond(
        &self,
        digits: &[i16],
        selector: &[u64],
        key: &OnlineKey<Expanded>,
    ) -> Result<Vec<Rlwe>, PackingError> {
        let (ring, gamma) = (self.ring, self.packing.capacity());
        let packs = digits.len() / (gamma * self.columns);
        let mut words = vec![0; self.packing.words(packs)];
        let pack_digits = |pack: usize| &digits[pack * gamma * self.columns..][..gamma * self.columns];
        let masks = |pack| self.masks.of_words(ring, pack_digits(pack), self.columns);
        let prepared = self.packing.prepare_all(packs, masks, &mut words)?;
        let bodies = Bodies::from_sums(ring, gamma, packs, &self.sums(digits, selector), self.bits);
        let packed = self.packing.pack_bodies(&words, &[], vec![bodies], &[key])?;
        Ok(packed.first().map(|bodies| encryptions(ring, &prepared, bodies)).unwrap_or_default())
    }

    /// Each row times the selector, modulo 2^bits.
    fn sums(&self, digits: &[i16], selector: &[u64]) -> Vec<u64> {
        let mask = (1u64 << self.bits) - 1;
        let product = |row: &[i16]| {
            let terms = row.iter().zip(selector);
            terms.fold(0u64, |sum, (&digit, &entry)| sum.wrapping_add((digit as u64).wrapping_mul(entry)))
        };
        digits.chunks_exact(self.columns).map(|row| product(row) & mask).collect()
    }
}
