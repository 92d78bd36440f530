//! What tests of compressed schemes share.

use papir_core::Privacy;

use super::Strength;

/// A modulus that anybody can factor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Short;

impl Strength for Short {
    const ZIP: (&'static str, u16) = ("zip-short", 0xfff1);
    const ZIP_DOUBLE: (&'static str, u16) = ("zipdouble-short", 0xfff2);
    const PRIVACY: Privacy = Privacy::NotPrivate("its modulus is short: it is for tests");

    fn paillier() -> papir_paillier::Result<papir_paillier::Params> {
        papir_paillier::Params::insecure(256, 1)
    }
}
