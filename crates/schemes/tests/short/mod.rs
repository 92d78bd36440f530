//! ZipPIR with a short modulus, for tests that ask much.

use papir_core::Privacy;
use papir_schemes::zip::Strength;

/// ZipPIR with a modulus that anybody can factor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short;

impl Strength for Short {
    const NAME: &'static str = "zip-short";
    const ID: u16 = 0xfff1;
    const PRIVACY: Privacy = Privacy::NotPrivate("its modulus is short: it is for tests");

    fn paillier() -> papir_paillier::Result<papir_paillier::Params> {
        papir_paillier::Params::insecure(256, 1)
    }
}
