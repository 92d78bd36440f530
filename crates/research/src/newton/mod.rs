//! NewtonPIR (Lu, Qu). **It is not private**, and is implemented for comparison only.
//!
//! The paper is *NewtonPIR: Communication Efficient Single-Server PIR*. The database is a
//! polynomial f with f(i) = dᵢ. The query is an encryption of i under a "single-ciphertext fully
//! homomorphic encryption", and the answer is f of the ciphertext. A ciphertext is an element c of
//! the ring R = Z_n\[x, y\]/(x³ − u, y³ − v). Its plaintext is c(a, b), where a and b are cube
//! roots of u and v that the client knows.
//!
//! Evaluation at (a, b) is a homomorphism R → Z_n, so the plaintext is a root of the characteristic
//! polynomial of multiplication by c, of degree 9. Anyone can compute this polynomial from the
//! query and test indices with it: see [`attack`] and `docs/notes/newtonpir.md`. Servers and
//! clients therefore require [`papir_core::NotPrivate`].
//!
//! | the paper | function |
//! |---|---|
//! | 3.1, KeyGen | [`key::SecretKey::generate`] |
//! | 3.1, Enc and Dec | [`fhe::encrypt`], [`fhe::decrypt`] |
//! | Algorithm 1, Eval | [`fhe::evaluate`]; the server uses [`horner`] instead |
//! | Algorithm 2, interpolation | [`coefficients::Preparation`], one convolution |
//! | Figure 2 | [`server::NewtonServer`], [`client::NewtonClient`] |
//! | 4.3, symmetric variant | [`Symmetric`]: all clients share the database's n |
//! | 4.3, d ‖ h(d) | [`params::NewtonParams::with_digests`] |
//! | 4.3, batches | [`batch`] |
//! | 4.3, longer entries | records are cut into chunks below n |
//! | section 5, set intersection | [`psi`] |
//! | Xu et al. \[44\], Table 3 | [`xu`] |
//!
//! # Differences from the paper
//!
//! Algorithm 2 divides by j. In Z_n this is a product with j⁻¹ modulo the querying client's n. The
//! printed algorithm rounds down, which gives wrong records, and its inner loop must run downwards.
//! In the scheme of Figure 2, a client therefore registers n once; the server prepares its
//! coefficients modulo n and confirms this with a ticket. The server computes answers modulo the
//! characteristic polynomial, with 9 multiplications modulo n for each record instead of 81.

pub mod attack;
pub mod batch;
#[cfg(test)]
mod batch_tests;
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
pub mod registration;
mod rows;
pub mod server;
#[cfg(test)]
mod tests;
pub mod wire;
pub mod xu;

use papir_core::Privacy;
use papir_core::scheme::Scheme;

pub use batch::{BatchVariant, NewtonBucket};
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
    type Registration = registration::NewtonRegistration<V>;
    type Server = server::NewtonServer<V>;
    type Client = client::NewtonClient<V>;
}
