//! Client of packed SimplePIR: `Query` and `Extract`.

use papir_core::scheme::{self, Never, check_indices};
use papir_core::{Record, Result};
use papir_lattice::secret::SecretKey;
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::params::{Packed, Params};
use crate::shared::selection::{
    PackedVariant, SelectionAnswer, SelectionClient, SelectionPublic, SelectionQuery,
};
use crate::shared::units::{Location, decoded};

/// A client: the parameters and the masks of the packing keys.
pub struct Client<V: PackedVariant> {
    params: Params<V>,
    selection: SelectionClient<V>,
    /// Masks of the packs from the public part, or none.
    masks: Vec<u64>,
}

/// Secret of one query: the key, and the place of the record. It is erased on drop.
pub struct Secret {
    key: SecretKey,
    /// Place of the record. It is boxed, so that moving the secret leaves no copy behind.
    location: Box<Location>,
}

impl Secret {
    /// Returns the ring secret, for measuring noise.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }
}

impl<V: PackedVariant> scheme::Client<Packed<V>> for Client<V> {
    fn new(params: Params<V>, public: SelectionPublic) -> Result<Self> {
        let selection = SelectionClient::new(&params.selection, public.seed)?;
        Ok(Self {
            params,
            selection,
            masks: public.masks,
        })
    }

    fn params(&self) -> &Params<V> {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Secret, SelectionQuery)> {
        let Params { layout, selection } = &self.params;
        check_indices(V::SIMPLE.name, &layout.shape(), indices, 1)?;
        let location = Box::new(layout.locate(indices[0]));

        let mut rng = SecretRng::new(rng);
        let key = SecretKey::generate(selection.rlwe(), &mut rng);
        let query =
            self.selection
                .query(selection, &key, location.column, location.block, &mut rng);

        Ok((Secret { key, location }, query))
    }

    fn extract(&self, secret: Secret, answer: SelectionAnswer) -> Result<Vec<Record>> {
        let layout = &self.params.layout;
        let opened = answer
            .with_masks(&self.masks)
            .open(&self.params.selection, &secret.key);

        // Selected in any case, so that the time does not tell if an answer decodes.
        let mut bytes = Zeroizing::new(layout.storage.bytes_of(&opened.words));
        layout.unwhiten(&self.selection.seed, secret.location.unit, &mut bytes);
        let record = layout.unit_layout.select(&bytes, secret.location.slot);

        decoded(vec![record], opened.decodes)
    }
}
