//! How long clients' Paillier moduli are.

use std::fmt::Debug;

use papir_core::Privacy;

/// How long a client's Paillier modulus is; under which names schemes go with it.
pub trait Strength: Copy + Debug + Send + Sync + 'static {
    /// Name and number on the wire of ZipPIR on SimplePIR.
    const ZIP: (&'static str, u16);
    /// Name and number on the wire of ZipPIR on DoublePIR.
    const ZIP_DOUBLE: (&'static str, u16);
    /// Whether the modulus is long enough.
    const PRIVACY: Privacy;

    /// The parameters of Paillier's scheme, s = 1.
    ///
    /// # Errors
    /// [`papir_paillier::Error`] for parameters that are refused.
    fn paillier() -> papir_paillier::Result<papir_paillier::Params>;
}

/// 3,072 bits.
#[derive(Clone, Copy, Debug)]
pub struct Full;

impl Strength for Full {
    const ZIP: (&'static str, u16) = ("zip", 8);
    const ZIP_DOUBLE: (&'static str, u16) = ("zipdouble", 11);
    const PRIVACY: Privacy = Privacy::Private;

    fn paillier() -> papir_paillier::Result<papir_paillier::Params> {
        Ok(papir_paillier::Params::PAILLIER_3072)
    }
}
