//! Messages of the example scheme.
//!
//! ```text
//! public   nothing
//! query    nonce (16)
//! answer   the query's nonce (16), all records packed (⌈records·bits/8⌉; padding bits 0)
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::{Parameters, Wire};
use papir_core::{Error, Result};

use crate::params::{ExampleParams, NONCE_BYTES};

/// The public part: empty, as clients start from the parameters alone.
#[derive(Clone, Debug)]
pub(crate) struct ExamplePublic;

/// A nonce. It does not depend on the index.
#[derive(Clone, Debug)]
pub(crate) struct ExampleQuery {
    pub(crate) nonce: [u8; NONCE_BYTES],
}

/// All records.
#[derive(Clone, Debug)]
pub(crate) struct ExampleAnswer {
    pub(crate) nonce: [u8; NONCE_BYTES],
    pub(crate) packed: Vec<u8>,
}

impl Wire<ExampleParams> for ExamplePublic {
    fn encode(&self, _params: &ExampleParams) -> Vec<u8> {
        Vec::new()
    }

    fn decode(_params: &ExampleParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("the example's public part", bytes.len(), 0)?;
        Ok(Self)
    }
}

impl Wire<ExampleParams> for ExampleQuery {
    fn encode(&self, _params: &ExampleParams) -> Vec<u8> {
        self.nonce.to_vec()
    }

    fn decode(_params: &ExampleParams, bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("the example's query", bytes);
        let nonce = reader.array()?;
        reader.finish()?;
        Ok(Self { nonce })
    }
}

impl Wire<ExampleParams> for ExampleAnswer {
    fn encode(&self, _params: &ExampleParams) -> Vec<u8> {
        [&self.nonce[..], &self.packed].concat()
    }

    fn decode(params: &ExampleParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("the example's answer", bytes.len(), params.answer_bytes())?;
        let mut reader = Reader::new("the example's answer", bytes);
        let nonce = reader.array()?;
        let packed = reader.rest().to_vec();
        check_padding(params, &packed)?;
        Ok(Self { nonce, packed })
    }
}

/// Checks that the bits behind the last record are zero, so that each answer has one encoding.
pub(crate) fn check_padding(params: &ExampleParams, packed: &[u8]) -> Result<()> {
    let shape = params.shape();
    let used = shape.records() * shape.record_bits() % 8;
    let padding = packed.last().map_or(0, |last| last >> used);
    if used != 0 && padding != 0 {
        return Err(Error::malformed(
            "padding of the example's records",
            padding,
            0,
        ));
    }
    Ok(())
}
