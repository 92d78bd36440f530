//! GENFIXEDQUERYPARTS (Algorithm 3): every mask that a query's encryptions use, from one public seed, each
//! from a stream of its own.

use papir_core::{Error, Result};
use papir_lattice::lwe::block_mask;
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::inspiring::PartialInspiring;
use papir_lattice::selection::SelectorMasks;
use papir_ring::prg::Seed;
use papir_ring::{Poly, Values};
use zeroize::Zeroizing;

use super::params::{self, Params};

/// Of A₀ and A₁.
const SELECTORS: [&str; 2] = ["inspire2/first", "inspire2/second"];

/// The mask of block i of d entries of a level's selector.
pub fn selector_mask(params: &Params, seed: &Seed, level: usize, block: usize) -> Poly<Values> {
    block_mask(params.rlwe(), seed, SELECTORS[level], block)
}

/// The masks of all blocks of a level's selector, as packs of `capacity` rows are made from them.
pub fn selector_masks(params: &Params, seed: &Seed, level: usize, capacity: usize) -> SelectorMasks {
    let columns = params.selectors()[level];
    SelectorMasks::new(params.rlwe(), seed, SELECTORS[level], columns, capacity)
}

/// PartialInspiRING for each distinct γ, under the masks w_g of that γ.
#[derive(Clone, Debug)]
pub struct Packings {
    distinct: Vec<PartialInspiring>,
    /// Which of them packs first, second and third.
    roles: [usize; 3],
}

impl Packings {
    /// Those of γ₀, γ₁, γ₂.
    ///
    /// # Errors
    /// None for checked parameters: those of a γ or a gadget that does not fit.
    pub fn new(params: &Params, seed: &Seed) -> Result<Self> {
        let gammas = params.distinct_gammas();
        let packing = |&gamma: &usize| {
            PartialInspiring::new(params.rlwe(), params.gadget(), gamma, seed)
                .map_err(|error| Error::Parameters { scheme: params::NAME, reason: error.to_string() })
        };
        let role = |gamma| gammas.iter().position(|&other| other == gamma).unwrap_or_default();
        let roles = params.literal().gammas.map(role);
        Ok(Self { distinct: gammas.iter().map(packing).collect::<Result<_>>()?, roles })
    }

    /// All of them, in the order of their keys.
    pub fn distinct(&self) -> &[PartialInspiring] {
        &self.distinct
    }

    /// The place among them of the first, second or third packing.
    pub fn role(&self, packing: usize) -> usize {
        self.roles[packing]
    }

    /// The first, second or third packing.
    pub fn packing(&self, packing: usize) -> &PartialInspiring {
        &self.distinct[self.roles[packing]]
    }
}

/// Adds or removes the stream that whitens units, from unit `first` on.
pub fn whiten(seed: &Seed, first: u64, unit_bytes: usize, bytes: &mut [u8]) {
    let mut stream = seed.expand("inspire2/whitening", 0);
    stream.seek(first * unit_bytes as u64);
    // On the client which part of the stream it is tells which unit was asked for.
    let mut mask = Zeroizing::new(vec![0; bytes.len()]);
    stream.fill(&mut mask);
    bytes.iter_mut().zip(mask.iter()).for_each(|(byte, mask)| *byte ^= mask);
}
