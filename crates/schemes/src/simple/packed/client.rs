//! The client of SimpleYPIR: `Query` and `Extract`.

use papir_core::scheme::{self, Never, check_indices};
use papir_core::{Error, Record, Result};
use papir_lattice::secret::SecretKey;
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::layout::whiten;
use super::params::{NAME, Params, SimpleYpir};
use crate::shared::messages::PublicSeed;
use crate::shared::selection::{CdksFamily, SelectionAnswer, SelectionClient, SelectionQuery};
use crate::shared::units::Location;

/// A client: the parameters and the masks of the packing keys.
pub struct Client {
    params: Params,
    selection: SelectionClient<CdksFamily>,
}

/// Opens one answer: the key and the place of the record. Erased on drop.
pub struct Secret {
    key: SecretKey,
    /// Boxed, so that moving the secret leaves no copy behind.
    location: Box<Location>,
}

impl Secret {
    /// The ring secret, for measuring noise.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }
}

impl scheme::Client<SimpleYpir> for Client {
    fn new(params: Params, public: PublicSeed) -> Result<Self> {
        let selection = SelectionClient::new(&params.selection, public.seed)?;
        Ok(Self { params, selection })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Secret, SelectionQuery)> {
        let Params { layout, selection } = &self.params;
        check_indices(NAME, &layout.shape(), indices, 1)?;
        let location = Box::new(layout.locate(indices[0]));
        let mut rng = SecretRng::new(rng);
        let key = SecretKey::generate(selection.rlwe(), &mut rng);
        let query = self.selection.query(selection, &key, location.column, &mut rng);
        Ok((Secret { key, location }, query))
    }

    fn extract(&self, secret: Secret, answer: SelectionAnswer) -> Result<Vec<Record>> {
        let opened = answer.open(&self.params.selection, &secret.key);
        let mut bytes = Zeroizing::new(vec![0; 2 * opened.words.len()]);
        for (pair, &word) in bytes.chunks_exact_mut(2).zip(opened.words.iter()) {
            pair.copy_from_slice(&(word as u16).to_le_bytes());
        }
        whiten(&self.selection.seed, secret.location.column, &mut bytes);
        let record = self.params.layout.unit_layout.select(&bytes, secret.location.slot);
        if opened.decodes { Ok(vec![record]) } else { Err(Error::NotDecodable) }
    }
}
