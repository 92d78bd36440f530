//! Packings of both levels, their keys, and selections.

use papir_core::Result;
use papir_lattice::packing::inspiring::{OnlineKey as Expanded, PartialInspiring};
use papir_lattice::packing::{Bodies, OnlineKey, Packing};
use papir_lattice::selection::WordMatrix;
use papir_ring::prg::Seed;

use super::literal::NAME;
use super::params::Params;
use super::wire::Query;
use crate::shared::device_copy::DeviceCopy;
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

/// The packings of PartialInspiRING for each distinct γ, under the masks w_g of that γ.
#[derive(Clone, Debug)]
pub struct Packings {
    distinct: Vec<Packing<PartialInspiring>>,
    /// Indices of the first, second and third packing.
    roles: [usize; 3],
}

impl Packings {
    /// Creates the packings of γ₀, γ₁, γ₂.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for a γ or a gadget that does not fit. Checked parameters
    /// cause no error.
    pub fn new(params: &Params, seed: &Seed) -> Result<Self> {
        let gammas = params.literal().distinct_gammas();
        let mut distinct = Vec::with_capacity(gammas.len());
        for &gamma in &gammas {
            let packing = Packing::new(params.rlwe(), params.gadget(), gamma, seed);
            distinct.push(packing.map_err(refused(NAME))?);
        }

        // Packings of the same γ share masks, so a query has one key for them.
        let roles = params.literal().gammas.map(|gamma| {
            gammas
                .iter()
                .position(|&other| other == gamma)
                .unwrap_or_default()
        });
        Ok(Self { distinct, roles })
    }

    /// All of them, in the order of their keys.
    pub fn distinct(&self) -> &[Packing<PartialInspiring>] {
        &self.distinct
    }

    /// Computes line 6: reads a query's key for one of the distinct packings. A key of another
    /// packing is refused.
    pub(super) fn key(
        &self,
        params: &Params,
        query: &Query,
        index: usize,
    ) -> Result<OnlineKey<Expanded>> {
        let packing = &self.distinct[index];
        let start: usize = self.distinct[..index]
            .iter()
            .map(|before| before.shape().words())
            .sum();
        let end = start + packing.shape().words();

        // Missing words leave a key of no words, which is refused.
        let key = query.keys.get(start..end).unwrap_or_default();
        PACKS.online_key(packing, &[params.literal().key_bits], key)
    }

    /// Returns the index of the first, second or third packing in the list of distinct packings.
    pub(super) fn role(&self, packing: usize) -> usize {
        self.roles[packing]
    }

    /// The first, second or third packing.
    pub(super) fn packing(&self, packing: usize) -> &Packing<PartialInspiring> {
        &self.distinct[self.roles[packing]]
    }
}

/// A level's matrix, whose rows are packed by γ.
pub(super) struct LevelMatrix<'a> {
    pub(super) level: usize,
    pub(super) tiles: &'a [i16],
    /// Copy of the tiles on a device, if there is one.
    pub(super) held: &'a DeviceCopy,
    /// γ, the number of rows in a pack.
    pub(super) gamma: usize,
    /// Number of packs.
    pub(super) packs: usize,
}

impl LevelMatrix<'_> {
    /// Computes the matrix times the selectors of queries, as bodies of its packs.
    pub(super) fn select(&self, params: &Params, queries: &[&Query]) -> Vec<Bodies> {
        let selectors: Vec<&[u64]> = queries
            .iter()
            .map(|query| query.selectors[self.level].as_slice())
            .collect();
        let bits = params.literal().query_bits[self.level];

        let matrix = WordMatrix::new(params.selectors()[self.level], self.tiles);
        let sums = match self.held.products(&selectors, bits) {
            Some(products) => matrix.select_from(products, &selectors, bits),
            None => matrix.select(&selectors, bits),
        };

        let ring = params.rlwe().ring();
        sums.into_iter()
            .map(|sums| Bodies::from_sums(ring, self.gamma, self.packs, &sums, bits))
            .collect()
    }
}
