//! The public part of schemes whose clients start from the parameters alone.

use papir_core::scheme::Wire;
use papir_core::{Error, Result};

/// Nothing.
#[derive(Clone, Debug)]
pub struct EmptyPublic;

impl<P> Wire<P> for EmptyPublic {
    fn encode(&self, _params: &P) -> Vec<u8> {
        Vec::new()
    }

    fn decode(_params: &P, bytes: &[u8]) -> Result<Self> {
        Error::check_length("a public part without content", bytes.len(), 0)?;
        Ok(Self)
    }
}
