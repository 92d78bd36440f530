//! The client: up to n indices in the slots of one query.

use papir_core::scheme::{Client, Never, Parameters, Scheme, check_indices};
use papir_core::{Record, Result};
use papir_kernels::Backend;
use papir_kernels::pointwise::{self, Modulus};
use papir_lattice::bv::key::BvKey;
use papir_lattice::bv::params::PLAINTEXT;
use papir_ring::crt::Lift;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::rns::product_mod;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::params::{CHUNK_BYTES, Depir, DepirParams};
use super::wire::{DepirAnswer, DepirQuery, coordinate_mask};
use crate::shared::messages::EmptyPublic;
use crate::shared::units::decoded;

/// Secret of one query: the key, and the position of each record in its entry.
pub struct DepirSecret {
    pub(super) key: BvKey,
    places: Zeroizing<Vec<u64>>,
}

/// A client. It stores nothing of the database.
pub struct DepirClient {
    params: DepirParams,
    /// Lift from residues modulo an answer's primes to the plaintext.
    lift: Lift,
    /// Factor by which modulus switching divides plaintexts.
    factor: u32,
}

impl Client<Depir> for DepirClient {
    fn new(params: DepirParams, _public: EmptyPublic) -> Result<Self> {
        let primes = params.bv().ring().primes();
        let (kept, dropped) = primes.split_at(params.kept);
        let lift = Lift::new(kept, Modulus::new(PLAINTEXT));
        let factor = product_mod(dropped, PLAINTEXT);

        Ok(Self {
            params,
            lift,
            factor,
        })
    }

    fn params(&self) -> &DepirParams {
        &self.params
    }

    fn query(
        &self,
        _state: Option<&mut Never>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(DepirSecret, DepirQuery)> {
        let params = &self.params;
        let n = params.ring_degree();
        check_indices(Depir::NAME, &params.shape(), indices, n)?;

        let mut secret = SecretRng::new(rng);
        let key = BvKey::generate(params.bv(), &mut secret);

        let mut entries = Zeroizing::new(vec![0; indices.len()]);
        let mut places = Zeroizing::new(vec![0; indices.len()]);
        for ((entry, place), &index) in entries.iter_mut().zip(places.iter_mut()).zip(indices) {
            (*entry, *place) = params.units.locate(index);
        }
        let points = params.simplex().points(&entries);

        let (seed, first) = self.seed(rng);
        let mut bodies = Vec::with_capacity(params.query_words());
        let mut message = Zeroizing::new(vec![0; n]);

        for (coordinate, points) in points.chunks_exact(indices.len()).enumerate() {
            // Slots beyond the indices encrypt 0, so that a query does not tell their number.
            message.fill(0);
            message[..points.len()].copy_from_slice(points);
            params.shared.slots.encode(&mut message);

            // The first mask was expanded when the seed was chosen.
            let fresh = (coordinate > 0).then(|| coordinate_mask(params, &seed, coordinate));
            let mask = fresh.as_ref().unwrap_or(&first);
            bodies.append(&mut key.encrypt(params.bv(), mask, &message, &mut secret));
        }

        Ok((DepirSecret { key, places }, DepirQuery { seed, bodies }))
    }

    fn extract(&self, secret: DepirSecret, answer: DepirAnswer) -> Result<Vec<Record>> {
        let params = &self.params;
        let kept = params.kept;
        let chunks = params.chunks();
        let backend = Backend::current();
        let modulus = Modulus::new(PLAINTEXT);
        let unit = params.units.unit_bytes;

        let mut units = Zeroizing::new(vec![0u8; secret.places.len() * unit]);
        let mut sound = true;
        let ciphertexts = answer.words.chunks_exact(params.answer_words() / chunks);
        for (chunk, ciphertext) in ciphertexts.enumerate() {
            let mut found = secret
                .key
                .decrypt(params.bv(), &self.lift, kept, ciphertext);
            sound &= found.largest <= Lift::SLACK;

            params.shared.slots.decode(&mut found.coefficients);
            let mut slots = Zeroizing::new(vec![0; found.coefficients.len()]);
            pointwise::scale(
                backend,
                &mut slots,
                &found.coefficients,
                self.factor,
                modulus,
            );

            for (unit, &slot) in units.chunks_exact_mut(unit).zip(slots.iter()) {
                // Entries are at most 65535.
                sound &= slot >> 16 == 0;
                unit[chunk * CHUNK_BYTES..][..CHUNK_BYTES]
                    .copy_from_slice(&(slot as u16).to_le_bytes());
            }
        }

        // Refused after all chunks are decrypted and all records selected, so that the time tells
        // neither that an answer failed nor which chunk did.
        let records = units.chunks_exact(unit).zip(secret.places.iter());
        let records = records
            .map(|(unit, &place)| params.units.select(unit, place))
            .collect();
        decoded(records, sound)
    }
}

impl DepirClient {
    /// Draws a public seed whose first mask is invertible in every slot, and returns both. Nearly
    /// all seeds have this property.
    fn seed(&self, rng: &mut dyn CryptoRng) -> (Seed, Vec<u32>) {
        loop {
            let seed = Seed::random(rng);
            // Lines divide by the first mask. The seed is public, so drawing it again reveals
            // nothing.
            let mask = coordinate_mask(&self.params, &seed, 0);
            if !mask.contains(&0) {
                return (seed, mask);
            }
        }
    }
}
