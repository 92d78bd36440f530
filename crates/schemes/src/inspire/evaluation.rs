//! EVALPOLY (Algorithm 9).
//!
//! It evaluates the polynomial of the packed coefficients at a query's encrypted point, and
//! switches the result to an answer.

use papir_core::parallel;
use papir_lattice::mod_switch::lift_elements;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::{Rows, Workspace};
use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Values};

use super::params::Params;
use super::wire::Answer;

/// The masks of the RGSW encryptions of all variables' points.
#[derive(Clone)]
pub(super) struct Evaluation {
    masks: Vec<Poly<Values>>,
}

impl Evaluation {
    /// Expands the masks under a public seed.
    pub(super) fn new(params: &Params, seed: &Seed) -> Self {
        Self {
            masks: params.rgsw_masks(seed),
        }
    }

    /// Lifts the RGSW bodies of a query to q.
    pub(super) fn lift(params: &Params, bodies: &[u64]) -> Vec<Poly<Values>> {
        let ring = params.rlwe().ring();
        let lifted = lift_elements(ring, params.literal().key_bits.rgsw, bodies);
        lifted.into_iter().map(|poly| ring.forward(poly)).collect()
    }

    /// Evaluates by Horner's rule at the encrypted point, with one result for each chunk. With
    /// several variables (appendix G.2) the polynomials in the innermost variable are evaluated
    /// first; their values are the coefficients in the next variable.
    pub(super) fn evaluate(
        &self,
        params: &Params,
        packed: Vec<Rlwe>,
        bodies: &[Poly<Values>],
    ) -> Vec<Rlwe> {
        let rows = params.rgsw_rows();
        let points = self.masks.chunks_exact(rows).zip(bodies.chunks_exact(rows));
        let variables = params.layout().interpolation.variables().zip(points);

        let mut coefficients = packed;
        for (size, (masks, bodies)) in variables {
            let point = Rows::new(params.rlwe().ring(), masks, bodies);
            coefficients = parallel::map(coefficients.chunks(size), |polynomial| {
                horner(params, polynomial, &point)
            });
        }
        coefficients
    }
}

/// Switches masks and bodies of all chunks to the bits of an answer.
pub(super) fn switch(params: &Params, results: &[Rlwe]) -> Answer {
    let ring = params.rlwe().ring();
    let bits = params.literal().response();
    Answer {
        masks: results
            .iter()
            .flat_map(|result| bits.mask(ring, &result.a))
            .collect(),
        bodies: results
            .iter()
            .flat_map(|result| bits.body(ring, &ring.to_words(&result.b)))
            .collect(),
    }
}

/// Computes Σ_k cₖ·Z^k at the encrypted Z.
fn horner(params: &Params, coefficients: &[Rlwe], point: &Rows) -> Rlwe {
    let ring = params.rlwe().ring();
    let mut descending = coefficients.iter().rev();
    // The sum starts at the highest coefficient: one product fewer than coefficients, as the noise
    // is bounded.
    let first = descending
        .next()
        .cloned()
        .unwrap_or_else(|| Rlwe::zero(ring));

    let mut work = Workspace::new(ring, point.count());
    descending.fold(first, |sum, coefficient| {
        let mut next = Rlwe::zero(ring);
        work.external_product(ring, params.rgsw(), &sum, point, &mut next);
        next.add_assign(ring, coefficient);
        next
    })
}
