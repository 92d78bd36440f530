//! The packings of both levels, and the second level (Algorithm 5, lines 9 to 12).
//!
//! The second level's database has a column for each unit of a column of D: the digits of the
//! unit's encryption. The digits of masks are a matrix, made at setup and packed ahead like the
//! first level (`digit_column`). The digits of bodies come from each query's first answer; their
//! masks and packs are the only ones made while a query waits (`respond`).

use papir_core::Result;
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, PartialInspiring};
use papir_lattice::packing::{Bodies, OnlineKey, RingPacking};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::selection::SelectorMasks;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly};

use super::literal::NAME;
use super::params::Params;
use crate::shared::packs::encryptions;
use crate::shared::parameters::refused;

/// PartialInspiRING for each distinct γ, under the masks w_g of that γ.
#[derive(Clone, Debug)]
pub struct Packings {
    distinct: Vec<PartialInspiring>,
    /// Indices of the first, second and third packing.
    roles: [usize; 3],
}

impl Packings {
    /// The packings of γ₀, γ₁, γ₂.
    ///
    /// # Errors
    /// None for checked parameters: those of a γ or a gadget that does not fit.
    pub fn new(params: &Params, seed: &Seed) -> Result<Self> {
        let gammas = params.literal().distinct_gammas();
        let packing = |&gamma: &usize| {
            PartialInspiring::new(params.rlwe(), params.gadget(), gamma, seed).map_err(refused(NAME))
        };
        let role = |gamma| gammas.iter().position(|&other| other == gamma).unwrap_or_default();
        let roles = params.literal().gammas.map(role);
        Ok(Self { distinct: gammas.iter().map(packing).collect::<Result<_>>()?, roles })
    }

    /// All of them, in the order of their keys.
    pub fn distinct(&self) -> &[PartialInspiring] {
        &self.distinct
    }

    /// Index of the first, second or third packing.
    pub(super) fn role(&self, packing: usize) -> usize {
        self.roles[packing]
    }

    /// The first, second or third packing.
    pub(super) fn packing(&self, packing: usize) -> &PartialInspiring {
        &self.distinct[self.roles[packing]]
    }
}

/// The digits of a unit's mask a, switched: a column of the second level's matrix. Digit j of
/// coefficient c is at j·d + c.
pub(super) fn digit_column(params: &Params, a: &Poly<Coefficients>) -> Vec<i16> {
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
pub(super) fn body_digits(params: &Params, bodies: &Bodies) -> Vec<i16> {
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

/// resp₂: selects from rows of digits ([`body_digits`]) and packs the selection by γ₂, while a
/// query waits. `masks` are those of the second selector.
pub(super) fn respond(
    params: &Params,
    packing: &PartialInspiring,
    masks: &SelectorMasks,
    digits: &[i16],
    selector: &[u64],
    key: &OnlineKey<Expanded>,
) -> Result<Vec<Rlwe>> {
    let (ring, gamma, columns) = (params.rlwe().ring(), packing.capacity(), params.layout().blocks);
    let (packs, bits) = (digits.len() / (gamma * columns), params.literal().query_bits[1]);
    let mut words = vec![0; packing.words(packs)];
    let pack_digits = |pack: usize| &digits[pack * gamma * columns..][..gamma * columns];
    let masks = |pack| masks.of_words(ring, pack_digits(pack), columns);
    let prepared = packing.prepare_all(packs, masks, &mut words).map_err(refused(NAME))?;
    // Each row times the selector, modulo 2^bits.
    let product = |row: &[i16]| {
        let terms = row.iter().zip(selector);
        let sum =
            |sum: u64, (&digit, &entry): (&i16, &u64)| sum.wrapping_add((digit as u64).wrapping_mul(entry));
        terms.fold(0, sum) & ((1 << bits) - 1)
    };
    let sums: Vec<u64> = digits.chunks_exact(columns).map(product).collect();
    let bodies = Bodies::from_sums(ring, gamma, packs, &sums, bits);
    let packed = packing.pack_bodies(&words, &[], vec![bodies], &[key]).map_err(refused(NAME))?;
    Ok(packed.first().map(|bodies| encryptions(ring, &prepared, bodies)).unwrap_or_default())
}
