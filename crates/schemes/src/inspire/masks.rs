//! GENFIXEDQUERYPARTS (Algorithm 7): every mask that a query's encryptions use, from one public
//! seed, each from a stream of its own.

use papir_core::Result;
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::rgsw;
use papir_ring::prg::{Expander, Seed};
use papir_ring::{Poly, Values};

use super::interpolation::MAX_VARIABLES;
use super::literal::NAME;
use super::params::Params;
use crate::shared::parameters::refused;

/// Labels of the RGSW encryptions of each variable's point.
const RGSW: [&str; MAX_VARIABLES] = ["inspire/rgsw", "inspire/rgsw/1", "inspire/rgsw/2", "inspire/rgsw/3"];

/// InspiRING under the masks w_g and w_h.
///
/// # Errors
/// None for checked parameters: those of a gadget that does not fit.
pub fn packing(params: &Params, seed: &Seed) -> Result<Inspiring> {
    Inspiring::new(params.rlwe(), params.key_switch(), params.layout().degree, seed).map_err(refused(NAME))
}

/// Masks of the RGSW encryptions, variable by variable; none if a column is a single point.
pub fn rgsw_masks(params: &Params, seed: &Seed) -> Vec<Poly<Values>> {
    let labels = RGSW.iter().take(params.layout().interpolation.variables().len());
    labels.flat_map(|label| rgsw::masks(params.rlwe().ring(), seed, label, params.rgsw())).collect()
}

/// The stream that whitens chunk `chunk` of all records; element e starts at byte e·2d.
pub fn whitening(seed: &Seed, chunk: usize) -> Expander {
    seed.expand("inspire/whitening", chunk as u64)
}
