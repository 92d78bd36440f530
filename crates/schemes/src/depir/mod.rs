//! Doubly-efficient private information retrieval.
//!
//! Okada, Player, Pohmann, Weinert, *Towards Practical Doubly-Efficient Private Information
//! Retrieval*, after Lin, Mook and Wichs. Clients need neither a hint nor keys. One evaluation
//! answers an index for each slot of a plaintext.
//!
//! The database is a polynomial f in m variables of total degree D whose value at the i-th point of
//! the simplex is the i-th entry, modulo t. A query encrypts the points of up to n indices, one in
//! each slot, in m ciphertexts b + a·Y. The answer is f of them, a polynomial of degree D in Y.
//!
//! ```text
//! setup    f ← interpolate(entries at the points of the simplex), total degree D, modulo t
//!          with tables: its values modulo small primes, tabulated
//! query    (b₁ + a₁·Y, …, b_m + a_m·Y) ← ASHE(points of up to n indices, one in each slot)
//! answer   f(b₁ + a₁·Y, …, b_m + a_m·Y): a polynomial of degree D in Y
//!          by its values at D + 1 points of Y, modulo each prime; switch to a smaller modulus
//! extract  substitute s for Y, reduce modulo t: the entry of each slot
//! ```
//!
//! | the paper | function |
//! |---|---|
//! | total-degree interpolation (section 6, Appendix B) | [`interpolation`] |
//! | σ: index → point | [`simplex::Simplex::points`] |
//! | ASHE (section 4.2) | [`papir_lattice::bv`] |
//! | Fourier decomposition of ciphertexts (section 6) | [`lines::values`] at [`lines::nodes`] |
//! | Algorithm 4, lines 20–28: evaluation | [`lines`]; by tables, [`structure`] |
//! | reply modulus switching (section 7) | [`papir_lattice::bv::switch`] |
//! | SIMD slots ("Amortization", section 7) | [`client`] |
//!
//! `docs/decisions/0022-depir.md` lists the differences from the paper. The main difference is in
//! the decomposition of ciphertexts over D + 1 points of Y: the points are chosen for each slot so
//! that its first coordinate is 0, 1, …, D. Values there determine a polynomial as well as values
//! at roots of unity do, and only the D + 1 contractions of f in one variable fewer are evaluated.

pub mod choice;
pub mod client;
pub mod evaluation;
pub mod evaluator;
pub mod interpolation;
pub mod lines;
pub mod params;
mod rows;
pub mod server;
pub mod simplex;
pub mod structure;
#[cfg(test)]
mod tests;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Scheme, Unregistered};

use crate::shared::messages::EmptyPublic;

pub use params::Depir;

impl Scheme for Depir {
    const NAME: &'static str = choice::NAME;
    const ID: u16 = 17;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = params::DepirParams;
    type Public = EmptyPublic;
    type Query = wire::DepirQuery;
    type Answer = wire::DepirAnswer;
    type Secret = client::DepirSecret;
    type Registration = Unregistered;
    type Server = server::DepirServer;
    type Client = client::DepirClient;
}
