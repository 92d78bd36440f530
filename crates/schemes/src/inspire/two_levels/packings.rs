//! The packings of both levels and their keys, and a selection from either level's matrix.

use papir_core::Result;
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, PartialInspiring};
use papir_lattice::packing::{Bodies, OnlineKey, RingPacking};
use papir_lattice::selection::WordMatrix;
use papir_ring::prg::Seed;

use super::literal::NAME;
use super::params::Params;
use super::wire::Query;
use crate::shared::held::Held;
use crate::shared::packs::Names;
use crate::shared::parameters::refused;

/// Section of the seed.
pub(super) const SEED: &str = "inspire2/seed";
/// Sections of the second level's packs.
pub(super) const PACKS: Names = Names {
    scheme: NAME,
    words: "inspire2/second",
    packs: "inspire2/second packs",
};

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
            PartialInspiring::new(params.rlwe(), params.gadget(), gamma, seed)
                .map_err(refused(NAME))
        };
        let role = |gamma| {
            gammas
                .iter()
                .position(|&other| other == gamma)
                .unwrap_or_default()
        };
        let roles = params.literal().gammas.map(role);
        Ok(Self {
            distinct: gammas.iter().map(packing).collect::<Result<_>>()?,
            roles,
        })
    }

    /// All of them, in the order of their keys.
    pub fn distinct(&self) -> &[PartialInspiring] {
        &self.distinct
    }

    /// Line 6: a query's key for one of the distinct packings.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for a key of another packing.
    pub(super) fn key(
        &self,
        params: &Params,
        query: &Query,
        index: usize,
    ) -> Result<OnlineKey<Expanded>> {
        let words = |packing: &PartialInspiring| packing.shape().words();
        let packing = &self.distinct[index];
        let start: usize = self.distinct[..index].iter().map(words).sum();
        let key = query
            .keys
            .get(start..start + words(packing))
            .unwrap_or_default();
        PACKS.online_key(packing, &[params.literal().key_bits], key)
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

/// A level's matrix times its selectors, as bodies of packs of γ.
pub(super) fn select(
    params: &Params,
    (tiles, held): (&[i16], &Held),
    queries: &[&Query],
    level: usize,
    [gamma, packs]: [usize; 2],
) -> Vec<Bodies> {
    let matrix = WordMatrix::new(params.selectors()[level], tiles);
    let selectors: Vec<&[u64]> = queries
        .iter()
        .map(|query| query.selectors[level].as_slice())
        .collect();
    let ring = params.rlwe().ring();
    let bits = params.literal().query_bits[level];
    let sums = match held.products(&selectors, bits) {
        Some(products) => matrix.select_from(products, &selectors, bits),
        None => matrix.select(&selectors, bits),
    };
    let sums = sums.into_iter();
    sums.map(|sums| Bodies::from_sums(ring, gamma, packs, &sums, bits))
        .collect()
}
