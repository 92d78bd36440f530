//! QUERY and EXTRACT (Algorithms 8 and 10 of InsPIRe) with a selector for each part.

use std::sync::Arc;

use papir_core::scheme::{self, Never, Parameters};
use papir_core::{Error, Record, Result};
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::{SecretRng, Seed};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::params::{InspireInParts, NAME, PartsParams};
use super::wire::{PartsAnswer, PartsPublic, PartsQuery};
use crate::inspire::client::{decrypt, round_keys, unwhitened};
use crate::inspire::masks::packing;
use crate::shared::parameters::refused;
use crate::shared::units::Location;

/// A client: the parameters and the masks of the packing key.
pub struct PartsClient {
    params: PartsParams,
    public: PartsPublic,
    packing: Inspiring,
}

/// Opens one answer: the key and the place of the record in each part. Erased on drop.
pub struct PartsSecret {
    /// Shared by queries that were made together; erased with the last of them.
    key: Arc<SecretKey>,
    locations: Vec<Location>,
}

impl scheme::Client<InspireInParts> for PartsClient {
    fn new(params: PartsParams, public: PartsPublic) -> Result<Self> {
        let first = public.seeds.first().ok_or_else(|| no_parts(0))?;
        let packing = packing(params.below(), first)?;
        Ok(Self { params, public, packing })
    }

    fn new_sharing_keys(first: &Self, params: PartsParams, public: PartsPublic) -> Result<Self> {
        Ok(Self { params, public, packing: first.packing.clone() })
    }

    fn params(&self) -> &PartsParams {
        &self.params
    }

    /// Takes one index of each part, in their order.
    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(PartsSecret, PartsQuery)> {
        let indices = Zeroizing::new(vec![indices.to_vec()]);
        let mut queries = Self::query_each(std::slice::from_ref(self), &indices, rng)?;
        queries.pop().ok_or_else(|| no_parts(0))
    }

    fn query_each(
        clients: &[Self],
        indices: &[Vec<u64>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<(PartsSecret, PartsQuery)>> {
        Error::check_length("indices for several databases, counted", indices.len(), clients.len())?;
        let Some(first) = clients.first() else {
            return Ok(Vec::new());
        };
        let pairs = clients.iter().zip(indices);
        let locations: Vec<_> =
            pairs.map(|(client, indices)| client.locate(indices)).collect::<Result<_>>()?;
        let mut rng = SecretRng::new(rng);
        let key = Arc::new(SecretKey::generate(first.params.below().rlwe(), &mut rng));
        let packing_key = first.packing.generate_key(&key, &mut rng).into_elements();
        let keys = round_keys(first.params.below(), packing_key);
        let query = |(client, locations): (&Self, Vec<Location>)| {
            let selectors = client.selectors(&key, &locations, &mut rng);
            (PartsSecret { key: Arc::clone(&key), locations }, PartsQuery { selectors, keys: keys.clone() })
        };
        Ok(clients.iter().zip(locations).map(query).collect())
    }

    fn extract(&self, secret: PartsSecret, answer: PartsAnswer) -> Result<Vec<Record>> {
        let (part, degree) = (self.params.part(), self.params.below().layout().degree);
        let chunks = answer.0.masks.chunks_exact(degree).zip(answer.0.bodies.chunks_exact(degree));
        let words: Vec<Zeroizing<Vec<u32>>> =
            chunks.map(|(mask, body)| decrypt(self.params.below(), &secret.key, mask, body)).collect();
        // Checks all words, also after an invalid one.
        let decodes =
            words.iter().flat_map(|words| words.iter()).fold(true, |all, &word| all & (word < 1 << 16));
        if !decodes {
            return Err(Error::NotDecodable);
        }
        let of_part = |((number, seed), location): ((usize, &Seed), &Location)| {
            let mut bytes = Zeroizing::new(Vec::with_capacity(part.bundle.unit_bytes));
            for (chunk, words) in words.iter().enumerate() {
                let words = &words[number * part.degree..][..part.degree];
                bytes.extend_from_slice(&unwhitened(part, seed, chunk, location.unit, words));
            }
            part.bundle.select(&bytes, location.slot)
        };
        Ok(self.public.seeds.iter().enumerate().zip(&secret.locations).map(of_part).collect())
    }
}

impl PartsClient {
    /// Places of one record of each part.
    fn locate(&self, indices: &[u64]) -> Result<Vec<Location>> {
        let (parts, part) = (self.params.parts(), self.params.part());
        if indices.len() != parts {
            return Err(no_parts(indices.len()));
        }
        let shape = self.params.shape();
        let records = part.shape.records();
        // Full capacity from the start: growing would leave copies behind.
        let mut locations = Vec::with_capacity(parts);
        for (number, &index) in indices.iter().enumerate() {
            shape.check_index(index)?;
            match index.checked_sub(number as u64 * records) {
                Some(within) if within < records => locations.push(part.locate(within)),
                _ => return Err(no_parts(indices.len())),
            }
        }
        Ok(locations)
    }

    /// A selector for each part, under its own masks.
    fn selectors(&self, key: &SecretKey, locations: &[Location], rng: &mut SecretRng) -> Vec<u64> {
        let selector = self.params.below().selector();
        let parts = self.public.seeds.iter().zip(locations);
        parts.flat_map(|(seed, location)| selector.encrypt(seed, key, location.column, rng)).collect()
    }
}

fn no_parts(found: usize) -> Error {
    refused(NAME)(format!("{found} indices: expected one of each part, in their order"))
}
