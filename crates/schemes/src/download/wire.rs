//! Messages of trivial PIR.

use papir_core::codec::Reader;
use papir_core::scheme::{Parameters, Wire};
use papir_core::{Blob, Error, Result};

use super::blocks::Blocks;
use super::params::{DownloadParams, NONCE_BYTES};
use crate::shared::messages::read_all;

/// Public part: the compressed records.
#[derive(Clone, Debug)]
pub struct DownloadPublic {
    pub(super) blocks: Blocks,
}

/// A query and its answer, which are the same nonce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nonce(pub(super) [u8; NONCE_BYTES]);

impl Wire<DownloadParams> for DownloadPublic {
    fn encode(&self, _params: &DownloadParams) -> Vec<u8> {
        self.blocks.bytes().to_vec()
    }

    fn decode(params: &DownloadParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length("download's public part", bytes.len(), params.stored())?;
        Ok(Self {
            blocks: Blocks::parse(params.shape(), Blob::copy_of(bytes))?,
        })
    }
}

impl Wire<DownloadParams> for Nonce {
    fn encode(&self, _params: &DownloadParams) -> Vec<u8> {
        self.0.to_vec()
    }

    fn decode(_params: &DownloadParams, bytes: &[u8]) -> Result<Self> {
        read_all("download's nonce", bytes, |reader: &mut Reader<'_>| {
            Ok(Self(reader.array()?))
        })
    }
}
