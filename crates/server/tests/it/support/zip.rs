//! ZipPIR with a modulus that is easy to factor, for tests with many queries.

use chacha20::ChaCha20Rng;
use papir_core::erased::{Erased, ErasedScheme, ErasedServer};
use papir_core::{Goal, NoProgress, Privacy};
use papir_schemes::zip::{ParameterSet, Zip};
use papir_server::Database;
use rand_core::SeedableRng;

use super::records;

/// Bits of the modulus.
#[derive(Clone, Copy, Debug)]
pub struct Short;

impl ParameterSet for Short {
    const ZIP: (&'static str, u16) = ("zip-short", 0xfff1);
    const ZIP_DOUBLE: (&'static str, u16) = ("zipdouble-short", 0xfff2);
    const PRIVACY: Privacy = Privacy::NotPrivate("its modulus is short, for tests");

    fn paillier() -> papir_paillier::Result<papir_paillier::Params> {
        papir_paillier::Params::insecure(256, 1)
    }
}

pub static ZIP: Erased<Zip<Short>> =
    Erased::allowing_insecure(papir_core::NotPrivate::acknowledged());

/// A prepared database of 50 records. The seed determines its version.
pub fn prepared_zip(seed: u64) -> Box<dyn ErasedServer> {
    let scheme: &dyn ErasedScheme = &ZIP;
    scheme
        .setup(
            &records(50),
            Goal::Balanced,
            &mut ChaCha20Rng::seed_from_u64(seed),
            &NoProgress,
        )
        .unwrap()
}

/// Like [`prepared_zip`], named `table`.
pub fn zip(seed: u64) -> Database {
    Database::new("table", prepared_zip(seed), None)
}
