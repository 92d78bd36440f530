//! ZipPIR on DoublePIR, for records of few bits: section 6 of Akhavan Mahdavi, Diao, Kerschbaum, *ZipPIR:
//! High-throughput Single-server PIR without Client-side Storage*.
//!
//! DoublePIR ([`crate::double`]) whose client downloads no hint: of the second level's ciphertexts, those that
//! encrypt digits of the first hint have masks which are known at setup, and the server multiplies them with
//! the query's second key under Paillier encryption ([`crate::zip::compression`]), ahead of the query but for a
//! difference that the query brings. Those that encrypt digits of the first answer are few; they travel as
//! they are. The second hint has 3·n rows for each byte of a record, whatever the number of records, and so
//! have tickets: seconds of work instead of many.
//!
//! | the papers | function |
//! |---|---|
//! | `Setup` | [`client::ZipDoubleClient`]'s `register`, [`server::ZipDoubleServer`]'s `setup` |
//! | `Hint` | [`server::ZipDoubleServer`]'s `ticket` |
//! | `Query` | [`client::ZipDoubleClient`]'s `query` |
//! | `Response` | [`server::ZipDoubleServer`]'s `answer`: `levels`, `second_products` and `join` |
//! | `Extract` | [`client::ZipDoubleClient`]'s `extract` |
//!
//! The first key is DoublePIR's, n = 1024; the second is one of 1,280 bits, since a plaintext has room for
//! bits. The first level's noise is computed in `crate::double::noise`, the second's in `noise`.

pub mod client;
mod noise;
pub mod params;
pub mod server;
#[cfg(test)]
mod tests;
mod update;
pub mod wire;

use std::marker::PhantomData;

use papir_core::Privacy;
use papir_core::scheme::Scheme;
use papir_lattice::lwe32::Masks;
use papir_ring::prg::Seed;

use crate::zip::compression::client::State;
use crate::zip::compression::wire::{Keys, Public, Ticket};
use crate::zip::compression::{Full, Strength};

/// A₂: its rows belong to the units of a column of D.
fn second_masks(seed: Seed) -> Masks {
    Masks::module(seed, "zipdouble/second")
}

/// ZipPIR on DoublePIR.
pub struct ZipDouble<T = Full>(PhantomData<fn() -> T>);

impl<T: Strength> Scheme for ZipDouble<T> {
    const NAME: &'static str = T::ZIP_DOUBLE.0;
    const ID: u16 = T::ZIP_DOUBLE.1;
    const PRIVACY: Privacy = T::PRIVACY;

    type Params = params::ZipDoubleParams<T>;
    type Public = Public;
    type Query = wire::ZipDoubleQuery;
    type Answer = wire::ZipDoubleAnswer;
    type Secret = client::ZipDoubleSecret;
    type ClientKeys = Keys;
    type ClientState = State;
    type Ticket = Ticket;
    type Server = server::ZipDoubleServer<T>;
    type Client = client::ZipDoubleClient<T>;
}
