//! QUERY and EXTRACT (Algorithms 8 and 10).

use std::sync::Arc;

use papir_core::scheme::{self, Never, check_indices};
use papir_core::{Error, Record, Result};
use papir_lattice::lwe::encrypt_selector;
use papir_lattice::mod_switch::{PowerSwitch, round_elements};
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::rgsw::encrypt_monomial;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::SecretRng;
use papir_ring::{Poly, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::Inspire;
use super::decode::unwhiten;
use super::layout::{Location, PLAINTEXT};
use super::masks::{packing, rgsw_masks, selector_mask, whitening};
use super::params::Params;
use super::wire::{Answer, Public, Query};

/// A client: the parameters and the masks of the packing keys.
pub struct Client {
    params: Params,
    public: Public,
    packing: Inspiring,
    rgsw_masks: Vec<Poly<Values>>,
}

/// What opens one answer: the key and where the record lies. Erased on drop.
pub struct Secret {
    /// Queries that were made together share one; it is erased with the last of them.
    key: Arc<SecretKey>,
    /// Boxed, so that moving the secret leaves no copy of it behind.
    location: Box<Location>,
}

impl Secret {
    /// The ring secret, for measuring noise.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }
}

impl scheme::Client<Inspire> for Client {
    fn new(params: Params, public: Public) -> Result<Self> {
        let packing = packing(&params, &public.seed)?;
        let rgsw_masks = rgsw_masks(&params, &public.seed);
        Ok(Self { params, public, packing, rgsw_masks })
    }

    fn new_beside(first: &Self, params: Params, public: Public) -> Result<Self> {
        let rgsw_masks = rgsw_masks(&params, &public.seed);
        Ok(Self { params, public, packing: first.packing.clone(), rgsw_masks })
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
        check_indices(super::params::NAME, &self.params.layout().shape, indices, 1)?;
        let mut rng = SecretRng::new(rng);
        let key = Arc::new(SecretKey::generate(self.params.rlwe(), &mut rng));
        let packing_key = self.packing_key(&key, &mut rng);
        Ok(self.query_under(key, &packing_key, indices[0], &mut rng))
    }

    fn query_each(
        clients: &[Self],
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<(Secret, Query)>> {
        Error::check_length("indices for several databases, counted", indices.len(), clients.len())?;
        let Some(first) = clients.first() else {
            return Ok(Vec::new());
        };
        let shape = &first.params.layout().shape;
        indices.iter().try_for_each(|&index| shape.check_index(index))?;
        let mut rng = SecretRng::new(rng);
        let key = Arc::new(SecretKey::generate(first.params.rlwe(), &mut rng));
        let packing_key = first.packing_key(&key, &mut rng);
        let query = |(client, &index): (&Self, &u64)| {
            client.query_under(Arc::clone(&key), &packing_key, index, &mut rng)
        };
        Ok(clients.iter().zip(indices).map(query).collect())
    }

    fn extract(&self, secret: Secret, answer: Answer) -> Result<Vec<Record>> {
        let layout = self.params.layout();
        let mut bytes = Zeroizing::new(Vec::with_capacity(layout.bundle.unit_bytes));
        let mut decodes = true;
        let parts = answer.masks.chunks_exact(layout.degree).zip(answer.bodies.chunks_exact(layout.degree));
        for (chunk, (mask, body)) in parts.enumerate() {
            let words = self.decrypt(&secret, mask, body);
            // All words are looked at, also after one that is none.
            decodes &= words.iter().fold(true, |all, &word| all & (word < 1 << 16));
            bytes.extend_from_slice(&self.unwhiten(chunk, secret.location.element, &words));
        }
        if !decodes {
            return Err(Error::NotDecodable);
        }
        Ok(vec![layout.bundle.select(&bytes, secret.location.slot)])
    }
}

impl Client {
    /// Everything of a query that depends on the index, under a key that was made for it and perhaps others
    /// beside it.
    fn query_under(
        &self,
        key: Arc<SecretKey>,
        packing_key: &[u64],
        index: u64,
        rng: &mut SecretRng,
    ) -> (Secret, Query) {
        let secret = Secret { key, location: Box::new(self.params.layout().locate(index)) };
        let selector = self.selector(&secret, rng);
        let keys = [packing_key, &self.point(&secret, rng)].concat();
        (secret, Query { selector, keys })
    }

    /// Lines 7 to 11: LWE encryptions of the unit vector of the record's column, rounded.
    fn selector(&self, secret: &Secret, rng: &mut dyn CryptoRng) -> Vec<u64> {
        let params = &self.params;
        let masks = (0..).map(|block| selector_mask(params, &self.public.seed, block));
        let (columns, column) = (params.layout().columns, secret.location.column);
        let bodies =
            encrypt_selector(params.rlwe(), &secret.key, masks, columns, column, params.scale(), rng);
        let switch = PowerSwitch::new(params.rlwe().ring().modulus(), params.literal().query_bits);
        bodies.into_iter().map(|body| switch.down(body)).collect()
    }

    /// Lines 12 and 13: y_g and y_h, rounded.
    fn packing_key(&self, key: &SecretKey, rng: &mut dyn CryptoRng) -> Vec<u64> {
        let elements = self.packing.generate_key(key, rng).into_elements();
        self.round(elements, &self.params.key_elements())
    }

    /// Lines 14 and 15: RGSW(X^e) for each variable, rounded.
    fn point(&self, secret: &Secret, rng: &mut dyn CryptoRng) -> Vec<u64> {
        let (params, layout) = (&self.params, self.params.layout());
        let exponents = Zeroizing::new(layout.interpolation.exponents(secret.location.point, layout.degree));
        let masks = self.rgsw_masks.chunks_exact(params.rgsw_rows());
        let rows = masks.zip(exponents.iter()).flat_map(|(masks, &exponent)| {
            encrypt_monomial(params.rlwe(), &secret.key, masks, exponent, params.rgsw(), rng)
        });
        let of_point = params.key_elements().split_off(params.packing_elements());
        self.round(rows.collect(), &of_point)
    }

    /// Ring elements rounded to these bits a coefficient.
    fn round(&self, elements: Vec<Poly<Values>>, bits: &[u32]) -> Vec<u64> {
        let ring = self.params.rlwe().ring();
        let rounded = elements.into_iter().zip(bits);
        rounded.flat_map(|(element, &bits)| round_elements(ring, bits, vec![element])).collect()
    }

    /// The words of one ring element.
    fn decrypt(&self, secret: &Secret, mask: &[u64], body: &[u64]) -> Zeroizing<Vec<u32>> {
        let (ring, bits) = (self.params.rlwe().ring(), self.params.answer_bits());
        bits.decrypt(ring, &secret.key, PLAINTEXT.into(), mask, body)
    }

    /// Removes the public whitening of element `element` in this chunk. Which part of the stream that is tells
    /// which element was asked for, so it is erased too.
    fn unwhiten(&self, chunk: usize, element: u64, words: &[u32]) -> Zeroizing<Vec<u8>> {
        let length = self.params.layout().element_bytes();
        let mut stream = whitening(&self.public.seed, chunk);
        stream.seek(element * length as u64);
        let mut bytes = Zeroizing::new(vec![0; length]);
        stream.fill(&mut bytes);
        unwhiten(words, &mut bytes);
        bytes
    }
}
