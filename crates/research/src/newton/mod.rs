//! NewtonPIR: Lu, Qu, *NewtonPIR: Communication Efficient Single-Server PIR*. **It is not private**, and is
//! here as a row of the tables, with its break beside it.
//!
//! The database is a polynomial f with f(i) = dᵢ, the query an encryption of i under a "single-ciphertext
//! fully homomorphic encryption", the answer f of it. A ciphertext is an element c of the ring
//! R = Z_n\[x, y\]/(x³ − u, y³ − v), its plaintext c(a, b), with a and b the cube roots of u and v that the
//! client knows. Evaluation at (a, b) is a homomorphism R → Z_n: so the plaintext is a root of the
//! characteristic polynomial of multiplication by c, of degree 9, which everybody computes from the query.
//! Whoever has the query tries the indices: [`attack`], and `docs/notes/newtonpir.md`.
//!
//! So no server and no client is made without [`papir_core::NotPrivate`].
//!
//! | the paper | function |
//! |---|---|
//! | 3.1, KeyGen | [`key::SecretKey::generate`] |
//! | 3.1, Enc and Dec | [`fhe::encrypt`], [`fhe::decrypt`] |
//! | Algorithm 1, Eval | [`fhe::evaluate`]; what the server runs is [`horner`] |
//! | Algorithm 2, interpolation | [`coefficients::Preparation`], one convolution |
//! | Figure 2 | [`server::NewtonServer`], [`client::NewtonClient`] |
//! | 4.3, symmetric variant | [`Symmetric`]: n is the database's, the client keeps a and b |
//! | 4.3, d ‖ h(d) | [`params::NewtonParams::with_digests`] |
//! | 4.3, longer entries | records are cut into chunks below n |
//! | section 5, set intersection | [`psi`] |
//! | Xu et al. \[44\], Table 3 | [`xu`] |
//!
//! What differs: Algorithm 2 divides by j, which in Z_n is a product with j⁻¹ modulo the n of the client that
//! asks; rounded down, as printed, it gives wrong records, and its inner loop must run downwards. So in the
//! scheme of Figure 2 a client registers n once, and the server prepares its coefficients for it; what says
//! that they are ready is a ticket. The answer is computed modulo the characteristic polynomial
//! (Cayley and Hamilton): nine multiplications modulo n for each record in place of 81.

pub mod attack;
pub mod client;
pub mod coefficients;
mod convolution;
pub mod fhe;
pub mod horner;
pub mod key;
mod lifting;
pub mod modulus;
pub mod params;
pub mod psi;
pub mod server;
#[cfg(test)]
mod tests;
pub mod wire;
pub mod xu;

use papir_core::Privacy;
use papir_core::scheme::Scheme;

pub use params::{Newton, Registered, Symmetric, Variant};

impl<V: Variant> Scheme for Newton<V> {
    const NAME: &'static str = V::NAME;
    const ID: u16 = V::ID;
    const PRIVACY: Privacy = Privacy::NotPrivate(params::REASON);

    type Params = params::NewtonParams<V>;
    type Public = wire::NewtonPublic;
    type Query = wire::NewtonQuery;
    type Answer = wire::NewtonAnswer;
    type Secret = client::NewtonSecret;
    type ClientKeys = wire::NewtonKeys;
    type ClientState = client::NewtonState;
    type Ticket = wire::NewtonTicket;
    type Server = server::NewtonServer<V>;
    type Client = client::NewtonClient<V>;
}
