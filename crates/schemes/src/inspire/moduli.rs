//! Moduli of the search and their gadgets (appendix G.1).
//!
//! Gadgets are exact, or approximate and drop the lowest bits.

use papir_core::Result;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::noise::Setting;
use papir_lattice::params::{DEFAULT_PRIMES, Literal as RlweLiteral, RlweParams};

use super::literal::{NAME, check_matrix};
use crate::shared::parameters::refused;

/// Primes of the moduli that are tried, below 2⁵³, 2⁵⁵ and 2^55.9. Of two with equal messages the
/// search takes the smaller one, which is more secure.
pub(super) const MODULI: [[u32; 2]; 3] =
    [[134_176_769, 67_104_769], [268_369_921, 134_176_769], DEFAULT_PRIMES];
/// Digits of the packing keys. One is too few for d − 1 switches.
pub(super) const PACKING_LEVELS: [usize; 2] = [2, 3];
/// Digits of RGSW encryptions. One is enough for a few products.
pub(super) const RGSW_LEVELS: [usize; 3] = [1, 2, 3];
/// Fewest bits that key material is rounded to.
pub(super) const LEAST_KEY_BITS: u32 = 20;
/// log₂ of the bases that are tried. The packing matrix further bounds those of packing keys.
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
    /// q.
    pub(super) value: f64,
    /// The most bits that are fewer than those of q.
    pub(super) most_bits: u32,
    /// One key switch, for each of [`PACKING_LEVELS`].
    pub(super) packing: [Vec<Rounded>; 2],
    /// One external product, for each of [`RGSW_LEVELS`].
    pub(super) rgsw: [Vec<Rounded>; 3],
}

impl Modulus {
    /// Builds the tables.
    ///
    /// # Errors
    /// None for [`MODULI`].
    pub(super) fn new(primes: [u32; 2]) -> Result<Self> {
        let literal = RlweLiteral { primes, ..RlweLiteral::DEFAULT };
        let rlwe = RlweParams::new(literal).map_err(refused(NAME))?;
        let value = rlwe.ring().modulus();
        let mut modulus = Self {
            literal,
            value: value as f64,
            most_bits: value.ilog2(),
            packing: PACKING_LEVELS.map(|_| Vec::new()),
            rgsw: RGSW_LEVELS.map(|_| Vec::new()),
            rlwe,
        };
        modulus.packing =
            PACKING_LEVELS.map(|levels| modulus.gadgets(levels, Setting::key_switch, fits_matrix));
        modulus.rgsw = RGSW_LEVELS.map(|levels| modulus.gadgets(levels, Setting::external_product, |_| true));
        Ok(modulus)
    }

    /// The gadgets of `levels` digits that are best for some rounding.
    fn gadgets(&self, levels: usize, variance: Variance, fits: fn(&GadgetParams) -> bool) -> Vec<Rounded> {
        let gadgets = LOG_BASES.filter_map(|log_base| least_drop(&self.rlwe, levels, log_base)).filter(fits);
        useful(gadgets.map(|gadget| self.rounded(gadget, variance)).collect())
    }

    /// The variances of a gadget for each number of key bits.
    pub(super) fn rounded(&self, gadget: GadgetParams, variance: Variance) -> Rounded {
        let variance = (0..=self.most_bits).map(|bits| variance(&self.setting(bits), gadget)).collect();
        Rounded { gadget, variance }
    }

    /// Setting of keys that are rounded to `key_bits` bits.
    pub(super) fn setting(&self, key_bits: u32) -> Setting {
        let RlweLiteral { degree, sigma, .. } = self.literal;
        Setting::error_like(degree, self.value, sigma, key_bits)
    }
}

/// Variance that a gadget adds in a setting.
pub(super) type Variance = fn(&Setting, GadgetParams) -> f64;

fn fits_matrix(gadget: &GadgetParams) -> bool {
    check_matrix(RlweLiteral::DEFAULT.degree, *gadget).is_ok()
}

/// The gadget of this base that drops the fewest bits: none if its digits cover all of q.
fn least_drop(rlwe: &RlweParams, levels: usize, log_base: u32) -> Option<GadgetParams> {
    let bits = rlwe.ring().modulus().ilog2();
    let first = bits.saturating_sub(levels as u32 * log_base);
    let gadgets = (first..first + 3).map(|drop| GadgetParams { levels, log_base, drop });
    gadgets.into_iter().find(|&gadget| Gadget::new(rlwe.ring(), gadget).is_ok())
}

/// The gadgets that are best for some number of bits.
fn useful(all: Vec<Rounded>) -> Vec<Rounded> {
    let mut least = vec![f64::INFINITY; all.first().map_or(0, |one| one.variance.len())];
    for one in &all {
        least.iter_mut().zip(&one.variance).for_each(|(least, &variance)| *least = least.min(variance));
    }
    let is_best = |one: &Rounded| {
        one.variance
            .iter()
            .zip(&least)
            .skip(LEAST_KEY_BITS as usize)
            .any(|(variance, least)| variance <= least)
    };
    all.into_iter().filter(is_best).collect()
}
