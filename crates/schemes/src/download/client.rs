//! Client of trivial PIR. It has all records.

use papir_core::scheme::{Client, Never, Parameters, check_indices};
use papir_core::{Blob, Error, Record, Result, extract_bits};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::params::{BATCH, Download, DownloadParams, NAME, NONCE_BYTES};
use super::wire::{DownloadPublic, Nonce};

/// A client with all records.
pub struct DownloadClient {
    params: DownloadParams,
    packed: Blob,
}

/// The indices of a lookup, and the nonce that its answer repeats.
pub struct DownloadSecret {
    nonce: Nonce,
    indices: Zeroizing<Vec<u64>>,
}

impl Client<Download> for DownloadClient {
    /// Creates a client and unpacks all records at once. So the time of a lookup does not depend on
    /// its index.
    fn new(params: DownloadParams, public: DownloadPublic) -> Result<Self> {
        let packed = public.blocks.unpack()?;
        Ok(Self { params, packed })
    }

    fn params(&self) -> &DownloadParams {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(DownloadSecret, Nonce)> {
        check_indices(NAME, &self.params.shape(), indices, BATCH)?;

        let mut nonce = [0; NONCE_BYTES];
        rng.fill_bytes(&mut nonce);
        let secret = DownloadSecret {
            nonce: Nonce(nonce),
            indices: Zeroizing::new(indices.to_vec()),
        };

        Ok((secret, Nonce(nonce)))
    }

    fn extract(&self, secret: DownloadSecret, answer: Nonce) -> Result<Vec<Record>> {
        // The nonce crosses the network in the clear, so its comparison need not hide where it
        // differs.
        if secret.nonce != answer {
            return Err(Error::NotDecodable);
        }

        let bits = self.params.shape().record_bits();
        Ok(secret
            .indices
            .iter()
            .map(|index| extract_bits(&self.packed, index * bits, bits))
            .collect())
    }
}
