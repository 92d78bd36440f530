//! Pirouette over encrypted databases.
//!
//! Kang and Schild, *Pirouette*, section 4.2. An owner encrypts the records under a key before a
//! server receives them. Clients with the same key query as in [`crate::pirouette`]. The server
//! selects one of the encryptions and sees neither the index nor the records.
//!
//! | the paper | module |
//! |---|---|
//! | ct, the encrypted database | [`ciphertexts`] |
//! | the owner's key | [`params::KeyId`] |
//! | Query, Extract | [`crate::pirouette::client`] |
//! | Answer | [`server`], on `crate::pirouette::phase0` and [`crate::pirouette::retrieval`] |
//!
//! Differences from the paper (decision 21): records are encrypted modulo 2¹⁶, under masks from
//! seeds, and lifted when they are read. So a database takes twice its plain size; in the paper it
//! takes 28 times its plain size. All bits of the index become gates; there are no digits, and
//! fewer keys.
//!
//! The owner's key decrypts all records and all queries.

pub mod ciphertexts;
pub mod params;
mod rows;
pub mod server;
#[cfg(test)]
mod tests;

use papir_core::Privacy;
use papir_core::scheme::{Never, RegisteredWith, Scheme};
use rand_core::CryptoRng;

use crate::pirouette::chain::ParameterSet;
use crate::pirouette::client::{self, Path, RetrievalClient, RetrievalSecret};
use crate::pirouette::keys::{Keys, State};
use crate::pirouette::wire::{PirouetteQuery, RetrievalAnswer};
use crate::shared::messages::EmptyPublic;

pub use params::Encrypted;

impl<T: ParameterSet> Scheme for Encrypted<T> {
    const NAME: &'static str = T::ENCRYPTED.0;
    const ID: u16 = T::ENCRYPTED.1;
    const PRIVACY: Privacy = T::PRIVACY;

    type Params = params::EncryptedParams<T>;
    type Public = EmptyPublic;
    type Query = PirouetteQuery;
    type Answer = RetrievalAnswer;
    type Secret = RetrievalSecret;
    type Registration = RegisteredWith<Keys, State, Never>;
    type Server = server::EncryptedServer<T>;
    type Client = RetrievalClient<Self>;
}

impl<T: ParameterSet> Path for Encrypted<T> {
    fn ask(
        params: &Self::Params,
        state: &State,
        item: u64,
        rng: &mut dyn CryptoRng,
    ) -> PirouetteQuery {
        client::encrypt(params, state, item, rng)
    }
}
