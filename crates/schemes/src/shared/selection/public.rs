//! Public part of a packed selection.
//!
//! ```text
//! public   seed (32), masks of the packs, d coefficients of a bits each, if answers do not carry
//!          them
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_ring::prg::Seed;

use super::client::Selects;
use crate::shared::messages::{SEED_BYTES, pack, unpack};

/// Public part: the seed of the common reference string, and the masks of answers if clients fetch
/// them once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionPublic {
    /// Seed of all masks of queries, and of the whitening of whitened records.
    pub seed: Seed,
    /// Masks, with d coefficients for each pack. They are empty if answers carry the masks.
    pub masks: Vec<u64>,
}

impl<P: Selects> Wire<P> for SelectionPublic {
    fn encode(&self, params: &P) -> Vec<u8> {
        let mut bytes = self.seed.0.to_vec();
        pack(&self.masks, params.selection().bits().answer.a, &mut bytes);
        bytes
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        let what = "the public part of a packed selection";
        let selection = params.selection();
        Error::check_length(
            what,
            bytes.len(),
            SEED_BYTES + selection.public_masks_bytes(),
        )?;

        let mut reader = Reader::new(what, bytes);
        let seed = Seed(reader.array()?);
        let masks = unpack(
            &mut reader,
            what,
            selection.bits().answer.a,
            selection.public_mask_words(),
        )?;
        Ok(Self { seed, masks })
    }
}
