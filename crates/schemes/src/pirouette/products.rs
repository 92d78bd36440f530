//! External products alone, for the calibration of the cost model.

use std::sync::Arc;

use papir_core::Result;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::key_switch::masks_from;
use papir_lattice::wide::{Gadget, Rlwe, Rows, Workspace};
use papir_ring::prg::Seed;
use papir_ring::wide::{Poly, Ring};
use papir_ring::{Coefficients, CyclotomicRing};

use super::chain::{Chain, Grain, LOG2_Q, ParameterSet, Standard};
use crate::shared::parameters::refused;

/// Number of digits of a product. The unit of the cost model is a product of two digits.
const LEVELS: usize = 2;
/// log₂ of the base of a digit. The time does not depend on it.
const LOG_BASE: u32 = 17;

/// Public rows in place of RGSW encryptions. Threads share them, as they share a client's keys.
pub struct Products {
    chain: Arc<Chain>,
    gadget: Gadget,
    gates: Vec<Rows>,
}

impl Products {
    /// Creates rows for `gates` gates, of 128 KiB each. If they do not fit into caches, they are
    /// read from memory like the keys of a blind rotation.
    ///
    /// # Errors
    /// The constants of this module cause no error.
    pub fn new(gates: usize) -> Result<Self> {
        let chain = Chain::get::<Standard>(Grain::Coarse)?;
        let params = GadgetParams {
            levels: LEVELS,
            log_base: LOG_BASE,
            drop: LOG2_Q - LEVELS as u32 * LOG_BASE,
        };
        let gadget = Gadget::new(chain.ring(), params).map_err(refused(Standard::NAME))?;

        let masks = masks_from(chain.ring(), &Seed([0; 32]), "products", 0..2 * LEVELS);
        let rows = Rows::new(chain.ring(), &masks, &masks);

        Ok(Self {
            gates: vec![rows; gates.max(1)],
            chain,
            gadget,
        })
    }

    /// Computes `times` external products one after another, starting at gate `start`, and returns
    /// a word of the last.
    pub fn run(&self, start: usize, times: usize) -> u64 {
        let ring = self.chain.ring();
        let mut work = Workspace::new(ring, 2 * LEVELS);
        let mut rlwe = Rlwe {
            a: uniform(ring, 0),
            b: uniform(ring, 1),
        };
        let mut product = Rlwe::zero(ring);

        for gate in self
            .gates
            .iter()
            .cycle()
            .skip(start % self.gates.len())
            .take(times)
        {
            work.external_product(ring, &self.gadget, &rlwe, gate, &mut product);
            // Each product is a factor of the next, so that no two run at once, as in a blind
            // rotation.
            std::mem::swap(&mut rlwe, &mut product);
        }

        ring.to_words(&rlwe.b).first().copied().unwrap_or_default()
    }
}

/// Draws a uniform element, in coefficients.
fn uniform(ring: &Ring, stream: u64) -> Poly<Coefficients> {
    ring.inverse(ring.uniform(&mut Seed([1; 32]).expand("product", stream)))
}
