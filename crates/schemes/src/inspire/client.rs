//! Client of InsPIRe: QUERY and EXTRACT (Algorithms 8 and 10).

use std::sync::Arc;

use papir_core::scheme::{self, Never, check_indices};
use papir_core::{Record, Result};
use papir_lattice::mod_switch::round_elements;
use papir_lattice::packing::Packing;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::response::Plaintext;
use papir_lattice::rgsw::encrypt_monomial;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::{Poly, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::encode::{unwhiten, whitening_from};
use super::layout::{Layout, PLAINTEXT};
use super::literal::{Inspire, NAME};
use super::params::Params;
use super::wire::{Answer, Query};
use crate::shared::messages::PublicSeed;
use crate::shared::units::{Location, decoded};

/// A client: the parameters and the masks of the keys.
pub struct Client {
    params: Params,
    public: PublicSeed,
    packing: Packing<Inspiring>,
    rgsw_masks: Vec<Poly<Values>>,
}

/// Secret of one query: the key, and the place of the record in each part. It is erased on drop.
pub struct Secret {
    /// Secret key. Queries that were made together share it, and it is erased with the last of
    /// them.
    pub(super) key: Arc<SecretKey>,
    /// Places of the records. They are on the heap, so that moving the secret leaves no copy
    /// behind.
    pub(super) locations: Vec<Location>,
}

impl Secret {
    /// Returns the ring secret, for measuring noise.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }
}

impl scheme::Client<Inspire> for Client {
    fn new(params: Params, public: PublicSeed) -> Result<Self> {
        let packing = params.packing(&public.seed)?;
        let rgsw_masks = params.rgsw_masks(&public.seed);
        Ok(Self {
            params,
            public,
            packing,
            rgsw_masks,
        })
    }

    fn params(&self) -> &Params {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(Secret, Query)> {
        let params = &self.params;
        let seed = &self.public.seed;
        check_indices(NAME, &params.layout().shape, indices, 1)?;
        let locations = vec![params.layout().locate(indices[0])];

        let mut rng = SecretRng::new(rng);
        let key = SecretKey::generate(params.rlwe(), &mut rng);
        let selector = params
            .selector()
            .encrypt(seed, &key, locations[0].column, &mut rng);

        // Lines 12 to 15: y_g, y_h and the RGSW encryptions of the record's point.
        let mut elements = self.packing.generate_key(&key, &mut rng).into_elements();
        elements.extend(self.point(&key, locations[0].block, &mut rng));

        let query = Query {
            selector,
            keys: round_keys(params, elements),
        };
        let secret = Secret {
            key: Arc::new(key),
            locations,
        };
        Ok((secret, query))
    }

    fn extract(&self, secret: Secret, answer: Answer) -> Result<Vec<Record>> {
        extract(
            &self.params,
            self.params.layout(),
            &[self.public.seed],
            &secret,
            &answer,
        )
    }
}

impl Client {
    /// Encrypts RGSW(X^e) for each variable, where e is the exponent of the variable's point.
    fn point(&self, key: &SecretKey, block: u32, rng: &mut dyn CryptoRng) -> Vec<Poly<Values>> {
        let params = &self.params;
        let layout = self.params.layout();
        let exponents = Zeroizing::new(layout.interpolation.exponents(block, layout.degree));

        let masks = self.rgsw_masks.chunks_exact(params.rgsw_rows());
        let rows = masks.zip(exponents.iter()).flat_map(|(masks, &exponent)| {
            encrypt_monomial(params.rlwe(), key, masks, exponent, params.rgsw(), rng)
        });
        rows.collect()
    }
}

/// Rounds key material to the bits of [`Params::key_elements`].
pub(super) fn round_keys(params: &Params, elements: Vec<Poly<Values>>) -> Vec<u64> {
    let rounded = elements.into_iter().zip(params.key_elements());
    let ring = params.rlwe().ring();
    rounded
        .flat_map(|(element, bits)| round_elements(ring, bits, vec![element]))
        .collect()
}

/// Runs EXTRACT for each part. The records of each part are whitened under a seed of their own. The
/// work is the same if the answer does not decode.
pub(super) fn extract(
    params: &Params,
    part: &Layout,
    seeds: &[Seed],
    secret: &Secret,
    answer: &Answer,
) -> Result<Vec<Record>> {
    let ring = params.rlwe().ring();
    let literal = params.literal();
    let degree = params.layout().degree;
    let plaintext = Plaintext {
        modulus: PLAINTEXT.into(),
        fill: literal.fill(),
    };

    let chunks = answer
        .masks
        .chunks_exact(degree)
        .zip(answer.bodies.chunks_exact(degree));
    let mut chunk_words: Vec<Zeroizing<Vec<u32>>> = Vec::new();
    let mut decodes = true;
    for (mask, body) in chunks {
        let response = literal.response();
        let (words, within) = response.decrypt(ring, &secret.key, plaintext, mask, body);
        decodes &= within;
        chunk_words.push(words);
    }
    for &word in chunk_words.iter().flat_map(|words| words.iter()) {
        // p is 2^16 + 1: the residue 2^16 is no word.
        decodes &= word < 1 << 16;
    }

    let mut records = Vec::with_capacity(seeds.len());
    for (number, (seed, location)) in seeds.iter().zip(&secret.locations).enumerate() {
        let first_word = number * part.degree;
        records.push(record(part, seed, location, &chunk_words, first_word));
    }

    // Checked last: the time must not tell whether the answer decodes.
    decoded(records, decodes)
}

/// Returns the record of one part. Its words start at `first_word` of each chunk.
fn record(
    part: &Layout,
    seed: &Seed,
    location: &Location,
    chunk_words: &[Zeroizing<Vec<u32>>],
    first_word: usize,
) -> Record {
    let mut bytes = Zeroizing::new(vec![0; part.unit_layout.unit_bytes]);
    let elements = bytes.chunks_exact_mut(part.element_bytes());
    for ((chunk, words), bytes) in chunk_words.iter().enumerate().zip(elements) {
        // The part of the stream tells which element was asked for, so it is erased with the
        // record.
        whitening_from(part, seed, chunk, location.unit).fill(bytes);
        unwhiten(&words[first_word..][..part.degree], bytes);
    }
    part.unit_layout.select(&bytes, location.slot)
}
