//! GENFIXEDQUERYPARTS (Algorithm 7): every mask that a query's encryptions use, from one public
//! seed, each from a stream of its own.

use papir_lattice::lwe::block_mask;
use papir_lattice::packing::inspiring::PackingMasks;
use papir_lattice::rgsw;
use papir_ring::prg::{Expander, Seed};
use papir_ring::{Poly, Values};

use super::params::Params;

/// The mask of block i of d columns.
pub fn selector_mask(params: &Params, seed: &Seed, block: usize) -> Poly<Values> {
    block_mask(params.rlwe(), seed, "inspire/selector", block)
}

/// w_g and w_h.
pub fn packing_masks(params: &Params, seed: &Seed) -> PackingMasks {
    PackingMasks::expand(params.rlwe().ring(), seed, params.key_switch().levels())
}

/// The masks of the RGSW encryption; none where a column is a single point.
pub fn rgsw_masks(params: &Params, seed: &Seed) -> Vec<Poly<Values>> {
    if params.rgsw_rows() == 0 {
        return Vec::new();
    }
    rgsw::masks(params.rlwe().ring(), seed, "inspire/rgsw", params.rgsw())
}

/// The stream that whitens the records' chunk of this number; element e starts at byte e·2d.
pub fn whitening(seed: &Seed, chunk: usize) -> Expander {
    seed.expand("inspire/whitening", chunk as u64)
}
