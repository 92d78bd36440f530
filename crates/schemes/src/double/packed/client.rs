//! The client of a packed DoublePIR: `Query` and `Extract`.
//!
//! The public part and the answer are messages of the second level.
//!
//! ```text
//! query    a word of first query bits for each column; the second level's query
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::{self, Never, Parameters, Wire, check_indices};
use papir_core::{Error, Record, Result};
use papir_lattice::lwe32::UnitVector;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::literal::PackedDouble;
use super::params::Params;
use crate::double::client::{UnitDigits, join_unit};
use crate::double::levels::first_masks;
use crate::double::noise::FIRST;
use crate::shared::messages::{pack, unpack_u32};
use crate::shared::selection::{
    PackedVariant, SelectionAnswer, SelectionClient, SelectionPublic, SelectionQuery,
};
use crate::shared::units::decoded;

/// A query: the rounded encryptions of the unit vectors of a column and of a unit, and a packing
/// key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Query of the first level: a word for each column of D.
    pub first: Vec<u32>,
    /// Query of the second level, with the packing key.
    pub second: SelectionQuery,
}

impl<V: PackedVariant> Wire<Params<V>> for Query {
    fn encode(&self, params: &Params<V>) -> Vec<u8> {
        let mut bytes = Vec::new();
        pack(&self.first, params.literal.first_bits, &mut bytes);
        self.second.write(&params.selection, &mut bytes);
        bytes
    }

    fn decode(params: &Params<V>, bytes: &[u8]) -> Result<Self> {
        let what = "a query of two levels";
        Error::check_length(what, bytes.len(), params.query_bytes())?;

        let mut reader = Reader::new(what, bytes);
        let first = unpack_u32(
            &mut reader,
            what,
            params.literal.first_bits,
            params.layout.columns,
        )?;

        Ok(Self {
            first,
            second: SelectionQuery::read(&params.selection, &mut reader)?,
        })
    }
}

/// A client: the parameters and the masks of the packing keys.
pub struct Client<V: PackedVariant> {
    params: Params<V>,
    selection: SelectionClient<V>,
    /// Masks of the packs from the public part, or none.
    masks: Vec<u64>,
}

/// Secret of one query: a secret for each level, and the place of the record in its unit.
pub struct Secret {
    /// Secret of the second level.
    key: SecretKey,
    /// Secret of the first level. It is boxed, so that moving the secret leaves no copy behind.
    first: Box<FirstSecret>,
}

#[derive(Zeroize, ZeroizeOnDrop)]
struct FirstSecret {
    /// Secret s₁, n words modulo 2³².
    key: Zeroizing<Vec<u32>>,
    /// The record's place in its unit.
    slot: u64,
}

impl Secret {
    /// Returns the second level's secret, for measuring noise.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }

    /// Returns the first level's secret, n words modulo 2³², for measuring noise.
    pub fn first_key(&self) -> &[u32] {
        &self.first.key
    }
}

impl<V: PackedVariant> scheme::Client<PackedDouble<V>> for Client<V> {
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
    ) -> Result<(Secret, Query)> {
        check_indices(V::DOUBLE.name, &self.params.shape(), indices, 1)?;
        let Params {
            layout,
            lwe,
            selection,
            ..
        } = &self.params;

        let place = layout.place(indices[0]);
        let mut rng = SecretRng::new(rng);
        let first = Box::new(FirstSecret {
            key: lwe.key(&mut rng),
            slot: place.slot,
        });
        let secret = Secret {
            key: SecretKey::generate(selection.rlwe(), &mut rng),
            first,
        };

        let first = self.select_column(&secret.first.key, place.column, &mut rng);
        let second = self
            .selection
            .query(selection, &secret.key, place.unit as u32, 0, &mut rng);

        Ok((secret, Query { first, second }))
    }

    fn extract(&self, secret: Secret, answer: SelectionAnswer) -> Result<Vec<Record>> {
        let Params {
            layout,
            selection,
            literal,
            first_bound,
            ..
        } = &self.params;

        // Both levels are opened in full, and the record is selected, before either may refuse: the
        // time tells nothing.
        let opened = answer.with_masks(&self.masks).open(selection, &secret.key);
        let mask = literal.digits.of_mask();
        let body = literal.digits.of_body();
        let digits = UnitDigits {
            mask,
            body,
            rows: selection.counts.rows,
        };
        let (unit, distance) =
            join_unit(digits, &secret.first.key, &opened.words, |&digit: &u32| {
                mask.uncentred(digit)
            });

        let record = layout.unit_layout.select(&unit, secret.first.slot);
        decoded(vec![record], opened.decodes & (distance <= *first_bound))
    }
}

impl<V: PackedVariant> Client<V> {
    /// Encrypts the unit vector of a column under the first level's key.
    fn select_column(&self, key: &[u32], column: u64, rng: &mut SecretRng) -> Vec<u32> {
        let Params {
            layout,
            lwe,
            literal,
            ..
        } = &self.params;

        let unit = UnitVector {
            selected: column,
            length: layout.columns,
            log2_delta: FIRST.log2_delta,
        };
        let masks = first_masks(self.selection.seed);
        lwe.encrypt(&masks, key, unit, literal.first_bits, rng)
    }
}
