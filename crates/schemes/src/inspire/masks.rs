//! GENFIXEDQUERYPARTS (Algorithm 7): every mask that a query's encryptions use, from one public
//! seed, each from a stream of its own.

use papir_core::{Error, Result};
use papir_lattice::lwe::block_mask;
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::rgsw;
use papir_lattice::selection::SelectorMasks;
use papir_ring::prg::{Expander, Seed};
use papir_ring::{Poly, Values};

use super::interpolation::MAX_VARIABLES;
use super::params::{self, Params};

const SELECTOR: &str = "inspire/selector";
/// Of each variable's point.
const RGSW: [&str; MAX_VARIABLES] = ["inspire/rgsw", "inspire/rgsw/1", "inspire/rgsw/2", "inspire/rgsw/3"];

/// The mask of block i of d columns.
pub fn selector_mask(params: &Params, seed: &Seed, block: usize) -> Poly<Values> {
    block_mask(params.rlwe(), seed, SELECTOR, block)
}

/// The masks of all blocks, as the packs' masks are made from them.
pub fn selector_masks(params: &Params, seed: &Seed) -> SelectorMasks {
    let layout = params.layout();
    SelectorMasks::new(params.rlwe(), seed, SELECTOR, layout.columns, layout.degree)
}

/// InspiRING under the masks w_g and w_h.
///
/// # Errors
/// None for checked parameters: those of a gadget that does not fit.
pub fn packing(params: &Params, seed: &Seed) -> Result<Inspiring> {
    Inspiring::new(params.rlwe(), params.key_switch(), params.layout().degree, seed)
        .map_err(|error| Error::Parameters { scheme: params::NAME, reason: error.to_string() })
}

/// The masks of the RGSW encryptions, variable by variable; none where a column is a single point.
pub fn rgsw_masks(params: &Params, seed: &Seed) -> Vec<Poly<Values>> {
    let labels = RGSW.iter().take(params.layout().interpolation.variables().len());
    labels.flat_map(|label| rgsw::masks(params.rlwe().ring(), seed, label, params.rgsw())).collect()
}

/// The stream that whitens the records' chunk of this number; element e starts at byte e·2d.
pub fn whitening(seed: &Seed, chunk: usize) -> Expander {
    seed.expand("inspire/whitening", chunk as u64)
}
