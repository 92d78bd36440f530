//! The public part. Queries and answers are those of a selection: [`crate::shared::selection::client`].
//!
//! ```text
//! public   seed (32), masks of the packs, d coefficients of a bits each, if answers do not carry them
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_ring::prg::Seed;

use super::form::Form;
use super::params::Params;
use crate::shared::messages::{SEED_BYTES, pack, unpack};
use crate::shared::selection::Selects;

/// The seed of the common reference string, and the masks of answers where they are fetched once.
#[derive(Clone, Debug)]
pub struct PackedPublic {
    /// Expands to all masks of queries and to the whitening of records.
    pub seed: Seed,
    /// d coefficients for each pack, or none.
    pub masks: Vec<u64>,
}

impl<F: Form> Wire<Params<F>> for PackedPublic {
    fn encode(&self, params: &Params<F>) -> Vec<u8> {
        let mut bytes = self.seed.0.to_vec();
        pack(&self.masks, params.selection().bits().answer.a, &mut bytes);
        bytes
    }

    fn decode(params: &Params<F>, bytes: &[u8]) -> Result<Self> {
        let (what, selection) = ("the public part of a packed selection", params.selection());
        Error::check_length(what, bytes.len(), SEED_BYTES + selection.public_masks_bytes())?;
        let mut reader = Reader::new(what, bytes);
        let seed = Seed(reader.array()?);
        let masks = unpack(&mut reader, what, selection.bits().answer.a, selection.public_mask_words())?;
        Ok(Self { seed, masks })
    }
}
