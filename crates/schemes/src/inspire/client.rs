//! QUERY and EXTRACT (Algorithms 8 and 10).

use papir_core::scheme::{self, Never, check_indices};
use papir_core::{Error, Record, Result};
use papir_lattice::mod_switch::round_elements;
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::rgsw::encrypt_monomial;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::{Poly, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::decode::unwhiten;
use super::layout::{Layout, PLAINTEXT};
use super::literal::{Inspire, NAME};
use super::masks::{packing, rgsw_masks, whitening};
use super::params::Params;
use super::wire::{Answer, Query};
use crate::shared::messages::PublicSeed;
use crate::shared::units::Location;

/// A client: the parameters and the masks of the packing keys.
pub struct Client {
    params: Params,
    public: PublicSeed,
    packing: Inspiring,
    rgsw_masks: Vec<Poly<Values>>,
}

/// Opens one answer: the key and the place of the record. Erased on drop.
pub struct Secret {
    key: SecretKey,
    /// Boxed, so that moving the secret leaves no copy behind.
    location: Box<Location>,
}

impl Secret {
    /// The ring secret, for measuring noise.
    pub fn key(&self) -> &SecretKey {
        &self.key
    }
}

impl scheme::Client<Inspire> for Client {
    fn new(params: Params, public: PublicSeed) -> Result<Self> {
        let packing = packing(&params, &public.seed)?;
        let rgsw_masks = rgsw_masks(&params, &public.seed);
        Ok(Self { params, public, packing, rgsw_masks })
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
        check_indices(NAME, &self.params.layout().shape, indices, 1)?;
        let location = Box::new(self.params.layout().locate(indices[0]));
        let mut rng = SecretRng::new(rng);
        let secret = Secret { key: SecretKey::generate(self.params.rlwe(), &mut rng), location };
        let (params, seed, column) = (&self.params, &self.public.seed, secret.location.column);
        let selector = params.selector().encrypt(seed, &secret.key, column, &mut rng);
        let query = Query { selector, keys: self.keys(&secret, &mut rng) };
        Ok((secret, query))
    }

    fn extract(&self, secret: Secret, answer: Answer) -> Result<Vec<Record>> {
        let layout = self.params.layout();
        let mut bytes = Zeroizing::new(Vec::with_capacity(layout.bundle.unit_bytes));
        let mut decodes = true;
        let parts = answer.masks.chunks_exact(layout.degree).zip(answer.bodies.chunks_exact(layout.degree));
        for (chunk, (mask, body)) in parts.enumerate() {
            let words = decrypt(&self.params, &secret.key, mask, body);
            // Checks all words, also after an invalid one.
            decodes &= words.iter().fold(true, |all, &word| all & (word < 1 << 16));
            let element = secret.location.unit;
            bytes.extend_from_slice(&unwhitened(layout, &self.public.seed, chunk, element, &words));
        }
        if !decodes {
            return Err(Error::NotDecodable);
        }
        Ok(vec![layout.bundle.select(&bytes, secret.location.slot)])
    }
}

impl Client {
    /// Lines 12 to 15: y_g, y_h and the RGSW encryptions of the record's point, rounded.
    fn keys(&self, secret: &Secret, rng: &mut dyn CryptoRng) -> Vec<u64> {
        let mut elements = self.packing.generate_key(&secret.key, rng).into_elements();
        elements.extend(self.point(secret, rng));
        round_keys(&self.params, elements)
    }

    /// RGSW(X^e) for each variable.
    fn point(&self, secret: &Secret, rng: &mut dyn CryptoRng) -> Vec<Poly<Values>> {
        let (params, layout) = (&self.params, self.params.layout());
        let exponents = Zeroizing::new(layout.interpolation.exponents(secret.location.block, layout.degree));
        let masks = self.rgsw_masks.chunks_exact(params.rgsw_rows());
        let rows = masks.zip(exponents.iter()).flat_map(|(masks, &exponent)| {
            encrypt_monomial(params.rlwe(), &secret.key, masks, exponent, params.rgsw(), rng)
        });
        rows.collect()
    }
}

/// Key material rounded to the bits of [`Params::key_elements`].
pub(crate) fn round_keys(params: &Params, elements: Vec<Poly<Values>>) -> Vec<u64> {
    let rounded = elements.into_iter().zip(params.key_elements());
    let ring = params.rlwe().ring();
    rounded.flat_map(|(element, bits)| round_elements(ring, bits, vec![element])).collect()
}

/// The words of one ring element of an answer.
pub(crate) fn decrypt(params: &Params, key: &SecretKey, mask: &[u64], body: &[u64]) -> Zeroizing<Vec<u32>> {
    params.answer_bits().decrypt(params.rlwe().ring(), key, PLAINTEXT.into(), mask, body)
}

/// The bytes of an element's words in a chunk, without the public whitening of a seed. The part of
/// the stream tells which element was asked for, so it is erased.
pub(crate) fn unwhitened(
    layout: &Layout,
    seed: &Seed,
    chunk: usize,
    element: u64,
    words: &[u32],
) -> Zeroizing<Vec<u8>> {
    let length = layout.element_bytes();
    let mut stream = whitening(seed, chunk);
    stream.seek(element * length as u64);
    let mut bytes = Zeroizing::new(vec![0; length]);
    stream.fill(&mut bytes);
    unwhiten(words, &mut bytes);
    bytes
}
