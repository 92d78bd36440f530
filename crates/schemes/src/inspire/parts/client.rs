//! Client of InsPIRe in parts: QUERY and EXTRACT (Algorithms 8 and 10).

use std::sync::Arc;

use papir_core::scheme::{self, Never, Parameters};
use papir_core::{Error, Record, Result};
use papir_lattice::packing::Packing;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::SecretRng;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::params::{InspireInParts, NAME, PartsParams, PartsPublic};
use crate::inspire::client::{Secret, extract, round_keys};
use crate::inspire::wire::{Answer, Query};
use crate::shared::parameters::refused;
use crate::shared::units::Location;

/// A client: the parameters and the masks of the packing key.
pub struct PartsClient {
    params: PartsParams,
    public: PartsPublic,
    packing: Packing<Inspiring>,
}

impl scheme::Client<InspireInParts> for PartsClient {
    fn new(params: PartsParams, public: PartsPublic) -> Result<Self> {
        let first = public.seeds.first().ok_or_else(|| no_parts(0))?;
        let packing = params.below.packing(first)?;
        Ok(Self {
            params,
            public,
            packing,
        })
    }

    fn params(&self) -> &PartsParams {
        &self.params
    }

    /// Makes one query for one index of each part, in the order of the parts.
    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Secret, Query)> {
        let indices = Zeroizing::new(vec![indices.to_vec()]);
        let mut queries = Self::query_each(std::slice::from_ref(self), &indices, rng)?;
        queries.pop().ok_or_else(|| no_parts(0))
    }

    fn extract(&self, secret: Secret, answer: Answer) -> Result<Vec<Record>> {
        extract(
            &self.params.below,
            &self.params.part,
            &self.public.seeds,
            &secret,
            &answer,
        )
    }
}

impl PartsClient {
    /// Creates a client of a database that was prepared together with the database of this client.
    pub(crate) fn sharing_keys(&self, params: PartsParams, public: PartsPublic) -> Self {
        Self {
            params,
            public,
            packing: self.packing.clone(),
        }
    }

    /// Makes one query for each client, all under one fresh secret.
    ///
    /// # Errors
    /// [`Error::Length`] if the number of index lists is not the number of clients, and the errors
    /// of [`query`](scheme::Client::query).
    pub(crate) fn query_each(
        clients: &[Self],
        indices: &[Vec<u64>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<(Secret, Query)>> {
        Error::check_length(
            "indices for several databases, counted",
            indices.len(),
            clients.len(),
        )?;
        let Some(first) = clients.first() else {
            return Ok(Vec::new());
        };

        // Located first: indices that do not fit fail before any encryption.
        let locations = clients
            .iter()
            .zip(indices)
            .map(|(client, indices)| client.locate(indices))
            .collect::<Result<Vec<_>>>()?;

        // All queries are under one secret, so that one packing key serves them.
        let below = &first.params.below;
        let mut rng = SecretRng::new(rng);
        let key = Arc::new(SecretKey::generate(below.rlwe(), &mut rng));
        let elements = first.packing.generate_key(&key, &mut rng).into_elements();
        let keys = round_keys(below, elements);

        let mut queries = Vec::with_capacity(clients.len());
        for (client, locations) in clients.iter().zip(locations) {
            let query = Query {
                selector: client.selectors(&key, &locations, &mut rng),
                keys: keys.clone(),
            };
            let secret = Secret {
                key: Arc::clone(&key),
                locations,
            };
            queries.push((secret, query));
        }
        Ok(queries)
    }

    /// Returns the places of one record of each part. Other indices are refused.
    fn locate(&self, indices: &[u64]) -> Result<Vec<Location>> {
        let parts = self.params.parts;
        let part = &self.params.part;
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

    /// Encrypts the selectors of all parts, part after part, each under its part's masks.
    fn selectors(
        &self,
        key: &SecretKey,
        locations: &[Location],
        rng: &mut dyn CryptoRng,
    ) -> Vec<u64> {
        let mut entries = Vec::new();
        for (seed, location) in self.public.seeds.iter().zip(locations) {
            let selector = self.params.below.selector();
            entries.extend(selector.encrypt(seed, key, location.column, rng));
        }
        entries
    }
}

/// Returns the error for indices that are not one of each part.
fn no_parts(found: usize) -> Error {
    refused(NAME)(format!(
        "{found} indices: expected one of each part, in their order"
    ))
}
