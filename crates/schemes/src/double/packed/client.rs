//! The client of a packed DoublePIR: `Query` and `Extract`.

use papir_core::scheme::{self, Never, check_indices};
use papir_core::{Error, Record, Result};
use papir_lattice::lwe32::UnitVector;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::literal::{PackedDouble, Variant};
use super::params::Params;
use super::wire::Query;
use crate::double::client::{UnitDigits, join_unit};
use crate::double::first::first_masks;
use crate::double::layout::Place;
use crate::double::noise::FIRST;
use crate::shared::messages::PublicSeed;
use crate::shared::selection::{SelectionAnswer, SelectionClient};

/// A client: the parameters and the masks of the packing keys.
pub struct Client<V: Variant> {
    params: Params<V>,
    public: PublicSeed,
    selection: SelectionClient<V::Family>,
}

/// Opens one answer: a secret for each level and the place of the record in its unit.
pub struct Secret {
    /// Secret of the second level.
    key: SecretKey,
    /// Boxed, so that moving the secret leaves no copy behind.
    first: Box<FirstSecret>,
}

#[derive(Zeroize, ZeroizeOnDrop)]
struct FirstSecret {
    /// s₁, n words modulo 2³².
    key: Zeroizing<Vec<u32>>,
    /// The record's place in its unit.
    slot: u64,
}

impl Secret {
    /// The second level's secret, for measuring noise.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }

    /// The first level's secret, n words modulo 2³², for measuring noise.
    pub fn first_key(&self) -> &[u32] {
        &self.first.key
    }
}

impl<V: Variant> scheme::Client<PackedDouble<V>> for Client<V> {
    fn new(params: Params<V>, public: PublicSeed) -> Result<Self> {
        let selection = SelectionClient::new(params.selection(), public.seed)?;
        Ok(Self { params, public, selection })
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
        check_indices(V::NAME, &scheme::Parameters::shape(&self.params), indices, 1)?;
        let place = self.params.layout().place(indices[0]);
        let mut rng = SecretRng::new(rng);
        let first = Box::new(FirstSecret { key: self.params.lwe().key(&mut rng), slot: place.slot });
        let secret = Secret { key: SecretKey::generate(self.params.selection().rlwe(), &mut rng), first };
        let query = self.encrypt(&place, &secret, &mut rng);
        Ok((secret, query))
    }

    fn extract(&self, secret: Secret, answer: SelectionAnswer) -> Result<Vec<Record>> {
        let opened = answer.open(self.params.selection(), &secret.key);
        let (unit, distance) = self.decode_unit(&secret.first.key, &opened.words);
        let record = Zeroizing::new(self.params.layout().record(*unit, secret.first.slot).to_le_bytes());
        if !opened.decodes || distance > self.params.first_bound() {
            return Err(Error::NotDecodable);
        }
        Ok(vec![record[..scheme::Parameters::shape(&self.params).record_bytes()].to_vec()])
    }
}

impl<V: Variant> Client<V> {
    /// Both levels' unit vectors, and the packing key.
    fn encrypt(&self, place: &Place, secret: &Secret, rng: &mut SecretRng) -> Query {
        let Params { layout, lwe, .. } = &self.params;
        let (selected, length) = (place.column, layout.columns);
        let unit = UnitVector { selected, length, log2_delta: FIRST.log2_delta };
        let masks = first_masks(self.public.seed);
        let first = lwe.encrypt(&masks, &secret.first.key, unit, self.params.first_bits(), rng);
        let second = self.selection.query(self.params.selection(), &secret.key, place.unit as u32, rng);
        Query { first, second }
    }

    /// The unit that the second level's words encrypt, and the largest distance of its bytes from a
    /// multiple of Δ.
    fn decode_unit(&self, key: &[u32], words: &[u32]) -> (Zeroizing<u64>, u32) {
        let (mask, body) = (self.params.digits().of_mask(), self.params.digits().of_body());
        let digits = UnitDigits { mask, body, rows: self.params.selection().selection().rows };
        join_unit(digits, key, words, |&digit| mask.uncentred(digit))
    }
}
