//! GENFIXEDQUERYPARTS (Algorithm 3): masks of keys and whitening from one public seed.
//!
//! Each comes from its own stream. The masks of the selectors are those of [`Params::selector`].

use papir_core::Result;
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::inspiring::PartialInspiring;
use papir_ring::prg::Seed;

use super::literal::NAME;
use super::params::Params;
use crate::shared::matrices;
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
    pub fn role(&self, packing: usize) -> usize {
        self.roles[packing]
    }

    /// The first, second or third packing.
    pub fn packing(&self, packing: usize) -> &PartialInspiring {
        &self.distinct[self.roles[packing]]
    }
}

/// Adds the stream that whitens units from unit `first` on, or removes it.
pub fn whiten(seed: &Seed, first: u64, unit_bytes: usize, bytes: &mut [u8]) {
    matrices::whiten(seed, "inspire2/whitening", first * unit_bytes as u64, bytes);
}
